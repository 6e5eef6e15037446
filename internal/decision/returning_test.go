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

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/policy"
)

// atRest lets nothing happen to the children of a kind without a cause.
func atRest(tb testing.TB, gvk schema.GroupVersionKind) []*policy.Policy {
	tb.Helper()
	return []*policy.Policy{compile(tb, "at-rest", `
for: {apiGroup: "`+gvk.Group+`", apiVersion: v1, kind: `+gvk.Kind+`}
subjects: [{kind: User, name: alice, mayInitiate: true}]
maintaining: {}
rules:
- trigger: spec
  policies:
  - {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Create, Update], mutations: [{jsonPath: spec}]}
  - {target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create, Delete]}
`)}
}

// returningTo has the parent be as approved again, what was withheld of it having been carried out in part.
func (r *request) returningTo(fields map[string]any) *request {
	r.Parent.Standing = approved.Now(nil, approved.Pending{}, approved.Object{
		UID: r.Parent.UID, Generation: 7, Observed: 7, Fields: fields, Triggers: Withholds(r.Parent.Policies, nil),
	})
	r.Parent.Standing.Rested, r.Parent.Returning = 5, true
	return r
}

const deploymentOfThree = "spec:\n  replicas: 3\n  minReadySeconds: 5\n  template:" + podTemplate

// TestReturning shows which children a controller leads back once what was withheld of the parent was taken back: to
// what is approved, and nowhere else.
func TestReturning(t *testing.T) {
	deploy := func(who policy.Requester, from, to any, edits map[string]any, field string) *request {
		parent := object(t, deploymentOfThree)
		template := edit(t, madeOf(parent), edits)
		template = edit(t, template, map[string]any{"metadata.labels[pod-template-hash]": "abc"})
		return aRequest(who, Update, replicaSetGVK, "web-1").changing(t, from, to, field).having(t, "spec.template", template).
			of(deploymentGVK, "web", atRest(t, deploymentGVK)).returningTo(parent)
	}
	pod := func(op Operation, of schema.GroupVersionKind, name string, edits map[string]any) *request {
		parent := object(t, parents[of])
		r := aRequest(replicaer, op, podGVK, name).of(of, "web", atRest(t, of)).returningTo(parent)
		made := edit(t, injected(t, madeOf(parent)), edits)
		if r.Child.New = made; op == Delete {
			r.Child.Old, r.Child.New = made, nil
		}
		r.Parent.CurrentRevision, r.Parent.UpdateRevision = "web-a", "web-b"
		return r
	}
	evil := map[string]any{"spec.containers[0].image": "evil"}
	added := map[string]any{"spec.containers[0].env[3]": map[string]any{"name": "LD_PRELOAD", "value": "evil"}}
	revised := func(revision string) map[string]any {
		return map[string]any{"metadata.labels[controller-revision-hash]": revision}
	}
	const scale, ready = "spec.replicas", "spec.minReadySeconds"
	settled := func(in *Input) { in.Parent.Returning = false }
	tests := map[string]struct {
		request *request
		want    bool
	}{
		"a ReplicaSet of the template grows":                 {request: deploy(deployer, int64(2), int64(3), nil, scale), want: true},
		"a ReplicaSet of the template grows to more":         {request: deploy(deployer, int64(2), int64(4), nil, scale)},
		"a ReplicaSet of the template shrinks":               {request: deploy(deployer, int64(3), int64(2), nil, scale)},
		"a ReplicaSet of the template shrinks to the number": {request: deploy(deployer, int64(5), int64(3), nil, scale), want: true},
		"another ReplicaSet shrinks":                         {request: deploy(deployer, int64(1), int64(0), evil, scale), want: true},
		"another ReplicaSet, with something added, shrinks":  {request: deploy(deployer, int64(1), int64(0), added, scale), want: true},
		"another ReplicaSet grows":                           {request: deploy(deployer, int64(1), int64(2), evil, scale)},
		"another ReplicaSet, with something added, grows":    {request: deploy(deployer, int64(1), int64(2), added, scale)},
		"a ReplicaSet is told what the Deployment has":       {request: deploy(deployer, int64(9), int64(5), nil, ready), want: true},
		"a ReplicaSet is told something else":                {request: deploy(deployer, int64(5), int64(9), nil, ready)},
		"a ReplicaSet is told what nothing is known of":      {request: deploy(deployer, int64(5), int64(9), nil, "spec.other")},
		"by a stranger":                                          {request: deploy(mallory, int64(1), int64(0), evil, scale)},
		"once the Deployment has settled":                        {request: deploy(deployer, int64(1), int64(0), evil, scale).with(settled)},
		"while something else is withheld":                       {request: deploy(deployer, int64(1), int64(0), evil, scale).ofWithheld(t, "spec.paused", nil)},
		"a ReplicaSet that the Deployment adopted without cause": {request: deploy(deployer, int64(2), int64(3), nil, scale).with(func(in *Input) { in.Parent.Strays = sets.New(in.Child.UID) })},

		"a Pod of a DaemonSet with something else goes": {request: pod(Delete, daemonSetGVK, "web-x", evil), want: true},
		"a Pod of a DaemonSet as it should be goes":     {request: pod(Delete, daemonSetGVK, "web-x", nil)},
		"a Pod of a DaemonSet comes":                    {request: pod(Create, daemonSetGVK, "web-x", nil), want: true},
		"a Pod of a DaemonSet with something else comes": {
			request: pod(Create, daemonSetGVK, "web-x", evil),
		},
		"a Pod of a ReplicaSet goes": {request: pod(Delete, replicaSetGVK, "web-x", nil)},
		"one of too many Pods of a ReplicaSet goes": {
			request: pod(Delete, replicaSetGVK, "web-x", nil).with(func(in *Input) { in.Parent.Beyond = true }), want: true,
		},
		"the same while one that it adopted is there": {
			request: pod(Delete, replicaSetGVK, "web-x", nil).with(func(in *Input) { in.Parent.Beyond, in.Parent.Surplus = true, []string{"other"} }),
		},
		"a Pod of a ReplicaSet comes": {request: pod(Create, replicaSetGVK, "web-x", nil)},
		"a Pod of a ReplicaSet that has too few comes": {
			request: pod(Create, replicaSetGVK, "web-x", nil).with(func(in *Input) { in.Parent.Short = true }), want: true,
		},
		"a Pod of a StatefulSet of another revision goes":      {request: pod(Delete, setGVK, "web-3", revised("web-evil")), want: true},
		"a Pod of a StatefulSet of its revision goes":          {request: pod(Delete, setGVK, "web-3", revised("web-b"))},
		"a Pod of a StatefulSet that its partition keeps goes": {request: pod(Delete, setGVK, "web-1", revised("web-a"))},
		"a Pod of a StatefulSet below its partition, of another revision, goes": {
			request: pod(Delete, setGVK, "web-1", revised("web-evil")), want: true,
		},
		"a Pod of a StatefulSet beyond the number goes": {request: pod(Delete, setGVK, "web-4", revised("web-b")), want: true},
		"a Pod of a StatefulSet whose status is of before goes": {
			request: pod(Delete, setGVK, "web-3", revised("web-evil")).with(func(in *Input) { in.Parent.Standing.Object.Observed = 6 }),
		},
		"a Pod of a StatefulSet comes":                   {request: pod(Create, setGVK, "web-3", revised("web-b")), want: true},
		"a Pod of a StatefulSet beyond the number comes": {request: pod(Create, setGVK, "web-4", revised("web-b"))},
		"a Pod of a Job goes":                            {request: pod(Delete, jobGVK, "web-x", evil)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			want := ReasonDenied
			if tt.want {
				want = ReasonReturning
			}
			if v := Decide(t.Context(), &tt.request.Input); v.Reason != want {
				t.Errorf("%s, want %s", v.Reason, want)
			}
		})
	}
}

// TestReturningGoesOn shows that what is led back can go on further down, and says why.
func TestReturningGoesOn(t *testing.T) {
	parent := object(t, deploymentOfThree)
	r := aRequest(deployer, Update, replicaSetGVK, "web-1").changing(t, int64(2), int64(3), "spec.replicas").
		having(t, "spec.template", madeOf(parent)).of(deploymentGVK, "web", atRest(t, deploymentGVK)).returningTo(parent).
		governed(compile(t, "replicaset", replicaSetSpec))
	grant := Grants(t.Context(), &r.Input, Decide(t.Context(), &r.Input))
	if len(grant.Withheld) > 0 || len(grant.Allowances) == 0 {
		t.Fatalf("withheld %v, allowed %v", grant.Withheld, grant.Allowances)
	}
}

// TestReturningCount shows when the number of Pods is asked for.
func TestReturningCount(t *testing.T) {
	for gvk, want := range map[schema.GroupVersionKind]int64{replicaSetGVK: 4, controllerGVK: 4, setGVK: 0, daemonSetGVK: 0, jobGVK: 0} {
		r := aRequest(replicaer, Delete, podGVK, "web-1").of(gvk, "web", atRest(t, gvk)).returningTo(object(t, parents[gvk]))
		if got, ok := r.ReturningCount(); got != want || ok != (want > 0) {
			t.Errorf("%s: %d, %v", gvk.Kind, got, ok)
		}
		if _, ok := r.with(func(in *Input) { in.Parent.Returning = false }).ReturningCount(); ok {
			t.Errorf("%s: asked for although nothing is led back", gvk.Kind)
		}
	}
}
