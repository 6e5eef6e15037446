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
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/internal/decision"
)

// Validator is the validating webhook: it gives the verdict, after all mutating
// webhooks have run, and makes sure that no grant is lost.
type Validator struct {
	*Gatherer
}

var _ hook = (*Validator)(nil)

// Handle implements admission.Handler.
func (v *Validator) Handle(ctx context.Context, req admission.Request) admission.Response {
	return v.handle(ctx, v, req)
}

func (*Validator) name() string { return hookVerdict }

// receive implements hook.
func (v *Validator) receive(ctx context.Context, req admission.Request) (*request, error) {
	return v.decode(ctx, req)
}

// rule implements hook: a request passes that all parents of the object let through, the
// policies of the object itself, and those of what it has scaled.
func (v *Validator) rule(ctx context.Context, r *request, o *outcome) (*ruling, error) {
	ru := &ruling{outcome: o}
	if !o.verdict.Allowed {
		return ru.refuse(refusedByParent, denied(r, o.facts, o.verdict).WithWarnings(deletionWarnings(r, o)...)), nil
	}
	var err error
	if ru.others, err = v.otherParents(ctx, r, o); err != nil {
		return nil, err
	}
	if last := len(ru.others) - 1; last >= 0 && !ru.others[last].verdict.Allowed {
		return ru.refuse(refusedByParent, denied(r, ru.others[last].facts, ru.others[last].verdict)), nil
	}
	resp, refused, err := v.refusal(ctx, r, o)
	if err != nil {
		return nil, err
	}
	if refused {
		return ru.refuse(refusedByOwn, resp), nil
	}
	if resp, refused := v.endsHold(r, o); refused {
		return ru.refuse(refusedByOwn, resp), nil
	}
	if resp, refused, err := v.abandons(ctx, r, o); err != nil || refused {
		return ru.refuse(refusedByOwn, resp), err
	}
	if why := o.gateDeviation(r); why != "" {
		return ru.refuse(refusedByState, refusedGate(r, o.facts, why)), nil
	}
	if o.AdoptsWithoutCause() && !o.hasRoomForStray() {
		return ru.refuse(refusedByState, refusedStray(r, o.facts)), nil
	}
	if ru.deputy, err = v.judgeDelegation(ctx, r, o.facts, o.verdict); err != nil {
		return nil, err
	}
	if resp, refused := ru.deputy.refusal(r); refused {
		return ru.refuse(refusedByTarget, resp), nil
	}
	ru.staysOutside = o.staysOutside(ctx, r)
	return ru, nil
}

// commit implements hook.
func (v *Validator) commit(ctx context.Context, r *request, ru *ruling) error {
	v.noteWithdrawn(ru)
	if err := v.reserve(ctx, r, ru); err != nil {
		return err
	}
	v.observe(r, ru)
	if ru.refusal != nil {
		switch ru.refusedBy {
		case refusedByOwn:
			v.announceRefusal(r, *ru.refusal)
			v.rememberRefusal(r, ru.facts, ru.grant, *ru.refusal)
		case refusedByTarget:
			v.tellDelegation(r, ru.deputy, *ru.refusal)
		default:
		}
		return nil
	}
	for _, other := range ru.others {
		if err := v.keepUpgrade(ctx, other.r, other.facts, other.verdict); err != nil {
			return err
		}
	}
	if err := v.keep(ctx, r, ru.outcome); err != nil {
		return err
	}
	v.remember(r, ru.outcome)
	if ru.deputy != nil {
		v.noteDelegation(r, ru.deputy)
	}
	return nil
}

// reserve takes what only one request can have: a note that the glass is broken, and the
// place of a Pod that is gone. It returns errTaken where another request has got it.
func (v *Validator) reserve(ctx context.Context, r *request, ru *ruling) error {
	if err := v.reserveBy(ctx, r, ru.facts, ru.refusal == nil); err != nil {
		return err
	}
	for _, other := range ru.others {
		if err := v.reserveBy(ctx, r, other.facts, ru.refusal == nil); err != nil {
			return err
		}
	}
	return nil
}

func (v *Validator) reserveBy(ctx context.Context, r *request, f *facts, passes bool) error {
	if err := v.takeNote(ctx, r, f); err != nil {
		return err
	}
	if passes && !r.dryRun && !v.takePlace(f) {
		return errTaken
	}
	return nil
}

// answer implements hook.
func (v *Validator) answer(ctx context.Context, r *request, ru *ruling) admission.Response {
	resp := admission.Allowed("")
	resp.AuditAnnotations = auditAnnotations(ru.facts, ru.verdict)
	if reason, broken := ru.glassReason(); broken {
		resp.AuditAnnotations[auditReason], resp.AuditAnnotations[auditGlass] = string(decision.ReasonBreakGlass), reason
	}
	if ru.deputy != nil {
		resp.AuditAnnotations[auditTarget] = ru.deputy.text()
	}
	if text := ru.sparedAudit(); text != "" {
		resp.AuditAnnotations[auditUncaused] = text
	}
	resp.Warnings = append(warnings(ctx, r, ru.outcome), ru.deputy.leftWithheld()...)
	if ru.staysOutside {
		resp.Warnings = append(resp.Warnings, ru.staysWarning(r))
	}
	return resp
}

// count implements hook.
func (v *Validator) count(req admission.Request, _ *ruling, resp admission.Response, dryRun bool) string {
	if !dryRun {
		v.countVerdict(req, resp)
	}
	return outcomeOf(resp)
}

// refusal returns the answer where the object's own policies stand in the way of what the
// verdict lets through, or an autoscaler would carry out what they withhold.
func (v *Validator) refusal(ctx context.Context, r *request, o *outcome) (admission.Response, bool, error) {
	if resp, refused := refusal(r, o); refused {
		return resp, true, nil
	}
	by, err := v.carriedOutBy(ctx, r, o)
	if err != nil || by == "" {
		return admission.Response{}, false, err
	}
	return refusedNumber(o.facts, o.grant, by), true, nil
}

// refusal returns the answer where the object's own policies stand in the way of what the
// verdict lets through.
func refusal(r *request, o *outcome) (admission.Response, bool) {
	f, verdict, grant := o.facts, o.verdict, o.grant
	elsewhere := f.foundOtherwise(r)
	switch {
	case len(f.leaving) > 0 && !selfContained(verdict):
		return refusedLeaving(f), true
	case f.attaches() && !selfContained(verdict):
		return refusedAttaching(f), true
	case len(elsewhere) > 0 && !selfContained(verdict):
		return refusedFinding(f, elsewhere), true
	case f.forgesMarks(r) && !selfContained(verdict):
		return refusedForging(f), true
	case f.entering && !selfContained(verdict):
		return refusedEntering(f), true
	case f.Disturbs(verdict) && !selfContained(verdict):
		return refusedDisturbing(f), true
	case len(grant.Withheld) > 0 && (grant.Refuse || r.subresource == subresourceScale):
		return refused(f, grant), true
	case o.justCeased:
		return refusedCeased(f), true
	case len(o.deviates.foreign) > 0:
		return refusedForeign(r, f, o.deviates.foreign), true
	default:
		return admission.Response{}, false
	}
}

// selfContained reports whether the reason is one that nothing else can stand in the
// way of.
func selfContained(v decision.Verdict) bool {
	return v.Reason == decision.ReasonFinishing || v.Reason == decision.ReasonPlatform
}

// keep writes down what the answer cannot carry, before it is given: who deletes
// a holder, and what the object's ledger should say and does not.
func (v *Validator) keep(ctx context.Context, r *request, o *outcome) error {
	f, verdict := o.facts, o.verdict
	if r.dryRun {
		return nil
	}
	if err := v.keepUpgrade(ctx, r, f, verdict); err != nil {
		return err
	}
	v.keepLeft(ctx, r, f)
	v.keepSetAside(ctx, r, f)
	if err := v.keepForReaders(ctx, f, verdict, o.grant); err != nil {
		return lostError{err}
	}
	if r.operation == decision.Delete {
		if f.IsStray() {
			v.strays.noteDeletion(r.old.GetUID())
		}
		asked := f.asked(ctx, verdict)
		return errors.Join(v.keepDeletion(ctx, r, f, asked), v.hold(ctx, r, f, asked))
	}
	if err := v.keepStray(ctx, r, f); err != nil {
		return lostError{err}
	}
	granted := o.deviates.pending(r)
	if r.old == nil && r.subresource == "" {
		return v.keepCreation(ctx, r, f, granted)
	}
	found := r.old
	if r.subresource != "" { // What is behind it may be older than its version says.
		found = nil
	}
	for _, pending := range granted {
		if r.old != nil {
			pending.After = r.old.GetResourceVersion()
		}
		if err := v.Records.AddPending(ctx, r.target(), pending, found); err != nil {
			return lostError{err}
		}
	}
	return nil
}

// observe takes note of what the parents of the object decided.
func (v *Validator) observe(r *request, ru *ruling) {
	if r.dryRun {
		return
	}
	if _, broken := ru.glassReason(); broken && ru.refusal == nil {
		glassBroken.WithLabelValues(v.resourceLabel(r.resource)).Inc()
	}
	if r.scale != nil {
		v.countGrant(r.resource, ru.grant)
		v.announceFull(r, ru.outcome)
	}
	if ru.refusal == nil && ru.breaksOwnGlass() {
		v.observeOwnGlass(r, ru.outcome)
	}
	// What one parent lets happen has not happened where another one, or the object itself, refuses it.
	if ru.refusal == nil || !ru.verdict.Allowed {
		v.observeParent(r, ru.facts, ru.verdict)
	}
	for _, other := range ru.others {
		if ru.refusal == nil || !other.verdict.Allowed {
			v.observeParent(other.r, other.facts, other.verdict)
		}
	}
}
