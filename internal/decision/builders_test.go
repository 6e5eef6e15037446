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

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
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
	jobGVK        = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	setGVK        = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	revisionGVK   = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ControllerRevision"}
	secretGVK     = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	claimGVK      = schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}
	bucketGVK     = schema.GroupVersionKind{Group: "cloud.example.com", Version: "v1", Kind: "Bucket"}
)

func kindOf(gvr schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
	gvk, ok := map[string]schema.GroupVersionKind{
		"deployments": deploymentGVK, "replicasets": replicaSetGVK, "pods": podGVK, "jobs": jobGVK, "buckets": bucketGVK,
		"controllerrevisions": revisionGVK, "configmaps": configGVK, "secrets": secretGVK, "persistentvolumeclaims": claimGVK,
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

// filledSpec bounds what others than the parent's controller fill in.
const filledSpec = `
for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
rules:
- trigger: spec
  policies:
  - {target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Update]}
  - {target: {apiVersion: v1, resource: secrets}, relation: ControllerChild, verbs: [Update]}
  - {target: {apiVersion: v1, resource: persistentvolumeclaims}, relation: ControllerChild, verbs: [Update]}
`

// request builds an Input; its methods change it and return it.
type request struct {
	Input
	// replaced is what was approved of the child and is not there any more.
	replaced []replaced
}

// replaced is an approved value, nil for none.
type replaced struct {
	path  change.Path
	value any
}

// aRequest returns a request by the requester for an object without a parent.
func aRequest(who policy.Requester, op Operation, gvk schema.GroupVersionKind, name string) *request {
	r := &request{}
	r.Requester = who
	r.Platform = DefaultPlatform
	r.Operation = op
	r.Child = Child{GVK: gvk, Namespace: "default", Name: name, UID: "uid-of-" + name, Generation: 8}
	if op != Create {
		r.Child.Old = map[string]any{}
	}
	if op != Delete {
		r.Child.New = map[string]any{}
	}
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
		r.Child.Old, r.Child.New = holding(r.Child.Old, path, before), holding(r.Child.New, path, after)
	}
	return r.compare()
}

// replacing sets the child before and after an update, and what it changes.
func (r *request) replacing(before, after map[string]any) *request {
	r.Child.Old, r.Child.New = before, after
	r.OwnChanges = change.Find(before, after, change.Options{})
	return r.compare()
}

// having puts a value that does not change into the child.
func (r *request) having(tb testing.TB, text string, value any) *request {
	tb.Helper()
	path := mustPath(tb, text)
	r.Child.Old, r.Child.New = holding(r.Child.Old, path, value), holding(r.Child.New, path, value)
	return r.compare()
}

// withheld makes a field of the child one that a stranger has changed before: was is
// what is approved of it, nil for nothing.
func (r *request) withheld(tb testing.TB, text string, was any) *request {
	tb.Helper()
	path := mustPath(tb, text)
	if _, there := path.Value(r.Child.Old); !there {
		r.having(tb, text, "theirs")
	}
	r.replaced = append(r.replaced, replaced{path, was})
	return r.compare()
}

// compare sets how the child compares with its approved content.
func (r *request) compare() *request {
	r.Child.Standing = nil
	if r.Operation == Update && len(r.OwnPolicies) > 0 {
		r.Child.Standing = standing(r.Child.UID, r.OwnPolicies, asApproved(r.Child.Old, r.replaced), r.Child.Old)
	}
	return r
}

// asApproved returns an object with what was approved of it.
func asApproved(obj map[string]any, was []replaced) map[string]any {
	for _, each := range was {
		obj = holding(obj, each.path, each.value)
	}
	return obj
}

// standing returns how an object compares with its approved content, by what would be stored
// of it after a stranger has made the one out of the other.
func standing(uid string, policies []*policy.Policy, content, present map[string]any) *approved.Standing {
	o := approved.Object{UID: uid, Generation: 6, Fields: content, Triggers: Withholds(policies, nil)}
	for _, p := range policies {
		o.Metadata = append(o.Metadata, p.TriggerMetadata()...)
	}
	changed := o
	changed.Generation, changed.Fields = 7, present
	st := approved.Now(nil, approved.Pending{}, o).After(approved.Request{
		New: changed, User: mallory.Username,
		Uncaused: change.Find(content, present, change.Options{Metadata: o.Metadata}),
	})
	stored, err := approved.Decode(st.State().Encode(uid))
	if err != nil {
		panic(err) // It was written for that.
	}
	return approved.Now(stored, approved.Pending{}, changed)
}

// holding returns an object with a value at a path, nil for none. Items of lists that are
// missing on the way are made.
func holding(obj map[string]any, path change.Path, value any) map[string]any {
	out, _ := put(runtime.DeepCopyJSON(obj), path, value).(map[string]any)
	return out
}

func put(at any, path change.Path, value any) any {
	if len(path) == 0 {
		return value
	}
	if path[0].Type == fieldpath.SegmentIndex {
		list, _ := at.([]any)
		for uint(len(list)) <= path[0].Index {
			list = append(list, map[string]any{})
		}
		list[path[0].Index] = put(list[path[0].Index], path[1:], value)
		return list
	}
	fields, _ := at.(map[string]any)
	if fields == nil {
		fields = map[string]any{}
	}
	if fields[path[0].Field] = put(fields[path[0].Field], path[1:], value); fields[path[0].Field] == nil {
		delete(fields, path[0].Field)
	}
	return fields
}

// object returns the YAML of one, with numbers as the API machinery has them.
func object(tb testing.TB, text string) map[string]any {
	tb.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	var obj map[string]any
	if err := utiljson.Unmarshal(raw, &obj); err != nil {
		tb.Fatal(err)
	}
	return obj
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
	return r.compare()
}

// holding sets the object's own ledger.
func (r *request) holding(allowances ...v1alpha1.Allowance) *request {
	r.Child.Ledger = ledger.Ledger{}.Merge(allowances...)
	return r
}

// of sets the parent, with its policies and its ledger. It is as approved.
func (r *request) of(gvk schema.GroupVersionKind, name string, policies []*policy.Policy, allowances ...v1alpha1.Allowance) *request {
	r.ParentState = ParentFound
	r.Parent = Parent{
		GVK: gvk, Namespace: "default", Name: name, UID: "uid-of-" + name, Generation: 7,
		Policies: policies, Ledger: ledger.Ledger{}.Merge(allowances...),
	}
	return r.beingOf(nil, nil)
}

// beingOf sets the parent's approved content, and what a stranger has made of it.
func (r *request) beingOf(content, present map[string]any) *request {
	r.Parent.Standing = standing(r.Parent.UID, r.Parent.Policies, content, present)
	return r
}

// ofWithheld makes a field of the parent one that a stranger has changed: was is what is
// approved of it, nil for nothing. The parent has nothing else.
func (r *request) ofWithheld(tb testing.TB, text string, was any) *request {
	tb.Helper()
	path := mustPath(tb, text)
	return r.beingOf(holding(nil, path, was), holding(nil, path, "theirs"))
}

// with changes anything else.
func (r *request) with(f func(*Input)) *request {
	f(&r.Input)
	return r
}

// allowance returns an allowance on Deployment web, granted to alice for a change of a field.
func allowance(kind, mutation, field string) v1alpha1.Allowance {
	return v1alpha1.Allowance{
		Kind: kind, Mutation: mutation, Generation: 7, Initiator: "alice",
		Trace: []v1alpha1.TraceHop{{Kind: "Deployment", Name: "web", Generation: 7, Field: field}},
	}
}

func mutations(allowances []v1alpha1.Allowance) []string {
	var out []string
	for _, a := range allowances {
		out = append(out, a.Mutation)
	}
	return out
}
