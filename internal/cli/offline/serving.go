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

package offline

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/discovery"
)

// unwatchable are kinds of Kubernetes whose objects cannot be listed and watched. The Go types do not say so.
var unwatchable = []schema.GroupKind{{Kind: "Binding"}, {Kind: "ComponentStatus"}}

// Serves implements what the webhook of AllowancePolicies asks: which resources there are of a group version.
func (k *Kinds) Serves(_ context.Context, gv schema.GroupVersion) ([]discovery.Resource, error) {
	var out []discovery.Resource
	for gvk := range k.all {
		if gvk.GroupVersion() == gv {
			out = append(out, k.resourceOf(gvk))
		}
	}
	return out, nil
}

// Everything implements what it asks where it finds none of a name: all kinds, each in its best version, those
// of the core group first.
func (k *Kinds) Everything(context.Context) ([]discovery.Resource, error) {
	names := map[string]bool{}
	for gvk := range k.all {
		names[gvk.Kind] = true
	}
	var out []discovery.Resource
	for name := range names {
		for _, gvk := range k.Named(name) {
			out = append(out, k.resourceOf(gvk))
		}
	}
	slices.SortFunc(out, func(a, b discovery.Resource) int { return compareResources(a.GVR, b.GVR) })
	return out, nil
}

func (k *Kinds) resourceOf(gvk schema.GroupVersionKind) discovery.Resource {
	resource, _ := k.ResourceFor(gvk)
	return discovery.Resource{
		GVR: resource, GVK: gvk, Names: k.names[gvk.GroupKind()], Namespaced: k.Namespaced(gvk),
		Unwatchable: slices.Contains(unwatchable, gvk.GroupKind()),
	}
}

func compareResources(a, b schema.GroupVersionResource) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource))
}
