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
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/requeue"
	"kausality.io/operator/internal/objectcache"
)

// eventAction is what the operator does when it makes an event about a gate.
const eventAction = "Gate"

// tell shows the situation of an object in its condition, once it has lasted, and as long
// as nobody writes over that without an end.
func (r *Reconciler) tell(ctx context.Context, req objectcache.Request, v view, p plan, written *unstructured.Unstructured, memory *remembered, next *requeue.Soonest) error {
	before, has := readCondition(written)
	if p.situation == nil {
		memory.count(req, "")
		if !has {
			return nil
		}
		return r.writeCondition(ctx, written, nil, memory)
	}
	memory.count(req, p.situation.reason)
	if p.situation.reason == reasonHeld {
		next.At(v.now.Add(heldRecheck))
	}
	wanted := metav1.Condition{
		Type:               v1alpha1.ConditionGate,
		Status:             p.situation.status(),
		Reason:             p.situation.reason,
		Message:            p.situation.message,
		ObservedGeneration: written.GetGeneration(),
		LastTransitionTime: metav1.NewTime(v.now),
	}
	lasts := memory.lasted(*p.situation, v.now)
	until, loops := r.Loops.GoesOn(req, v.now)
	if !loops && has && before.Status == wanted.Status && before.Reason == wanted.Reason && before.Message == wanted.Message {
		memory.told = p.event.about() // perhaps before a restart
		return nil
	}
	if due := lasts.Add(tellAfter); !p.situation.isUrgent() && due.After(v.now) {
		next.At(due)
		return nil
	}
	if written == v.obj {
		r.tellPeople(v, p.event, memory)
	}
	if memory.unkept {
		return nil
	}
	if loops {
		next.At(until)
		if !has {
			return nil
		}
		return r.writeCondition(ctx, written, nil, memory)
	}
	if has && before.Status == wanted.Status {
		wanted.LastTransitionTime = before.LastTransitionTime
	}
	return r.writeCondition(ctx, written, &wanted, memory)
}

// tellPeople makes the event of a situation, once for as long as it is about the same:
// a gate that is open for too long may have been shown as stuck before.
func (r *Reconciler) tellPeople(v view, e *notice, memory *remembered) {
	if e != nil && memory.told != e.about() {
		r.Events.Eventf(v.obj, nil, e.kind, e.reason, eventAction, "%s", e.note)
	}
	memory.told = e.about()
}

// readCondition reads the condition of an object.
func readCondition(obj *unstructured.Unstructured) (metav1.Condition, bool) {
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, item := range list {
		fields, ok := item.(map[string]any)
		if !ok || fields["type"] != v1alpha1.ConditionGate {
			continue
		}
		var c metav1.Condition
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &c); err == nil {
			return c, true
		}
	}
	return metav1.Condition{}, false
}

// writeCondition writes the condition, or takes it away. Others' conditions stay as
// they are: where one has changed since, the request fails, and is made anew.
func (r *Reconciler) writeCondition(ctx context.Context, obj *unstructured.Unstructured, wanted *metav1.Condition, memory *remembered) error {
	after, ok := withCondition(obj, wanted)
	if !ok {
		memory.unkept = true // the kind has something else there
		return nil
	}
	patch := client.MergeFromWithOptions(obj, client.MergeFromWithOptimisticLock{})
	if err := r.Status().Patch(ctx, after, patch); err != nil {
		return fmt.Errorf("cannot show the gate of %s %s in its status: %w", obj.GetKind(), client.ObjectKeyFromObject(obj), err)
	}
	if _, has := readCondition(after); wanted != nil && !has {
		memory.unkept = true // its schema has no room for it
	}
	return nil
}

// withCondition returns an object with the condition, and false where it cannot have it.
func withCondition(obj *unstructured.Unstructured, wanted *metav1.Condition) (*unstructured.Unstructured, bool) {
	after := obj.DeepCopy()
	list, _, err := unstructured.NestedSlice(after.Object, "status", "conditions")
	if err != nil {
		return nil, false
	}
	list = slices.DeleteFunc(list, func(item any) bool {
		fields, ok := item.(map[string]any)
		return ok && fields["type"] == v1alpha1.ConditionGate
	})
	if wanted != nil {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
		if err != nil {
			// A condition is made of strings, numbers and a time.
			panic(fmt.Sprintf("controller: a condition that cannot be converted: %v", err))
		}
		list = append(list, fields)
	}
	return after, unstructured.SetNestedSlice(after.Object, list, "status", "conditions") == nil
}
