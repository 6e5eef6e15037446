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
	"errors"
	"slices"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// Grant is what the child's own ledger gets from a request, and what leaves it.
type Grant struct {
	// Allowances are what was granted.
	Allowances []v1alpha1.Allowance
	// Withheld are the changes that triggered a rule and earned nothing.
	Withheld []v1alpha1.Allowance
	// Refuse is true where a policy wants such a write refused instead.
	Refuse bool
	// Standing is how the object compares with its approved content after the request;
	// nil where that is not looked at.
	Standing *approved.Standing
	// Triggered is true where a rule, or a section, was triggered at all.
	Triggered bool
	// Problems are the conditions that did not hold.
	Problems []Problem
	// Spared is what policies that only warn or audit would have withheld or refused; nil where
	// that is nothing.
	Spared *Spared
	// TooLarge says why the request gets no allowances although it would earn some:
	// the ledger has no room for them.
	TooLarge error
}

// Problem is a condition that kept a change from allowing anything.
type Problem struct {
	// Policy and Expression name the condition.
	Policy, Expression string
	// Path is the change that triggered its rule.
	Path string
	// Err is set where the condition could not be evaluated.
	Err error
}

// Why says why the condition could not be evaluated, as what it does: "costs too much". It is for
// where Err is set.
func (p Problem) Why() string {
	if failed, ok := errors.AsType[*policy.EvalError](p.Err); ok {
		return failed.Why
	}
	return "could not be evaluated"
}

// OpensGate reports whether the grant has an entry that opens the child's own gate.
func (g *Grant) OpensGate() bool {
	return slices.ContainsFunc(g.Allowances, func(a v1alpha1.Allowance) bool { return ledger.NewEntry(a).IsGate() })
}

// Incomplete reports whether a trigger matched and something was not granted. The
// admission webhook then looks again with the parent read live, since a lost
// grant is worse than a denial (D2).
func (g *Grant) Incomplete() bool {
	return g.Triggered && (len(g.Allowances) == 0 || len(g.Withheld) > 0)
}

// Grants returns what the child's ledger gets. It does not depend on which check
// let the request through, only on whether one did.
func Grants(ctx context.Context, in *Input, v Verdict) Grant {
	if !v.Allowed || in.Operation == Delete {
		return Grant{}
	}
	grant := in.ownGrant(ctx, v)
	if grant.Standing == nil && in.Operation == Update {
		in.withhold(unapproved{}, nil, &grant)
	}
	grant.Allowances = in.aboutItself(grant.Allowances)
	grant.add(in.external(v)...)
	return grant
}

// ownGrant returns what the child's own policies grant.
func (in *Input) ownGrant(ctx context.Context, v Verdict) Grant {
	if len(in.OwnPolicies) == 0 {
		return Grant{}
	}
	switch v.Reason {
	case ReasonOwn, ReasonFinishing, ReasonBookkeeping:
		return Grant{} // These trigger nothing.
	default:
	}
	if in.Operation == Create {
		return in.grantCreation(v)
	}
	return in.grantUpdate(ctx, v)
}

// DeletionTrace returns who started the chain that deletes the child, and the
// way from there to it.
func DeletionTrace(in *Input, v Verdict) (initiator string, trace []v1alpha1.TraceHop) {
	o := in.chainOfHolder(Delete, v)
	return o.initiator, append(slices.Clone(o.trace), in.hop(v1alpha1.FieldDeleted, nil))
}

// grantCreation grants what the initializing section allows: the creation of an
// object is the cause of what its controllers do until it has settled (D9).
func (in *Input) grantCreation(v Verdict) Grant {
	o := in.chainOfHolder(Create, v)
	trace := append(slices.Clone(o.trace), in.hop(v1alpha1.FieldCreated, in.attesting(o, nil)))
	grant := Grant{Triggered: true}
	sections := 0
	for _, p := range in.OwnPolicies {
		if p.Initializing == nil {
			continue
		}
		sections++
		for _, e := range p.Initializing.Entries {
			grant.add(in.entries(e, o.initiator, trace)...)
		}
	}
	if sections == 0 {
		anything := in.anything(o.initiator, trace)
		anything.Mutations = followingVerbs
		grant.add(anything)
	}
	grant.add(in.toReaders(o.initiator, trace, v)...)
	return grant
}

// grantUpdate looks at each change, and at each rule that it triggers.
func (in *Input) grantUpdate(ctx context.Context, v Verdict) Grant {
	g := granter{Input: in, verdict: v, conditions: in.conditions(), usable: append(in.usable(), in.ownReferred()...)}
	refused := g.command(ctx)
	var left unapproved
	for _, c := range in.OwnChanges {
		rules, without := g.change(ctx, c)
		left.add(&g, c, rules, without)
		g.spare(c, rules, without)
	}
	taken := g.approve(ctx, left)
	in.withhold(left, g.approving(ctx, taken), &g.grant)
	if refused {
		g.refuseCommand()
	}
	g.judgeActions(ctx)
	g.judgeReports()
	return g.grant
}

// Triggers reports whether the request changes something of the child that a rule of one
// of its own policies is about, whatever the verdict on it.
func (in *Input) Triggers() bool {
	return slices.ContainsFunc(slices.Concat(in.OwnChanges, in.Approved), func(c change.Change) bool {
		return slices.ContainsFunc(in.OwnPolicies, func(p *policy.Policy) bool { return hasRuleFor(p, c, in.Child.Schema) })
	})
}

func hasRuleFor(p *policy.Policy, c change.Change, declared change.Schema) bool {
	for r := range p.Triggered(c.Path) {
		if _, ok := r.Trigger.Matches(c, declared); ok {
			return true
		}
	}
	return false
}

// granter collects what the changes of an update earn.
type granter struct {
	*Input
	verdict    Verdict
	conditions *conditions
	usable     []permit
	grant      Grant
}

// triggered is a rule whose trigger is at the path of a change, above or below it.
type triggered struct {
	*policy.Rule
	// policy has the rule.
	policy *policy.Policy
	// field is what a trace records of the change; matches is false, and field empty, where the
	// change is none of what the trigger names.
	field   change.Path
	matches bool
	// cause is that of the change by the policy; caused is false where there is none, or where the
	// conditions of the rule do not hold.
	cause  cause
	caused bool
	// strict has the rule withhold whatever its policy says, to see what it would do (Spared).
	strict bool
}

// withholds reports whether a change that the rule gives nothing is withheld.
func (t triggered) withholds() bool { return t.strict || t.policy.Action == v1alpha1.ActionDeny }

// matching filters rules to those that the change triggers.
func matching(rules []triggered) []triggered {
	return slices.DeleteFunc(slices.Clone(rules), func(t triggered) bool { return !t.matches })
}

// rulesAt returns the rules that may be about a change, with its causes. Conditions are left out.
func (g *granter) rulesAt(c change.Change, byAct bool) []triggered {
	var rules []triggered
	for _, p := range g.OwnPolicies {
		for r := range p.Triggered(c.Path) {
			t := triggered{Rule: r, policy: p}
			t.field, t.matches = r.Trigger.Matches(c, g.Child.Schema)
			t.cause, t.caused = g.chain(p, c, byAct)
			rules = append(rules, t)
		}
	}
	return rules
}

// change adds what one change earns, rule by rule, and returns the rules that may be about it, and
// what of it earned nothing. What a rule without a cause withholds earns nothing by the others
// either: their entries would count as soon as somebody else approves it, in the name of who may not.
func (g *granter) change(ctx context.Context, c change.Change) (rules []triggered, without []change.Change) {
	rules = g.judged(ctx, c, false)
	with, without := g.split(c, matching(rules))
	for i := range rules {
		g.giveFor(rules[i], with)
	}
	return rules, without
}

// judged returns the rules that may be about a change. Of those that it triggers the conditions count.
func (g *granter) judged(ctx context.Context, c change.Change, byAct bool) []triggered {
	rules := g.rulesAt(c, byAct)
	for i := range rules {
		if t := &rules[i]; t.matches {
			g.grant.Triggered = true
			g.meet(ctx, t, c, byAct)
		}
	}
	return rules
}

// earn adds what a change allows by a rule that it triggers, where it has a cause and the conditions
// of the rule hold.
func (g *granter) earn(ctx context.Context, t *triggered, c change.Change, byAct bool) {
	g.meet(ctx, t, c, byAct)
	g.give(*t)
}

// meet leaves a change without a cause by a rule of which the conditions do not hold. Who breaks the
// glass says why instead of meeting them, but for what an act approves.
func (g *granter) meet(ctx context.Context, t *triggered, c change.Change, byAct bool) {
	problem := g.unmet(ctx, t, c)
	switch {
	case problem == nil:
	case g.BreakGlass != "" && !byAct:
		t.cause = g.startFrom(ReasonBreakGlass)
	default:
		g.grant.Problems = append(g.grant.Problems, *problem)
		t.caused = false
	}
}

// giveFor adds what a rule allows because of those parts of a change that have a cause, where it is
// about one of them.
func (g *granter) giveFor(t triggered, with []change.Change) {
	for _, part := range with {
		field, matches := t.Trigger.Matches(part, g.Child.Schema)
		if t.matches && matches {
			t.field = field
			g.give(t)
			return
		}
	}
}

// give adds what a rule allows, where it has a cause.
func (g *granter) give(t triggered) {
	if t.caused {
		trace := append(slices.Clone(t.cause.trace), g.hop(shortened(t.field), g.attesting(t.cause, g.capture(t.Capture))))
		g.grant.add(g.grantsOf(t.Rule, t.cause.initiator, trace)...)
	}
}

// withoutCause returns what of a change earned nothing.
func (g *granter) withoutCause(c change.Change, rules []triggered) []change.Change {
	_, without := g.split(c, rules)
	return without
}

// split tells what of a change has a cause from what has none: for some target, none of the rules that
// it triggers has one. If a whole subtree was changed and only some rules have a cause, its parts
// are looked at one by one, as the cause of one field is none of another. A change that has no
// parts, such as another order of a list, then earned nothing.
func (g *granter) split(c change.Change, rules []triggered) (with, without []change.Change) {
	if !hasUnanswered(c, rules) {
		return []change.Change{c}, nil
	}
	isCaused := func(t triggered) bool { return t.withholds() && t.caused }
	isAbove := func(t triggered) bool { return t.withholds() && !t.Trigger.Covers(c.Path) }
	parts := c.Parts()
	if len(parts) == 0 || !slices.ContainsFunc(rules, isCaused) || !slices.ContainsFunc(rules, isAbove) {
		return nil, []change.Change{c}
	}
	for _, part := range parts {
		w, wo := g.split(part, slices.DeleteFunc(slices.Clone(rules), func(t triggered) bool {
			_, ok := t.Trigger.Matches(part, g.Child.Schema)
			return !ok
		}))
		with, without = append(with, w...), append(without, wo...)
	}
	return with, without
}

// hasUnanswered reports whether one of the rules withholds the change: it has no cause, and
// isAnswered finds no others in its place.
func hasUnanswered(c change.Change, rules []triggered) bool {
	return slices.ContainsFunc(rules, func(t triggered) bool { return t.withholds() && !t.caused && !isAnswered(c, t, rules) })
}

// isAnswered reports whether other rules allow something to each target of a rule that has no cause.
// They must have a cause, and be about the same field or about all that changed.
func isAnswered(c change.Change, without triggered, rules []triggered) bool {
	targets := targetsOf(without.Rule)
	for _, t := range rules {
		if t.withholds() && t.caused && (t.Trigger.Covers(c.Path) || slices.Equal(t.Trigger, without.Trigger)) {
			targets = slices.DeleteFunc(targets, func(target string) bool { return slices.Contains(targetsOf(t.Rule), target) })
		}
	}
	return len(targets) == 0
}

// unmet returns what keeps a change that has a cause from earning something by a rule: the first of
// its conditions that does not hold. It is nil where all do, or the change has no cause.
func (g *granter) unmet(ctx context.Context, t *triggered, c change.Change) *Problem {
	if !t.caused {
		return nil
	}
	problem := g.conditions.hold(ctx, t.Conditions)
	if problem == nil {
		return nil
	}
	return &Problem{Policy: t.policy.Name, Expression: problem.expression, Path: c.Path.String(), Err: problem.err}
}

// refuses reports whether a rule that the change triggers belongs to a policy that
// refuses uncaused changes, or whether the change would be carried out although it is withheld. The
// difference is what it leaves between the object and its approved content.
func (in *Input) refuses(c, difference change.Change) bool {
	return slices.ContainsFunc(in.OwnPolicies, func(p *policy.Policy) bool {
		return p.Action == v1alpha1.ActionDeny && hasRuleFor(p, c, in.Child.Schema) && in.refusesBy(p, c, difference)
	})
}

// refusesBy reports whether a policy has a change refused where it would withhold it.
func (in *Input) refusesBy(p *policy.Policy, c, difference change.Change) bool {
	known := p.Known()
	return p.Uncaused == v1alpha1.UncausedRefuse || !known.Waits(in.Child.New, c.Path) || wantsFewerPods(known, c, difference)
}

// add adds allowances; of several for the same thing by the same initiator the
// first stays, which is that of the first change in order.
func (g *Grant) add(allowances ...v1alpha1.Allowance) {
	for _, a := range allowances {
		key := ledger.KeyOf(&a)
		if !slices.ContainsFunc(g.Allowances, func(b v1alpha1.Allowance) bool {
			return b.Initiator == a.Initiator && ledger.KeyOf(&b) == key
		}) {
			g.Allowances = append(g.Allowances, a)
		}
	}
}
