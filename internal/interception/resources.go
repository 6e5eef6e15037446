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

package interception

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/internal/policy"
)

// resource is one resource that policies name, with what all of them need of it.
type resource struct {
	schema.GroupResource
	// version that policies name. Other served versions reach us converted to it
	// (matchPolicy Equivalent), but only as no rule names them: the API server asks in the version
	// of the request where it can.
	version string
	// namespaced says whether its objects live in namespaces.
	namespaced bool
	// subresources that are served.
	subresources sets.Set[string]
	// elsewhere are the sub-resources that only other versions have, each with these: no rule for this
	// version stands for them.
	elsewhere map[string][]string
	// holder says that some policy is for its kind.
	holder bool
	// gated says that its objects have a gate that some policy may ask for.
	gated bool
	// demands are those of policies with failurePolicy Fail, which wins over Ignore (D13).
	demands []demand
}

// written says that annotations of its objects are the webhook's to write.
func (r *resource) written() bool { return r.holder || r.gated }

func (r *resource) isPods() bool { return r.GroupResource == schema.GroupResource{Resource: "pods"} }

// collect returns the resources that policies name and the cluster serves, sorted
// by group and name. All policies name a resource in the same version (policy.Clashes).
func collect(in Input) []*resource {
	found := map[schema.GroupResource]*resource{}
	add := func(served *Served, demands ...demand) *resource {
		gr := served.Resource.GroupResource()
		r := found[gr]
		if r == nil {
			r = &resource{GroupResource: gr, version: served.Resource.Version, subresources: sets.New[string]()}
			found[gr] = r
		}
		r.subresources.Insert(served.Subresources...)
		r.elsewhere = served.Elsewhere
		r.namespaced = served.Namespaced
		r.demands = append(r.demands, demands...)
		return r
	}
	for _, p := range in.Policies {
		holder, served := in.Holder(p.For)
		parents, children, _ := in.demands(p, holder.Namespaced)
		if served && !policy.Exempt(holder.Resource.GroupResource()) {
			add(&holder, parents...).holder = true
		}
		for gvr := range targets(p) {
			if child, ok := in.Child(gvr); ok && !policy.Exempt(gvr.GroupResource()) {
				add(&child, children...)
			}
		}
	}
	// Nobody names the version of what has a gate, which counts only where no policy names one.
	for _, p := range in.Policies {
		holder, _ := in.Holder(p.For)
		_, _, gated := in.demands(p, holder.Namespaced)
		for _, g := range in.gated(p) {
			if !policy.Exempt(g.Resource.GroupResource()) {
				add(&g.Served, gated...).gated = true
			}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *resource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource))
	})
}

// gated are the resources that External entries of p may be about.
func (in *Input) outside(p *policy.Policy) []string {
	if in.Outside == nil {
		return nil
	}
	return in.Outside(p)
}

func (in *Input) gated(p *policy.Policy) []Gated {
	if in.Gated == nil {
		return nil
	}
	return in.Gated(p)
}

// targets returns the resources in the cluster that p bounds. Those of External entries
// are the gate driver's to find (D16).
func targets(p *policy.Policy) sets.Set[schema.GroupVersionResource] {
	result := sets.New[schema.GroupVersionResource]()
	for _, e := range p.Entries() {
		if !e.IsExternal() {
			result.Insert(e.Resource)
		}
	}
	return result
}
