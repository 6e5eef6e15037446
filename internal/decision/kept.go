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

	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/policy"
)

// What is withheld is approved by who has a right to it, and not by who changes it again while the rule
// about it is gone, or its policy only warns or audits: nothing is held back then, and nothing becomes approved.
// *Observed* where whatever no rule withheld was approved: a stranger changed the image that was withheld once more
// while the policy only warned, and when it denied again an initiator's next change rolled that out.

// unapproved is what of a request does not become approved.
type unapproved struct {
	// uncaused are changes that a rule in effect withholds.
	uncaused []change.Change
	// kept are changes that no such rule is about, at places that differ from what is approved.
	kept []change.Change
	// apart are the places of maps that go, of which only parts become approved.
	apart []change.Path
}

// all returns all changes that do not become approved.
func (u *unapproved) all() []change.Change { return slices.Concat(u.uncaused, u.kept) }

// add adds what of a change that triggers the rules has no cause, and what is kept of the rest.
func (u *unapproved) add(g *granter, c change.Change, rules []triggered, without []change.Change) {
	kept := g.kept(c, rules)
	u.uncaused, u.kept = append(u.uncaused, without...), append(u.kept, kept...)
	if c.Verb == change.Delete && (hasUnanswered(c, rules) || len(kept) > 0) {
		u.apart = append(u.apart, c.Path)
	}
}

// kept returns what of a change stays as little approved as what was there before: it differs from what is
// approved, no rule in effect says who may change it, and the requester has no right to it either.
func (g *granter) kept(c change.Change, rules []triggered) []change.Change {
	if st := g.Child.Standing; st == nil || !st.DiffersAt(c, g.Child.New) {
		return nil
	}
	about := g.triggeredBy(c, rules)
	decides := func(t triggered) bool { return t.withholds() && t.Trigger.Covers(c.Path) }
	if slices.ContainsFunc(about, decides) {
		return nil
	}
	parts := c.Parts()
	if len(parts) == 0 || !slices.ContainsFunc(about, triggered.withholds) {
		if g.hasRight(c, about, false) {
			return nil
		}
		return []change.Change{c}
	}
	var kept []change.Change
	for _, part := range parts {
		kept = append(kept, g.kept(part, about)...)
	}
	return kept
}

// triggeredBy filters rules to those that a part of a change triggers.
func (g *granter) triggeredBy(c change.Change, rules []triggered) []triggered {
	return slices.DeleteFunc(slices.Clone(rules), func(t triggered) bool {
		_, matches := t.Trigger.Matches(c, g.Child.Schema)
		return !matches
	})
}

// hasRight reports whether the requester has a right to a change that the policies in effect let anybody make. Of
// those that would only warn of it the rules say who has, as if they denied; where none is about it, who could start
// something by one of the policies has.
func (g *granter) hasRight(c change.Change, about []triggered, byAct bool) bool {
	if len(about) == 0 {
		return slices.ContainsFunc(policy.Strictest(g.OwnPolicies), func(p *policy.Policy) bool {
			_, caused := g.chain(p, c, byAct)
			return caused
		})
	}
	strict := slices.Clone(about)
	for i := range strict {
		strict[i].strict = true
	}
	return len(g.withoutCause(c, strict)) == 0
}

// approving returns what the request approves of what differs after it, at or below the places that it approves. What
// waits for a rule is approved by whoever could change it.
func (g *granter) approving(ctx context.Context, taken []change.Path) func(approved.Difference) bool {
	return func(d approved.Difference) bool {
		covers := func(p change.Path) bool { return change.Pattern(p).Covers(d.Path) }
		return slices.ContainsFunc(taken, covers) && (d.Counts || g.mayApproveWaiting(ctx, d.Change))
	}
}

func (g *granter) mayApproveWaiting(ctx context.Context, c change.Change) bool {
	about := matching(g.rulesAt(c, true))
	for i := range about {
		if g.unmet(ctx, &about[i], c) != nil {
			about[i].caused = false
		}
	}
	return g.hasRight(c, about, true)
}
