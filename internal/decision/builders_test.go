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
	"cmp"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// The requesters of the tests.
var (
	alice   = policy.Requester{Username: "alice", Groups: []string{"platform-team"}}
	mallory = policy.Requester{Username: "mallory", Groups: []string{"system:authenticated"}}
	robot   = serviceAccount("ci", "robot")

	deployer  = serviceAccount("kube-system", "deployment-controller")
	replicaer = serviceAccount("kube-system", "replicaset-controller")
	collector = serviceAccount("kube-system", "generic-garbage-collector")
)

func serviceAccount(namespace, name string) policy.Requester {
	return policy.Requester{
		Username: "system:serviceaccount:" + namespace + ":" + name,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace},
	}
}

var (
	deploymentGVK = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	replicaSetGVK = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}
	podGVK        = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	setGVK        = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	revisionGVK   = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ControllerRevision"}
	bucketGVK     = schema.GroupVersionKind{Group: "cloud.example.com", Version: "v1", Kind: "Bucket"}
)

func kindOf(gvr schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
	gvk, ok := map[string]schema.GroupVersionKind{
		"deployments": deploymentGVK, "replicasets": replicaSetGVK, "pods": podGVK, "buckets": bucketGVK,
		"controllerrevisions": revisionGVK,
	}[gvr.Resource]
	return gvk, ok
}

// compile makes a policy of the YAML of its spec.
func compile(tb testing.TB, name, spec string) *policy.Policy {
	tb.Helper()
	p := &v1alpha1.AllowancePolicy{}
	p.Name = name
	if err := yaml.UnmarshalStrict([]byte(spec), &p.Spec); err != nil {
		tb.Fatal(err)
	}
	if len(p.Spec.ValidationActions) == 0 {
		p.Spec.ValidationActions = []v1alpha1.ValidationAction{v1alpha1.ActionDeny}
	}
	p.Spec.UncausedChanges = cmp.Or(p.Spec.UncausedChanges, v1alpha1.UncausedHold)
	compiled, errs := policy.Compile(p, kindOf)
	if len(errs) > 0 {
		tb.Fatal(errs.ToAggregate())
	}
	return compiled
}

const deploymentSpec = `
for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
subjects:
- {kind: Group, name: platform-team, mayInitiate: true}
- {kind: ServiceAccount, namespace: ci, name: robot, mayInitiate: true}
- {kind: ServiceAccount, namespace: kube-system, name: deployment-controller}
rules:
- trigger: spec.replicas
  policies:
  - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
    relation: ControllerChild
    verbs: [Update]
    mutations: [{jsonPath: spec.replicas}]
- trigger: spec.template
  conditions: ["!has(object.metadata.labels['frozen'])"]
  capture: ["metadata.annotations[ticket]"]
  policies:
  - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
    relation: ControllerChild
    verbs: [Create, Update]
    mutations: [{jsonPath: spec.replicas}]
`

const replicaSetSpec = `
for: {apiGroup: apps, apiVersion: v1, kind: ReplicaSet}
subjects:
- {kind: ServiceAccount, namespace: kube-system, name: deployment-controller}
- {kind: ServiceAccount, namespace: kube-system, name: replicaset-controller}
maintaining:
  policies:
  - target: {apiVersion: v1, resource: pods}
    relation: ControllerChild
    verbs: [Create, Delete]
rules:
- trigger: spec.replicas
  policies:
  - target: {apiVersion: v1, resource: pods}
    relation: ControllerChild
    verbs: [Create, Delete]
`

// request builds an Input; its methods change it and return it.
type request struct{ Input }

// aRequest is one by the requester for an object without a parent.
func aRequest(who policy.Requester, op Operation, gvk schema.GroupVersionKind, name string) *request {
	r := &request{}
	r.Requester = who
	r.Platform = DefaultPlatform
	r.Operation = op
	r.Child = Child{GVK: gvk, Namespace: "default", Name: name, UID: "uid-of-" + name, Generation: 8}
	return r
}

// changing sets what an update changes; each of its paths goes from before to
// after.
func (r *request) changing(tb testing.TB, before, after any, paths ...string) *request {
	tb.Helper()
	for _, text := range paths {
		path := mustPath(tb, text)
		verb := change.Mutate
		switch {
		case before == nil:
			verb = change.Insert
		case after == nil:
			verb = change.Delete
		}
		c := change.Change{Path: path, Verb: verb, Old: before, New: after}
		r.Changes = append(r.Changes, c)
		r.OwnChanges = append(r.OwnChanges, c)
	}
	return r
}

func mustPath(tb testing.TB, text string) change.Path {
	tb.Helper()
	path, err := change.ParsePath(text)
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// governed sets the policies in effect for the object itself.
func (r *request) governed(policies ...*policy.Policy) *request {
	r.OwnPolicies = policies
	return r
}

// holding sets the object's own ledger.
func (r *request) holding(allowances ...v1alpha1.Allowance) *request {
	r.Child.Ledger = ledger.Ledger{}.Merge(allowances...)
	return r
}

// of sets the parent, with its policies and its ledger.
func (r *request) of(gvk schema.GroupVersionKind, name string, policies []*policy.Policy, allowances ...v1alpha1.Allowance) *request {
	r.ParentState = ParentFound
	r.Parent = Parent{
		GVK: gvk, Namespace: "default", Name: name, UID: "uid-of-" + name, Generation: 7,
		Policies: policies, Ledger: ledger.Ledger{}.Merge(allowances...),
	}
	return r
}

// with changes anything else.
func (r *request) with(f func(*Input)) *request {
	f(&r.Input)
	return r
}

// allowance is one on Deployment web, granted to alice for a change of a field.
func allowance(kind, mutation, field string) v1alpha1.Allowance {
	return v1alpha1.Allowance{
		Kind: kind, Mutation: mutation, Generation: 7, Initiator: "alice",
		Trace: []v1alpha1.TraceHop{{Kind: "Deployment", Name: "web", Generation: 7, Field: field}},
	}
}

func withheldChange(path, replaced string) v1alpha1.Allowance {
	return v1alpha1.Allowance{
		Relation: v1alpha1.RelationWithheld, Mutation: path, Generation: 7, Initiator: "mallory", Replaced: replaced,
	}
}
