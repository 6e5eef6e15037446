/*
Copyright 2026 The Kausality Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// Package recordevents tells reconcilers of the AllowanceRecords that change, as notes: a
// cluster has very many records, and hardly anybody needs more of one than a few bits.
package recordevents

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/objectcache"
	"kausality.io/operator/internal/record"
)

// Note is what controllers want to know of a record that has changed. There may be
// very many records, and at the start all of them are new: to unpack each would take longer
// than to get them.
type Note struct {
	// holder is what the record is about.
	Holder objectcache.Request
	// adopting and overdue are what the fields of these names are indexed by.
	Adopting, Overdue bool
	// open reports whether the holder waits for something that policies say, ended whether
	// there is nothing more to be said about it.
	Open, Ended bool
	// uid is that of the holder, and ignored has the ids of the parents that are none for it,
	// one after the other.
	uid     types.UID
	ignored string
}

// NoteOf returns what the manager's cache notes of each record (record.NewCache).
func NoteOf(rec *v1alpha1.AllowanceRecord) any {
	return Note{
		Holder: requestOf(rec), Adopting: IsAdopting(rec), Overdue: IsOverdue(rec),
		Open: isOpen(rec), Ended: rec.Status.EndedAt != nil,
		uid: rec.Spec.TargetRef.UID, ignored: strings.Join(record.IgnoredParents(rec), idSeparator),
	}
}

// idSeparator is between the ids of parents; no id has it.
const idSeparator = "\n"

// IgnoreParents has the parents ignored that the records of objects say are none for
// them, from now on, and reports whether that is known of all records that there were.
func IgnoreParents(ctx context.Context, objects cache.Cache, ignore func(child types.UID, parents []string)) (known func() bool, err error) {
	informer, err := informerOfRecords(ctx, objects)
	if err != nil {
		return nil, fmt.Errorf("cannot watch AllowanceRecords: %w", err)
	}
	say := func(before, after Note) {
		if before.ignored != after.ignored {
			ignore(cmp.Or(after.uid, before.uid), strings.FieldsFunc(after.ignored, func(r rune) bool { return string(r) == idSeparator }))
		}
	}
	handler, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			note, _ := noted(obj)
			say(Note{}, note)
		},
		UpdateFunc: func(old, obj any) {
			before, _ := noted(old)
			note, _ := noted(obj)
			say(before, note)
		},
		DeleteFunc: func(obj any) {
			note, _ := noted(obj)
			say(note, Note{})
		},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot watch AllowanceRecords: %w", err)
	}
	return handler.HasSynced, nil
}

// Source tells of the records about a holder that come, change and go, not of those
// that there are at the start. Of before there is nothing where one comes, and of after where
// one goes.
func Source[R comparable](
	objects cache.Cache, tell func(queue workqueue.TypedRateLimitingInterface[R], holder objectcache.Request, before, after Note),
) source.TypedSource[R] {
	return source.TypedFunc[R](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[R]) error {
		informer, err := informerOfRecords(ctx, objects)
		if err != nil {
			return fmt.Errorf("cannot watch AllowanceRecords: %w", err)
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerDetailedFuncs{
			AddFunc: func(obj any, isInInitialList bool) {
				if note, ok := noted(obj); ok && !isInInitialList {
					tell(queue, note.Holder, Note{}, note)
				}
			},
			UpdateFunc: func(old, obj any) {
				before, _ := noted(old)
				if note, ok := noted(obj); ok {
					tell(queue, note.Holder, before, note)
				}
			},
			DeleteFunc: func(obj any) {
				if note, ok := noted(obj); ok {
					tell(queue, note.Holder, note, Note{})
				}
			},
		})
		return err
	})
}

// Holders returns the holders of all cached records that are wanted.
func Holders(ctx context.Context, objects cache.Cache, wanted func(Note) bool) iter.Seq[objectcache.Request] {
	return func(yield func(objectcache.Request) bool) {
		informer, err := informerOfRecords(ctx, objects)
		if err != nil {
			if ctx.Err() == nil {
				logf.FromContext(ctx).Error(err, "Cannot tell which holders there are records of")
			}
			return
		}
		store, ok := informer.(interface{ GetStore() toolscache.Store })
		if !ok {
			logf.FromContext(ctx).Error(nil, "Cannot read what the cache has of AllowanceRecords")
			return
		}
		for _, obj := range store.GetStore().List() {
			if note, ok := noted(obj); ok && wanted(note) && !yield(note.Holder) {
				return
			}
		}
	}
}

// informerOfRecords returns the informer of the packed records, where objects packs them.
func informerOfRecords(ctx context.Context, objects cache.Cache) (cache.Informer, error) {
	if packing, ok := objects.(interface {
		PackedInformer(ctx context.Context) (cache.Informer, error)
	}); ok {
		return packing.PackedInformer(ctx)
	}
	return objects.GetInformer(ctx, &v1alpha1.AllowanceRecord{})
}

// noted returns the note of a record as an informer has it. A tombstone without an object has
// none: the next list has its end.
func noted(obj any) (note Note, ok bool) {
	if gone, isGone := obj.(toolscache.DeletedFinalStateUnknown); isGone {
		obj = gone.Obj
	}
	switch obj := obj.(type) {
	case interface{ Note() any }:
		note, ok = obj.Note().(Note)
	case *v1alpha1.AllowanceRecord:
		note, ok = NoteOf(obj).(Note)
	}
	return note, ok
}

// isOpen reports whether a holder waits for something that policies say.
func isOpen(rec *v1alpha1.AllowanceRecord) bool {
	return len(rec.Status.Active) > 0 || rec.Status.Adopting || rec.Status.Blocked != nil
}

func requestOf(rec *v1alpha1.AllowanceRecord) objectcache.Request {
	return objectcache.RequestFor(record.GVK(rec.Spec.TargetRef), record.Key(rec.Spec.TargetRef))
}

// IsAdopting reports whether the holder of a record is.
func IsAdopting(obj client.Object) bool {
	rec, ok := obj.(*v1alpha1.AllowanceRecord)
	return ok && rec.Status.Adopting
}

// IsOverdue reports whether the record says that something is.
func IsOverdue(obj client.Object) bool {
	rec, ok := obj.(*v1alpha1.AllowanceRecord)
	return ok && overdueNow(&rec.Status)
}

func overdueNow(status *v1alpha1.AllowanceRecordStatus) bool {
	return apimeta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionOverdue)
}
