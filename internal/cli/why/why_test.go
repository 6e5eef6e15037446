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
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/policy"
)

var now = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

const deploymentPolicy = `
metadata: {name: deployment}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  rules:
  - trigger: spec.replicas
    conditions: ["object.spec.replicas < 10"]
    policies:
    - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
      relation: ControllerChild
      verbs: [Update]
      mutations: [{jsonPath: spec.replicas}]
  - trigger: spec.template
    policies:
    - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
      relation: ControllerChild
      verbs: [Create, Update]
      mutations: [{jsonPath: spec.replicas}]
`

func policies(t *testing.T) cluster.Policies {
	t.Helper()
	p := &v1alpha1.AllowancePolicy{}
	if err := yaml.UnmarshalStrict([]byte(deploymentPolicy), p); err != nil {
		t.Fatal(err)
	}
	compiled, errs := policy.Compile(p, func(gvr schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		return gvr.GroupVersion().WithKind("ReplicaSet"), gvr.Resource == "replicasets"
	})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return cluster.Policies{Index: policy.NewIndex([]*policy.Policy{compiled})}
}

// recordOf returns the record of a Deployment in namespace shop.
func recordOf(name string, status v1alpha1.AllowanceRecordStatus) v1alpha1.AllowanceRecord {
	return v1alpha1.AllowanceRecord{
		ObjectMeta: metav1.ObjectMeta{Name: "deployment-" + name + "-1"},
		Spec: v1alpha1.AllowanceRecordSpec{TargetRef: v1alpha1.TargetReference{
			Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: name,
		}},
		Status: status,
	}
}

func denial(age time.Duration, operation, child string, paths ...string) v1alpha1.HistoryEntry {
	return v1alpha1.HistoryEntry{
		Time: before(age), Event: v1alpha1.EventDenied, Operation: operation, Kind: "ReplicaSet", Names: []string{child},
		User: "mallory", Paths: paths, Policies: []string{"deployment"}, Message: "that is not allowed",
	}
}

func TestWhy(t *testing.T) {
	refused := denial(2*time.Minute, "Update", "web-1", "spec.replicas", "spec.minReadySeconds")
	refused.Count, refused.FirstTime = 3, new(before(5*time.Minute))
	refused.Names = append(refused.Names, "web-0")
	earlier := denial(time.Hour, "Create", "web-2", "create")
	granted := v1alpha1.HistoryEntry{Time: before(0), Event: v1alpha1.EventGranted}
	web := recordOf("web", v1alpha1.AllowanceRecordStatus{
		Blocked: &v1alpha1.Blocked{}, History: []v1alpha1.HistoryEntry{granted, refused, earlier},
	})
	api := recordOf("api", v1alpha1.AllowanceRecordStatus{History: []v1alpha1.HistoryEntry{denial(time.Minute, "Create", "api-1", "create")}})
	held := recordOf("cart", v1alpha1.AllowanceRecordStatus{Active: []v1alpha1.Allowance{{
		Relation: v1alpha1.RelationWithheld, Mutation: "spec.template.spec.containers[0].image", Initiator: "mallory",
	}}, History: []v1alpha1.HistoryEntry{{
		Time: before(3 * time.Minute), Event: v1alpha1.EventWithheld, User: "mallory", Paths: []string{"spec.template.spec.containers[0].image"},
	}}})
	waiting := *held.DeepCopy()
	waiting.Status.History = append(waiting.Status.History, denial(time.Minute, "Create", "cart-1", "create"))
	ofPod := func(path string) v1alpha1.HistoryEntry {
		e := denial(time.Minute, "Update", "p", path)
		e.Kind = "Pod"
		return e
	}
	debugged, resized := ofPod("spec.ephemeralContainers"), ofPod("spec.containers[0].resources.limits[cpu]")
	imaged := ofPod("spec.containers[0].image")
	listed := recordOf("list", v1alpha1.AllowanceRecordStatus{Active: []v1alpha1.Allowance{
		{Relation: v1alpha1.RelationWithheld, Mutation: "spec.names[0]", Initiator: "mallory"},
		{Relation: v1alpha1.RelationWithheld, Mutation: "spec.names[1]", Initiator: "mallory"},
		{Relation: v1alpha1.RelationWithheld, Mutation: "spec.names[2]", Initiator: "eve"},
	}})
	scale := v1alpha1.HistoryEntry{
		Time: before(2 * time.Minute), Event: v1alpha1.EventRefused, Operation: "Update", User: "mallory", Policies: []string{"deployment"},
	}
	leave := scale
	leave.Message = "labels are for others"
	scale.Count, scale.FirstTime, scale.Paths = 4, new(before(3*time.Minute)), []string{"spec.replicas"}
	itself := recordOf("shop", v1alpha1.AllowanceRecordStatus{History: []v1alpha1.HistoryEntry{scale, leave}})
	const crossplane = "system:serviceaccount:crossplane-system:crossplane"
	upgrades := func(message string, status v1alpha1.AllowanceRecordStatus) []v1alpha1.AllowanceRecord {
		e := denial(time.Minute, "Update", "up-1", "spec.minReadySeconds")
		e.User, e.Message = crossplane, message
		status.History = []v1alpha1.HistoryEntry{e}
		return []v1alpha1.AllowanceRecord{recordOf("up", status)}
	}
	made := v1alpha1.ControllerVersion{User: "alice", Trigger: v1alpha1.UpgradeOfComposition, Revision: "web-1"}
	moving := made
	moving.Revision, moving.UpgradeAllowance = "web-2", "v2"
	moved := v1alpha1.ControllerVersion{User: crossplane, Trigger: v1alpha1.UpgradeOfController, Image: "crossplane:v2", UpgradeAllowance: "v1", MovedAt: new(before(time.Hour))}
	others := v1alpha1.ControllerVersion{User: "somebody-else", Trigger: v1alpha1.UpgradeOfController, Image: "else:v1"}
	kind := func(kind string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind}
	}
	tests := map[string]struct {
		records []v1alpha1.AllowanceRecord
		subject *cluster.Target
		wide    bool
		want    string
	}{
		"of a parent": {
			records: []v1alpha1.AllowanceRecord{web, api},
			subject: &cluster.Target{GVK: kind("Deployment"), Namespace: "shop", Name: "web"},
			want: `Refused 2m ago  update of ReplicaSet/web-1 and 1 more, still waiting
  asked by      mallory, 3 times since 5m ago
  not covered   spec.replicas, spec.minReadySeconds
  bounded by    Deployment/web, through AllowancePolicy deployment
  allowed by    spec.replicas: a change of spec.replicas of Deployment/web by Group platform-team
                (AllowancePolicy deployment), if object.spec.replicas < 10
  allowed by    spec.replicas: a change of spec.template of Deployment/web by Group platform-team
                (AllowancePolicy deployment)
  allowed by    spec.minReadySeconds: no rule of deployment, whatever changes: it would need another
                rule, or breaking the glass

Refused 60m ago  create of ReplicaSet/web-2
  asked by      mallory
  not covered   create
  bounded by    Deployment/web, through AllowancePolicy deployment
  allowed by    a change of spec.template of Deployment/web by Group platform-team (AllowancePolicy
                deployment)
`,
		},
		"of a child, at length": {
			records: []v1alpha1.AllowanceRecord{web, api},
			subject: &cluster.Target{GVK: kind("ReplicaSet"), Namespace: "shop", Name: "api-1"},
			wide:    true,
			want: `Refused 60s ago  create of ReplicaSet/api-1
  asked by      mallory
  not covered   create
  bounded by    Deployment/api, through AllowancePolicy deployment
  allowed by    a change of spec.template of Deployment/api by Group platform-team (AllowancePolicy
                deployment)
  record        deployment-api-1
  answer        that is not allowed
`,
		},
		"of a namespace, what is withheld first, then the latest": {
			records: []v1alpha1.AllowanceRecord{web, api, held},
			want: `Withheld 3m ago  Deployment/cart
  changed    spec.template.spec.containers[0].image
  by         mallory
  effect     the change stands; nothing follows from it until it is approved, changed again or taken
             back
  approval   by Group platform-team
  command    kubectl kausality approve -n shop deployment/cart --path 'spec.template.spec.containers[0].image'

Refused 60s ago  create of ReplicaSet/api-1
  asked by      mallory
  not covered   create
  bounded by    Deployment/api, through AllowancePolicy deployment
  allowed by    a change of spec.template of Deployment/api by Group platform-team (AllowancePolicy
                deployment)
`,
		},
		"of a parent of which something is withheld": {
			records: []v1alpha1.AllowanceRecord{waiting},
			subject: &cluster.Target{GVK: kind("ReplicaSet"), Namespace: "shop", Name: "cart-1"},
			want: `Refused 60s ago  create of ReplicaSet/cart-1
  asked by      mallory
  not covered   create
  bounded by    Deployment/cart, through AllowancePolicy deployment
  waits for     what is withheld of Deployment/cart: until that is approved or taken back, nothing
                allows it
  allowed by    a change of spec.template of Deployment/cart by Group platform-team (AllowancePolicy
                deployment)
`,
		},
		"of what no request can carry a reason for": {
			records: []v1alpha1.AllowanceRecord{recordOf("debug", v1alpha1.AllowanceRecordStatus{History: []v1alpha1.HistoryEntry{debugged, resized, imaged}})},
			subject: &cluster.Target{GVK: kind("Deployment"), Namespace: "shop", Name: "debug"},
			want: `Refused 60s ago  update of Pod/p
  asked by      mallory
  not covered   spec.ephemeralContainers
  bounded by    Deployment/debug, through AllowancePolicy deployment
  allowed by    no rule of deployment, whatever changes: it would need another rule

Refused 60s ago  update of Pod/p
  asked by      mallory
  not covered   spec.containers[0].resources.limits[cpu]
  bounded by    Deployment/debug, through AllowancePolicy deployment
  allowed by    no rule of deployment, whatever changes: it would need another rule

Refused 60s ago  update of Pod/p
  asked by      mallory
  not covered   spec.containers[0].image
  bounded by    Deployment/debug, through AllowancePolicy deployment
  allowed by    no rule of deployment, whatever changes: it would need another rule, or breaking the
                glass
`,
		},
		"of items of a list, by person": {
			records: []v1alpha1.AllowanceRecord{listed},
			want: `Withheld  Deployment/list
  changed    spec.names[0], spec.names[1]
  by         mallory
  effect     the change stands; nothing follows from it until it is approved, changed again or taken
             back
  approval   by whoever may initiate on what owns it
  command    kubectl kausality approve -n shop deployment/list --path 'spec.names[0],spec.names[1]'

Withheld  Deployment/list
  changed    spec.names[2]
  by         eve
  effect     the change stands; nothing follows from it until it is approved, changed again or taken
             back
  approval   by whoever may initiate on what owns it
  command    kubectl kausality approve -n shop deployment/list --path 'spec.names[2]'
`,
		},
		"of what its own policies refused": {
			records: []v1alpha1.AllowanceRecord{itself},
			subject: &cluster.Target{GVK: kind("Deployment"), Namespace: "shop", Name: "shop"},
			want: `Refused 2m ago  update of Deployment/shop
  asked by     mallory, 4 times since 3m ago
  of           spec.replicas
  refused by   AllowancePolicy deployment
  allowed to   Group platform-team

Refused 2m ago  update of Deployment/shop
  asked by     mallory
  refused by   AllowancePolicy deployment
  answer       labels are for others
`,
		},
		"of an upgrade that nobody agreed to": {
			records: upgrades("no. The request comes from CompositionRevision web-2, and Deployment up was made by, or upgraded to, CompositionRevision web-1: "+
				"if this is an upgrade, agree to it by an UpgradeAllowance. Details: kubectl get allowancerecord",
				v1alpha1.AllowanceRecordStatus{Versions: []v1alpha1.ControllerVersion{made, others}}),
			subject: &cluster.Target{GVK: kind("ReplicaSet"), Namespace: "shop", Name: "up-1"},
			want: `Refused 60s ago  update of ReplicaSet/up-1
  asked by      system:serviceaccount:crossplane-system:crossplane
  not covered   spec.minReadySeconds
  bounded by    Deployment/up, through AllowancePolicy deployment
  allowed by    no rule of deployment, whatever changes: it would need another rule, or breaking the
                glass
  upgrade       The request comes from CompositionRevision web-2, and Deployment up was made by, or
                upgraded to, CompositionRevision web-1: if this is an upgrade, agree to it by an
                UpgradeAllowance.
  made from     CompositionRevision web-1
  command       kubectl kausality upgrade suggest crossplane-system/crossplane
`,
		},
		"of an upgrade that wants more than was agreed to": {
			records: upgrades("no. UpgradeAllowance v2 does not let it through: spec.policies does not cover it. Details: kubectl get allowancerecord",
				v1alpha1.AllowanceRecordStatus{
					Versions:   []v1alpha1.ControllerVersion{moving, moved},
					LastDenial: &v1alpha1.Decision{User: crossplane, Kind: "ReplicaSet", Upgrades: []string{"v2/3/uid-of-v2"}},
				}),
			subject: &cluster.Target{GVK: kind("Deployment"), Namespace: "shop", Name: "up"},
			want: `Refused 60s ago  update of ReplicaSet/up-1
  asked by      system:serviceaccount:crossplane-system:crossplane
  not covered   spec.minReadySeconds
  bounded by    Deployment/up, through AllowancePolicy deployment
  allowed by    no rule of deployment, whatever changes: it would need another rule, or breaking the
                glass
  upgrade       UpgradeAllowance v2 does not let it through: spec.policies does not cover it.
  made from     CompositionRevision web-2 (being upgraded to it, by UpgradeAllowance v2), image
                crossplane:v2 (upgraded to it, by UpgradeAllowance v1)
  asked         UpgradeAllowance v2/3 (name/generation)
  command       kubectl kausality upgrade suggest crossplane-system/crossplane
`,
		},
		"of what was never refused": {
			records: []v1alpha1.AllowanceRecord{web},
			subject: &cluster.Target{GVK: kind("Deployment"), Namespace: "shop", Name: "quiet"},
			want:    "Nothing was refused and nothing is withheld in what the AllowanceRecords tell of it.\n",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			report := collect(tc.records, policies(t), tc.subject)
			report.Subject = "it"
			if tc.subject == nil {
				report.limit(1)
			}
			if diff := cmp.Diff(tc.want, render(report, text.Terminal{Width: text.DefaultWidth}, tc.wide, now)); diff != "" {
				t.Errorf("why: -want, +got:\n%s", diff)
			}
		})
	}
}
