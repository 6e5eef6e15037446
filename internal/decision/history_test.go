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

package decision

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

const setSpec = `
for: {apiGroup: apps, apiVersion: v1, kind: StatefulSet}
subjects:
- {kind: Group, name: platform-team, mayInitiate: true}
- {kind: ServiceAccount, namespace: kube-system, name: statefulset-controller}
maintaining:
  policies:
  - {target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create]}
rules:
- trigger: spec.template
  policies:
  - {target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create, Delete]}
`

// TestHistory checks who may write the history of a set whose Pods are bounded: no
// policy names its revisions.
func TestHistory(t *testing.T) {
	const creating = `
initializing:
  policies:
  - {target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create]}
`
	controller := serviceAccount("kube-system", "statefulset-controller")
	created := allowance("*", "*", v1alpha1.FieldCreated)
	rollout := allowance("Pod", v1alpha1.MutationDeleteObject, "spec.template")
	image := mustPath(t, imagePath)
	withholding := func(in *Input) {
		in.Parent.Standing = standing(in.Parent.UID, in.Parent.Policies, holding(nil, image, "a"), holding(nil, image, "theirs"))
	}
	tests := map[string]struct {
		spec       string
		requester  policy.Requester
		allowances []v1alpha1.Allowance
		with       func(*Input)
		want       Reason
	}{
		"a stranger":                       {requester: mallory, want: ReasonDenied},
		"an initiator of the set's policy": {requester: alice, want: ReasonDenied},
		"another service account":          {requester: robot, want: ReasonDenied},
		"the set's controller":             {requester: controller, want: ReasonBookkeeping},
		"all controllers as one user":      {requester: policy.Requester{Username: controllerManager}, want: ReasonBookkeeping},
		"the garbage collector":            {requester: collector, want: ReasonPlatform},
		"an initiator of the revision's own policy": {
			requester: alice, want: ReasonOrigin,
			with: func(in *Input) {
				in.OwnPolicies = []*policy.Policy{compile(t, "revisions", `
for: {apiGroup: apps, apiVersion: v1, kind: ControllerRevision}
subjects: [{kind: User, name: alice, mayInitiate: true}]
`)}
			},
		},
		"a stranger in the middle of a rollout": {requester: mallory, allowances: []v1alpha1.Allowance{rollout}, want: ReasonDenied},
		"the controller while a change is withheld": {
			requester: controller, want: ReasonBookkeeping, with: withholding,
		},
		"a stranger while a change is withheld": {
			requester: mallory, want: ReasonDenied, with: withholding,
		},
		"a stranger, of a set that is adopted, while a change is withheld": {
			requester: mallory, want: ReasonDenied, with: func(in *Input) { withholding(in); in.Parent.Adopting = true },
		},
		"a stranger, of a new set without an initializing section, while a change is withheld": {
			requester: mallory, allowances: []v1alpha1.Allowance{created}, want: ReasonDenied, with: withholding,
		},
		"a stranger who breaks the glass": {requester: mallory, want: ReasonBreakGlass, with: func(in *Input) { in.BreakGlass = "outage" }},
		"a stranger, of a set that is adopted": {
			requester: mallory, want: ReasonDenied, with: func(in *Input) { in.Parent.Adopting = true },
		},
		"a stranger, of a set that is being deleted": {
			requester: mallory, want: ReasonDeleting, with: func(in *Input) { in.Parent.Deleting = true },
		},
		"a stranger, of a new set without an initializing section": {
			requester: mallory, allowances: []v1alpha1.Allowance{created}, want: ReasonInitializing,
		},
		"a stranger, of a new set whose initializing section is about Pods": {
			spec: creating, requester: mallory, want: ReasonDenied,
			allowances: []v1alpha1.Allowance{allowance("Pod", v1alpha1.MutationCreateObject, v1alpha1.FieldCreated)},
		},
		"the controller of a new set whose initializing section is about Pods": {
			spec: creating, requester: controller, want: ReasonBookkeeping,
			allowances: []v1alpha1.Allowance{allowance("Pod", v1alpha1.MutationCreateObject, v1alpha1.FieldCreated)},
		},
		"a stranger, and the policy only warns":  {spec: "validationActions: [Warn]\n", requester: mallory, want: ReasonWarned},
		"a stranger, and the policy only audits": {spec: "validationActions: [Audit]\n", requester: mallory, want: ReasonAudited},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			set := []*policy.Policy{compile(t, "set", setSpec+tc.spec)}
			revision := &unstructured.Unstructured{}
			revision.SetGroupVersionKind(revisionGVK)
			for _, r := range []*request{
				aRequest(tc.requester, Create, revisionGVK, "web-1"),
				aRequest(tc.requester, Delete, revisionGVK, "web-1"),
				aRequest(tc.requester, Update, revisionGVK, "web-1").changing(t, "web:1", "web:2", "data.spec.template.spec.containers[0].image"),
				aRequest(tc.requester, Update, revisionGVK, "web-1").changing(t, int64(1), int64(2), "revision"),
			} {
				r.of(setGVK, "web", set, tc.allowances...)
				r.Bookkeeping = policy.Known(revisionGVK.GroupKind(), nil).IsBookkeeping(string(r.Operation), revision.Object)
				if tc.with != nil {
					r.with(tc.with)
				}
				if v := Decide(t.Context(), &r.Input); v.Reason != tc.want || v.Allowed != (tc.want != ReasonDenied) {
					t.Errorf("%s: allowed = %t because %s, want %s", r.Acts(), v.Allowed, v.Reason, tc.want)
				}
			}
		})
	}
}
