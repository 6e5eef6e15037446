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
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/lineage"
)

// Unserved knows which kinds the API server does not serve.
type Unserved interface {
	// Lacks reports whether a kind is known not to be served in its version.
	Lacks(ctx context.Context, gvk schema.GroupVersionKind) bool
}

// gatherUnserved finds the owners that a request gives an object whose kind is not served, so that they do not exist. Kinds
// that policies are about are looked up by themselves, and so is whatever has the UID: that bounds the object.
func (g *Gatherer) gatherUnserved(ctx context.Context, r *request, f *facts) {
	if g.Unserved == nil || !r.validating || r.new == nil || r.subresource != "" {
		return
	}
	var before []lineage.Ref
	if r.old != nil {
		before = lineage.Parents(f.index, r.old)
	}
	for _, ref := range lineage.Parents(f.index, r.new) {
		if ref.IsByName() || slices.Contains(before, ref) || len(f.index.For(ref.GVK.GroupKind())) > 0 ||
			slices.ContainsFunc(ancestry.Refs(ctx, g.Objects, f.index, r.new), ref.SameParent) {
			continue
		}
		if g.Unserved.Lacks(ctx, ref.GVK) {
			f.unserved = append(f.unserved, ref)
		}
	}
}

// unservedWarnings say of owners that they do not exist.
func (o *outcome) unservedWarnings() []string {
	out := make([]string, 0, len(o.unserved))
	for _, ref := range o.unserved {
		out = append(out, fmt.Sprintf("kausality: %s names the owner %s, which does not exist, as %s in %s is not served; it bounds nothing",
			objectText(o.Child.GVK.Kind, o.Child.Name), objectText(ref.GVK.Kind, ref.Name), ref.GVK.Kind, ref.GVK.GroupVersion()))
	}
	return out
}
