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
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/selection"
)

// candidates are the policies for a kind, arranged so that those which may select an
// object are found without asking each: where every team has its own policy for the
// same kind, one of thousands is about the object.
type candidates struct {
	// policies are all, the oldest first; what follows are places in it.
	policies []*Policy
	// labeled are those that ask for one of some values of a label.
	labeled map[labelValue][]int
	// names are the labels that they ask for.
	names map[labelName]struct{}
	// others are the rest.
	others []int
}

// labelName is a label of an object, or of its namespace.
type labelName struct {
	ofNamespace bool
	name        string
}

type labelValue struct {
	labelName
	value string
}

// add adds a policy that is younger than those before.
func (c *candidates) add(p *Policy) {
	place := len(c.policies)
	c.policies = append(c.policies, p)
	values := asksFor(p)
	if len(values) == 0 {
		c.others = append(c.others, place)
		return
	}
	if c.labeled == nil {
		c.labeled, c.names = map[labelValue][]int{}, map[labelName]struct{}{}
	}
	for _, v := range values {
		c.labeled[v] = append(c.labeled[v], place)
		c.names[v.labelName] = struct{}{}
	}
}

// asksFor returns the values of one label of which an object, or its namespace, has one if
// the policy selects the object.
func asksFor(p *Policy) []labelValue {
	for _, ofNamespace := range []bool{true, false} {
		selector := p.objectSelector
		if ofNamespace {
			selector = p.namespaceSelector
		}
		requirements, _ := selector.Requirements()
		for _, r := range requirements {
			switch r.Operator() {
			case selection.Equals, selection.DoubleEquals, selection.In:
				out := make([]labelValue, 0, len(r.Values()))
				for value := range r.Values() {
					out = append(out, labelValue{labelName{ofNamespace, r.Key()}, value})
				}
				return out
			default: // Others say what a label is not.
			}
		}
	}
	return nil
}

// selecting returns the policies that select a holder, the oldest first.
func (c *candidates) selecting(h Holder) iter.Seq[*Policy] {
	return func(yield func(*Policy) bool) {
		if c == nil {
			return
		}
		// What has no namespace is selected whatever a policy asks of namespaces.
		if len(c.labeled) == 0 || h.NamespaceLabels == nil {
			for _, p := range c.policies {
				if p.Selects(h.Labels, h.NamespaceLabels) && !yield(p) {
					return
				}
			}
			return
		}
		for _, place := range c.places(h) {
			if p := c.policies[place]; p.Selects(h.Labels, h.NamespaceLabels) && !yield(p) {
				return
			}
		}
	}
}

// places returns the places of the policies that may select the holder.
func (c *candidates) places(h Holder) []int {
	places := slices.Clone(c.others)
	for name := range c.names {
		of := h.Labels
		if name.ofNamespace {
			of = h.NamespaceLabels
		}
		if value, ok := of[name.name]; ok {
			places = append(places, c.labeled[labelValue{name, value}]...)
		}
	}
	slices.Sort(places)
	return places
}
