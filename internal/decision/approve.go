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

	"kausality.io/operator/internal/change"
)

// What somebody approves counts as just changed by them (D20). So nobody approves what they could not
// have changed themselves: each withheld field is judged by all rules about it, whatever the approval
// calls it. *Observed* where only the rules about what the approval names were asked: a policy that warns had a
// rule about all of the spec, and whoever could initiate by that approved with * the image that another
// policy withheld.

// approve adds what the request approves earns, and returns the places that are approved. What stays
// withheld earns nothing, nor does what is above it or below.
func (g *granter) approve(ctx context.Context, of unapproved) []change.Path {
	if len(g.Approved) == 0 {
		return nil
	}
	var taken, left []change.Path
	if st := g.after(of, nil); st != nil {
		for _, d := range st.Differences {
			asked := slices.ContainsFunc(g.Approved, func(c change.Change) bool { return change.Pattern(c.Path).Covers(d.Path) })
			if asked && g.take(ctx, d.Change) {
				taken = append(taken, d.Path)
			} else if d.Counts {
				left = append(left, d.Path)
			}
		}
	}
	for _, c := range g.Approved {
		isWithheld := slices.ContainsFunc(left, c.Path.Overlaps)
		isTaken := slices.ContainsFunc(taken, func(p change.Path) bool { return slices.Equal(p, c.Path) })
		if !isWithheld && !isTaken && g.take(ctx, c) {
			taken = append(taken, c.Path)
		}
	}
	return taken
}

// take adds what approving a change earns, and reports whether it is approved.
func (g *granter) take(ctx context.Context, c change.Change) bool {
	rules := g.judged(ctx, c, true)
	about := matching(rules)
	if len(about) == 0 || len(g.withoutCause(c, about)) > 0 {
		return false
	}
	// What is above other fields is approved with them: a rule about these may withhold it.
	if hasUnanswered(c, rules) && !slices.ContainsFunc(about, func(t triggered) bool { return t.withholds() && t.caused }) {
		return false
	}
	for _, t := range about {
		g.give(t)
	}
	return true
}
