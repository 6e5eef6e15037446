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

package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

var now = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

const samples = `
metadata: {name: deployment}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
  initializing:
    policies:
    - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
      relation: ControllerChild
      verbs: [Create]
  rules:
  - trigger: spec.template
    conditions: ["object.spec.paused != true"]
    policies:
    - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
      relation: ControllerChild
      verbs: [Create, Update]
      mutations: [{jsonPath: spec.replicas, verbs: [Mutate]}]
---
metadata: {name: replicaset}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: ReplicaSet}
  subjects: [{kind: ServiceAccount, name: replicaset-controller, namespace: kube-system}]
  maintaining:
    policies:
    - target: {apiGroup: "", apiVersion: v1, resource: pods}
      relation: ControllerChild
      verbs: [Create, Delete]
  rules:
  - trigger: spec.replicas
    policies:
    - target: {apiGroup: "", apiVersion: v1, resource: pods}
      relation: ControllerChild
      verbs: [Create]
---
metadata: {name: daemonset}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: DaemonSet}
  subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
  initializing:
    policies:
    - target: {apiGroup: "", apiVersion: v1, resource: pods}
      relation: ControllerChild
      verbs: [Create]
---
metadata: {name: tagged}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  objectSelector: {matchLabels: {tagged: "yes"}}
  validationActions: [Warn]
  subjects: [{kind: User, name: bob, mayInitiate: true}]
  rules:
  - trigger: spec.replicas
`

func policies(t *testing.T) cluster.Policies {
	t.Helper()
	kinds := map[string]string{"replicasets": "ReplicaSet", "pods": "Pod", "controllerrevisions": "ControllerRevision"}
	out := cluster.Policies{Objects: map[string]*v1alpha1.AllowancePolicy{}}
	var all []*policy.Policy
	for document := range strings.SplitSeq(samples, "---\n") {
		p := &v1alpha1.AllowancePolicy{}
		if err := yaml.UnmarshalStrict([]byte(document), p); err != nil {
			t.Fatal(err)
		}
		compiled, errs := policy.Compile(p, func(gvr schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
			return gvr.GroupVersion().WithKind(kinds[gvr.Resource]), true
		})
		if len(errs) > 0 {
			t.Fatal(errs.ToAggregate())
		}
		p.Status.AdoptedGeneration = 1
		all, out.Objects[p.Name] = append(all, compiled), p
	}
	out.Index = policy.NewIndex(all)
	return out
}

// an object with a ledger.
func object(t *testing.T, obj runtime.Object, key string, allowances ...v1alpha1.Allowance) standing {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		t.Fatal(err)
	}
	out := &unstructured.Unstructured{Object: content}
	if len(allowances) > 0 {
		out.SetAnnotations(map[string]string{key: ledger.Ledger(nil).Merge(allowances...).Encode()})
	}
	return standing{obj: out, rec: &v1alpha1.AllowanceRecord{
		Spec: v1alpha1.AllowanceRecordSpec{TargetRef: record.TargetOf(out), LedgerKnown: true},
	}}
}

func deployment(t *testing.T, allowances ...v1alpha1.Allowance) standing {
	t.Helper()
	return object(t, &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "web", Generation: 3},
	}, v1alpha1.AnnotationAllowances, allowances...)
}

func owned(by, uid string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "shop", OwnerReferences: []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: by, Name: uid, UID: types.UID(uid), Controller: new(true),
	}}}
}

func replicaSet(t *testing.T, allowances ...v1alpha1.Allowance) standing {
	t.Helper()
	rs := &appsv1.ReplicaSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSet"}, ObjectMeta: owned("Deployment", "web")}
	rs.Name, rs.UID = "web-1", "web-1"
	return object(t, rs, v1alpha1.ReplicaSetAnnotationPrefix+"allowances", allowances...)
}

func pod(t *testing.T) standing {
	t.Helper()
	p := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: owned("ReplicaSet", "web-1")}
	p.Name, p.UID = "web-1-a", "web-1-a"
	return object(t, p, "")
}

// see returns the sight of the first of a chain of objects, each the child of the next.
func see(t *testing.T, chain ...standing) *sight {
	t.Helper()
	s := &sight{obj: chain[0], policies: policies(t)}
	for _, at := range chain {
		s.chain = append(s.chain, policy.Holder{
			Kind: at.obj.GroupVersionKind().GroupKind(), Labels: at.obj.GetLabels(), NamespaceLabels: map[string]string{},
		})
	}
	var ok bool
	if s.ref, ok = lineage.Parent(s.policies.Index, s.obj.obj); ok {
		s.parent = &standing{}
	}
	if len(chain) > 1 {
		s.parent, s.above = &chain[1], s.chain[1:]
	}
	return s
}

func TestExplain(t *testing.T) {
	withheld := v1alpha1.Allowance{Relation: v1alpha1.RelationWithheld, Mutation: "spec.template.spec.containers[0].image", Generation: 3, Initiator: "mallory"}
	created := v1alpha1.TraceHop{Kind: "Deployment", Name: "web", Field: "(created)", Generation: 1}
	rollout := v1alpha1.TraceHop{Kind: "Deployment", Name: "web", Field: "spec.template.spec.containers[0].image", Generation: 3}
	grant := v1alpha1.Allowance{Kind: "ReplicaSet", Mutation: "create", Generation: 3, Initiator: "alice", Trace: []v1alpha1.TraceHop{rollout}}
	creation := v1alpha1.Allowance{Kind: "ReplicaSet", Mutation: "create", Generation: 1, Initiator: "alice", Trace: []v1alpha1.TraceHop{created}}

	deploymentPolicies := `
POLICIES FOR IT
  POLICY       ACTION   MAY INITIATE
  deployment   Deny     Group platform-team
  tagged       none     not in effect: its selectors leave this object out
`
	deploymentRules := `
WHAT A CHANGE OF IT WOULD ALLOW
  CHANGE OF       ALLOWS
  spec.template   create ReplicaSet; change spec.replicas of ReplicaSet (Mutate), if
                  object.spec.paused != true

ITSELF, AS A CHILD
  It has no parent: whoever RBAC lets may change it. Nothing follows from what triggers a rule,
  unless an initiator does it.
`
	blocked := deployment(t, withheld, grant)
	blocked.rec = &v1alpha1.AllowanceRecord{
		Spec: v1alpha1.AllowanceRecordSpec{TargetRef: v1alpha1.TargetReference{UID: "web"}, LedgerKnown: true},
		Status: v1alpha1.AllowanceRecordStatus{
			FirstSeen:  []v1alpha1.SeenAllowance{{ID: ledger.NewEntry(withheld).ID(), Time: metav1.NewTime(now.Add(-time.Hour))}},
			Blocked:    &v1alpha1.Blocked{Since: metav1.NewTime(now.Add(-time.Minute)), Message: "Create of ReplicaSet web-2 was denied"},
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionOverdue, Status: "True", LastTransitionTime: metav1.NewTime(now.Add(-time.Hour)), Message: "Open for longer than 1m"}},
		},
	}
	unmet := deployment(t, withheld)
	if err := unstructured.SetNestedField(unmet.obj.Object, true, "spec", "paused"); err != nil {
		t.Fatal(err)
	}
	stuck := see(t, deployment(t))
	for _, name := range []string{"web-1", "web-2", "web-3", "web-4", "web-5", "web-6", "web-7"} {
		rec := &v1alpha1.AllowanceRecord{Spec: v1alpha1.AllowanceRecordSpec{TargetRef: v1alpha1.TargetReference{
			Group: "apps", Version: "v1", Kind: "ReplicaSet", Namespace: "shop", Name: name,
		}}}
		if name != "web-2" {
			rec.Status.Blocked = &v1alpha1.Blocked{Since: metav1.NewTime(now.Add(-time.Minute)), Message: "Delete of Pod x was denied"}
		}
		stuck.below = append(stuck.below, rec)
	}
	adopting := deployment(t)
	adopting.rec = &v1alpha1.AllowanceRecord{Status: v1alpha1.AllowanceRecordStatus{Adopting: true}}
	pending := see(t, deployment(t))
	pending.you = &policy.Requester{Username: "alice", Groups: []string{"platform-team"}}
	pending.notes = []string{"Something could not be read."}
	pending.policies.Objects["deployment"].Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionAccepted, Status: "True"},
		{Type: v1alpha1.ConditionEnforced, Status: "False", LastTransitionTime: metav1.NewTime(now.Add(-time.Second)), Message: "taking effect"},
	}
	untold := see(t, deployment(t))
	untold.policies.Objects["deployment"].Status.AdoptedGeneration = 0
	idle := see(t, deployment(t))
	older, _ := policy.Compile(&v1alpha1.AllowancePolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "older"},
		Spec:       v1alpha1.AllowancePolicySpec{For: v1alpha1.ParentKind{APIGroup: "apps", APIVersion: "v1beta1", Kind: "Deployment"}},
	}, nil)
	idle.policies.Idle = []cluster.Idle{{Policy: older, Why: "the API server does not serve kind Deployment in apps/v1beta1"}}
	upgraded := see(t, deployment(t))
	upgraded.upgrades = []cluster.Upgrade{upgradeOfReplicaSets(t, "v2")}
	upgraded.obj.rec.Status.Versions = []v1alpha1.ControllerVersion{{Trigger: v1alpha1.UpgradeOfController, Image: "web:v2", UpgradeAllowanceUID: "uid-v2"}}
	stranger := see(t, replicaSet(t), deployment(t))
	stranger.you = &policy.Requester{Username: "alice", Groups: []string{"platform-team"}}
	adopted := deployment(t, grant)
	adopted.rec.Status.Strays = []v1alpha1.StrayChild{{
		UID: "web-1", APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "shop", Name: "web-1", Time: metav1.NewTime(now.Add(-time.Hour)),
	}}
	stray := see(t, replicaSet(t), adopted)
	stray.you = &policy.Requester{Username: "alice", Groups: []string{"platform-team"}}
	mallory := see(t, pod(t), replicaSet(t, v1alpha1.Allowance{Kind: "Pod", Mutation: "create", Initiator: "alice", Generation: 1,
		Trace: []v1alpha1.TraceHop{{Kind: "ReplicaSet", Name: "web-1", Field: "spec.replicas", Generation: 1}}}), deployment(t))
	mallory.you = &policy.Requester{Username: "mallory"}

	tests := map[string]struct {
		sight *sight
		want  string
	}{
		"a root that has settled": {
			sight: pending,
			want: `Deployment/web in namespace shop, Steady, generation 3
It is waiting: its controller has not seen it yet.
You are alice, and may initiate changes of it.
` + deploymentPolicies + `
ITS CHILDREN, RIGHT NOW
  KIND         ALLOWED   BECAUSE
  ReplicaSet   nothing   no allowance counts now; anything is denied (AllowancePolicy deployment)
` + deploymentRules + `
WHY NOT MORE
  Not Enforced, 1s ago   AllowancePolicy deployment: taking effect

Something could not be read.
`,
		},
		"one whose policy is on its way": {
			sight: untold,
			want: `Deployment/web in namespace shop, Steady, generation 3
It is waiting: its controller has not seen it yet.
` + deploymentPolicies + `
ITS CHILDREN, RIGHT NOW
  KIND         ALLOWED   BECAUSE
  ReplicaSet   nothing   no allowance counts now; anything is denied (AllowancePolicy deployment)
` + deploymentRules + `
WHY NOT MORE
  Not Enforced   AllowancePolicy deployment: the operator has not come to it, or does not run; none
                 of it counts yet
`,
		},
		"a root with a policy that is in effect for nothing": {
			sight: idle,
			want: `Deployment/web in namespace shop, Steady, generation 3
It is waiting: its controller has not seen it yet.

POLICIES FOR IT
  POLICY       ACTION   MAY INITIATE
  deployment   Deny     Group platform-team
  tagged       none     not in effect: its selectors leave this object out
  older        none     not in effect: the API server does not serve kind Deployment in apps/v1beta1

ITS CHILDREN, RIGHT NOW
  KIND         ALLOWED   BECAUSE
  ReplicaSet   nothing   no allowance counts now; anything is denied (AllowancePolicy deployment)
` + deploymentRules,
		},
		"a root while it rolls out, from its creation on": {
			sight: see(t, deployment(t, grant, creation)),
			want: `Deployment/web in namespace shop, Initializing, generation 3
It is waiting: its controller has not seen it yet.
` + deploymentPolicies + `
ITS CHILDREN, RIGHT NOW
  KIND         ALLOWED             BECAUSE
  ReplicaSet   create ReplicaSet   Initializing, AllowancePolicy deployment
               create ReplicaSet   alice → Deployment/web (created)
               create ReplicaSet   alice → Deployment/web spec.template.spec.containers[0].image
` + deploymentRules,
		},
		"a root of which a change is withheld": {
			sight: see(t, blocked),
			want: `Deployment/web in namespace shop, Steady, generation 3
It is waiting: its controller has not seen it yet.
` + deploymentPolicies + `
ITS CHILDREN, RIGHT NOW
  KIND         ALLOWED   BECAUSE
  ReplicaSet   nothing   no allowance counts now; anything is denied (AllowancePolicy deployment)
` + deploymentRules + `
WHY NOT MORE
  Withheld, 60m ago   the change of spec.template.spec.containers[0].image by mallory: it stands,
                      but nothing follows from it, and no allowance counts meanwhile
                      Group platform-team may approve it:
                      kubectl kausality approve -n shop deployment/web --path 'spec.template.spec.containers[0].image'
  Blocked, 60s ago    Create of ReplicaSet web-2 was denied
                      kubectl kausality why -n shop deployment/web
  Overdue, 60m ago    Open for longer than 1m
`,
		},
		"a root of which a change is withheld that cannot be approved": {
			sight: see(t, unmet),
			want: `Deployment/web in namespace shop, Steady, generation 3
It is waiting: its controller has not seen it yet.
` + deploymentPolicies + `
ITS CHILDREN, RIGHT NOW
  KIND         ALLOWED   BECAUSE
  ReplicaSet   nothing   no allowance counts now; anything is denied (AllowancePolicy deployment)
` + deploymentRules + `
WHY NOT MORE
  Withheld   the change of spec.template.spec.containers[0].image by mallory: it stands, but nothing
             follows from it, and no allowance counts meanwhile. Nobody can approve it before this
             holds of the object, which it does not: object.spec.paused != true (AllowancePolicy
             deployment). Change the object so that it does, and approve then
             Group platform-team may approve it then:
             kubectl kausality approve -n shop deployment/web --path 'spec.template.spec.containers[0].image'
`,
		},
		"a root below which something is blocked": {
			sight: stuck,
			want: `Deployment/web in namespace shop, Steady, generation 3
It is waiting: its controller has not seen it yet.
` + deploymentPolicies + `
ITS CHILDREN, RIGHT NOW
  KIND         ALLOWED   BECAUSE
  ReplicaSet   nothing   no allowance counts now; anything is denied (AllowancePolicy deployment)
` + deploymentRules + `
WHY NOT MORE
  BlockedBelow, 60s ago   ReplicaSet/web-1: Delete of Pod x was denied
                          kubectl kausality why -n shop replicaset/web-1
  BlockedBelow, 60s ago   ReplicaSet/web-3: Delete of Pod x was denied
                          kubectl kausality why -n shop replicaset/web-3
  BlockedBelow, 60s ago   ReplicaSet/web-4: Delete of Pod x was denied
                          kubectl kausality why -n shop replicaset/web-4
  BlockedBelow, 60s ago   ReplicaSet/web-5: Delete of Pod x was denied
                          kubectl kausality why -n shop replicaset/web-5
  BlockedBelow, 60s ago   ReplicaSet/web-6: Delete of Pod x was denied
                          kubectl kausality why -n shop replicaset/web-6
  BlockedBelow            there are more
`,
		},
		"a root that is adopting": {
			sight: see(t, adopting),
			want: `Deployment/web in namespace shop, Steady, generation 3
It is waiting: its controller has not seen it yet.
` + deploymentPolicies + `
ITS CHILDREN, RIGHT NOW
  KIND         ALLOWED    BECAUSE
  ReplicaSet   anything   Adopting: it was in the middle of something when its policy first took
                          effect: for who may use its allowances, or initiate above its children;
                          anybody else needs one
` + deploymentRules + `
WHY NOT MORE
  Adopting   it was in the middle of something when its policy first took effect; until it settles,
             its children are unrestricted for who may use its allowances, or initiate above them
`,
		},
		"a root that is being upgraded": {
			sight: upgraded,
			want: `Deployment/web in namespace shop, Steady, generation 3
It is waiting: its controller has not seen it yet.
` + deploymentPolicies + `
ITS CHILDREN, RIGHT NOW
  KIND         ALLOWED   BECAUSE
  ReplicaSet   nothing   no allowance counts now; anything is denied (AllowancePolicy deployment)
` + strings.Replace(deploymentRules, "\nITSELF", `
WHAT AN UPGRADE MAY CHANGE, ONCE
  UPGRADEALLOWANCE   LETS THROUGH
  v2                 change spec.template of ReplicaSet, for what web-system/web does when another
                     Controller is there
                     it is being upgraded to image web:v2

ITSELF`, 1),
		},
		"one in the middle": {
			sight: stranger,
			want: `ReplicaSet/web-1 in namespace shop, Steady
It is waiting: its controller has not seen it yet.
You are alice, and may approve changes of it, and not initiate them.

POLICIES FOR IT
  POLICY       ACTION   MAY INITIATE
  replicaset   Deny     whoever may initiate on what owns it
  What is there already may also be approved by Group platform-team.

ITS CHILDREN, RIGHT NOW
  KIND   ALLOWED                 BECAUSE
  Pod    create and delete Pod   always (maintaining, AllowancePolicy replicaset)

WHAT A CHANGE OF IT WOULD ALLOW
  CHANGE OF       ALLOWS
  spec.replicas   create Pod

ITSELF, AS A CHILD
  Its parent is Deployment/web, Steady; initiators there: Group platform-team.
  KIND         ALLOWED   BECAUSE
  ReplicaSet   nothing   no allowance counts now; anything is denied (AllowancePolicy deployment)
`,
		},
		"one that its parent adopted without a cause": {
			sight: stray,
			want: `ReplicaSet/web-1 in namespace shop, Steady
It is waiting: its controller has not seen it yet.
You are alice, and may approve changes of it, and not initiate them.

POLICIES FOR IT
  POLICY       ACTION   MAY INITIATE
  replicaset   Deny     whoever may initiate on what owns it
  What is there already may also be approved by Group platform-team.

ITS CHILDREN, RIGHT NOW
  KIND   ALLOWED                 BECAUSE
  Pod    create and delete Pod   always (maintaining, AllowancePolicy replicaset)

WHAT A CHANGE OF IT WOULD ALLOW
  CHANGE OF       ALLOWS
  spec.replicas   create Pod

ITSELF, AS A CHILD
  Its parent is Deployment/web, Steady; initiators there: Group platform-team.
  KIND         ALLOWED                        BECAUSE
  ReplicaSet   delete or release ReplicaSet   it is a stray: Deployment/web adopted it without a
                                              cause, and no allowance covers a change of it
  It became a stray 60m ago. Group platform-team may delete it, or approve that it is there:
    kubectl delete -n shop replicaset web-1
    kubectl annotate -n shop replicaset web-1 replicaset.kausality.io/approve='metadata.ownerReferences'
`,
		},
		"one that has adopted without a cause": {
			sight: see(t, adopted),
			want: `Deployment/web in namespace shop, Steady, generation 3
It is waiting: its controller has not seen it yet.

POLICIES FOR IT
  POLICY       ACTION   MAY INITIATE
  deployment   Deny     Group platform-team
  tagged       none     not in effect: its selectors leave this object out

ITS CHILDREN, RIGHT NOW
  KIND         ALLOWED             BECAUSE
  ReplicaSet   create ReplicaSet   alice → Deployment/web spec.template.spec.containers[0].image

WHAT A CHANGE OF IT WOULD ALLOW
  CHANGE OF       ALLOWS
  spec.template   create ReplicaSet; change spec.replicas of ReplicaSet (Mutate), if
                  object.spec.paused != true

ITSELF, AS A CHILD
  It has no parent: whoever RBAC lets may change it. Nothing follows from what triggers a rule,
  unless an initiator does it.

WHY NOT MORE
  Strays, 60m ago   Deployment/web adopted ReplicaSet/web-1 without a cause: no allowance covers a
                    change of strays, and no other child of their kind is deleted for them. Delete
                    them, or approve that they are there
                    kubectl kausality why -n shop deployment/web
`,
		},
		"a leaf, to who may not use the allowances of its parent": {
			sight: mallory,
			want: `Pod/web-1-a in namespace shop, Steady

POLICIES FOR IT
  None: what its controllers do to its children is not restricted.

ITSELF, AS A CHILD
  Its parent is ReplicaSet/web-1, Steady; initiators there: Group platform-team.
  KIND   ALLOWED                 BECAUSE
  Pod    create and delete Pod   always (maintaining, AllowancePolicy replicaset), not for mallory:
                                 for ServiceAccount kube-system/replicaset-controller
         create Pod              alice → ReplicaSet/web-1 spec.replicas, not for mallory: for
                                 ServiceAccount kube-system/replicaset-controller
`,
		},
		"a leaf of one of which a change is withheld": {
			sight: see(t, pod(t), replicaSet(t, v1alpha1.Allowance{
				Relation: v1alpha1.RelationWithheld, Mutation: "spec.replicas", Initiator: "mallory", Replaced: "2",
			}), deployment(t)),
			want: `Pod/web-1-a in namespace shop, Steady

POLICIES FOR IT
  None: what its controllers do to its children is not restricted.

ITSELF, AS A CHILD
  Its parent is ReplicaSet/web-1, Steady; initiators there: Group platform-team.
  KIND   ALLOWED                                                 BECAUSE
  Pod    evictions, and creating what carries nothing withheld   lost Pods are replaced while a
                                                                 change is withheld

WHY ITS PARENT DOES NOT ALLOW MORE
  Withheld   the change of spec.replicas by mallory: it stands, but nothing follows from it, and no
             allowance counts meanwhile
             Group platform-team may approve it:
             kubectl kausality approve -n shop replicaset/web-1 --path 'spec.replicas'
`,
		},
		"one whose policy waits, as its parent is gone": {
			sight: see(t, replicaSet(t)),
			want: `ReplicaSet/web-1 in namespace shop, Steady

POLICIES FOR IT
  POLICY       ACTION   MAY INITIATE
  replicaset   none     not in effect: it waits: it names nobody who may initiate, and no policy in
                        effect for Deployment/web names ReplicaSet

ITSELF, AS A CHILD
  Its parent Deployment/web does not exist: nothing bounds it.

WHY NOT MORE
  Waiting   AllowancePolicy replicaset: it names nobody who may initiate, and no policy in effect
            for Deployment/web names ReplicaSet
`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, render(build(tc.sight), text.Terminal{Width: text.DefaultWidth}, now)); diff != "" {
				t.Errorf("explain: -want, +got:\n%s", diff)
			}
		})
	}
}

// The history of a set is bounded along with its Pods, in each phase but the last.
func TestBoundHistory(t *testing.T) {
	for name, tc := range map[string]struct {
		allowances []v1alpha1.Allowance
		deleting   bool
		want       []Permission
	}{
		"initializing": {allowances: []v1alpha1.Allowance{{
			Kind: "Pod", Mutation: "create", Initiator: "alice",
			Trace: []v1alpha1.TraceHop{{Kind: "DaemonSet", Name: "web", Field: v1alpha1.FieldCreated}},
		}}},
		"steady":   {},
		"deleting": {deleting: true, want: []Permission{{What: anything, Because: "Deleting: no policy restricts that phase"}}},
	} {
		t.Run(name, func(t *testing.T) {
			set := object(t, &appsv1.DaemonSet{
				TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "web"},
			}, v1alpha1.AnnotationAllowances, tc.allowances...)
			if tc.deleting {
				set.obj.SetDeletionTimestamp(new(metav1.NewTime(now)))
			}
			s := see(t, set)
			h := holderOf(s.obj, s.chain, s.policies)
			got := h.bound(schema.GroupKind{Group: "apps", Kind: "ControllerRevision"})
			want := Bound{Kind: "ControllerRevision", Policies: []string{"daemonset"}, Action: v1alpha1.ActionDeny, Permissions: tc.want}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("bound (-want +got):\n%s", diff)
			}
		})
	}
}

// What was under way when the policy came is for others to finish, and not for a stranger.
func TestBoundAdopting(t *testing.T) {
	const because = "Adopting: it was in the middle of something when its policy first took effect"
	const others = ", not for mallory: for ServiceAccount kube-system/replicaset-controller"
	withheld := v1alpha1.Allowance{Relation: v1alpha1.RelationWithheld, Mutation: "spec.replicas", Initiator: "bob"}
	for name, tc := range map[string]struct {
		you        *policy.Requester
		allowances []v1alpha1.Allowance
		want       []Permission
	}{
		"nobody asks": {want: []Permission{{
			What: anything, Because: because + ": for who may use its allowances, or initiate above its children; anybody else needs one",
		}}},
		"its controller asks": {
			you:  &policy.Requester{Username: "system:serviceaccount:kube-system:replicaset-controller"},
			want: []Permission{{What: anything, Because: because}},
		},
		"who may initiate above asks": {
			you:  &policy.Requester{Username: "alice", Groups: []string{"platform-team"}},
			want: []Permission{{What: anything, Because: because}},
		},
		"a stranger asks": {you: &policy.Requester{Username: "mallory"}, want: []Permission{
			{What: anything, Because: because + others},
			{What: "evictions", Because: because},
			{What: "create and delete Pod", Because: "always (maintaining, AllowancePolicy replicaset)" + others},
		}},
		"something is withheld": {
			you: &policy.Requester{Username: "system:serviceaccount:kube-system:replicaset-controller"}, allowances: []v1alpha1.Allowance{withheld},
			want: []Permission{{
				What: "evictions, and creating what carries nothing withheld", Because: "lost Pods are replaced while a change is withheld",
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := see(t, replicaSet(t, tc.allowances...), deployment(t))
			s.obj.rec.Status.Adopting = true
			h := holderOf(s.obj, s.chain, s.policies)
			h.you = tc.you
			if diff := cmp.Diff(tc.want, h.bound(schema.GroupKind{Kind: "Pod"}).Permissions); diff != "" {
				t.Errorf("bound (-want +got):\n%s", diff)
			}
		})
	}
}
