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
	"slices"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/policy"
)

// Spared is what a request changes that policies which only warn or audit would have withheld or
// refused, if they said Deny. It has no effect on anything: nothing is kept of what was approved by
// such policies, so that each change is judged by itself.
type Spared struct {
	// Action is Warn where one of the policies says that, else Audit.
	Action v1alpha1.ValidationAction
	// Policies that would have done so.
	Policies []*policy.Policy
	// Paths of what they would have withheld.
	Paths []string
	// Refused is true where the request would have been refused.
	Refused bool
}

// spare notes what of a change the policies that do not say Deny would have withheld, but for what is
// withheld by those that do. What these allow to a target answers for the others as well.
func (g *granter) spare(c change.Change, rules []triggered, withheld []change.Change) {
	if !slices.ContainsFunc(rules, func(t triggered) bool { return !t.withholds() }) {
		return
	}
	isWithheld := func(part change.Change) bool {
		return slices.ContainsFunc(withheld, func(w change.Change) bool { return change.Pattern(w.Path).Covers(part.Path) })
	}
	strict := slices.Clone(rules)
	for i := range strict {
		strict[i].strict = true
	}
	for _, part := range slices.DeleteFunc(g.withoutCause(c, matching(strict)), isWithheld) {
		about := slices.DeleteFunc(slices.Clone(strict), func(t triggered) bool {
			_, matches := t.Trigger.Matches(part, g.Child.Schema)
			return !matches
		})
		for _, t := range about {
			if t.policy.Action != v1alpha1.ActionDeny && !t.caused && !isAnswered(part, t, about) {
				g.spareBy(t.policy, part)
			}
		}
	}
}

func (g *granter) spareBy(p *policy.Policy, c change.Change) {
	if g.grant.Spared == nil {
		g.grant.Spared = &Spared{Action: v1alpha1.ActionAudit}
	}
	s := g.grant.Spared
	if p.Action == v1alpha1.ActionWarn {
		s.Action = v1alpha1.ActionWarn
	}
	if !slices.Contains(s.Policies, p) {
		s.Policies = append(s.Policies, p)
	}
	if path := shortened(c.Path); !slices.Contains(s.Paths, path) {
		s.Paths = append(s.Paths, path)
	}
	s.Refused = s.Refused || g.refusesBy(p, c, c)
}
