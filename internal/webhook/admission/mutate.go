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
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Mutator is the mutating webhook: it writes the ledger of holders. What a
// request says about the ledger is ignored; the new value is computed from the
// old object's (D10).
type Mutator struct {
	*Gatherer
}

var _ hook = (*Mutator)(nil)

// Handle implements admission.Handler.
func (m *Mutator) Handle(ctx context.Context, req admission.Request) admission.Response {
	return m.handle(ctx, m, req)
}

func (*Mutator) name() string { return hookGrant }

// receive implements hook. A deletion takes no patch.
func (m *Mutator) receive(ctx context.Context, req admission.Request) (*request, error) {
	r, err := m.decode(ctx, req, false)
	if err == nil && r.new == nil {
		return nil, errNothingToJudge
	}
	if err == nil {
		r.again = m.rounds.of(r)
	}
	return r, err
}

// rule implements hook. Verdicts are for the validating webhook to give.
func (m *Mutator) rule(ctx context.Context, r *request, o *outcome) (*ruling, error) {
	ru := &ruling{outcome: o, again: r.again != nil}
	if resp, refused := refusedProof(r, o.facts); refused {
		return ru.refuse(refusedByProof, resp), nil
	}
	ru.wouldWait = o.wouldWait(ctx, r, o.verdict)
	return ru, nil
}

// commit implements hook.
func (m *Mutator) commit(ctx context.Context, r *request, ru *ruling) error {
	m.noteWithdrawn(ru)
	if ru.refusal != nil {
		m.announceProof(r, *ru.refusal)
		return nil
	}
	err := errors.Join(m.noteBrokenGlass(ctx, r, ru.outcome), m.approveStray(ctx, r, ru.facts))
	if err == nil && r.old != nil {
		err = m.keepLedger(ctx, r, ru.facts, ru.next)
	}
	if err != nil {
		return err
	}
	if r.again == nil {
		m.rememberForgery(r, ru.outcome)
		m.announceFull(r, ru.outcome)
	}
	return nil
}

// answer implements hook.
func (m *Mutator) answer(_ context.Context, r *request, ru *ruling) admission.Response {
	o := ru.outcome
	patches, want := r.patches(o)
	m.rounds.note(r, o, want)
	resp := admission.Patched("", patches...)
	resp.Warnings = slices.Concat(m.roomWarnings(r, ru, want), r.ledgerWarnings(o), o.gateWarnings(r), r.misplaced(o.facts), r.mistyped(o.facts), r.leftover(o.facts))
	if warning := r.glassWarning(o); warning != "" {
		resp.Warnings = append(resp.Warnings, warning)
	}
	if len(o.grant.Allowances) > 0 {
		resp.AuditAnnotations = map[string]string{auditGranted: describeGrants(o.grant.Allowances)}
	}
	if ru.wouldWait {
		o.sayWouldWait(r, &resp)
	}
	return resp
}

// count implements hook.
func (m *Mutator) count(req admission.Request, ru *ruling, resp admission.Response, dryRun bool) string {
	grant := ru.grantOf()
	if !dryRun && (ru == nil || !ru.again) {
		m.countGrant(schema.GroupVersionResource(req.Resource), grant)
		if len(resp.Patches) > 0 {
			measureLedger(ru.next)
		}
	}
	return grantOutcome(resp, grant)
}

// seen returns the state of the object that its ledger is held against: the object as
// it was, with the status that a status update brings.
func (r *request) seen() *unstructured.Unstructured {
	if r.subresource != subresourceStatus {
		return r.old
	}
	merged := &unstructured.Unstructured{Object: make(map[string]any, len(r.old.Object))}
	maps.Copy(merged.Object, r.old.Object)
	merged.Object["status"] = r.new.Object["status"]
	return merged
}
