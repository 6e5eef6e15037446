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

package remove

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
)

const (
	// pageSize is how many objects are read at a time.
	pageSize = 500
	// maxRounds is how often everything is looked at: controllers copy annotations back
	// from an object that still had them onto one that has them no longer.
	maxRounds = 5
)

// remover takes back what is left.
type remover struct {
	client client.Client
	held   string
	// dryRun is for only looking.
	dryRun bool
	// waiting are the objects whose controllers are kept from something, where it only looks.
	waiting []Waiting
}

// all looks at all objects of the kinds until there is nothing left, and returns what there was,
// once for each object. What could not be read or written is in the error.
func (r *remover) all(ctx context.Context, kinds []kind) ([]Object, error) {
	var objects []Object
	seen := map[string]int{}
	errs := make([]error, 0, len(kinds))
	for range maxRounds {
		errs = errs[:0]
		wrote := false
		for _, k := range kinds {
			err := r.each(ctx, k, func(o Object) {
				wrote = wrote || !o.Undecided
				if i, ok := seen[o.id()]; ok {
					objects[i].Left = merged(objects[i].Left, o.Left)
					return
				}
				seen[o.id()] = len(objects)
				objects = append(objects, o)
			})
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", k.gvk.GroupKind(), err))
			}
		}
		if r.dryRun || !wrote {
			return objects, errors.Join(errs...)
		}
	}
	return objects, errors.Join(append(errs, fmt.Errorf("something is put back all the time: after %d rounds there is still something left", maxRounds))...)
}

// each goes through the objects of a kind, and tells of those on which there is something.
func (r *remover) each(ctx context.Context, k kind, tell func(Object)) error {
	var errs []error
	err := r.list(ctx, k, func(obj *unstructured.Unstructured) {
		after, left := strip(obj, k.driver, r.held)
		if left.none() {
			return
		}
		if !r.dryRun && !left.Undecided {
			if err := r.write(ctx, k, obj, after, left); err != nil {
				errs = append(errs, err)
				return
			}
		}
		if waits, ok := waitingOf(k, obj); ok && r.dryRun {
			r.waiting = append(r.waiting, waits)
		}
		tell(Object{Group: k.gvk.Group, Kind: k.gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName(), Left: left})
	})
	return errors.Join(append(errs, err)...)
}

// list reads the objects of a kind page by page. Of what has no status only the metadata is
// read, and the rest where that shows something.
func (r *remover) list(ctx context.Context, k kind, do func(*unstructured.Unstructured)) error {
	for next := ""; ; {
		var page client.ObjectList = &unstructured.UnstructuredList{}
		if !k.status && k.driver == nil {
			page = &metav1.PartialObjectMetadataList{}
		}
		page.GetObjectKind().SetGroupVersionKind(k.gvk.GroupVersion().WithKind(k.gvk.Kind + "List"))
		switch err := r.client.List(ctx, page, client.Limit(pageSize), client.Continue(next)); {
		case apierrors.IsNotFound(err), apimeta.IsNoMatchError(err):
			return nil // The kind has gone.
		case apierrors.IsMethodNotSupported(err):
			return nil
		case err != nil:
			return fmt.Errorf("listing them: %w", err)
		}
		switch list := page.(type) {
		case *unstructured.UnstructuredList:
			for i := range list.Items {
				do(&list.Items[i])
			}
		case *metav1.PartialObjectMetadataList:
			for i := range list.Items {
				if err := r.whole(ctx, k, &list.Items[i], do); err != nil {
					return err
				}
			}
		}
		if next = page.GetContinue(); next == "" {
			return nil
		}
	}
}

// whole reads an object whose metadata shows something.
func (r *remover) whole(ctx context.Context, k kind, metadata *metav1.PartialObjectMetadata, do func(*unstructured.Unstructured)) error {
	_, ours := metadata.Labels[v1alpha1.LabelGeneratedBy]
	for key := range metadata.Annotations {
		ours = ours || ledger.IsOurs(key)
	}
	if !ours {
		return nil
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(k.gvk)
	switch err := r.client.Get(ctx, client.ObjectKeyFromObject(metadata), obj); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading %s: %w", client.ObjectKeyFromObject(metadata), err)
	}
	do(obj)
	return nil
}

// write makes an object what it is without what was left on it. Who was faster is met in the next
// round.
func (r *remover) write(ctx context.Context, k kind, obj, after *unstructured.Unstructured, left Left) error {
	err := r.client.Patch(ctx, after.DeepCopy(), client.MergeFromWithOptions(obj, client.MergeFromWithOptimisticLock{}))
	if err == nil && k.status && len(left.Conditions) > 0 {
		err = r.writeStatus(ctx, obj)
	}
	if apierrors.IsConflict(err) {
		return nil
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing %s: %w", client.ObjectKeyFromObject(obj), err)
	}
	return nil
}

// writeStatus takes the conditions out of an object that has its status apart.
func (r *remover) writeStatus(ctx context.Context, obj *unstructured.Unstructured) error {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(obj.GroupVersionKind())
	if err := r.client.Get(ctx, client.ObjectKeyFromObject(obj), live); err != nil {
		return err
	}
	after := live.DeepCopy()
	stripConditions(after)
	return r.client.Status().Patch(ctx, after, client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{}))
}
