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

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/policy"
)

const ownerPath = "metadata.ownerReferences[0]"

func TestStrays(t *testing.T) {
	deployment := []*policy.Policy{compile(t, "deployment", deploymentSpec)}
	replicaSet := []*policy.Policy{compile(t, "replicaset", replicaSetSpec)}
	soft := []*policy.Policy{compile(t, "soft", deploymentSpec+"validationActions: [Warn]\n")}
	strict := []*policy.Policy{compile(t, "strict", deploymentSpec+`
initializing:
  policies:
  - {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Update]}
`)}
	anyField := []*policy.Policy{compile(t, "any-field", deploymentSpec+`
maintaining:
  policies:
  - {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Create, Update, Delete], mutations: [{jsonPath: spec.replicas}]}
`)}
	created := allowance("*", "*", v1alpha1.FieldCreated)
	creating := allowance("ReplicaSet", v1alpha1.MutationCreateObject, "spec.template")
	scale := allowance("ReplicaSet", "spec.replicas", "spec.replicas")
	deleting := allowance("Pod", v1alpha1.MutationDeleteObject, "spec.replicas")

	// adoption is a request by which the Deployment adopts a ReplicaSet.
	adoption := func(who policy.Requester, policies []*policy.Policy, allowances ...v1alpha1.Allowance) *request {
		r := aRequest(who, Update, replicaSetGVK, "web-1").of(deploymentGVK, "web", policies, allowances...)
		r.Changes = []change.Change{{Path: mustPath(t, ownerPath), Verb: change.Insert}}
		r.Release = true
		return r.with(func(in *Input) { in.Adoption = &Adoption{Parent: in.Parent} })
	}
	// elsewhere gives the adopting parent another kind, whose controller adopts by name.
	elsewhere := func(in *Input) {
		in.Parent.GVK = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "App"}
		in.Adoption.Parent = in.Parent
	}
	// again has the adoption be by the parent as it is now.
	again := func(in *Input) { in.Adoption.Parent = in.Parent }
	younger := func(in *Input) { in.Adoption.Younger = true }
	noted := func(in *Input) { in.Parent.Strays = sets.New(in.Child.UID) }
	surplus := func(in *Input) { in.Parent.Strays, in.Parent.Surplus = sets.New("other"), []string{"other"} }
	scaling := func(who policy.Requester, before, after int64, policies []*policy.Policy, allowances ...v1alpha1.Allowance) *request {
		return aRequest(who, Update, replicaSetGVK, "web-1").changing(t, before, after, "spec.replicas").
			of(deploymentGVK, "web", policies, allowances...)
	}
	deletion := func(who policy.Requester, allowances ...v1alpha1.Allowance) *request {
		return aRequest(who, Delete, podGVK, "web-1-a").of(replicaSetGVK, "web-1", replicaSet, allowances...)
	}

	tests := map[string]struct {
		request *request
		want    Reason
		// stray is whether the request adopts a stray.
		stray     bool
		uncovered []string
	}{
		"adopted while steady":                 {request: adoption(deployer, deployment), want: ReasonStray, stray: true},
		"adopted while a rollout goes on":      {request: adoption(deployer, deployment, creating, scale), want: ReasonStray, stray: true},
		"adopted by its name while allowed to": {request: adoption(deployer, deployment, creating).with(elsewhere), want: ReasonMaintaining},
		"adopted by its name while only a field may change": {
			request: adoption(deployer, deployment, scale).with(elsewhere), want: ReasonStray, stray: true,
		},
		"adopted by who may heal": {request: adoption(deployer, anyField), want: ReasonStray, stray: true},
		"adopted by a new parent": {request: adoption(deployer, deployment, created), want: ReasonInitializing},
		"made after a new parent, and adopted by it": {
			request: adoption(deployer, deployment, created).with(younger), want: ReasonStray, stray: true,
		},
		"made after a new parent, and adopted by it for who may": {
			request: adoption(alice, deployment, created).with(younger).with(func(in *Input) { in.Adoption.Initiator = true }), want: ReasonInitializing,
		},
		"made after a new parent by who may, and adopted by it": {
			request: adoption(deployer, deployment, created).with(younger).with(func(in *Input) { in.Adoption.Returned = &v1alpha1.ReturnedChild{} }),
			want:    ReasonInitializing,
		},
		"made after a new parent, and adopted by it by its name": {
			request: adoption(deployer, deployment, created).with(elsewhere).with(younger), want: ReasonInitializing,
		},
		"made after a new parent that only warns, and adopted by it": {
			request: adoption(deployer, soft, created).with(younger), want: ReasonInitializing,
		},
		"another one deleted while the parent is new": {
			request: deletion(replicaer, allowance("Pod", v1alpha1.MutationDeleteObject, v1alpha1.FieldCreated)), want: ReasonInitializing,
		},
		"another one deleted for it while the parent is new": {
			request: deletion(replicaer, allowance("Pod", v1alpha1.MutationDeleteObject, v1alpha1.FieldCreated)).with(surplus), want: ReasonDenied,
			uncovered: []string{v1alpha1.MutationDeleteObject},
		},
		"another one deleted while the parent is new, for what somebody changed": {
			request: deletion(replicaer, allowance("Pod", v1alpha1.MutationDeleteObject, v1alpha1.FieldCreated), deleting).with(surplus), want: ReasonCovered,
		},
		"another one evicted while the parent is new": {
			request: deletion(mallory, allowance("Pod", v1alpha1.MutationDeleteObject, v1alpha1.FieldCreated)).with(surplus).
				with(func(in *Input) { in.Eviction = true }), want: ReasonInitializing,
		},
		"adopted by a new parent that may create none": {
			request: adoption(deployer, strict, created), want: ReasonStray, stray: true,
		},
		"adopted by a new parent of which something is withheld": {
			request: adoption(deployer, deployment, created).ofWithheld(t, "spec.replicas", int64(3)).with(again), want: ReasonStray, stray: true,
		},
		"adopted by a parent that is in the middle of something": {
			request: adoption(deployer, deployment).with(func(in *Input) { in.Parent.Adopting, in.Adoption.Parent.Adopting = true, true }),
			want:    ReasonAdopting,
		},
		"adopted by a parent that is in the middle of something, of which something is withheld": {
			request: adoption(deployer, deployment).with(func(in *Input) { in.Parent.Adopting = true }).ofWithheld(t, "spec.replicas", int64(3)).with(again),
			want:    ReasonStray, stray: true,
		},
		"adopted under a policy that only warns": {request: adoption(deployer, soft), want: ReasonMaintaining},
		"adopted of a kind that nothing bounds": {
			request: adoption(deployer, deployment).with(func(in *Input) { in.Child.GVK = podGVK }), want: ReasonUnbounded,
		},
		"adopted as its system's own bookkeeping": {
			request: adoption(deployer, deployment).with(func(in *Input) { in.Bookkeeping = true }), want: ReasonBookkeeping,
		},
		"given to the parent by an initiator": {
			request: adoption(alice, deployment).with(func(in *Input) { in.Adoption.Initiator = true }), want: ReasonMaintaining,
		},
		"given to the parent by a stranger": {
			request: adoption(mallory, deployment), want: ReasonDenied, stray: true, uncovered: []string{ownerPath},
		},
		"given to the parent with broken glass": {
			request: adoption(mallory, deployment).with(func(in *Input) { in.BreakGlass = "why" }), want: ReasonBreakGlass, uncovered: []string{ownerPath},
		},
		"adopted again by an initiator": {
			request: adoption(alice, deployment).with(noted).with(func(in *Input) { in.Adoption.Initiator = true }), want: ReasonMaintaining,
		},
		"adopted and changed at once": {
			request: adoption(deployer, deployment, creating, scale).changing(t, int64(1), int64(3), "spec.replicas"),
			want:    ReasonDenied, stray: true, uncovered: []string{"spec.replicas"},
		},
		"adopted by another than the parent that bounds the request": {
			request: adoption(deployer, deployment, created).with(func(in *Input) {
				in.Adoption.Parent = Parent{GVK: deploymentGVK, Name: "other", UID: "uid-of-other", Policies: deployment}
			}),
			want: ReasonInitializing, stray: true,
		},

		"a stray grows, with an allowance": {
			request: scaling(deployer, 1, 3, deployment, scale).with(noted), want: ReasonDenied, uncovered: []string{"spec.replicas"},
		},
		"a stray grows, without need of one": {
			request: scaling(deployer, 1, 3, anyField).with(noted), want: ReasonDenied, uncovered: []string{"spec.replicas"},
		},
		"a stray grows, of a parent that is new again": {
			request: scaling(deployer, 1, 3, deployment, created).with(noted), want: ReasonDenied, uncovered: []string{"spec.replicas"},
		},
		"a stray grows that is one of another parent": {
			request: scaling(deployer, 1, 3, deployment, scale).with(func(in *Input) { in.Parent.Strays = sets.New("other") }), want: ReasonCovered,
		},
		"a stray shrinks":               {request: scaling(deployer, 3, 0, deployment, scale).with(noted), want: ReasonDiscarding},
		"a stray shrinks, by a person":  {request: scaling(alice, 3, 0, deployment).with(noted), want: ReasonDiscarding},
		"a stray shrinks by a stranger": {request: scaling(mallory, 3, 0, deployment).with(noted), want: ReasonDenied, uncovered: []string{"spec.replicas"}},
		"a stray shrinks while something is withheld": {
			request: scaling(deployer, 3, 0, deployment).ofWithheld(t, "spec.replicas", int64(3)).with(noted), want: ReasonDiscarding,
		},
		"a stray shrinks and changes": {
			request: scaling(deployer, 3, 0, deployment, scale).changing(t, int64(0), int64(1), "spec.minReadySeconds").with(noted),
			want:    ReasonDenied, uncovered: []string{"spec.replicas", "spec.minReadySeconds"},
		},
		"another number of a stray shrinks": {
			request: aRequest(deployer, Update, replicaSetGVK, "web-1").changing(t, int64(3), int64(1), "spec.minReadySeconds").
				of(deploymentGVK, "web", deployment).with(noted),
			want: ReasonDenied, uncovered: []string{"spec.minReadySeconds"},
		},
		"a stray is let go": {
			request: adoption(deployer, deployment).with(noted).with(func(in *Input) { in.Adoption = nil }), want: ReasonMaintaining,
		},
		"a stray is deleted":                  {request: deletion(replicaer).with(noted), want: ReasonDiscarding},
		"a stray is deleted by an initiator":  {request: deletion(alice).with(noted).with(func(in *Input) { in.AncestorInitiator = true }), want: ReasonDiscarding},
		"a stray is deleted by a stranger":    {request: deletion(mallory).with(noted), want: ReasonDenied, uncovered: []string{"delete"}},
		"a stray is evicted by anybody":       {request: deletion(mallory).with(noted).with(func(in *Input) { in.Eviction = true }), want: ReasonMaintaining},
		"a good Pod is deleted":               {request: deletion(replicaer), want: ReasonMaintaining},
		"a good Pod is deleted for a stray":   {request: deletion(replicaer).with(surplus), want: ReasonDenied, uncovered: []string{"delete"}},
		"a good Pod is evicted by a stray":    {request: deletion(mallory).with(surplus).with(func(in *Input) { in.Eviction = true }), want: ReasonMaintaining},
		"a good Pod is deleted as was wanted": {request: deletion(replicaer, deleting).with(surplus), want: ReasonCovered},
		"a Pod is created beside a stray": {
			request: aRequest(replicaer, Create, podGVK, "web-1-b").of(replicaSetGVK, "web-1", replicaSet).with(surplus), want: ReasonMaintaining,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Decide(t.Context(), &tt.request.Input)
			var uncovered []string
			for _, act := range got.Uncovered {
				uncovered = append(uncovered, act.String())
			}
			if diff := cmp.Diff(tt.want, got.Reason); diff != "" {
				t.Errorf("reason (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.uncovered, uncovered); diff != "" {
				t.Errorf("uncovered (-want +got):\n%s", diff)
			}
			if stray := tt.request.AdoptsWithoutCause(); stray != tt.stray {
				t.Errorf("adopts a stray: got %t, want %t", stray, tt.stray)
			}
		})
	}
}

// What happens to a stray goes back to whoever does it, and never to who changed the
// parent.
func TestStraysGetNothingOfTheParent(t *testing.T) {
	deployment := []*policy.Policy{compile(t, "deployment", deploymentSpec)}
	replicaSet := compile(t, "replicaset", replicaSetSpec)
	shrinking := aRequest(deployer, Update, replicaSetGVK, "web-1").changing(t, int64(3), int64(0), "spec.replicas").
		of(deploymentGVK, "web", deployment, allowance("ReplicaSet", "spec.replicas", "spec.replicas")).governed(replicaSet)
	shrinking.Parent.Strays = sets.New(shrinking.Child.UID)
	grant := Grants(t.Context(), &shrinking.Input, Decide(t.Context(), &shrinking.Input))
	if len(grant.Allowances) == 0 || len(grant.Withheld) > 0 {
		t.Fatalf("its Pods cannot follow: %+v", grant)
	}
	for _, a := range grant.Allowances {
		if a.Initiator != deployer.Username || a.Trace[0].Field != "(discarding)" {
			t.Errorf("got %+v", a)
		}
	}
}
