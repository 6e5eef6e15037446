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

package policy

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
)

// categoryManaged is that of what Crossplane's providers manage. Which of these kinds an entry
// about the outside is for, its policy does not say in the cluster.
const categoryManaged = "managed"

// GroupsBelow returns the groups of the requester as whose member they may initiate on what
// policies name below objects of a kind, at any depth, in order.
func (i *Index) GroupsBelow(kind schema.GroupKind, r Requester) []string {
	var out []string
	i.below(kind, func(p *Policy) {
		for _, s := range p.subjects {
			if p.Action == v1alpha1.ActionDeny && s.MayInitiate && s.Kind == v1alpha1.SubjectGroup &&
				matches(s.Subject, r) && !slices.Contains(out, s.Name) {
				out = append(out, s.Name)
			}
		}
	})
	slices.Sort(out)
	return out
}

// below shows the policies for the kinds that policies name below a kind, at any depth.
func (i *Index) below(kind schema.GroupKind, show func(*Policy)) {
	seen, next := map[schema.GroupKind]bool{kind: true}, []schema.GroupKind{kind}
	note := func(k schema.GroupKind) {
		if !seen[k] {
			seen[k] = true
			next = append(next, k)
		}
	}
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		for _, p := range i.For(at) {
			if at != kind {
				show(p)
			}
			for k := range p.bounds {
				note(k)
			}
			if slices.ContainsFunc(p.Entries(), Entry.IsExternal) {
				i.eachManaged(note)
			}
		}
	}
}

// eachManaged shows the kinds of what providers manage that policies are for.
func (i *Index) eachManaged(show func(schema.GroupKind)) {
	for k := range i.byKind {
		if i.HasCategory(k, categoryManaged) {
			show(k)
		}
	}
}
