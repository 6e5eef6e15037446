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

package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// write carries out a plan, in one request that fails where the object is not the one
// that was looked at. It returns the object as it is then; nothing is written where
// there is nothing to change.
func (r *Gate) write(ctx context.Context, v gateView, p gatePlan) (*unstructured.Unstructured, error) {
	after := p.apply(v)
	changes, err := client.MergeFrom(v.obj).Data(after)
	if err != nil {
		return nil, fmt.Errorf("cannot tell what to change about the gate of %s %s: %w", v.obj.GetKind(), client.ObjectKeyFromObject(v.obj), err)
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
			gateReclosings.WithLabelValues(kind).Inc()
		}
	}
	if p.closed && !v.since.IsZero() {
		gateOpen.WithLabelValues(kind).Observe(v.now.Sub(v.since).Seconds())
	}
	return after, nil
}
