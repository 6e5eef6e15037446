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

package decision

import (
	"context"
	"slices"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

// Maintainer is who may change a child without an allowance by an entry of a maintaining section: while the parent is
// steady and nothing of it is withheld.
type Maintainer struct {
	// Policy that has the section.
	Policy string
	// Who may do it, for messages; empty where that is whoever may use the parent's allowances, or initiate above it.
	Who []string
	// Conditions, all of which have to hold of the child.
	Conditions []*policy.Condition

	// Serves is true where the requester is one of them. Acts are the refused acts that they may do, and NotMet the
	// conditions that may not hold when they do them. All three are left out where nobody asks for anything.
	Serves bool
	Acts   []Act
	NotMet []Problem
}

// MaintainersOf returns who may change a child without an allowance by the entries of maintaining sections that cover the
// change.
func MaintainersOf(policies []*policy.Policy, covers func(policy.Entry) bool) []Maintainer {
	var out []Maintainer
	for _, p := range policies {
		for _, m := range p.Maintaining {
			if covers(m.Entry) {
				out = append(out, Maintainer{Policy: p.Name, Who: m.Who(), Conditions: m.Conditions})
			}
		}
	}
	return out
}

// maintainers returns who may do what was refused without an allowance, once the parent is steady if it is new: by
// entries that cover all of it, or else a part of it.
func (in *Input) maintainers(ctx context.Context, acts []Act, conditions *conditions) []Maintainer {
	if in.Parent.Phase() == v1alpha1.PhaseDeleting || in.Parent.OneSided || in.IsStray() || slices.ContainsFunc(acts, in.heldBack) {
		return nil
	}
	var all, some []Maintainer
	for _, p := range in.Parent.Policies {
		for _, m := range p.Maintaining {
			who := Maintainer{Policy: p.Name, Who: m.Who(), Conditions: m.Conditions, Serves: in.mayMaintain(m)}
			for _, act := range acts {
				if allows(m.Entry, in.Child.GVK.GroupKind(), act) {
					who.Acts = append(who.Acts, act)
				}
			}
			who.NotMet = notMetBy(ctx, &who, conditions)
			switch len(who.Acts) {
			case 0:
			case len(acts):
				all = append(all, who)
			default:
				some = append(some, who)
			}
		}
	}
	if len(all) > 0 {
		return all
	}
	return some
}

// notMetBy returns those of the conditions of an entry that do not hold, or may not where somebody else asks than who did.
func notMetBy(ctx context.Context, m *Maintainer, conditions *conditions) []Problem {
	if len(m.Acts) == 0 {
		return nil
	}
	var out []Problem
	for _, c := range m.Conditions {
		unmet := conditions.holds(ctx, c)
		switch {
		case unmet != nil:
			out = append(out, Problem{Policy: m.Policy, Expression: unmet.expression, Err: unmet.err})
		case !m.Serves && asksWho(c):
			out = append(out, Problem{Policy: m.Policy, Expression: c.Source()})
		}
	}
	return out
}
