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

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/policy"
)

// Acts through the status of an object, such as the promotion of a canary, are judged as any
// other trigger, with two differences. A status can carry no note that something is
// withheld, and a controller acts on it at once: so what nobody with the right to it does is
// refused. And what is allowed is not about a field that changed.

// ReportsStatus reports whether the requester is one of those who report in the status what
// they do, and who use what is allowed: what they write there is no action.
func (in *Input) ReportsStatus() bool {
	return in.Operator || !in.maybeInitiates() && policy.MayExercise(in.Requester, in.OwnPolicies, nil)
}

// maybeInitiates reports whether the requester may initiate on the object or above it.
func (in *Input) maybeInitiates() bool {
	return in.AncestorInitiator || policy.MayInitiate(in.Requester, in.OwnPolicies)
}

// act adds what an action earns, rule by rule, and reports whether it may not be taken: as with a
// change, for some target none of the rules has a cause, or there is neither a cause nor a rule.
func (g *granter) act(ctx context.Context, c change.Change) (refused bool) {
	var rules []triggered
	for _, p := range g.OwnPolicies {
		if !p.HasActions() {
			continue
		}
		g.grant.Triggered = true
		o, caused := g.causeOfAction(p)
		acted := p.Acted(c.Path)
		refused = refused || len(acted) == 0 && !caused && p.Action == v1alpha1.ActionDeny
		for _, rule := range acted {
			t := triggered{Rule: rule, policy: p, field: c.Path, matches: true, cause: o, caused: caused}
			g.earn(ctx, &t, c, false)
			rules = append(rules, t)
		}
	}
	return refused || hasUnanswered(c, rules)
}

// causeOfAction finds the cause of an action, for a policy.
func (g *granter) causeOfAction(p *policy.Policy) (cause, bool) {
	switch {
	case p.MayInitiate(g.Requester), g.AncestorInitiator:
		return g.start(), true
	case g.BreakGlass != "":
		return g.startFrom(ReasonBreakGlass), true
	case carries(g.verdict.Reason):
		return g.startFrom(g.verdict.Reason), !g.freesPeople(g.verdict.Reason) || g.Requester.IsController()
	default:
		return cause{}, false
	}
}

// judgeActions adds what the actions of an update earn, and has it refused where one may not
// be taken.
func (g *granter) judgeActions(ctx context.Context) {
	for _, c := range g.Actions {
		if !g.act(ctx, c) {
			continue
		}
		g.grant.Refuse = true
		g.grant.Withheld = append(g.grant.Withheld, v1alpha1.Allowance{
			Relation: v1alpha1.RelationWithheld, Mutation: c.Path.String(),
			Generation: g.Child.Generation, Initiator: g.Requester.Username,
		})
	}
}

// freesPeople reports whether a reason to let something through is the phase of an object or
// of its parent, and not a decision of somebody.
func (g *granter) freesPeople(r Reason) bool {
	return r == ReasonInitializing || r == ReasonMaintaining || r == ReasonAdopting
}
