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
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// A controller may replace a field of the very object that it looks after, as an annotation tells
// it to: the Deployment controller goes back to an older template by deprecated.deployment.rollback.to.
// Who writes that changes the template, with one difference: the change that can be withheld comes
// later, and in the name of the controller. So nobody but who may initiate on that field gives such
// a command, and what the controller then does is caused by who gave it. Observed without that: a
// stranger's rollback was refused to the controller again and again, which did nothing else meanwhile,
// and no record named the stranger.

// command adds what a command earns by the rules about the field that it has replaced, and reports
// whether it may not be given, as they give its requester nothing. It comes before all changes: of
// several entries for one thing the first stays, and what the controller does is found by these.
func (g *granter) command(ctx context.Context) (refused bool) {
	if g.Command == nil {
		return false
	}
	c := change.Change{Path: g.Command.Replaces, Verb: change.Mutate}
	rules := g.rulesAt(c, false)
	for i := range rules {
		// Nobody knows yet what is replaced, so it may be any part of the field.
		t := &rules[i]
		t.matches, t.field = true, g.Command.Field
		g.grant.Triggered = true
		g.earn(ctx, t, c, false)
	}
	return hasUnanswered(c, rules)
}

// refuseCommand has the request refused for the command in it.
func (g *granter) refuseCommand() {
	g.grant.Refuse = true
	g.grant.Withheld = append(g.grant.Withheld, v1alpha1.Allowance{
		Relation: v1alpha1.RelationWithheld, Mutation: g.Command.Field.String(),
		Generation: g.Child.Generation, Initiator: g.Requester.Username,
	})
}

// commanded returns the cause of what a controller replaces as a command tells it: that of the
// command, as the ledger of the object has it. A command that nobody with a right to it gave, as
// one that came while no operator looked, has none there.
func (in *Input) commanded(s step) (cause, bool) {
	if in.Obeys == nil || s.act.Operation != Update || !change.Pattern(in.Obeys.Replaces).Covers(s.act.Change.Path) ||
		!policy.MayExercise(in.Requester, in.OwnPolicies, nil) {
		return cause{}, false
	}
	field := in.Obeys.Field.String()
	i := slices.IndexFunc(in.Child.Ledger, func(e ledger.Entry) bool {
		return len(e.Trace) > 0 && e.Trace[len(e.Trace)-1].Field == field
	})
	if i < 0 {
		return cause{}, false
	}
	return cause{initiator: in.Child.Ledger[i].Initiator, trace: slices.Clone(in.Child.Ledger[i].Trace)}, true
}
