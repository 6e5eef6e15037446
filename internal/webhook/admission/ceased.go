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
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lifecycle"
	"kausality.io/operator/internal/policy"
)

// ceased returns what counts of a ledger for a requester whom the creation of its holder is not for,
// where the holder itself says that it has settled: without what its creation allowed.
//
// The status of a custom resource is written without its metadata, so that what the creation allowed
// stays in its ledger until the operator has looked. *Observed*: for a fifth of a second after a
// controller's first Ready was stored, anybody's change of the object was carried out. Controllers
// that the policies serve go on as before: one may say Ready and write once more.
func ceased(ctx context.Context, holder *unstructured.Unstructured, policies []*policy.Policy, l ledger.Ledger) ledger.Ledger {
	if !l.Initializing() {
		return l
	}
	spent := lifecycle.Consumed(ctx, holder, policies, lifecycle.Unknown)
	return l.Without(func(e ledger.Entry) bool { return e.IsCreation() && spent(e) })
}

// ceasedFor is ceased for the holder that a request changes. Nobody but the controllers of an object
// may do for what it has just been what it is not any more. Of an initiator everything has a cause of
// its own; what she changes would keep the object new for others until it settles once more.
func (r *request) ceasedFor(ctx context.Context, policies []*policy.Policy, l ledger.Ledger) ledger.Ledger {
	if r.isServing(policies) {
		return l
	}
	return ceased(ctx, r.old, policies, l)
}

// isServing reports whether the requester may use what policies for an object allow, and begins nothing there.
func (r *request) isServing(policies []*policy.Policy) bool {
	return policy.MayExercise(r.requester, policies, nil) && !policy.MayInitiate(r.requester, policies)
}

// keepsCreation reports whether an entry from the creation of an object stays although the status of that, of
// the generation from before the request, would end it. The validating hook sees the next generation, and has it
// stay; without this the mutating one took it out, and it came back as a pending grant.
func (r *request) keepsCreation(f *facts, e ledger.Entry) bool {
	return e.IsCreation() && r.old != nil && f.Child.Generation > r.old.GetGeneration() && r.isServing(f.OwnPolicies)
}

// hasJustCeased reports whether allowances that nobody granted were granted because of the object's
// creation, which has ended since: the operator has seen in between that it has settled.
func (o *outcome) hasJustCeased(ctx context.Context, r *request, foreign ledger.Ledger) bool {
	if len(foreign) == 0 || o.Child.Phase() != v1alpha1.PhaseSteady {
		return false
	}
	creation := o.stored.Without(func(e ledger.Entry) bool { return !e.IsCreation() })
	if len(creation) == 0 {
		return false
	}
	before := *o.facts
	before.Child.Ledger = creation.Merge(o.Child.Ledger.Allowances()...)
	grant := decision.Grants(ctx, &before.Input, o.verdict)
	next := before.bound(ctx, r, &grant)
	return len(foreign.Without(func(e ledger.Entry) bool { return hasKey(next, e) })) == 0
}

// refusedCeased answers a request that came while its object ceased to be initializing. Whoever tries
// again, as the API server does for patches, is told what becomes of it.
func refusedCeased(f *facts) admission.Response {
	resp := admission.Denied(objectText(f.Child.GVK.Kind, f.Child.Name) + " has ceased to be initializing while this change of it was on its way; try again")
	resp.Result.Code = http.StatusConflict
	resp.Result.Reason = metav1.StatusReasonConflict
	resp.AuditAnnotations = map[string]string{auditReason: "Ceased", auditPolicies: strings.Join(names(f.OwnPolicies), ",")}
	return resp
}
