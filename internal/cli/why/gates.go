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

package why

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/controller/conditions"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/gate/crossplane"
)

// children returns the objects of a kind of which another one is the parent.
type children func(ctx context.Context, policies cluster.Policies, kind schema.GroupKind, parent *unstructured.Unstructured) ([]*unstructured.Unstructured, error)

// waitingGates says of the object itself, and of those of its children that policies name, what their gates wait
// for: they stand for something that was never created outside the cluster as nothing allowed it, their deletion is
// held back, they have kept a gate since they lost their parent, or what was allowed waits behind what was not. No record tells of that, as nothing was
// refused. Children that cannot be listed are left out.
func waitingGates(ctx context.Context, list children, policies cluster.Policies, obj *unstructured.Unstructured) []string {
	objects, kinds := []*unstructured.Unstructured{obj}, sets.New[schema.GroupKind]()
	for _, p := range policies.For(obj.GroupVersionKind().GroupKind()) {
		for _, e := range p.Entries() {
			if e.IsExternal() || e.Kind.Empty() || kinds.Has(e.Kind) {
				continue
			}
			kinds.Insert(e.Kind)
			if below, err := list(ctx, policies, e.Kind, obj); err == nil {
				objects = append(objects, below...)
			}
		}
	}
	var out []string
	for _, each := range objects {
		gateOf := conditions.Of(each, v1alpha1.ConditionGate)
		message, _ := gateOf["message"].(string)
		switch object := phrase.Object(each.GetKind(), each.GetName()); {
		case each.GetDeletionTimestamp() == nil && gate.ReadState(each.GetAnnotations()).Held != nil:
			out = append(out, fmt.Sprintf("The deletion of %s has not come. %s%s", object, gate.Undeleted, crossplane.Driver{}.InUse(each)))
		case gateOf["reason"] == v1alpha1.ReasonGateHeld:
			out = append(out, fmt.Sprintf("The deletion of %s waits. %s", object, message))
		case strings.Contains(message, gate.NotOutside) || strings.Contains(message, gate.Lost) ||
			gateOf["reason"] == v1alpha1.ReasonGateClosed && strings.Contains(message, gate.Waits):
			out = append(out, fmt.Sprintf("The gate of %s waits. %s", object, message))
		}
	}
	return out
}
