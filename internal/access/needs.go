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

// Package access knows which rights on objects of others the operator needs for a policy, which of
// them it has, and what would give it the rest. None of them come with the installation but those
// for workloads: who names a kind in a policy decides that the operator may read it.
package access

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/policy"
)

// statusSubresource is the one in which objects show what becomes of them.
const statusSubresource = "status"

// Need is a right in the whole cluster, or in one namespace.
type Need struct {
	Group, Resource string
	// Subresource is empty for the objects themselves.
	Subresource string
	Verb        string
	// Namespace is empty for the whole cluster, and Name for objects of any name.
	Namespace, Name string
}

// String says it as RBAC does: "patch deployments.apps/status".
func (n Need) String() string {
	text := n.Verb + " " + schema.GroupResource{Group: n.Group, Resource: n.Resource}.String()
	if n.Subresource != "" {
		text += "/" + n.Subresource
	}
	if n.Name != "" {
		text += " " + n.Name
	}
	if n.Namespace != "" {
		text += " in namespace " + n.Namespace
	}
	return text
}

// Served knows how the API server serves what policies name.
type Served interface {
	// ByKind returns the resource of a kind, and false where it is not served.
	ByKind(kind schema.GroupVersionKind) (discovery.Resource, bool)
	// ByResource returns a resource by its name, and false where it is not served.
	ByResource(resource schema.GroupVersionResource) (discovery.Resource, bool)
}

// Of returns the rights that the operator needs for a policy, sorted. Objects of its kind, and
// those that have a gate, are kept in a cache, carry annotations, and show what becomes of them. Of
// what else it names single objects are read, and of Pods all that belong to one.
func Of(p *policy.Policy, served Served, gated []discovery.Resource) []Need {
	needs := sets.Set[Need]{}
	add := func(resource discovery.Resource, subresource string, verbs ...string) {
		for _, verb := range verbs {
			needs.Insert(Need{Group: resource.GVR.Group, Resource: resource.GVR.Resource, Subresource: subresource, Verb: verb})
		}
	}
	followed := slices.Clone(gated)
	if holder, ok := served.ByKind(p.For); ok {
		followed = append(followed, holder)
	}
	for _, resource := range followed {
		add(resource, "", "get", "list", "watch", "patch")
		if slices.Contains(resource.Subresources, statusSubresource) {
			add(resource, statusSubresource, "patch")
		}
	}
	for _, e := range p.Entries() {
		if resource, ok := served.ByResource(e.Resource); ok && !e.IsExternal() {
			add(resource, "", "get")
			if resource.GVR.Group == "" && resource.GVR.Resource == "pods" {
				add(resource, "", "list")
			}
		}
	}
	return slices.SortedFunc(maps.Keys(needs), compare)
}

func compare(a, b Need) int {
	return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Resource, b.Resource),
		strings.Compare(a.Subresource, b.Subresource), strings.Compare(a.Verb, b.Verb))
}
