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

package admission

import (
	"context"

	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lifecycle"
)

// outcome is what becomes of a request as far as one parent of its object has a say, with
// the facts by which that was decided. Nothing of it changes any more.
type outcome struct {
	*facts
	// verdict is whether the request may make its changes.
	verdict decision.Verdict
	// grant is what the object's own ledger gets by it.
	grant decision.Grant
	// next is the ledger that the object has after the request.
	next ledger.Ledger
	// deviates is how the ledger that it is about to be stored with differs from that.
	deviates deviation
	// justCeased is true where its foreign allowances were granted because of a creation that has ended since.
	justCeased bool
	// setting is what the request makes of the object's gate, where it has one.
	setting gate.Setting
}

// decideFor decides with what the cache knows, and, where a fresher look could make a
// difference, once more with the parent read live: a cache that is behind the
// requester's must never cause a denial, nor the loss of a grant, which is worse
// (D2, D5). Both hooks decide in the same way, so that they agree.
func (g *Gatherer) decideFor(ctx context.Context, r *request) (*outcome, error) {
	if g.Current != nil {
		if err := g.Current(ctx); err != nil {
			return g.decideBlindly(ctx, r, err)
		}
	}
	o, err := g.decideOnce(ctx, r, doubtNone, nil)
	if err != nil {
		return g.decideBlindly(ctx, r, err)
	}
	why := r.doubts(o)
	if why == doubtNone {
		return o, nil
	}
	again, err := g.decideOnce(ctx, r, why, o.withheldOfParent)
	switch {
	case err == nil:
		return again, nil
	case !o.stands():
		return nil, err
	default:
		// It is not as sure as it could be, and the requester may try again. To let
		// through what was refused already would be worse.
		logf.FromContext(ctx).Error(err, "Cannot look again whether a refusal is right; it stands",
			"kind", r.gvk.Kind, "namespace", r.namespace, "name", r.objectName(), "operation", r.operation, "user", r.requester.Username)
		return o, nil
	}
}

// decideBlindly decides by what was last known, as nothing can be read because of an error.
// What is refused by that stands; whether anything else may pass nobody can say.
func (g *Gatherer) decideBlindly(ctx context.Context, r *request, because error) (*outcome, error) {
	o, err := g.decideOnce(ctx, r, doubtBlind, nil)
	if err != nil || !o.stands() {
		return nil, because
	}
	logf.FromContext(ctx).Error(because, "Cannot look whether a refusal is right; it stands",
		"kind", r.gvk.Kind, "namespace", r.namespace, "name", r.objectName(), "operation", r.operation, "user", r.requester.Username)
	return o, nil
}

// stands reports whether what was decided by the cache holds where it could not be
// confirmed: a denial, what is withheld or not granted, and allowances that nobody granted.
// What only passes because of the phase of its parent does not.
func (o *outcome) stands() bool {
	return !o.verdict.Allowed || o.grant.Incomplete() || len(o.leaving)+len(o.deviates.foreign) > 0
}

// decideOnce decides with the parent read live where there is a doubt; before is what was
// seen withheld of the parent when the request was decided before.
func (g *Gatherer) decideOnce(ctx context.Context, r *request, why doubt, before []*approved.Standing) (*outcome, error) {
	f, err := g.gather(ctx, r, why, before)
	if err != nil {
		return nil, err
	}
	verdict := decision.Decide(ctx, &f.Input)
	if len(verdict.Uncovered) > 0 && why != doubtNone && why != doubtBlind {
		if err := g.gatherUpgrades(ctx, r, f); err != nil {
			return nil, err
		}
		if len(f.Upgrades) > 0 {
			verdict = decision.Decide(ctx, &f.Input)
		}
	}
	verdict = f.byBrokenGlass(ctx, verdict)
	verdict = f.byNeededGlass(ctx, r, verdict)
	if !verdict.Allowed && why != doubtBlind {
		g.gatherHelpless(ctx, r, f, verdict)
	}
	if f.Uncreated && why != doubtNone && why != doubtBlind {
		g.gatherMoving(ctx, f)
	}
	f.findApprovedBefore(ctx, r, verdict)
	o := &outcome{facts: f, verdict: verdict, grant: decision.Grants(ctx, &f.Input, verdict)}
	o.next = f.bound(ctx, r, &o.grant)
	o.deviates = o.deviation(r)
	o.justCeased = o.hasJustCeased(ctx, r, o.deviates.foreign)
	o.setting = o.gateSetting(r)
	return o, nil
}

// doubts returns why a fresher look at the parent could make a difference. It could to a
// refusal, to what is not granted, and to what passes without an allowance, only
// because of the phase that the parent was in when the cache last heard of it:
// observed, a Pod that a rollout created was recorded as healing, without a trace,
// and a stranger could scale what had just ceased to be initializing.
func (r *request) doubts(o *outcome) doubt {
	if why := r.doubtAboutParent(o); why != doubtNone {
		return why
	}
	if len(o.deviates.foreign) > 0 || o.hasMissed {
		return doubtLedger
	}
	return doubtNone
}

func (r *request) doubtAboutParent(o *outcome) doubt {
	switch {
	case o.ParentState != decision.ParentFound && o.reads(r.gvk.GroupKind()) && o.grant.Incomplete():
		return doubtGrant
	case o.ParentState != decision.ParentFound:
		return doubtNone
	case o.doubtsGate(r), o.Uncreated:
		return doubtGrant
	case !r.validating && !o.mayEarn():
		return doubtNone // The mutating hook gives no verdict, and there is nothing to grant.
	case o.grant.Incomplete() && (o.grant.TooLarge == nil || len(o.grant.Withheld) > 0):
		return doubtGrant
	case len(o.verdict.Uncovered) > 0:
		return doubtUncovered
	}
	if o.Adoption != nil {
		return doubtPhase // What makes it a stray, or not, can be a moment old.
	}
	switch o.verdict.Reason {
	case decision.ReasonMaintaining, decision.ReasonInitializing, decision.ReasonAdopting, decision.ReasonReleased, decision.ReasonDiscarding,
		decision.ReasonReturning:
		if o.verdict.Exercised == nil {
			return doubtPhase
		}
	default:
	}
	return doubtNone
}

// mayEarn reports whether the object could get something, if the parent were other than
// the cache has it: an allowance, an open gate, or broken glass.
func (f *facts) mayEarn() bool {
	return f.Gate != nil || f.BreakGlass != "" || len(f.OwnPolicies) > 0 && (f.Operation != decision.Update || f.Triggers() || f.Command != nil || len(f.Actions)+len(f.Reports) > 0)
}

// bound cuts the grant down to what the ledger has room for, and returns the ledger
// that the object then has: where its bounds would be exceeded, the request gets no
// allowances at all (D4). What is withheld, or ends, is written down all the same.
func (f *facts) bound(ctx context.Context, r *request, grant *decision.Grant) ledger.Ledger {
	next := f.nextLedger(ctx, r, *grant)
	if len(grant.Allowances) == 0 {
		return next
	}
	if err := next.Check(); err != nil {
		grant.Allowances, grant.TooLarge = nil, err
		return f.nextLedger(ctx, r, *grant)
	}
	return next
}

// nextLedger returns the ledger that the object has after the request: what counted
// before, less what is consumed, plus what is granted.
func (f *facts) nextLedger(ctx context.Context, r *request, grant decision.Grant) ledger.Ledger {
	var kept ledger.Ledger
	if len(f.Child.Ledger) > 0 {
		spent := lifecycle.Consumed(ctx, r.seen(), f.OwnPolicies, lifecycle.Unknown)
		kept = f.Child.Ledger.Without(func(e ledger.Entry) bool { return spent(e) && !r.keepsCreation(f, e) })
	}
	return f.keptByOperator(r, kept).
		Merge(grant.Allowances...).
		Merge(decision.Withheld(grant.Standing).Allowances()...).
		Merge(decision.Waiting(grant.Standing).Allowances()...).
		Merge(r.marksWithoutPolicy(f).Allowances()...)
}
