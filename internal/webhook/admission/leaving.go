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
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/scope"
)

// leaving are the policies in effect for the object that would not select it any
// more after a change of its labels, and that the requester may not initiate for:
// else a label would be the way around every bound (D5).
func (g *Gatherer) leaving(ctx context.Context, r *request, f *facts) []*policy.Policy {
	if r.operation != decision.Update || f.Operator || f.AncestorInitiator ||
		maps.Equal(r.old.GetLabels(), r.new.GetLabels()) {
		return nil
	}
	next := scope.Holder(ctx, g.Namespaces, r.new)
	var out []*policy.Policy
	for _, p := range f.OwnPolicies {
		if p.Selects(next.Labels, next.NamespaceLabels) {
			continue
		}
		if slices.ContainsFunc(f.OwnPolicies, func(p *policy.Policy) bool { return p.MayInitiate(r.requester) }) {
			return nil
		}
		out = append(out, p)
	}
	return out
}

// refusedLeaving answers a request by which an object would leave its policies.
func refusedLeaving(f *facts) admission.Response {
	message := fmt.Sprintf("by this change of its labels %s would leave AllowancePolicy %s, which is for who may initiate",
		objectText(f.Child.GVK.Kind, f.Child.Name), strings.Join(names(f.leaving), ", "))
	if len(f.initiators) > 0 {
		message += ": " + anyOf(f.initiators)
	}
	resp := admission.Denied(message)
	resp.AuditAnnotations = map[string]string{auditReason: "Leaving", auditPolicies: strings.Join(names(f.leaving), ",")}
	return resp
}
