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
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/requeue"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/record"
)

const (
	// strayGrace is the time for which a stray is kept although it is not there. It is noted before
	// its adoption is stored, and the API server ends a request after a minute.
	strayGrace = 2 * time.Minute
	// strayRecheck is the interval between reads of the strays that are there.
	strayRecheck = time.Minute
)

// forgetStrays removes from the record of a holder the strays that are gone, or are not
// its children any more. Nobody watches them, as children need not be holders.
func (r *Reconciler) forgetStrays(ctx context.Context, rec *v1alpha1.AllowanceRecord, next *requeue.Soonest) error {
	if rec == nil || len(rec.Status.Strays) == 0 {
		return nil
	}
	now := r.Clock.Now()
	var gone []v1alpha1.StrayChild
	for _, stray := range rec.Status.Strays {
		if due := stray.Time.Add(strayGrace); due.After(now) {
			next.At(due)
			continue
		}
		obj, err := r.Holders.Live(ctx, schema.FromAPIVersionAndKind(stray.APIVersion, stray.Kind),
			types.NamespacedName{Namespace: stray.Namespace, Name: stray.Name})
		switch {
		case err != nil && !apierrors.IsNotFound(err):
			return err
		case err != nil || !r.isStillChild(obj, stray, rec.Spec.TargetRef.UID):
			gone = append(gone, stray)
		default:
			next.At(now.Add(strayRecheck))
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return r.Records.ForgetStrays(ctx, rec.Spec.TargetRef, gone...)
}

// forgetSetAside removes from the record of a holder what was set aside and is over.
func (r *Reconciler) forgetSetAside(ctx context.Context, rec *v1alpha1.AllowanceRecord, next *requeue.Soonest) error {
	if rec == nil {
		return nil
	}
	over, now := false, r.Clock.Now()
	for i := range rec.Status.SetAside {
		if until := record.SetAsideUntil(&rec.Status.SetAside[i]); until.After(now) {
			next.At(until)
		} else {
			over = true
		}
	}
	if !over {
		return nil
	}
	return r.Records.ForgetSetAside(ctx, rec.Spec.TargetRef)
}

// isStillChild reports whether an object is the stray, and names its parent.
func (r *Reconciler) isStillChild(obj *unstructured.Unstructured, stray v1alpha1.StrayChild, parent types.UID) bool {
	return obj.GetUID() == stray.UID && lineage.IsChildOf(r.Policies.Index(), obj, parent)
}
