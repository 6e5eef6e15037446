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
	"kausality.io/operator/internal/policy"
)

// attaches reports whether the request gives an object a parent whose policies name it,
// although those of the object itself say who may initiate on it, and that is not the
// requester: a parent of one's own making, or one on which one may initiate, would have
// its phase, its ledger and its approvals count for what is somebody else's (D5).
//
// Controllers adopt what they select, which has a rule of its own (decision.IsStray).
func (f *facts) attaches() bool {
	if f.Adoption == nil || f.Operator || f.BreakGlass != "" {
		return false
	}
	adopter := f.Adoption.Parent.Policies
	kind := f.Child.GVK.GroupKind()
	if !slices.ContainsFunc(adopter, func(p *policy.Policy) bool { return p.Bounds(kind) }) {
		return false
	}
	if f.Requester.IsServiceAccount() && policy.MayExercise(f.Requester, adopter, f.OwnPolicies) {
		return false
	}
	return slices.ContainsFunc(f.OwnPolicies, func(p *policy.Policy) bool {
		return p.Action == v1alpha1.ActionDeny && p.HasInitiator() && !p.MayInitiate(f.Requester)
	})
}

// refusedAttaching answers such a request.
func refusedAttaching(f *facts) admission.Response {
	var who []string
	for _, p := range f.OwnPolicies {
		who = append(who, p.Initiators()...)
	}
	message := fmt.Sprintf("giving %s the parent %s is for who may initiate on it: %s; nothing of a parent counts that somebody else attaches",
		objectText(f.Child.GVK.Kind, f.Child.Name), objectText(f.adopter.Kind, f.adopter.Name), anyOf(who))
	resp := admission.Denied(message)
	resp.AuditAnnotations = map[string]string{auditReason: "Attaching", auditPolicies: strings.Join(names(f.OwnPolicies), ",")}
	return resp
}
