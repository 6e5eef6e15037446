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
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// abandons answers a request by which a claim would be gone before Crossplane has deleted its composite resource: that
// would stay, and what policies for the claim allow or not would bound it no more. Who may initiate on the claim may
// do so, and is told. What Crossplane itself does, and what goes with its namespace, passes.
func (v *Validator) abandons(ctx context.Context, r *request, o *outcome) (admission.Response, bool, error) {
	if !r.letsClaimGo(o.facts) || selfContained(o.verdict) && r.operation == decision.Delete || v.Gates.IsComposer(r.requester) {
		return admission.Response{}, false, nil
	}
	composite, err := v.abandonedBy(ctx, r)
	if composite == "" || err != nil {
		return admission.Response{}, false, err
	}
	claim := objectText(r.gvk.Kind, r.objectName())
	o.abandoned = fmt.Sprintf("without the finalizer %s, by which Crossplane deletes %s first, %s is gone, and that stays: policies for %s bound it no more",
		lineage.ClaimFinalizer, composite, claim, r.gvk.Kind)
	denies := func(p *policy.Policy) bool { return p.Action == v1alpha1.ActionDeny }
	if !slices.ContainsFunc(o.OwnPolicies, denies) || o.BreakGlass != "" || o.mayInitiateHere() {
		return admission.Response{}, false, nil
	}
	message := o.abandoned + ". Crossplane puts the finalizer there when it looks next, which it does not while the claim is paused, and takes it away once that is deleted"
	if len(o.initiators) > 0 {
		message += "; " + anyOf(o.initiators) + " may let the claim go without"
	}
	resp := admission.Denied(message)
	resp.AuditAnnotations = map[string]string{auditReason: "Abandoning", auditPolicies: listedNames(o.OwnPolicies)}
	return resp, true, nil
}

// letsClaimGo reports whether a claim would be gone by the request, as far as Crossplane goes.
func (r *request) letsClaimGo(f *facts) bool {
	if r.subresource != "" || r.old == nil || f.Operator || !f.index.HasCategory(r.gvk.GroupKind(), lineage.CategoryClaim) {
		return false
	}
	kept := slices.Contains(r.old.GetFinalizers(), lineage.ClaimFinalizer)
	deleting := r.old.GetDeletionTimestamp() != nil
	switch r.operation {
	case decision.Delete:
		return !kept && !deleting
	case decision.Update:
		return kept && deleting && !slices.Contains(r.new.GetFinalizers(), lineage.ClaimFinalizer)
	default:
		return false
	}
}

// abandonedBy names the composite resource that would stay without its claim, empty where none would. One that may not be
// read keeps nobody.
func (v *Validator) abandonedBy(ctx context.Context, r *request) (string, error) {
	kind, name, ok := lineage.Claimed(r.old)
	if !ok {
		return "", nil
	}
	doubtUncached.read()
	composite, err := v.Objects.Live(ctx, kind, types.NamespacedName{Name: name})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err), apimeta.IsNoMatchError(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("reading the composite resource %s %s: %w", kind.Kind, name, err)
	case composite.GetDeletionTimestamp() != nil, !lineage.IsClaimOf(r.old, composite):
		return "", nil
	default:
		return objectText(kind.Kind, name), nil
	}
}
