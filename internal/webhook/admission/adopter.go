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

package admission

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// adopter finds the parent whose controller would take what the request writes into
// its history. It bounds the request as if it owned the object already: when the
// controller adopts it, it is too late to ask whose it is (D5).
//
// A parent that the cache does not have yet has no history to go back to.
func (g *Gatherer) adopter(ctx context.Context, r *request, index *policy.Index) (lineage.Ref, bool) {
	kind := r.gvk.GroupKind()
	keepers := index.Keepers(kind)
	if len(keepers) == 0 || r.new == nil || r.operation == decision.Delete ||
		r.old != nil && metav1.GetControllerOfNoCopy(r.old) != nil {
		return lineage.Ref{}, false
	}
	for _, keeper := range keepers {
		known := index.Known(keeper.GroupKind())
		for name := range g.Objects.Names(keeper, r.namespace) {
			parent, err := g.Objects.Get(ctx, keeper, types.NamespacedName{Namespace: r.namespace, Name: name})
			if err != nil || !lineage.WouldAdopt(known, parent, r.new) {
				continue
			}
			for _, p := range index.InEffect(ancestry.Chain(ctx, g.Objects, g.Namespaces, index, parent)) {
				if p.Bounds(kind) {
					return lineage.AdopterRef(parent), true
				}
			}
		}
	}
	return lineage.Ref{}, false
}
