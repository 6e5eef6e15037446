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

package gate

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/record"
)

// write carries out a plan, in one request that fails where the object is not the one
// that was looked at. It returns the object as it is then; nothing is written where
// there is nothing to change.
func (r *Reconciler) write(ctx context.Context, v view, p plan) (*unstructured.Unstructured, error) {
	after := p.apply(v)
	changes, err := client.MergeFrom(v.obj).Data(after)
	if err != nil {
		return nil, fmt.Errorf("cannot tell what to change about the gate of %s %s: %w", v.obj.GetKind(), client.ObjectKeyFromObject(v.obj), err)
	}
	if string(changes) == "{}" && p.ask {
		return v.obj, r.askToCreate(ctx, v.obj)
	}
	if string(changes) == "{}" {
		return v.obj, nil
	}
	patch := client.MergeFromWithOptions(v.obj, client.MergeFromWithOptimisticLock{})
	if err := r.Patch(ctx, after, patch); err != nil {
		return nil, fmt.Errorf("cannot set the gate of %s %s: %w", v.obj.GetKind(), client.ObjectKeyFromObject(v.obj), err)
	}
	kind := v.obj.GroupVersionKind().GroupKind().String()
	if p.event != nil {
		r.Events.Eventf(v.obj, nil, p.event.kind, p.event.reason, eventAction, "%s", p.event.note)
		if p.event.reason == eventReclosed {
			reclosings.WithLabelValues(kind).Inc()
		}
	}
	if !p.closed {
		return after, nil
	}
	if !v.since.IsZero() {
		openSeconds.WithLabelValues(kind).Observe(v.now.Sub(v.since).Seconds())
	}
	return after, r.recordDone(ctx, v)
}

// recordDone says in the object's record what the entries were for that are done.
func (r *Reconciler) recordDone(ctx context.Context, v view) error {
	target := record.TargetOf(v.obj)
	return r.Records.Update(ctx, target, true, func(status *v1alpha1.AllowanceRecordStatus) bool {
		before := status.History
		status.History = record.Done(target, before, v.entries().Allowances(), metav1.NewTime(v.now))
		return !equality.Semantic.DeepEqual(before, status.History)
	})
}
