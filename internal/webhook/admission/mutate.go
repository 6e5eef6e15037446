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
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/internal/decision"
)

// Mutator is the mutating webhook: it writes the ledger of holders. What a
// request says about the ledger is ignored; the new value is computed from the
// old object's (D10).
type Mutator struct {
	*Gatherer
}

// Handle implements admission.Handler.
func (m *Mutator) Handle(ctx context.Context, req admission.Request) admission.Response {
	watch := startWatch(hookGrant)
	resp, grant := m.answer(ctx, req)
	watch.stop(grantOutcome(resp, grant))
	if !dryRun(req) {
		m.countGrant(req, grant)
	}
	return resp
}

// answer writes the ledger, and returns what is new in it.
func (m *Mutator) answer(ctx context.Context, req admission.Request) (admission.Response, decision.Grant) {
	r, err := m.decode(ctx, req, false)
	if err != nil {
		return m.failed(ctx, req, err), decision.Grant{}
	}
	if r.new == nil {
		return admission.Allowed(""), decision.Grant{} // A deletion takes no patch.
	}
	f, verdict, grant, err := m.decide(ctx, r)
	if err == nil {
		if resp, refused := m.refuseProof(r, f); refused {
			return resp, decision.Grant{}
		}
		err = errors.Join(m.noteBrokenGlass(ctx, r, f, verdict), m.approveStray(ctx, r, f))
	}
	if err != nil {
		return m.failed(ctx, req, err), decision.Grant{}
	}
	if r.old != nil {
		if err := m.keepLedger(ctx, r, f, f.next); err != nil {
			return lost(ctx, req, err), decision.Grant{}
		}
	}
	m.rememberAnnotations(r, f, grant)
	m.announceFull(r, f, grant)
	resp := admission.Patched("", r.patches(f)...)
	resp.Warnings = slices.Concat(r.ledgerWarnings(f, grant), f.gateWarnings(r), r.misplaced(f))
	if warning := r.glassWarning(f, verdict, grant); warning != "" {
		resp.Warnings = append(resp.Warnings, warning)
	}
	if len(grant.Allowances) > 0 {
		resp.AuditAnnotations = map[string]string{auditGranted: describeGrants(grant.Allowances)}
	}
	if f.wouldWait(ctx, r, verdict) {
		f.sayWouldWait(r, &resp)
	}
	if !r.dryRun && len(resp.Patches) > 0 {
		measureLedger(f.next)
	}
	return resp, grant
}

// seen is the state of the object that its ledger is held against: the object as
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
