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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
)

const replicaSets = `
  subjects:
  - {kind: ServiceAccount, name: replicaset-controller, namespace: kube-system}
`

const maintainsPods = `
  maintaining:
    policies: [{target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create, Delete]}]
`

// otherReplicaSetRules is a policy for ReplicaSets whose initiators cannot have Pods deleted.
const otherReplicaSetRules = `
metadata: {name: another}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: ReplicaSet}
  validationActions: [Deny]
  subjects: [{kind: Group, name: another-team, mayInitiate: true}]
  rules:
  - trigger: metadata.labels
    policies: [{target: {apiVersion: v1, resource: pods}, relation: ControllerChild, mutations: [{jsonPath: spec.none}]}]
`

// ownReplicaSetRules is a policy for ReplicaSets by which its initiators may scale them, as far as it is up to it.
const ownReplicaSetRules = `
metadata: {name: own}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: ReplicaSet}
  validationActions: [Deny]
  subjects: [{kind: Group, name: sre, mayInitiate: true}]
  rules:
  - trigger: spec.replicas
    policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Create]}]
`

const ownPods = `
metadata: {name: pod}
spec:
  for: {apiVersion: v1, kind: Pod}
  validationActions: [Deny]
  subjects: [{kind: Group, name: pod-admins, mayInitiate: true}]
  rules: [{trigger: spec.none}]
`

// otherRules is a policy for Deployments whose initiators cannot have ReplicaSets scaled.
const otherRules = `
metadata: {name: another}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  validationActions: [Deny]
  subjects:
  - {kind: Group, name: another-team, mayInitiate: true}
  rules:
  - trigger: spec.paused
    policies:
    - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
      relation: ControllerChild
      mutations: [{jsonPath: spec.paused}]
`

// templateRules is a policy for Deployments by which their template makes ReplicaSets.
const templateRules = `
metadata: {name: templates}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  validationActions: [Deny]
  subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
  rules:
  - trigger: spec.template
    policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Create]}]
`

// incidentRules lets others than initiators hold what is new of ReplicaSets back, under a condition.
const incidentRules = `
metadata: {name: incident}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  validationActions: [Deny]
  subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
  rules:
  - trigger: spec.none
    policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, mutations: [{jsonPath: spec.none}]}]
  maintaining:
    policies:
    - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
      relation: ControllerChild
      mutations: [{jsonPath: spec.minReadySeconds}]
      subjects: [{kind: Group, name: on-call}]
      conditions: ["has(object.metadata.annotations.incident)"]
`

// readyRules lets others allow what is no rule's of the policy for Deployments.
const readyRules = `
metadata: {name: ready}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  validationActions: [Deny]
  subjects: [{kind: Group, name: ready-team, mayInitiate: true}]
  rules:
  - trigger: spec.minReadySeconds
    policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, mutations: [{jsonPath: spec.minReadySeconds}]}]
`

// allRules lets others allow anything by any change of a Deployment.
const allRules = `
metadata: {name: all}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  validationActions: [Deny]
  subjects: [{kind: Group, name: ops, mayInitiate: true}]
  rules:
  - trigger: spec
    policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: ["*"]}]
`

// readRules lets what a ConfigMap holds change the ReplicaSets of Deployments that name it.
const readRules = `
metadata: {name: read}
spec:
  for: {apiVersion: v1, kind: ConfigMap}
  validationActions: [Deny]
  subjects: [{kind: Group, name: config-team, mayInitiate: true}]
  rules:
  - trigger: data
    policies:
    - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
      relation: ControllerChild
      mutations: [{jsonPath: spec.minReadySeconds}]
      through: {apiGroup: apps, apiVersion: v1, resource: deployments, namedBy: [spec.config]}
`

// What a denial advises helps who gets it.
func TestDenialAdvises(t *testing.T) {
	const (
		replicaController = "system:serviceaccount:kube-system:replicaset-controller"
		initiator         = "Group platform-team may allow it by changing Deployment web, or approve what is already there: " +
			"kubectl annotate -n default deployment web kausality.io/approve="
	)
	debugged := func() *unstructured.Unstructured {
		p := pod()
		p.Object["spec"] = map[string]any{"ephemeralContainers": []any{map[string]any{"name": "debugger"}}}
		return p
	}
	withheld := func() *unstructured.Unstructured { return unsettled(deployment(3, held("spec.replicas", "2"))) }
	templated := func(obj *unstructured.Unstructured, image string) *unstructured.Unstructured {
		spec, _ := obj.Object["spec"].(map[string]any)
		spec["template"] = map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": image}}}}
		return obj
	}
	const (
		exercisers  = "they are for Group platform-team, ServiceAccount kube-system/deployment-controller. "
		inIncidents = ` may do it, once it meets the condition "has(object.metadata.annotations.incident)" of AllowancePolicy incident`
	)
	selecting := func() *unstructured.Unstructured {
		obj := deployment(3)
		_ = unstructured.SetNestedStringMap(obj.Object, map[string]string{"app": "web"}, "spec", "selector", "matchLabels")
		return obj
	}
	labeled := func(labels map[string]string) *unstructured.Unstructured {
		rs := replicaSet(3)
		rs.SetLabels(labels)
		return rs
	}
	readyAfter := func(replicas int64) *unstructured.Unstructured {
		rs := replicaSet(replicas)
		_ = unstructured.SetNestedField(rs.Object, int64(9), "spec", "minReadySeconds")
		return counted(rs)
	}
	reading := func(obj *unstructured.Unstructured, name string) *unstructured.Unstructured {
		_ = unstructured.SetNestedField(obj.Object, name, "spec", "config")
		return obj
	}
	src := func() *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "src", "namespace": "default", "uid": "uid-src"},
			"data": map[string]any{"a": "1"},
		}}
	}
	tests := map[string]struct {
		user, subresource string
		groups            []string
		before, after     *unstructured.Unstructured
		above             *unstructured.Unstructured
		policies          []string
		want              string
	}{
		"whose allowance is missing": {
			user: deployer, before: replicaSet(3), after: counted(replicaSet(5)),
			want: "which allows nothing now. " + initiator + "'*'.",
		},
		"whose allowance is missing, where others initiate other things": {
			user: deployer, before: replicaSet(3), after: counted(replicaSet(5)), policies: []string{otherRules},
			want: "which allows nothing now. " + initiator + "'*'.",
		},
		"the same, while something is withheld": {
			user: deployer, before: replicaSet(3), after: counted(replicaSet(5)), above: withheld(), policies: []string{otherRules},
			want: "which allows nothing while the change of spec.replicas by mallory is withheld. " + initiator + "'spec.replicas@c8b860bc0af6'.",
		},
		"whose allowance is missing, of a parent on which nobody may initiate": {
			user: replicaController, before: pod(), policies: []string{replicaSetPolicy + replicaSets},
			want: "which allows nothing now. Group platform-team may have it allowed by changing what owns ReplicaSet web-1, or approve what is already there: " +
				"kubectl annotate -n default replicaset web-1 replicaset.kausality.io/approve='*'.",
		},
		"the same, where others initiate other things": {
			user: replicaController, before: pod(), policies: []string{replicaSetPolicy + replicaSets, otherReplicaSetRules},
			want: "which allows nothing now. Group platform-team may have it allowed by changing what owns ReplicaSet web-1, or approve what is already there: " +
				"kubectl annotate -n default replicaset web-1 replicaset.kausality.io/approve='*'.",
		},
		"the controller of the parent, which no policy in effect names": {
			user: replicaController, before: pod(), policies: []string{strings.Replace(replicaSetPolicy+replicaSets, "replicaset-controller", "replicaset-contoller", 1)},
			want: "whose allowances " + replicaController + " may not use: they are for ServiceAccount kube-system/replicaset-contoller. " +
				"ServiceAccount kube-system/replicaset-controller makes the children of a ReplicaSet: " +
				"add it to spec.subjects of AllowancePolicy replicaset, or of one that is in effect for the children.",
		},
		"who may not use any, where others initiate other things": {
			user: "mallory", before: replicaSet(3), after: counted(replicaSet(5)), policies: []string{otherRules},
			want: "whose allowances mallory may not use: they are for Group another-team, Group platform-team, ServiceAccount kube-system/deployment-controller. " +
				"Group platform-team may have it done by changing Deployment web.",
		},
		"who may not use any": {
			user: "mallory", before: replicaSet(3), after: counted(replicaSet(5)),
			want: "whose allowances mallory may not use: they are for Group platform-team, ServiceAccount kube-system/deployment-controller. " +
				"Group platform-team may have it done by changing Deployment web.",
		},
		"who may not use any, where others initiate what only some of the rules are about": {
			user: "mallory", before: replicaSet(3), after: counted(replicaSet(5)), policies: []string{replicaSetPolicy + replicaSets, ownReplicaSetRules},
			want: "whose allowances mallory may not use: they are for Group platform-team, ServiceAccount kube-system/deployment-controller, " +
				"Group sre, ServiceAccount kube-system/replicaset-controller. Group platform-team may have it done by changing Deployment web.",
		},
		"who may not use any, where others may initiate": {
			user: "mallory", before: replicaSet(3), after: counted(replicaSet(5)), policies: []string{ownReplicaSetRules},
			want: "whose allowances mallory may not use: they are for Group platform-team, ServiceAccount kube-system/deployment-controller, Group sre. Group sre may do it.",
		},
		"who may not use any, while something is withheld": {
			user: "mallory", before: replicaSet(3), after: counted(replicaSet(5)), above: withheld(),
			want: "whose allowances mallory may not use: they are for Group platform-team, ServiceAccount kube-system/deployment-controller. " +
				"Group platform-team may have it done by changing Deployment web, once what is withheld is approved or taken back.",
		},
		"a child that is made of what is withheld, where others may make such": {
			user: "mallory", after: templated(replicaSet(3), "evil"), above: templated(unsettled(deployment(3, held("spec.template", ""))), "evil"),
			policies: []string{templateRules, ownReplicaSetRules},
			want: "whose allowances mallory may not use: they are for Group platform-team, ServiceAccount kube-system/deployment-controller, Group sre. " +
				"Group sre may do it, once what is withheld is approved or taken back.",
		},
		"a child that is made of something else meanwhile, where others may make such": {
			user: "mallory", after: templated(replicaSet(3), "mine"), above: templated(unsettled(deployment(3, held("spec.template", ""))), "evil"),
			policies: []string{templateRules, ownReplicaSetRules},
			want: "whose allowances mallory may not use: they are for Group platform-team, ServiceAccount kube-system/deployment-controller, Group sre. " +
				"Group sre may do it.",
		},
		"a deletion that others may make": {
			user: "mallory", before: pod(), policies: []string{replicaSetPolicy + replicaSets + maintainsPods},
			want: "whose allowances mallory may not use: they are for ServiceAccount kube-system/replicaset-controller. Group platform-team may do it.",
		},
		"a deletion that the initiators of the child may make": {
			user: "mallory", before: pod(), policies: []string{replicaSetPolicy + replicaSets, ownPods},
			want: "whose allowances mallory may not use: they are for ServiceAccount kube-system/replicaset-controller, Group pod-admins. Group pod-admins may do it.",
		},
		"a deletion that any controller may make, where it was asked for": {
			user: "mallory", before: pod(), policies: []string{replicaSetPolicy},
			want: "whose allowances mallory may not use: they are for any controller. Group platform-team may have it done by changing what owns ReplicaSet web-1.",
		},
		"an eviction": {
			user: "mallory", subresource: subresourceEviction, policies: []string{replicaSetPolicy + replicaSets}, after: &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": "web-1-a", "namespace": "default"},
			}},
			want: "whose allowances mallory may not use: they are for ServiceAccount kube-system/replicaset-controller. " +
				"Group platform-team may have it done by changing what owns ReplicaSet web-1. Evictions need Delete in the maintaining section of the policy.",
		},
		"a label by which it is let go of, of a stranger": {
			user: "mallory", before: labeled(map[string]string{"app": "web"}), after: labeled(nil), above: selecting(),
			want: "whose allowances mallory may not use: " + exercisers + "It is for Group platform-team to let go of it, or to adopt it.",
		},
		"a label by which it is let go of, of the controller": {
			user: deployer, before: labeled(map[string]string{"app": "web"}), after: labeled(nil), above: selecting(),
			want: "and no rule allows that, whatever changes. It is for Group platform-team to let go of it, or to adopt it.",
		},
		"what others may do under a condition": {
			user: "mallory", before: replicaSet(3), after: readyAfter(3), policies: []string{incidentRules},
			want: "whose allowances mallory may not use: " + exercisers + "Group on-call" + inIncidents + ".",
		},
		"what who asks may do under a condition": {
			user: "olga", groups: []string{"on-call"}, before: replicaSet(3), after: readyAfter(3), policies: []string{incidentRules},
			want: "and no rule allows that, whatever changes. olga" + inIncidents + "; else it takes another rule or breaking the glass.",
		},
		"what others than the controller may do under a condition": {
			user: deployer, before: replicaSet(3), after: readyAfter(3), policies: []string{incidentRules},
			want: "and no rule allows that, whatever changes. Group on-call" + inIncidents + "; else it takes another rule or an UpgradeAllowance or breaking the glass.",
		},
		"what the initiators of the child may do, and others under a condition": {
			user: "olga", groups: []string{"on-call"}, before: replicaSet(3), after: readyAfter(3), policies: []string{incidentRules, ownReplicaSetRules},
			want: "and no rule allows that, whatever changes. Group sre may do it. olga" + inIncidents + "; else it takes another rule or breaking the glass.",
		},
		"what who asks may do under a condition, with something that a rule is about": {
			user: "olga", groups: []string{"on-call", "platform-team"}, before: replicaSet(3), after: readyAfter(5), policies: []string{incidentRules},
			want: "and no rule allows adding spec.minReadySeconds, whatever changes. olga may do this of it: adding spec.minReadySeconds, once it meets the condition " +
				`"has(object.metadata.annotations.incident)" of AllowancePolicy incident; else it takes another rule or breaking the glass.`,
		},
		"what who asks may do under a condition, while something is withheld": {
			user: "olga", groups: []string{"on-call"}, before: replicaSet(3), after: readyAfter(3), above: withheld(), policies: []string{incidentRules},
			want: "which allows nothing while the change of spec.replicas by mallory is withheld. " + initiator + "'spec.replicas@c8b860bc0af6'.",
		},
		"what no rule is about, while something is withheld": {
			user: deployer, before: replicaSet(3), above: withheld(),
			want: "which allows nothing while the change of spec.replicas by mallory is withheld, and no rule allows that, whatever changes. " +
				"It takes another rule or an UpgradeAllowance, once what is withheld is approved or taken back, or breaking the glass.",
		},
		"what the initiators of one policy approve, and those of another may allow": {
			user: deployer, before: replicaSet(3), after: readyAfter(3), above: withheld(), policies: []string{readyRules},
			want: "which allows nothing while the change of spec.replicas by mallory is withheld. Group platform-team may approve that: " +
				"kubectl annotate -n default deployment web kausality.io/approve='spec.replicas@c8b860bc0af6'. After that Group ready-team may allow it by changing Deployment web.",
		},
		"what the initiators of two policies approve, one of which allows it": {
			user: deployer, before: replicaSet(3), after: readyAfter(3), above: withheld(), policies: []string{allRules},
			want: "which allows nothing while the change of spec.replicas by mallory is withheld. Group ops may allow it by changing Deployment web, or approve what is already there: " +
				"kubectl annotate -n default deployment web kausality.io/approve='spec.replicas@c8b860bc0af6'.",
		},
		"what a change of that allows which the parent reads": {
			user: deployer, before: replicaSet(3), after: readyAfter(3), above: reading(deployment(3), "src"), policies: []string{readRules},
			want: "which allows nothing now. Group config-team may allow it by changing ConfigMap src, which Deployment web reads, or approve what is already there: " +
				"kubectl annotate -n default configmap src kausality.io/approve='*'.",
		},
		"the same, of a parent that reads none": {
			user: deployer, before: replicaSet(3), after: readyAfter(3), policies: []string{readRules},
			want: "which allows nothing now. Group config-team may allow it by changing a ConfigMap that Deployment web reads; it reads none now that AllowancePolicy read is for.",
		},
		"the same, while something of the parent is withheld": {
			user: deployer, before: replicaSet(3), after: readyAfter(3), above: reading(withheld(), "src"), policies: []string{readRules},
			want: "which allows nothing while the change of spec.replicas by mallory is withheld. Group platform-team may approve that: " +
				"kubectl annotate -n default deployment web kausality.io/approve='spec.replicas@c8b860bc0af6'. " +
				"After that Group config-team may allow it by changing ConfigMap src, which Deployment web reads, or approve what is already there: " +
				"kubectl annotate -n default configmap src kausality.io/approve='*'.",
		},
		"a deletion that no rule is about": {
			user: deployer, before: replicaSet(3),
			want: "and no rule allows that, whatever changes. It takes another rule or an UpgradeAllowance or breaking the glass.",
		},
		"a move from one parent to another in one write": {
			user: "alice", groups: platformTeam, before: bucket(t, "size: 1", gateClosed, under(t, "size: 1")), policies: []string{shopPolicy},
			after: bucket(t, "size: 1", gateClosed, under(t, "size: 1"), func(obj *unstructured.Unstructured) {
				obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Shop", Name: "other", UID: "uid-of-other", Controller: new(true)}})
			}),
			want: "and no rule allows that, whatever changes. It takes another rule or breaking the glass. Who may initiate on both parents moves it in two writes: " +
				"the first takes it away from the one that it has, the second gives it the other one.",
		},
		"a change that no rule is about, by an initiator above": {
			user: "alice", groups: platformTeam, before: pod(), after: debugged(), policies: []string{replicaSetPolicy + replicaSets + maintainsPods},
			want: "and no rule allows that, whatever changes. It takes another rule or breaking the glass.",
		},
		"the same where no reason can go with it": {
			user: replicaController, subresource: "ephemeralcontainers", before: pod(), after: debugged(), policies: []string{replicaSetPolicy + replicaSets},
			want: "and no rule allows that, whatever changes. It takes another rule or an UpgradeAllowance.",
		},
		"the same where the child has initiators": {
			user: "alice", groups: platformTeam, before: pod(), after: debugged(), policies: []string{replicaSetPolicy, ownPods},
			want: "and no rule allows that, whatever changes. Group pod-admins may do it; else it takes another rule or breaking the glass.",
		},
		"something that a rule is about, and something that none is": {
			user: deployer, before: replicaSet(3), after: counted(func() *unstructured.Unstructured {
				rs := replicaSet(5)
				_ = unstructured.SetNestedField(rs.Object, int64(9), "spec", "minReadySeconds")
				return rs
			}()),
			want: "and no rule allows adding spec.minReadySeconds, whatever changes. It takes another rule or an UpgradeAllowance or breaking the glass.",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			above := tc.above
			if above == nil {
				above = deployment(3)
			}
			w := &world{
				cached:  map[string]*unstructured.Unstructured{"Shop/web": shop(t), key("Deployment", "web"): above, key("ReplicaSet", "web-1"): replicaSet(3), key("ConfigMap", "src"): src()},
				live:    map[string]*unstructured.Unstructured{"Shop/web": shop(t), key("Deployment", "web"): above, key("ReplicaSet", "web-1"): replicaSet(3), key("Pod", "web-1-a"): pod(), key("ConfigMap", "src"): src()},
				records: map[types.UID]*v1alpha1.AllowanceRecord{},
			}
			_, validator := w.hooks(t, append([]string{deploymentPolicy}, tc.policies...)...)
			req := asking(t, tc.user, tc.groups, tc.before, tc.after)
			if req.SubResource = tc.subresource; tc.subresource != "" {
				req.Resource.Group, req.Resource.Version, req.Resource.Resource = "", "v1", "pods"
			}
			resp := validator.Handle(t.Context(), req)
			if resp.Allowed {
				t.Fatal("it is allowed")
			}
			_, got, _ := strings.Cut(resp.Result.Message, "), ")
			got, _, _ = strings.Cut(got, " Details: ")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("the denial (-want +got):\n%s", diff)
			}
		})
	}
}

// What would have helped with a denial, and only admission can tell, is recorded with it.
func TestDenialIsRecorded(t *testing.T) {
	type told struct{ ChildInitiators, LettingGo []string }
	owned := func(owners ...metav1.OwnerReference) *unstructured.Unstructured {
		b := bucket(t, "size: 1", gateClosed, under(t, "size: 1"))
		b.SetOwnerReferences(owners)
		return b
	}
	before := bucket(t, "size: 1", gateClosed, under(t, "size: 1"))
	shops := before.GetOwnerReferences()
	node := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "n", UID: "uid-of-n"}
	tests := map[string]struct {
		before, after *unstructured.Unstructured
		policies      []string
		want          told
	}{
		"where nobody else may": {before: replicaSet(3), after: counted(replicaSet(5)), policies: []string{deploymentPolicy}},
		"where the initiators of the child may": {
			before: replicaSet(3), after: counted(replicaSet(5)), policies: []string{deploymentPolicy, ownReplicaSetRules},
			want: told{ChildInitiators: []string{"Group sre"}},
		},
		"of what lets go of the child": {
			before: before, after: owned(), policies: []string{shopPolicy},
			want: told{LettingGo: []string{"metadata.ownerReferences[0]"}},
		},
		"of another owner": {before: before, after: owned(append(shops, node)...), policies: []string{shopPolicy}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			above := map[string]*unstructured.Unstructured{"Shop/web": shop(t), key("Deployment", "web"): deployment(3)}
			w := &world{cached: above, live: above, records: map[types.UID]*v1alpha1.AllowanceRecord{}}
			_, validator := w.hooks(t, tc.policies...)
			if resp := validator.Handle(t.Context(), asking(t, "mallory", nil, tc.before, tc.after)); resp.Allowed {
				t.Fatal("it is allowed")
			}
			var got []told
			for _, o := range w.observed {
				if o.Decision != nil {
					got = append(got, told{o.Decision.ChildInitiators, o.Decision.LettingGo})
				}
			}
			if diff := cmp.Diff([]told{tc.want}, got); diff != "" {
				t.Errorf("what is recorded (-want +got):\n%s", diff)
			}
		})
	}
}
