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

// Holder is what decides which policies are about an object.
type Holder struct {
	// Kind of the object.
	Kind schema.GroupKind
	// Labels of the object.
	Labels map[string]string
	// NamespaceLabels are the labels of its namespace, nil where it has none.
	NamespaceLabels map[string]string
}

// InEffect returns the policies in effect for the first of a chain of holders, of
// which each is the parent of the one before, up to the root or to the last that
// is known. The oldest policy comes first.
//
// A policy is in effect for a holder that it selects if somebody can start the
// chains that it continues: it names an initiator, or a policy in effect for the
// holder's parent names the holder's resource (D2).
func (i *Index) InEffect(chain []Holder) []*Policy {
	if len(chain) == 0 {
		return nil
	}
	holder := chain[0]
	var effective []*Policy
	bounded, asked := false, false
	for p := range i.selecting(holder) {
		if !p.HasInitiator() {
			if !asked {
				bounded, asked = i.bounds(chain[1:], holder.Kind), true
			}
			if !bounded {
				continue
			}
		}
		effective = append(effective, p)
	}
	return effective
}

// bounds reports whether a policy in effect for the first of the chain names the
// resource of the child's kind.
func (i *Index) bounds(chain []Holder, child schema.GroupKind) bool {
	return slices.ContainsFunc(i.InEffect(chain), func(p *Policy) bool { return p.Bounds(child) })
}

// Approving are, for each holder above the first of a chain, the policies in effect for it
// that name the next kind down: who may initiate by one of them may approve changes of the
// first. It ends where no policy names it, as what is further up has nothing to say about
// what is below (D5).
func (i *Index) Approving(chain []Holder) [][]*Policy {
	var out [][]*Policy
	for n := 1; n < len(chain); n++ {
		var naming []*Policy
		for _, p := range i.InEffect(chain[n:]) {
			if p.Bounds(chain[n-1].Kind) {
				naming = append(naming, p)
			}
		}
		if len(naming) == 0 {
			break
		}
		out = append(out, Strictest(naming))
	}
	return out
}

// MayInitiateAbove reports whether the requester may initiate above the first of a chain
// of holders, where that counts for it.
func (i *Index) MayInitiateAbove(chain []Holder, r Requester) bool {
	return slices.ContainsFunc(i.Approving(chain), func(policies []*Policy) bool { return MayInitiate(r, policies) })
}

// InitiatorsOf returns who may initiate on the first of a chain of holders; where its policies
// name nobody, on the next one above it where that counts for it.
func (i *Index) InitiatorsOf(chain []Holder) []string {
	if out := InitiatorsIn(Strictest(i.InEffect(chain))); len(out) > 0 {
		return out
	}
	return i.InitiatorsAbove(chain)
}

// InitiatorsAbove returns who may initiate above the first of a chain of holders, where that counts for it.
func (i *Index) InitiatorsAbove(chain []Holder) []string {
	for _, policies := range i.Approving(chain) {
		if out := InitiatorsIn(policies); len(out) > 0 {
			return out
		}
	}
	return nil
}

// Strictest filters policies that are in effect for an object to those that say Deny, where one does:
// who may initiate by the others alone starts nothing that these withhold, and so has no say in
// what is below the object either.
func Strictest(policies []*Policy) []*Policy {
	var strict []*Policy
	for _, p := range policies {
		if p.Action == v1alpha1.ActionDeny {
			strict = append(strict, p)
		}
	}
	if len(strict) == 0 {
		return policies
	}
	return strict
}
