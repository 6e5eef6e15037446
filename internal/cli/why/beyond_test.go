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

package why

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/upgrade"
)

// reading lets what a ConfigMap holds change the ReplicaSets of the Deployments that name it.
const reading = `
metadata: {name: read}
spec:
  for: {apiVersion: v1, kind: ConfigMap}
  subjects: [{kind: Group, name: config-team, mayInitiate: true}]
  rules:
  - trigger: data
    policies:
    - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
      relation: ControllerChild
      mutations: [{jsonPath: spec.minReadySeconds}]
      through: {apiGroup: apps, apiVersion: v1, resource: deployments, namedBy: [spec.config]}
`

// TestBeyond tells what may let a change through apart from the policies of the parent.
func TestBeyond(t *testing.T) {
	const controller = "system:serviceaccount:kube-system:deployment-controller"
	deployments := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	policies := compiled(t, narrowed+"---\n"+reading)
	group := "apps"
	u := &v1alpha1.UpgradeAllowance{Spec: v1alpha1.UpgradeAllowanceSpec{ServiceAccount: controller, Policies: []v1alpha1.PolicyEntry{{
		Target: v1alpha1.Target{APIGroup: &group, APIVersion: "v1", Resource: "replicasets"}, Relation: v1alpha1.RelationControllerChild, Verbs: []string{"Delete"},
	}}}}
	u.Name = "v2"
	allowance, errs := upgrade.Compile(u, func(gvr schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		return gvr.GroupVersion().WithKind("ReplicaSet"), true
	})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	upgrades := []cluster.Upgrade{{UpgradeAllowance: u, Allowance: allowance}}
	for name, tc := range map[string]struct {
		parent  schema.GroupKind
		user    string
		path    string
		message string
		want    []string
	}{
		"what is read": {parent: deployments, user: controller, path: "spec.minReadySeconds", want: []string{
			"a change of data of a ConfigMap that Deployment/web reads, by Group config-team (AllowancePolicy read)"}},
		"what others read": {parent: schema.GroupKind{Group: "apps", Kind: "StatefulSet"}, user: controller, path: "spec.minReadySeconds", want: []string{
			"no rule of deployment, whatever changes: it would need another rule, or an UpgradeAllowance, or breaking the glass"}},
		"an upgrade that was not asked": {parent: deployments, user: controller, path: v1alpha1.MutationDeleteObject, want: []string{
			"UpgradeAllowance v2, which covers it, in an upgrade of Deployment/web while nothing of it is withheld"}},
		"an upgrade that was asked": {parent: deployments, user: controller, path: v1alpha1.MutationDeleteObject,
			message: "no. UpgradeAllowance v2 does not let it through: it is about another version. Details: kubectl get", want: []string{
				"no rule of deployment, whatever changes: it would need another rule, or an UpgradeAllowance, or breaking the glass"}},
		"somebody else's upgrade": {parent: deployments, user: "mallory", path: v1alpha1.MutationDeleteObject, want: []string{
			"no rule of deployment, whatever changes: it would need another rule, or breaking the glass"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := v1alpha1.HistoryEntry{
				Event: v1alpha1.EventDenied, Operation: "Update", User: tc.user, Kind: "ReplicaSet", Paths: []string{tc.path}, Policies: []string{"deployment"}, Message: tc.message,
			}
			rec := recordOf("web", v1alpha1.AllowanceRecordStatus{})
			rec.Spec.TargetRef.Group, rec.Spec.TargetRef.Kind = tc.parent.Group, tc.parent.Kind
			with := scene{Policies: policies, upgrades: upgrades}
			at := live{chain: []policy.Holder{{Kind: tc.parent}}}
			var got []string
			for _, r := range remedies(with.Named("deployment"), with.beyondPolicies(&rec, at), e) {
				got = append(got, remedyText(Refusal{HistoryEntry: e, Parent: v1alpha1.TargetReference{Kind: "Deployment", Name: "web"}}, r))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("remedies (-want +got):\n%s", diff)
			}
		})
	}
}
