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
	"strings"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/policy"
)

// NotMet names the conditions because of which nobody can approve changes of an object as it is, with the policies that
// have them: those of the rules about the changes, for whose targets no other rule answers. They are asked at an approval
// as they were at the change (D14). What a condition says of who asks cannot be told before somebody does, and is taken
// to hold. The policies are those in effect for the object. Of the object its coordinates and New are read.
func NotMet(ctx context.Context, policies []*policy.Policy, object Child, paths ...string) []string {
	object.Old = object.New // Approving changes nothing of it.
	held := (&Input{Operation: Update, Child: object}).conditions()
	out := make([]string, 0, len(paths))
	for _, text := range paths {
		path, err := change.ParsePath(text)
		if err != nil {
			continue
		}
		for _, problem := range notMetAt(ctx, policies, held, path) {
			if text := problemText(problem); !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out
}

func notMetAt(ctx context.Context, policies []*policy.Policy, held *conditions, path change.Path) []Problem {
	var rules []triggered
	problems := map[*policy.Rule][]Problem{}
	for _, p := range policies {
		for r := range p.Triggered(path) {
			for _, condition := range r.Conditions {
				if unmet := held.holds(ctx, condition); unmet != nil && !asksWho(condition) {
					problems[r] = append(problems[r], Problem{Policy: p.Name, Expression: unmet.expression, Path: path.String(), Err: unmet.err})
				}
			}
			rules = append(rules, triggered{Rule: r, policy: p, caused: len(problems[r]) == 0})
		}
	}
	var out []Problem
	for _, t := range rules {
		if t.withholds() && !t.caused && !isAnswered(change.Change{Path: path}, t, rules) {
			out = append(out, problems[t.Rule]...)
		}
	}
	return out
}

// asksWho reports whether a condition may depend on who makes a request.
func asksWho(c *policy.Condition) bool {
	return strings.Contains(c.Source(), "request") && strings.Contains(c.Source(), "user")
}

// problemText names a condition that does not hold.
func problemText(p Problem) string {
	text := p.Expression + " (AllowancePolicy " + p.Policy + ")"
	if p.Err != nil {
		text += ", which " + p.Why()
	}
	return text
}
