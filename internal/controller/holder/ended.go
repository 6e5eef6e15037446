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

package holder

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/requeue"
	"kausality.io/operator/internal/record"
)

// end closes the record of a holder that is gone. The record stays (D18).
func (r *Reconciler) end(ctx context.Context, rec *v1alpha1.AllowanceRecord, next *requeue.Soonest) error {
	target := rec.Spec.TargetRef
	if err := r.mendLabel(ctx, rec); err != nil {
		return err
	}
	var deletion *v1alpha1.Deletion
	if rec.Status.Deletion == nil {
		var err error
		if deletion, err = r.Records.InheritedDeletion(ctx, rec); err != nil {
			return err
		}
	}
	if deletion == nil && record.NeverSeen(rec) && (r.Came == nil || !r.Came(target.UID)) {
		return r.drop(ctx, rec, next)
	}
	if deletion == nil && equality.Semantic.DeepEqual(rec.Status, *record.End(rec.Status.DeepCopy(), r.Clock.Now())) {
		return nil
	}
	if until := record.Awaited(rec.CreationTimestamp, &rec.Status); until.After(r.Clock.Now()) {
		next.At(until)
		return nil
	}
	switch live, err := r.Holders.Live(ctx, record.GVK(target), record.Key(target)); {
	case err == nil && live.GetUID() == target.UID:
		next.At(r.Clock.Now().Add(requeue.WhenGone)) // the cache is behind
		return nil
	case err != nil && !apierrors.IsNotFound(err):
		return err
	}
	parent := record.ParentOf(rec)
	r.rewrites.forget(target.UID)
	r.specs.forget(target.UID)
	r.usedUp.forget(target.UID)
	// A look at the holder may wait to be written: this one takes its place.
	return r.Records.MirrorNow(ctx, target, record.Mirror{Advance: func(_ context.Context, status *v1alpha1.AllowanceRecordStatus) bool {
		if record.Awaited(rec.CreationTimestamp, status).After(r.Clock.Now()) {
			return false // The grant came while we looked.
		}
		before := status.DeepCopy()
		record.End(status, r.Clock.Now())
		if status.ParentUID == nil {
			status.ParentUID = &parent
		}
		if status.Deletion == nil && deletion != nil {
			status.Deletion = deletion
			status.History = record.WithHistory(status.History, record.DeletedEntry(deletion))
		}
		return !equality.Semantic.DeepEqual(before, status)
	}})
}

// drop deletes the record of a holder that never existed, once it cannot come any more: its creation was let
// through, and the API server did not store it.
func (r *Reconciler) drop(ctx context.Context, rec *v1alpha1.AllowanceRecord, next *requeue.Soonest) error {
	if until := record.MayStillCome(rec); until.After(r.Clock.Now()) {
		next.At(until)
		return nil
	}
	target := rec.Spec.TargetRef
	switch live, err := r.Holders.Live(ctx, record.GVK(target), record.Key(target)); {
	case err == nil && live.GetUID() == target.UID:
		next.At(r.Clock.Now().Add(requeue.WhenGone)) // the cache is behind
		return nil
	case err != nil && !apierrors.IsNotFound(err):
		return err
	}
	return r.Records.Drop(ctx, rec)
}

// withDeletion completes a look at a holder that is being deleted: where admission
// has recorded nobody who deletes it, its deletion follows from that of what is
// above it (D9).
func (r *Reconciler) withDeletion(ctx context.Context, v view, rec *v1alpha1.AllowanceRecord) (view, error) {
	if v.obj.GetDeletionTimestamp() == nil || rec == nil || rec.Status.Deletion != nil {
		return v, nil
	}
	var err error
	v.inherited, err = r.Records.InheritedDeletion(ctx, rec)
	return v, err
}
