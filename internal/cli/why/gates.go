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
	"kausality.io/operator/internal/gate"
)

// children returns the objects of a kind of which another one is the parent.
type children func(ctx context.Context, policies cluster.Policies, kind schema.GroupKind, parent *unstructured.Unstructured) ([]*unstructured.Unstructured, error)

// uncreated tells of an object, and of what policies name of its children, what is not outside the cluster
// as nothing has allowed to create it: nothing of that was refused. What cannot be listed is left out.
func uncreated(ctx context.Context, list children, policies cluster.Policies, obj *unstructured.Unstructured) []string {
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
		if message := gateMessage(each); strings.Contains(message, gate.NotOutside) {
			out = append(out, fmt.Sprintf("The gate of %s waits. %s", phrase.Object(each.GetKind(), each.GetName()), message))
		}
	}
	return out
}

// gateMessage returns what the condition about its gate says of an object, empty where it has none.
func gateMessage(obj *unstructured.Unstructured) string {
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions") // none where it is something else
	for _, item := range list {
		if fields, ok := item.(map[string]any); ok && fields["type"] == v1alpha1.ConditionGate {
			message, _ := fields["message"].(string)
			return message
		}
	}
	return ""
}
