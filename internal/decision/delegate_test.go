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

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

func TestDelegate(t *testing.T) {
	deployments := compile(t, "deployment", deploymentSpec)
	replicaSets := compile(t, "replicaset", replicaSetSpec)
	created := func(by string) v1alpha1.Allowance {
		return v1alpha1.Allowance{
			Kind: "*", Mutation: "*", Generation: 1, Initiator: by,
			Trace: []v1alpha1.TraceHop{{Kind: "Deployment", Name: "web", Generation: 1, Field: v1alpha1.FieldCreated}},
		}
	}
	root := func(who policy.Requester, policies ...*policy.Policy) *request {
		return aRequest(who, Update, deploymentGVK, "web").governed(policies...).changing(t, int64(3), int64(4), "spec.replicas")
	}
	child := func(who policy.Requester, allowances ...v1alpha1.Allowance) *request {
		return aRequest(who, Update, replicaSetGVK, "web-1").governed(replicaSets).
			of(deploymentGVK, "web", []*policy.Policy{deployments}, allowances...).changing(t, int64(3), int64(4), "spec.replicas")
	}
	soft := compile(t, "soft", "validationActions: [Warn]\n"+deploymentSpec)
	others := compile(t, "others", `
for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
subjects:
- {kind: User, name: mallory, mayInitiate: true}
rules:
- trigger: spec.strategy
`)
	mallorys := compile(t, "mallorys", `
for: {apiGroup: apps, apiVersion: v1, kind: ReplicaSet}
subjects:
- {kind: User, name: mallory, mayInitiate: true}
rules:
- trigger: spec.replicas
`)
	tests := map[string]struct {
		in     *request
		want   bool
		reason Reason
	}{
		"who may scale it":                                 {in: root(alice, deployments), want: true, reason: ReasonOrigin},
		"a service account that may":                       {in: root(robot, deployments), want: true, reason: ReasonOrigin},
		"a stranger":                                       {in: root(mallory, deployments), reason: ReasonRoot},
		"who only carries out":                             {in: root(deployer, deployments), reason: ReasonRoot},
		"the garbage collector":                            {in: root(collector, deployments), want: true, reason: ReasonPlatform},
		"a stranger, under a policy that warns":            {in: root(mallory, soft), want: true, reason: ReasonRoot},
		"who may initiate something else":                  {in: root(mallory, deployments, others), reason: ReasonOrigin},
		"a stranger, where no rule is about scaling":       {in: root(mallory, replicaSets), reason: ReasonRoot},
		"who made it, as long as it is new":                {in: root(mallory, deployments).holding(created("mallory")), want: true, reason: ReasonRoot},
		"a stranger, while what somebody made is new":      {in: root(mallory, deployments).holding(created("alice")), reason: ReasonRoot},
		"a stranger, for a child":                          {in: child(mallory), reason: ReasonDenied},
		"who may initiate above a child":                   {in: child(alice).with(func(in *Input) { in.AncestorInitiator = true }), want: true, reason: ReasonDenied},
		"a stranger, for a child while its parent is new":  {in: child(mallory, created("alice")), reason: ReasonDenied},
		"its controller, while the parent is new":          {in: child(deployer, created("alice")), want: true, reason: ReasonInitializing},
		"its controller, as far as the parent allows":      {in: child(deployer, allowance("ReplicaSet", "spec.replicas", "spec.replicas")), want: true, reason: ReasonCovered},
		"a stranger, as far as the parent allows":          {in: child(mallory, allowance("ReplicaSet", "spec.replicas", "spec.replicas")), reason: ReasonDenied},
		"a stranger, for a child whose parent is adopting": {in: child(mallory).with(func(in *Input) { in.Parent.Adopting = true }), reason: ReasonDenied},
		"its controller, while the parent is adopting":     {in: child(deployer).with(func(in *Input) { in.Parent.Adopting = true }), want: true, reason: ReasonAdopting},
		"who may initiate on a child alone":                {in: child(mallory).governed(mallorys), want: true, reason: ReasonOrigin},
		"the operator": {
			in: root(robot, deployments).with(func(in *Input) { in.Operator, in.Changes, in.OwnChanges = true, nil, nil }), want: true, reason: ReasonOwn,
		},
		"a stranger, for what is going":            {in: root(mallory, deployments).with(func(in *Input) { in.Child.Deleting = true }), reason: ReasonRoot},
		"who may scale what is going":              {in: root(alice, deployments).with(func(in *Input) { in.Child.Deleting = true }), want: true, reason: ReasonOrigin},
		"a stranger, for a child of what is going": {in: child(mallory).with(func(in *Input) { in.Parent.Deleting = true }), reason: ReasonDenied},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			v, got := Delegate(t.Context(), &tc.in.Input)
			if got != tc.want || v.Reason != tc.reason {
				t.Errorf("got %t for %s, want %t for %s", got, v.Reason, tc.want, tc.reason)
			}
		})
	}
}
