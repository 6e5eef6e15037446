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

package trace

import (
	"cmp"
	"slices"

	"kausality.io/operator/internal/record"
)

// A creation is written down when it is let through. What comes after that, such as a quota or an object of
// its name, may refuse it all the same, and nobody tells Kausality.

// onlyLetCreate reports whether a node tells of an object no more than that somebody was let create it.
func (n *Node) onlyLetCreate() bool { return n.end && n.What == whatCreated && len(n.Next) == 0 }

// proven returns the objects that have been there: those that were let be changed or deleted, or that something was
// asked below, and those whose own records tell so.
func (s *sight) proven(report *Report) []Child {
	var out []Child
	for i := range s.records {
		if rec := &s.records[i]; !record.NeverSeen(rec) {
			ref := rec.Spec.TargetRef
			out = append(out, Child{Kind: ref.Kind, Name: ref.Name, Namespace: ref.Namespace})
		}
	}
	for _, c := range report.Causes {
		c.First.visit(func(n *Node) {
			if !n.onlyLetCreate() {
				out = append(out, n.child())
			}
		})
	}
	return out
}

// putUnprovenLast has a short list show what there is, or was, of a kind to which the same happened.
func (n *Node) putUnprovenLast() {
	slices.SortStableFunc(n.Next, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.What, b.What), compareBool(a.Unproven, b.Unproven))
	})
}

// compareBool puts false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
