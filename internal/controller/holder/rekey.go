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
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/requeue"
	"kausality.io/operator/internal/ledger"
)

// rekey moves to its own keys what an object with an owner has under those of objects
// without one, where an earlier version of Kausality wrote it, and reports whether it did, or has
// to wait with it: until then a look would find the ledger empty.
func (r *Reconciler) rekey(ctx context.Context, obj *unstructured.Unstructured, rec *v1alpha1.AllowanceRecord, next *requeue.Soonest) (bool, error) {
	annotations := rekeyed(obj, rec)
	if annotations == nil {
		return false, nil
	}
	if !r.mayWrite(obj, next) {
		return true, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": obj.GetUID(), "resourceVersion": obj.GetResourceVersion(), "annotations": annotations,
	}})
	if err != nil {
		return false, err
	}
	target := &unstructured.Unstructured{}
	target.SetGroupVersionKind(obj.GroupVersionKind())
	target.SetNamespace(obj.GetNamespace())
	target.SetName(obj.GetName())
	switch err := r.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch)); {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("cannot move the ledger of %s %s to the key that it has now: %w",
			obj.GetKind(), client.ObjectKeyFromObject(obj), err)
	}
	return true, nil
}

// rekeyed returns the annotations of an object that change where an earlier version wrote
// its ledger; nil where none did. That may be anybody's: what it has of the object's own
// is what its record has, which the earlier version wrote, and which nobody else may.
func rekeyed(obj *unstructured.Unstructured, rec *v1alpha1.AllowanceRecord) map[string]any {
	key := ledger.AnnotationKey(obj, ledger.NameAllowances)
	if key == v1alpha1.AnnotationAllowances || rec == nil || rec.Status.LedgerKey != "" || len(rec.Status.Active) == 0 {
		return nil
	}
	annotations := obj.GetAnnotations()
	// What cannot be read is nothing that the record has.
	former, _ := ledger.Decode(annotations[v1alpha1.AnnotationAllowances])
	known := ledger.Ledger{}.Merge(rec.Status.Active...)
	former = former.Without(func(e ledger.Entry) bool {
		return !slices.ContainsFunc(known, func(k ledger.Entry) bool { return k.ID() == e.ID() })
	})
	if len(former) == 0 {
		return nil
	}
	own, _ := ledger.Decode(annotations[key]) // It was reported, and counts as empty.
	out := map[string]any{v1alpha1.AnnotationAllowances: nil, key: former.Merge(own.Allowances()...).Encode()}
	approved := annotations[v1alpha1.AnnotationApproved]
	if approvedKey := ledger.AnnotationKey(obj, ledger.NameApproved); approved != "" && annotations[approvedKey] == "" &&
		slices.ContainsFunc(former, ledger.Entry.IsWithheld) {
		out[v1alpha1.AnnotationApproved], out[approvedKey] = nil, approved
	}
	return out
}
