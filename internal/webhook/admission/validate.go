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
	"kausality.io/operator/internal/record"
)

// Validator is the validating webhook: it gives the verdict, after all mutating
// webhooks have run, and makes sure that no grant is lost.
type Validator struct {
	*Gatherer
}

// Handle implements admission.Handler.
func (v *Validator) Handle(ctx context.Context, req admission.Request) admission.Response {
	watch := startWatch(hookVerdict)
	r, err := v.decode(ctx, req)
	resp := v.judge(ctx, req, r, err)
	watch.stop(outcomeOf(resp))
	if !dryRun(req) && (r == nil || !r.dryRun) {
		v.count(req, resp)
	}
	return resp
}

// judge answers a decoded request, or one that could not be decoded.
func (v *Validator) judge(ctx context.Context, req admission.Request, r *request, err error) admission.Response {
	if errors.Is(err, errNothingBehind) {
		return admission.Allowed("")
	}
	if err != nil {
		return v.failed(ctx, req, err)
	}
	f, verdict, grant, err := v.decide(ctx, r)
	if err != nil {
		return v.failed(ctx, req, err)
	}
	v.observe(req, r, f, verdict, grant)
	if !verdict.Allowed {
		return denied(req, f, verdict).WithWarnings(deletionWarnings(r, f, verdict)...)
	}
	switch other, err := v.otherParents(ctx, r, f, verdict); {
	case err != nil:
		return v.failed(ctx, req, err)
	case other != nil:
		return denied(req, other.f, other.verdict)
	}
	if resp, refused := refusal(r, f, verdict, grant); refused {
		v.announceRefusal(r, resp)
		v.rememberRefusal(r, f, grant, resp)
		return resp
	}
	if why := f.gateDeviation(r, verdict); why != "" {
		return refusedGate(r, f, why)
	}
	if f.AdoptsWithoutCause() && !f.hasRoomForStray() {
		return refusedStray(r, f)
	}
	d, resp := v.judgeDelegation(ctx, req, r, f, verdict)
	if resp != nil {
		return *resp
	}
	switch err := v.keep(ctx, r, f, verdict, grant); {
	case errors.As(err, new(lostError)):
		return lost(ctx, req, err)
	case err != nil:
		return v.failed(ctx, req, err)
	}
	v.remember(r, f, grant)
	allowed := admission.Allowed("")
	allowed.AuditAnnotations = auditAnnotations(f, verdict)
	if d != nil {
		v.noteDelegation(r, d)
		allowed.AuditAnnotations[auditTarget] = d.text()
	}
	allowed.Warnings = warnings(r, f, verdict, grant)
	return allowed
}

// refusal is the answer where the object's own policies stand in the way of what the
// verdict lets through.
func refusal(r *request, f *facts, verdict decision.Verdict, grant decision.Grant) (admission.Response, bool) {
	switch {
	case len(f.leaving) > 0 && !selfContained(verdict):
		return refusedLeaving(f), true
	case f.attaches() && !selfContained(verdict):
		return refusedAttaching(f), true
	case f.entering && !selfContained(verdict):
		return refusedEntering(f), true
	case f.Disturbs(verdict) && !selfContained(verdict):
		return refusedDisturbing(f), true
	case len(grant.Withheld) > 0 && (grant.Refuse || r.subresource == subresourceScale):
		return refused(f, grant), true
	case len(f.deviates.foreign) > 0:
		return refusedForeign(r, f, f.deviates.foreign), true
	default:
		return admission.Response{}, false
	}
}

// selfContained tells whether the reason is one that nothing else can stand in the
// way of.
func selfContained(v decision.Verdict) bool {
	return v.Reason == decision.ReasonFinishing || v.Reason == decision.ReasonPlatform
}

// keep writes down what the answer cannot carry, before it is given: who deletes
// a holder, and what the object's ledger should say and does not.
func (v *Validator) keep(ctx context.Context, r *request, f *facts, verdict decision.Verdict, grant decision.Grant) error {
	if r.dryRun {
		return nil
	}
	if err := v.keepUpgrade(ctx, r, f, verdict); err != nil {
		return err
	}
	if err := v.keepForReaders(ctx, f, verdict, grant); err != nil {
		return lostError{err}
	}
	if r.operation == decision.Delete {
		if f.IsStray() {
			v.strays.noteDeletion(r.old.GetUID())
		}
		return errors.Join(v.keepDeletion(ctx, r, f, verdict), v.hold(ctx, r, f, verdict))
	}
	if err := v.keepStray(ctx, r, f); err != nil {
		return lostError{err}
	}
	if r.old == nil {
		has, _ := r.ledgerAsked() // What cannot be read allows nothing.
		if err := v.keepLedger(ctx, r, f, has); err != nil {
			return err
		}
	}
	d := f.deviates
	if len(d.missing)+len(d.ended) == 0 {
		return nil
	}
	pending := record.NewPending(r.scale, record.ContentHash(r.new), d.missing, d.ended)
	if r.old != nil {
		pending.After = r.old.GetResourceVersion()
	}
	if err := v.Records.AddPending(ctx, r.target(), pending); err != nil {
		return lostError{err}
	}
	return nil
}

// observe takes note of a decision about a bounded child. What changes nothing
// that counts, or is not bounded, is nobody's business.
func (v *Validator) observe(req admission.Request, r *request, f *facts, verdict decision.Verdict, grant decision.Grant) {
	if r.dryRun {
		return
	}
	if f.brokeGlass(verdict, grant) {
		glassBroken.WithLabelValues(v.resourceLabel(req)).Inc()
	}
	if r.scale != nil {
		v.countGrant(req, grant)
		v.announceFull(r, f, grant)
	}
	v.observeParent(r, f, verdict)
}
