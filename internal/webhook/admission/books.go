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
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// foundOtherwise returns the fields that the request changes by which Crossplane finds what it has made
// for the object, where that is not for the requester (D5).
// Crossplane takes what is named there for its own, if it has no controller, and makes another one of
// what is named there no more: observed, an initiator's change of a composite resource that was new went
// into an object of a stranger's making, and the instance that it had stayed behind.
func (f *facts) foundOtherwise(r *request) []string {
	if r.operation != decision.Update || r.subresource != "" || f.Operator || f.BreakGlass != "" || f.KeepsBooks() || f.mayInitiateHere() {
		return nil
	}
	denies := func(p *policy.Policy) bool { return p.Action == v1alpha1.ActionDeny }
	if !slices.ContainsFunc(f.OwnPolicies, denies) && !slices.ContainsFunc(f.Bounding(), denies) {
		return nil
	}
	return lineage.FoundOtherwise(f.index, r.gvk.GroupKind(), r.old.Object, r.new.Object)
}

// mayInitiateHere reports whether the requester may initiate on the object by the strictest of its policies, or
// on what is above it.
func (f *facts) mayInitiateHere() bool {
	return f.AncestorInitiator || policy.MayInitiate(f.Requester, policy.Strictest(f.OwnPolicies))
}

// refusedFinding answers a request that changes such fields.
func refusedFinding(f *facts, fields []string) admission.Response {
	object := objectText(f.Child.GVK.Kind, f.Child.Name)
	message := fmt.Sprintf("by %s Crossplane finds what it has made for %s: what is named there it takes for its own, and what is not it makes again; that is for Crossplane",
		strings.Join(fields, " and "), object)
	who := slices.Concat(policy.InitiatorsIn(policy.Strictest(f.OwnPolicies)), f.initiatorsAbove)
	if len(who) > 0 {
		message += ", and for who may initiate on it: " + anyOf(who)
	}
	resp := admission.Denied(message)
	resp.AuditAnnotations = map[string]string{auditReason: "Finding", auditPolicies: strings.Join(names(f.OwnPolicies), ",")}
	return resp
}
