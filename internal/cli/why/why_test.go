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
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/output"
	"kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/ledger"
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
  maintaining:
    policies:
    - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
      relation: ControllerChild
      verbs: [Delete]
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

// nothing returns what is said where there is nothing.
func nothing(subject string) string {
	return text.Terminal{Width: text.DefaultWidth}.Wrap("", "Nothing was refused and nothing is withheld, as the AllowanceRecords tell of "+subject+
		". They are written up to two seconds after a refusal: if you have just seen one, ask again. What could not be written "+
		"down is refused with an error that no record tells of, but the log of whoever asked.")
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

func denialOf(age time.Duration, operation, child string, paths ...string) v1alpha1.HistoryEntry {
	return v1alpha1.HistoryEntry{
		Time: before(age), Event: v1alpha1.EventDenied, Operation: operation, Kind: "ReplicaSet", Names: []string{child},
		User: "mallory", Paths: paths, Policies: []string{"deployment"}, Message: "that is not allowed",
	}
}

// TestSeveralWait has several changes refused of children of one parent: only of the latest it is known that
// somebody waits.
func TestSeveralWait(t *testing.T) {
	passed := denialOf(time.Minute, "Update", "passed", "spec.replicas")
	passed.Event = v1alpha1.EventExercised
	alices := denialOf(3*time.Minute, "Update", "alices", "spec.replicas")
	alices.User = "alice"
	rec := recordOf("web", v1alpha1.AllowanceRecordStatus{
		Blocked: &v1alpha1.Blocked{Since: before(3 * time.Minute), User: "mallory"},
		History: []v1alpha1.HistoryEntry{
			passed, denialOf(2*time.Minute, "Update", "latest", "spec.replicas"), denialOf(3*time.Minute, "Update", "passed", "spec.replicas"),
			denialOf(3*time.Minute, "Delete", "passed", "delete"), denialOf(210*time.Second, "Create", "other", "create"),
			denialOf(time.Hour, "Create", "before", "create"), alices,
		},
	})
	states := map[string]string{}
	for _, r := range collect([]v1alpha1.AllowanceRecord{rec}, scene{Policies: policies(t)}, nil).Refusals {
		states[r.Operation+" "+r.Names[0]] = state(r, text.Terminal{})
	}
	want := map[string]string{
		"Update latest": ", still waiting", "Delete passed": ", may be waiting, too", "Create other": ", may be waiting, too",
		"Update passed": ", passed since", "Create before": "", "Update alices": "",
	}
	if diff := gocmp.Diff(want, states); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

// TestPassedDoesNotWait has something withheld of the parent while a change of a child that was refused has passed, or was
// made by somebody else, since.
func TestPassedDoesNotWait(t *testing.T) {
	letThrough := func(operation, child, path, user string) v1alpha1.HistoryEntry {
		e := denialOf(time.Minute, operation, child, path)
		e.Event, e.User = v1alpha1.EventExercised, user
		return e
	}
	rec := recordOf("web", v1alpha1.AllowanceRecordStatus{
		Active:  []v1alpha1.Allowance{{Relation: v1alpha1.RelationWithheld, Mutation: "spec.paused", Initiator: "eve", Generation: 2}},
		Blocked: &v1alpha1.Blocked{Since: before(3 * time.Minute), User: "mallory"},
		History: []v1alpha1.HistoryEntry{
			letThrough("Create", "made", "create", "mallory"), letThrough("Eviction", "drained", "delete", "alice"), letThrough("Update", "scaled", "spec.replicas", "alice"),
			denialOf(2*time.Minute, "Update", "latest", "spec.replicas"), denialOf(3*time.Minute, "Create", "made", "create"),
			denialOf(3*time.Minute, "Delete", "drained", "delete"), denialOf(3*time.Minute, "Update", "scaled", "spec.replicas"),
			denialOf(time.Hour, "Update", "scaled", "spec.replicas"),
		},
	})
	type told struct {
		State string
		Held  bool
	}
	got := map[string]told{}
	for _, r := range collect([]v1alpha1.AllowanceRecord{rec}, scene{Policies: policies(t)}, nil).Refusals {
		got[r.Operation+" "+r.Names[0]+" "+now.Sub(r.Time.Time).String()] = told{state(r, text.Terminal{}), r.Held}
	}
	want := map[string]told{
		"Update latest 2m0s": {", still waiting", true}, "Create made 3m0s": {", passed since", false}, "Delete drained 3m0s": {", done since by alice", false},
		"Update scaled 3m0s": {", may be waiting, too", true}, "Update scaled 1h0m0s": {", done since by alice", false},
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("what is told (-want +got):\n%s", diff)
	}
}

// What was refused before something was withheld, and nobody waits for, does not wait for that.
func TestRefusedBeforeItWasWithheld(t *testing.T) {
	mark := v1alpha1.Allowance{Relation: v1alpha1.RelationWithheld, Mutation: "spec.paused", Initiator: "eve", Generation: 2}
	seen := v1alpha1.HistoryEntry{Time: before(2 * time.Minute), Event: v1alpha1.EventWithheld, User: "eve", Paths: []string{mark.Mutation}}
	earlier, later := denialOf(3*time.Minute, "Create", "earlier", "create"), denialOf(time.Minute, "Create", "later", "create")
	waits := &v1alpha1.Blocked{Since: before(3 * time.Minute), User: "mallory"}
	for name, tc := range map[string]struct {
		status v1alpha1.AllowanceRecordStatus
		want   []string
	}{
		"nobody waits":             {v1alpha1.AllowanceRecordStatus{History: []v1alpha1.HistoryEntry{later, seen, earlier}}, []string{"later"}},
		"somebody waits for it":    {v1alpha1.AllowanceRecordStatus{Blocked: waits, History: []v1alpha1.HistoryEntry{seen, earlier}}, []string{"earlier"}},
		"nothing tells since when": {v1alpha1.AllowanceRecordStatus{History: []v1alpha1.HistoryEntry{later, earlier}}, []string{"later", "earlier"}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.status.Active = []v1alpha1.Allowance{mark}
			var got []string
			for _, r := range collect([]v1alpha1.AllowanceRecord{recordOf("web", tc.status)}, scene{Policies: policies(t)}, nil).Refusals {
				if r.Held {
					got = append(got, r.Names...)
				}
			}
			if diff := gocmp.Diff(tc.want, got); diff != "" {
				t.Errorf("what waits for it (-want +got):\n%s", diff)
			}
		})
	}
}

// Several changes by one person are approved one by one, or together.
func TestApproveAllBy(t *testing.T) {
	object := v1alpha1.TargetReference{Kind: "Deployment", Namespace: "shop", Name: "web"}
	r := &Report{Withheld: []Withheld{
		{Object: object, User: "mallory", Approvals: []string{"spec.a"}}, {Object: object, User: "eve", Approvals: []string{"spec.b"}},
		{Object: object, User: "mallory", Approvals: []string{"spec.c"}}, {Object: object, User: "mallory", Approvals: []string{"spec.d"}, NotMet: []string{"x"}},
	}}
	got := []string{r.allBy(0), r.allBy(1), r.allBy(2), r.allBy(3)}
	if diff := gocmp.Diff([]string{"", "", "kubectl kausality approve -n shop deployment/web --path 'spec.a,spec.c'", ""}, got); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

func TestWhy(t *testing.T) {
	refused := denialOf(2*time.Minute, "Update", "web-1", "spec.replicas", "spec.minReadySeconds")
	refused.Count, refused.FirstTime = 3, new(before(5*time.Minute))
	refused.Names = append(refused.Names, "web-0")
	crowded := denialOf(time.Minute, "Create", "full-1", "create")
	crowded.Reason, crowded.Message = v1alpha1.ReasonNoRoom, "the annotations of ReplicaSet full-1 have no room"
	earlier := denialOf(time.Hour, "Create", "web-2", "create")
	granted := v1alpha1.HistoryEntry{Time: before(0), Event: v1alpha1.EventGranted}
	web := recordOf("web", v1alpha1.AllowanceRecordStatus{
		Blocked: &v1alpha1.Blocked{Since: before(2 * time.Minute)}, History: []v1alpha1.HistoryEntry{granted, refused, earlier},
	})
	api := recordOf("api", v1alpha1.AllowanceRecordStatus{History: []v1alpha1.HistoryEntry{denialOf(time.Minute, "Create", "api-1", "create")}})
	held := recordOf("cart", v1alpha1.AllowanceRecordStatus{Active: []v1alpha1.Allowance{{
		Relation: v1alpha1.RelationWithheld, Mutation: "spec.template.spec.containers[0].image", Initiator: "mallory",
	}}, History: []v1alpha1.HistoryEntry{{
		Time: before(3 * time.Minute), Event: v1alpha1.EventWithheld, User: "mallory", Paths: []string{"spec.template.spec.containers[0].image"},
	}}})
	waiting := *held.DeepCopy()
	waiting.Status.History = append(waiting.Status.History, denialOf(time.Minute, "Create", "cart-1", "create"))
	ofPod := func(path string) v1alpha1.HistoryEntry {
		e := denialOf(time.Minute, "Update", "p", path)
		e.Kind = "Pod"
		return e
	}
	adopting := denialOf(time.Minute, "Update", "other", "spec.replicas")
	adopting.Message = "changing spec.replicas of ReplicaSet other is not allowed: Deployment grabs would adopt it without a cause, so that no allowance covers it"
	debugged, resized := ofPod("spec.ephemeralContainers"), ofPod("spec.containers[0].resources.limits[cpu]")
	imaged := ofPod("spec.containers[0].image")
	listed := recordOf("list", v1alpha1.AllowanceRecordStatus{Active: []v1alpha1.Allowance{
		{Relation: v1alpha1.RelationWithheld, Mutation: "spec.names[0]", Initiator: "mallory"},
		{Relation: v1alpha1.RelationWithheld, Mutation: "spec.names[1]", Initiator: "mallory"},
		{Relation: v1alpha1.RelationWithheld, Mutation: "spec.names[2]", Initiator: "eve"},
	}})
	stray := recordOf("stray", v1alpha1.AllowanceRecordStatus{
		Strays: []v1alpha1.StrayChild{
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "shop", Name: "mine"}, {Kind: "Other", Name: "other"},
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "shop", Name: "later", Time: before(time.Second)},
		},
		History: []v1alpha1.HistoryEntry{denialOf(time.Minute, "Update", "mine", "spec.replicas"), denialOf(time.Hour, "Delete", "old", "delete")},
	})
	scale := v1alpha1.HistoryEntry{
		Time: before(2 * time.Minute), Event: v1alpha1.EventRefused, Operation: "Update", User: "mallory", Policies: []string{"deployment"},
	}
	leave := scale
	leave.Message = "labels are for others"
	scale.Count, scale.FirstTime, scale.Paths = 4, new(before(3*time.Minute)), []string{"spec.replicas"}
	itself := recordOf("shop", v1alpha1.AllowanceRecordStatus{History: []v1alpha1.HistoryEntry{scale, leave}})
	const crossplane = "system:serviceaccount:crossplane-system:crossplane"
	upgrades := func(message string, status v1alpha1.AllowanceRecordStatus) []v1alpha1.AllowanceRecord {
		e := denialOf(time.Minute, "Update", "up-1", "spec.minReadySeconds")
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
		"of a child for which annotations have no room": {
			records: []v1alpha1.AllowanceRecord{recordOf("full", v1alpha1.AllowanceRecordStatus{History: []v1alpha1.HistoryEntry{crowded}})},
			subject: &cluster.Target{GVK: kind("Deployment"), Namespace: "shop", Name: "full"},
			want: `Refused 60s ago  create of ReplicaSet/full-1
  asked by     mallory
  refused by   the API server, for the size of the annotations
  because      the annotations of ReplicaSet full-1 have no room
`,
		},
		"of an adoption without a cause, with more than that": {
			records: []v1alpha1.AllowanceRecord{recordOf("grabs", v1alpha1.AllowanceRecordStatus{History: []v1alpha1.HistoryEntry{adopting}})},
			subject: &cluster.Target{GVK: kind("Deployment"), Namespace: "shop", Name: "grabs"},
			want: `Refused 60s ago  update of ReplicaSet/other
  asked by      mallory
  not covered   spec.replicas
  bounded by    Deployment/grabs, through AllowancePolicy deployment
  allowed by    no change of Deployment/grabs: it would adopt ReplicaSet/other without a cause, as
                somebody made that, or had it taken for its own. Group platform-team may give it
                that parent (metadata.ownerReferences); what is allowed of Deployment/grabs covers
                it then
  or            delete ReplicaSet/other, if it is not wanted, and see whether Deployment/grabs names
                it as its own, as in spec.crossplane.resourceRefs: who may initiate puts back what
                was there
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

There are 2 more (--limit).
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
		"of a stray, and of what needed no allowance": {
			records: []v1alpha1.AllowanceRecord{stray},
			subject: &cluster.Target{GVK: kind("Deployment"), Namespace: "shop", Name: "stray"},
			want: `Refused 60s ago  update of ReplicaSet/mine
  asked by      mallory
  not covered   spec.replicas
  bounded by    Deployment/stray, through AllowancePolicy deployment
  allowed by    nothing, as it was adopted without a cause: Group platform-team has to delete it, or
                to approve that it is there
  delete        kubectl delete -n shop replicaset mine
  or approve    kubectl annotate -n shop replicaset mine replicaset.kausality.io/approve='metadata.ownerReferences'

Refused 60m ago  delete of ReplicaSet/old
  asked by      mallory
  not covered   delete
  bounded by    Deployment/stray, through AllowancePolicy deployment
  waits for     ReplicaSet/mine, which Deployment/stray adopted without a cause, and for which no
                other ReplicaSet is deleted: Group platform-team has to delete it, or to approve
                that it is there
  delete        kubectl delete -n shop replicaset mine
  or approve    kubectl annotate -n shop replicaset mine replicaset.kausality.io/approve='metadata.ownerReferences'
  allowed by    Group platform-team or any controller doing it while Deployment/stray is steady and
                nothing of it is withheld: that needs no change of it (maintaining, AllowancePolicy
                deployment)
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
		"of a change that was let through on trial": {
			records: []v1alpha1.AllowanceRecord{recordOf("shop", v1alpha1.AllowanceRecordStatus{History: []v1alpha1.HistoryEntry{
				{
					Time: before(2 * time.Minute), Event: v1alpha1.EventWarned, Operation: "Update", User: "mallory",
					Policies: []string{"trial"}, Paths: []string{"spec.replicas"},
				},
				{
					Time: before(3 * time.Minute), Event: v1alpha1.EventAudited, Operation: "Delete", User: "mallory", Kind: "ReplicaSet",
					Names: []string{"shop-1"}, Policies: []string{"trial"}, Paths: []string{"delete"},
				},
			}})},
			want: `Let through 2m ago  update of Deployment/shop
  asked by     mallory
  of           spec.replicas
  effect       it went on; AllowancePolicy trial would withhold or refuse it if it said Deny
  allowed to   Group platform-team
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
			want:    nothing("it"),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			report := collect(tc.records, scene{Policies: policies(t)}, tc.subject)
			report.Subject = "it"
			if tc.subject == nil {
				report.Refusals, report.More = output.Latest(report.Refusals, 1)
			}
			if diff := gocmp.Diff(tc.want, render(report, text.Terminal{Width: text.DefaultWidth}, tc.wide, now)); diff != "" {
				t.Errorf("why: -want, +got:\n%s", diff)
			}
		})
	}
}

// TestWhyOfTheObject has what is withheld of an object told as the object has it, before its record does
// and no longer than it is so.
func TestWhyOfTheObject(t *testing.T) {
	image := v1alpha1.Allowance{Relation: v1alpha1.RelationWithheld, Mutation: "spec.template.spec.containers[0].image", Initiator: "mallory", Generation: 2}
	paused := v1alpha1.Allowance{Relation: v1alpha1.RelationWithheld, Mutation: "spec.paused", Initiator: "eve", Generation: 2}
	tests := map[string]struct {
		kind     string
		holds    []v1alpha1.Allowance
		recorded []v1alpha1.Allowance
		text     string
		want     []string
		notes    int
	}{
		"nothing":                         {},
		"before it is recorded":           {holds: []v1alpha1.Allowance{image}, want: []string{image.Mutation}},
		"as it is recorded":               {holds: []v1alpha1.Allowance{image}, recorded: []v1alpha1.Allowance{image}, want: []string{image.Mutation}},
		"another one since":               {holds: []v1alpha1.Allowance{image, paused}, recorded: []v1alpha1.Allowance{image}, want: []string{image.Mutation, paused.Mutation}},
		"approved since":                  {recorded: []v1alpha1.Allowance{image}},
		"of a kind without a policy":      {kind: "StatefulSet", holds: []v1alpha1.Allowance{image}},
		"where the ledger cannot be read": {text: "{", recorded: []v1alpha1.Allowance{image}, want: []string{image.Mutation}, notes: 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			rec := recordOf("web", v1alpha1.AllowanceRecordStatus{Active: tt.recorded})
			rec.Spec.TargetRef.UID = "1"
			obj := &unstructured.Unstructured{}
			obj.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: cmp.Or(tt.kind, "Deployment")})
			obj.SetNamespace("shop")
			obj.SetName("web")
			obj.SetUID("1")
			obj.SetGeneration(2)
			obj.SetAnnotations(map[string]string{v1alpha1.AnnotationAllowances: cmp.Or(tt.text, ledger.Ledger(nil).Merge(tt.holds...).Encode())})
			records := []v1alpha1.AllowanceRecord{rec}
			subject := &cluster.Target{GVK: obj.GroupVersionKind(), Namespace: "shop", Name: "web"}
			report := collect(records, scene{Policies: policies(t)}, subject)
			report.show(obj, records, scene{Policies: policies(t)})
			var got []string
			for _, w := range report.Withheld {
				got = append(got, w.Paths...)
			}
			slices.Sort(got)
			slices.Sort(tt.want)
			if diff := gocmp.Diff(tt.want, got); diff != "" {
				t.Errorf("withheld (-want +got):\n%s", diff)
			}
			if len(report.Notes) != tt.notes {
				t.Errorf("notes: %q", report.Notes)
			}
		})
	}
}

// TestWhyOfWhatIsNotThere has a wrong name be an error, unless a record tells of it.
func TestWhyOfWhatIsNotThere(t *testing.T) {
	denied := recordOf("web", v1alpha1.AllowanceRecordStatus{History: []v1alpha1.HistoryEntry{denialOf(time.Minute, "Create", "web-2", "create")}})
	denied.Namespace = "shop"
	of := func(kind, name string) *cluster.Target {
		return &cluster.Target{GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind}, Namespace: "shop", Name: name}
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "any"}, "web", errors.New("no"))
	tests := map[string]struct {
		subject   *cluster.Target
		namespace string
		fails     error
		want      string
		notes     int
	}{
		"an object":                          {subject: of("Deployment", "nope"), want: `reading Deployment/nope in namespace shop: deployments.apps "nope" not found. It waits for nothing; what was: kubectl kausality trace -n shop deployment/nope`},
		"an object that is there":            {subject: of("Deployment", "web")},
		"a child whose creation was refused": {subject: of("ReplicaSet", "web-2")},
		"an object that may not be read":     {subject: of("Deployment", "web"), fails: forbidden, notes: 1},
		"an object, and the server fails":    {subject: of("Deployment", "web"), fails: errors.New("broken"), want: "reading Deployment/web in namespace shop: broken"},
		"a namespace":                        {namespace: "nope", want: `reading Namespace/nope: namespaces "nope" not found`},
		"a namespace that is there":          {namespace: "shop"},
		"a namespace that may not be read":   {namespace: "nope", fails: forbidden},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme} {
				if err := add(scheme); err != nil {
					t.Fatal(err)
				}
			}
			web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
			c := fake.NewClientBuilder().WithScheme(scheme).
				WithObjects(denied.DeepCopy(), web, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}).
				WithInterceptorFuncs(interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
					if tt.fails != nil {
						return tt.fails
					}
					return c.Get(ctx, key, obj, opts...)
				}}).Build()
			report, err := findOf(t.Context(), &cluster.Cluster{Client: c, Namespace: cmp.Or(tt.namespace, "shop")}, tt.subject)
			got, notes := "", 0
			if err != nil {
				got = err.Error()
			} else {
				notes = len(report.Notes)
			}
			if got != tt.want || notes != tt.notes {
				t.Errorf("%q, %d notes: want %q, %d", got, notes, tt.want, tt.notes)
			}
		})
	}
}

// TestRefusedAutoscaler asks why of an autoscaler that was refused, and of what it would have scaled.
func TestRefusedAutoscaler(t *testing.T) {
	rec := recordOf("web", v1alpha1.AllowanceRecordStatus{History: []v1alpha1.HistoryEntry{{
		Time: before(time.Minute), Event: v1alpha1.EventRefused, Operation: "Create", User: "mallory", Policies: []string{"deployment"},
		Kind: "HorizontalPodAutoscaler", Names: []string{"x"}, Paths: []string{"spec.replicas"},
		Message: "HorizontalPodAutoscaler x would scale Deployment web in the name of its own controller, and is for who may do that",
	}}})
	target := func(group, kind, name string) *cluster.Target {
		return &cluster.Target{GVK: schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}, Namespace: "shop", Name: name}
	}
	const want = `Refused 60s ago  create of HorizontalPodAutoscaler/x
  asked by       mallory
  would change   spec.replicas of Deployment/web
  refused by     AllowancePolicy deployment
`
	for name, tc := range map[string]struct {
		subject *cluster.Target
		want    string
	}{
		"of what it would have scaled":    {target("apps", "Deployment", "web"), want},
		"of itself":                       {target("autoscaling", "HorizontalPodAutoscaler", "x"), want},
		"of the namespace":                {nil, want},
		"of another one":                  {target("autoscaling", "HorizontalPodAutoscaler", "y"), ""},
		"of another one of the same name": {target("apps", "Deployment", "x"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			report := collect([]v1alpha1.AllowanceRecord{rec}, scene{}, tc.subject)
			for _, r := range report.Refusals {
				got.WriteString(renderRefusal(r, "", text.Terminal{Width: text.DefaultWidth}, false, now))
			}
			if diff := gocmp.Diff(tc.want, got.String()); diff != "" {
				t.Errorf("why (-want +got):\n%s", diff)
			}
		})
	}
}
