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
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

func TestDecide(t *testing.T) {
	deployment := []*policy.Policy{compile(t, "deployment", deploymentSpec)}
	replicaSet := []*policy.Policy{compile(t, "replicaset", replicaSetSpec)}
	onCall := []*policy.Policy{compile(t, "replicaset", strings.Replace(replicaSetSpec,
		"\nmaintaining:\n  policies:\n  - target:", "\nmaintaining:\n  policies:\n  - subjects: [{kind: Group, name: on-call}]\n    target:", 1))}
	filled := []*policy.Policy{compile(t, "filled", filledSpec)}
	bounded := []*policy.Policy{compile(t, "bounded", `
for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
initializing:
  policies:
  - {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Create]}
deleting:
  policies:
  - {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Delete]}
rules:
- trigger: spec.replicas
  policies:
  - {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Update]}
`)}
	action := func(action string) []*policy.Policy {
		return []*policy.Policy{compile(t, "soft", deploymentSpec+"validationActions: ["+action+"]\n")}
	}

	// scaling is a request to change the replicas of a ReplicaSet of Deployment web.
	scaling := func(who policy.Requester, allowances ...v1alpha1.Allowance) *request {
		return aRequest(who, Update, replicaSetGVK, "web-1").changing(t, int64(1), int64(3), "spec.replicas").
			of(deploymentGVK, "web", deployment, allowances...)
	}
	scale := allowance("ReplicaSet", "spec.replicas", "spec.replicas")
	created := allowance("*", "*", v1alpha1.FieldCreated)
	oneSided := func(in *Input) { in.Parent.OneSided = true }

	tests := map[string]struct {
		request *request
		want    Reason
		// uncovered are the acts that a refusal names.
		uncovered []string
		// initiator of the allowance that was exercised.
		initiator string
	}{
		"our own write": {request: scaling(mallory).with(func(in *Input) { in.Operator, in.Changes, in.OwnChanges = true, nil, nil }), want: ReasonOwn},
		"our own write, as another webhook has changed it": {
			request: scaling(mallory).with(func(in *Input) { in.Operator = true }),
			want:    ReasonDenied, uncovered: []string{"spec.replicas"},
		},
		"our own deletion":      {request: aRequest(mallory, Delete, replicaSetGVK, "web-1").of(deploymentGVK, "web", deployment).with(func(in *Input) { in.Operator = true }), want: ReasonOwn},
		"nothing that counts":   {request: scaling(mallory).with(func(in *Input) { in.Changes = nil }), want: ReasonUnchanged},
		"already being deleted": {request: scaling(mallory).with(func(in *Input) { in.Child.Deleting = true }), want: ReasonFinishing},
		"the garbage collector": {
			request: aRequest(collector, Delete, replicaSetGVK, "web-1").of(deploymentGVK, "web", deployment), want: ReasonPlatform,
		},
		"a node": {
			request: aRequest(policy.Requester{Username: "system:node:a", Groups: []string{"system:nodes"}}, Delete, podGVK, "web-1-a").
				of(replicaSetGVK, "web-1", replicaSet),
			want: ReasonPlatform,
		},
		"the token of a service account": {
			request: aRequest(policy.Requester{Username: controllerManager}, Update, secretGVK, "token").
				of(deploymentGVK, "web", filled).having(t, "type", "kubernetes.io/service-account-token").changing(t, nil, "x", "data.token"),
			want: ReasonPlatform,
		},
		"the token of a service account, by a stranger": {
			request: aRequest(mallory, Update, secretGVK, "token").
				of(deploymentGVK, "web", filled).having(t, "type", "kubernetes.io/service-account-token").changing(t, nil, "x", "data.token"),
			want: ReasonDenied, uncovered: []string{"data[token]"},
		},
		"another Secret": {
			request: aRequest(policy.Requester{Username: controllerManager}, Update, secretGVK, "token").
				of(deploymentGVK, "web", filled).having(t, "type", "Opaque").changing(t, nil, "x", "data.token"),
			want: ReasonDenied, uncovered: []string{"data[token]"},
		},
		"the binding of a volume claim": {
			request: aRequest(policy.Requester{Username: "system:serviceaccount:kube-system:persistent-volume-binder"}, Update,
				claimGVK, "data").
				of(deploymentGVK, "web", filled).changing(t, nil, "volume", "spec.volumeName"),
			want: ReasonPlatform,
		},
		"all controllers as one user, parent gone": {
			request: aRequest(policy.Requester{Username: controllerManager}, Delete, replicaSetGVK, "web-1").
				with(func(in *Input) { in.ParentState = ParentGone }),
			want: ReasonPlatform,
		},
		"all controllers as one user, parent there": {
			request: aRequest(policy.Requester{Username: controllerManager}, Delete, replicaSetGVK, "web-1").
				of(deploymentGVK, "web", deployment),
			want: ReasonDenied, uncovered: []string{"delete"},
		},
		"bookkeeping of the system": {
			request: aRequest(deployer, Delete, replicaSetGVK, "web-1").of(deploymentGVK, "web", deployment).
				with(func(in *Input) { in.Bookkeeping = true }),
			want: ReasonBookkeeping,
		},
		"bookkeeping by a person": {
			request: aRequest(alice, Delete, replicaSetGVK, "web-1").of(deploymentGVK, "web", deployment).
				with(func(in *Input) { in.Bookkeeping = true }),
			want: ReasonDenied, uncovered: []string{"delete"},
		},
		"an initiator of the child's own policy": {
			request: scaling(alice).governed(compile(t, "hands-on", `
for: {apiGroup: apps, apiVersion: v1, kind: ReplicaSet}
subjects: [{kind: User, name: alice, mayInitiate: true}]
`)),
			want: ReasonOrigin,
		},
		"an initiator of the parent's policy changes the child": {
			request: scaling(alice), want: ReasonDenied, uncovered: []string{"spec.replicas"},
		},
		"no parent":   {request: aRequest(mallory, Update, deploymentGVK, "web").changing(t, int64(1), int64(3), "spec.replicas"), want: ReasonRoot},
		"parent gone": {request: scaling(mallory).with(func(in *Input) { in.ParentState = ParentGone }), want: ReasonOrphan},
		"a resource that no section names": {
			request: aRequest(mallory, Delete, podGVK, "p").of(deploymentGVK, "web", deployment), want: ReasonUnbounded,
		},
		"a parent whose kind has no policy": {
			request: scaling(mallory).with(func(in *Input) { in.ParentState = ParentUngoverned }), want: ReasonUnbounded,
		},
		"bookkeeping of a system whose policies name nobody who may use allowances": {
			request: aRequest(serviceAccount("any", "controller"), Delete, replicaSetGVK, "web-1").of(deploymentGVK, "web", bounded).
				with(func(in *Input) { in.Bookkeeping = true }),
			want: ReasonBookkeeping,
		},
		"bookkeeping by a service account that is not among those who may": {
			request: aRequest(serviceAccount("any", "controller"), Delete, replicaSetGVK, "web-1").of(deploymentGVK, "web", deployment).
				with(func(in *Input) { in.Bookkeeping = true }),
			want: ReasonDenied, uncovered: []string{"delete"},
		},
		"covered by a parent that does not know it": {
			request: scaling(deployer, scale).with(oneSided), want: ReasonDenied, uncovered: []string{"spec.replicas"},
		},
		"new, of a new parent that does not know it": {
			request: aRequest(deployer, Create, replicaSetGVK, "web-1").of(deploymentGVK, "web", deployment, created).with(oneSided),
			want:    ReasonDenied, uncovered: []string{"create"},
		},
		"adopting, of a parent that does not know it": {
			request: scaling(deployer).with(oneSided).with(func(in *Input) { in.Parent.Adopting = true }),
			want:    ReasonDenied, uncovered: []string{"spec.replicas"},
		},
		"adopting": {request: scaling(deployer).with(func(in *Input) { in.Parent.Adopting = true }), want: ReasonAdopting},
		"adopting, by a stranger": {
			request: scaling(mallory).with(func(in *Input) { in.Parent.Adopting = true }), want: ReasonDenied, uncovered: []string{"spec.replicas"},
		},
		"adopting, by a stranger, where the policies name nobody who may use allowances": {
			request: aRequest(mallory, Update, replicaSetGVK, "web-1").changing(t, int64(1), int64(3), "spec.replicas").of(deploymentGVK, "web", bounded).
				with(func(in *Input) { in.Parent.Adopting = true }),
			want: ReasonDenied, uncovered: []string{"spec.replicas"},
		},
		"adopting, by any controller, where the policies name nobody who may use allowances": {
			request: aRequest(serviceAccount("any", "controller"), Update, replicaSetGVK, "web-1").changing(t, int64(1), int64(3), "spec.replicas").
				of(deploymentGVK, "web", bounded).with(func(in *Input) { in.Parent.Adopting = true }),
			want: ReasonAdopting,
		},
		"adopting, by who may initiate above": {
			request: scaling(alice).with(func(in *Input) { in.Parent.Adopting, in.AncestorInitiator = true, true }), want: ReasonAdopting,
		},
		"adopting, by an eviction": {
			request: aRequest(mallory, Delete, replicaSetGVK, "web-1").of(deploymentGVK, "web", deployment).
				with(func(in *Input) { in.Parent.Adopting, in.Eviction = true, true }),
			want: ReasonAdopting,
		},
		"adopting, while a change of the parent is withheld": {
			request: scaling(deployer, scale).with(func(in *Input) { in.Parent.Adopting = true }).ofWithheld(t, imagePath, "a"),
			want:    ReasonDenied, uncovered: []string{"spec.replicas"},
		},
		"adopting, with a withheld change that no rule is about any more": {
			request: scaling(deployer).with(func(in *Input) { in.Parent.Adopting = true }).ofWithheld(t, "spec.paused", nil), want: ReasonAdopting,
		},

		"covered":                          {request: scaling(deployer, scale), want: ReasonCovered, initiator: "alice"},
		"nothing allows it":                {request: scaling(deployer), want: ReasonDenied, uncovered: []string{"spec.replicas"}},
		"covered, but not for this person": {request: scaling(mallory, scale), want: ReasonDenied, uncovered: []string{"spec.replicas"}},
		"covered, but not for this service account": {
			request: scaling(serviceAccount("default", "default"), scale), want: ReasonDenied, uncovered: []string{"spec.replicas"},
		},
		"another field than the covered one": {
			request: aRequest(deployer, Update, replicaSetGVK, "web-1").changing(t, int64(1), int64(3), "spec.minReadySeconds").
				of(deploymentGVK, "web", deployment, scale),
			want: ReasonDenied, uncovered: []string{"spec.minReadySeconds"},
		},
		"one field covered, one not": {
			request: scaling(deployer, scale).changing(t, "a", "b", "spec.template.spec.hostname"),
			want:    ReasonDenied, uncovered: []string{"spec.template.spec.hostname"},
		},
		"different fields covered by different allowances": {
			request: scaling(deployer, scale, allowance("ReplicaSet", "spec.template", "spec.template")).
				changing(t, "a", "b", "spec.template.spec.hostname"),
			want: ReasonCovered, initiator: "alice",
		},
		"an update does not cover a deletion": {
			request: aRequest(deployer, Delete, replicaSetGVK, "web-1").of(deploymentGVK, "web", deployment, scale),
			want:    ReasonDenied, uncovered: []string{"delete"},
		},
		"an allowance for another kind": {
			request: scaling(deployer, allowance("Pod", "spec.replicas", "spec.replicas")),
			want:    ReasonDenied, uncovered: []string{"spec.replicas"},
		},
		"an allowance for the kind of that name in another group": {
			request: scaling(deployer, func() v1alpha1.Allowance { a := scale; a.APIGroup = "example.com"; return a }()),
			want:    ReasonDenied, uncovered: []string{"spec.replicas"},
		},
		"verbs narrower than the change": {
			request: scaling(deployer, func() v1alpha1.Allowance {
				a := scale
				a.Verbs = []v1alpha1.MutationVerb{v1alpha1.MutationInsert}
				return a
			}()),
			want: ReasonDenied, uncovered: []string{"spec.replicas"},
		},
		"any field, but no creation": {
			request: aRequest(deployer, Create, replicaSetGVK, "web-1").of(deploymentGVK, "web", deployment, func() v1alpha1.Allowance {
				a := allowance("ReplicaSet", "*", "spec.template")
				a.Verbs = allVerbs
				return a
			}()),
			want: ReasonDenied, uncovered: []string{"create"},
		},
		"while a change of the parent is withheld": {
			request: scaling(deployer, scale).ofWithheld(t, imagePath, "a"),
			want:    ReasonDenied, uncovered: []string{"spec.replicas"},
		},
		"a withheld change that no rule is about any more": {
			request: scaling(deployer, scale).ofWithheld(t, "spec.paused", nil), want: ReasonCovered, initiator: "alice",
		},
		"a withheld change that only a policy is about that warns": {
			request: scaling(deployer, scale).with(func(in *Input) { in.Parent.Policies = action("Warn") }).ofWithheld(t, imagePath, "a"),
			want:    ReasonCovered, initiator: "alice",
		},
		"a withheld change that one policy of two is about": {
			request: scaling(deployer, scale).with(func(in *Input) { in.Parent.Policies = append(action("Warn"), deployment...) }).
				ofWithheld(t, imagePath, "a"),
			want: ReasonDenied, uncovered: []string{"spec.replicas"},
		},
		"a parent that nobody has compared": {
			request: scaling(deployer, scale).with(func(in *Input) { in.Parent.Standing = nil }), want: ReasonCovered, initiator: "alice",
		},

		"initializing without a section": {request: scaling(deployer, created), want: ReasonInitializing, initiator: "alice"},
		"initializing within its section": {
			request: aRequest(deployer, Create, replicaSetGVK, "web-1").of(deploymentGVK, "web", bounded, created), want: ReasonInitializing, initiator: "alice",
		},
		"initializing within its section, while a change of the parent is withheld": {
			request: aRequest(deployer, Create, replicaSetGVK, "web-1").
				of(deploymentGVK, "web", slices.Concat(bounded, deployment), created).ofWithheld(t, "spec.template.spec.hostname", "a"),
			want: ReasonDenied, uncovered: []string{"create"},
		},
		"initializing, not within its section": {
			request: scaling(mallory).with(func(in *Input) {
				in.Parent = Parent{Policies: bounded, Ledger: scaling(mallory, allowance("ReplicaSet", "create", v1alpha1.FieldCreated)).Parent.Ledger}
			}),
			want: ReasonDenied, uncovered: []string{"spec.replicas"},
		},
		"deleting within its section": {
			request: aRequest(mallory, Delete, replicaSetGVK, "web-1").of(deploymentGVK, "web", bounded).
				with(func(in *Input) { in.Parent.Deleting = true }),
			want: ReasonDeleting,
		},
		"deleting, not within its section, whatever the ledger says": {
			request: scaling(deployer, scale).with(func(in *Input) { in.Parent.Policies = bounded; in.Parent.Deleting = true }),
			want:    ReasonDenied, uncovered: []string{"spec.replicas"},
		},
		"deleting without a section": {
			request: aRequest(mallory, Delete, replicaSetGVK, "web-1").of(deploymentGVK, "web", deployment).
				with(func(in *Input) { in.Parent.Deleting = true }),
			want: ReasonDeleting,
		},

		"maintaining": {request: aRequest(replicaer, Create, podGVK, "").of(replicaSetGVK, "web-1", replicaSet), want: ReasonMaintaining},
		"maintaining is not for strangers": {
			request: aRequest(mallory, Delete, podGVK, "web-1-a").of(replicaSetGVK, "web-1", replicaSet), want: ReasonDenied, uncovered: []string{"delete"},
		},
		"maintaining is for who may initiate above": {
			request: aRequest(alice, Delete, podGVK, "web-1-a").of(replicaSetGVK, "web-1", replicaSet).
				with(func(in *Input) { in.AncestorInitiator = true }),
			want: ReasonMaintaining,
		},
		"an entry that names others is not for who may initiate above": {
			request: aRequest(alice, Delete, podGVK, "web-1-a").of(replicaSetGVK, "web-1", onCall).
				with(func(in *Input) { in.AncestorInitiator = true }),
			want: ReasonDenied, uncovered: []string{"delete"},
		},
		"who may initiate above carries out nothing that is withheld": {
			request: aRequest(alice, Delete, podGVK, "web-1-a").of(replicaSetGVK, "web-1", replicaSet).ofWithheld(t, "spec.replicas", int64(3)).
				with(func(in *Input) { in.AncestorInitiator = true }),
			want: ReasonDenied, uncovered: []string{"delete"},
		},
		"an eviction is for everybody": {
			request: aRequest(mallory, Delete, podGVK, "web-1-a").of(replicaSetGVK, "web-1", replicaSet).
				with(func(in *Input) { in.Eviction = true }),
			want: ReasonMaintaining,
		},
		"an allowance says more than maintaining": {
			request: aRequest(replicaer, Create, podGVK, "").of(replicaSetGVK, "web-1", replicaSet, allowance("Pod", "create", "spec.replicas")),
			want:    ReasonCovered, initiator: "alice",
		},
		"healing would carry out a withheld count": {
			request: aRequest(replicaer, Create, podGVK, "").of(replicaSetGVK, "web-1", replicaSet).ofWithheld(t, "spec.replicas", int64(3)),
			want:    ReasonDenied, uncovered: []string{"create"},
		},
		"evictions go on while something is withheld": {
			request: aRequest(mallory, Delete, podGVK, "web-1-a").of(replicaSetGVK, "web-1", replicaSet).ofWithheld(t, "spec.replicas", int64(3)).
				with(func(in *Input) { in.Eviction = true }),
			want: ReasonMaintaining,
		},

		"released by who may exercise": {
			request: aRequest(deployer, Update, replicaSetGVK, "web-1").changing(t, "uid-of-web", nil, "metadata.ownerReferences[0]").
				of(deploymentGVK, "web", deployment).with(func(in *Input) { in.Release, in.Leaves = true, true }),
			want: ReasonReleased,
		},
		"released by who may exercise, who names the parent otherwise": {
			request: aRequest(deployer, Update, replicaSetGVK, "web-1").changing(t, "uid-of-web", "uid-of-web", "metadata.ownerReferences[0].name").
				of(deploymentGVK, "web", deployment).with(func(in *Input) { in.Release, in.Leaves = true, true }),
			want: ReasonReleased,
		},
		"named rightly again by who may exercise": {
			request: aRequest(deployer, Update, replicaSetGVK, "web-1").changing(t, "uid-of-web", "uid-of-web", "metadata.ownerReferences[0].name").
				of(deploymentGVK, "web", deployment).with(func(in *Input) { in.Release = true }),
			want: ReasonMaintaining,
		},
		"bookkeeping that takes the child away": {
			request: aRequest(deployer, Update, replicaSetGVK, "web-1").changing(t, "uid-of-web", "uid-of-web", "metadata.ownerReferences[0].name").
				of(deploymentGVK, "web", deployment).with(func(in *Input) { in.Bookkeeping, in.Leaves = true, true }),
			want: ReasonDenied, uncovered: []string{"metadata.ownerReferences[0].name"},
		},
		"bookkeeping that takes the child away, of which its controller lets go": {
			request: aRequest(deployer, Update, replicaSetGVK, "web-1").changing(t, "uid-of-web", nil, "metadata.ownerReferences[0]").
				of(deploymentGVK, "web", deployment).with(func(in *Input) { in.Bookkeeping, in.Release, in.Leaves = true, true, true }),
			want: ReasonReleased,
		},
		"adopted by who may exercise, from a parent that bounded nothing": {
			request: aRequest(deployer, Update, replicaSetGVK, "web-1").changing(t, "uid-of-other", nil, "metadata.ownerReferences[0]").
				of(deploymentGVK, "web", deployment).with(func(in *Input) { in.Release = true }),
			want: ReasonMaintaining,
		},
		"released by who may exercise, as the selector is a stranger's": {
			request: aRequest(deployer, Update, podGVK, "web-1").changing(t, "uid", nil, "metadata.ownerReferences[0]").
				of(deploymentGVK, "web", filled).ofWithheld(t, "spec.selector.app", "web").with(func(in *Input) { in.Release = true }),
			want: ReasonDenied, uncovered: []string{"metadata.ownerReferences[0]"},
		},
		"released by a stranger": {
			request: aRequest(mallory, Update, replicaSetGVK, "web-1").changing(t, "uid", nil, "metadata.ownerReferences[0]").
				of(deploymentGVK, "web", deployment).with(func(in *Input) { in.Release = true }),
			want: ReasonDenied, uncovered: []string{"metadata.ownerReferences[0]"},
		},
		"a label of a ReplicaSet, by a stranger: nobody makes another one": {
			request: aRequest(mallory, Update, replicaSetGVK, "web-1").changing(t, "web", "other", "metadata.labels[app]").
				of(deploymentGVK, "web", deployment).with(func(in *Input) { in.Release = true }),
			want: ReasonDenied, uncovered: []string{"metadata.labels[app]"},
		},
		"a label of a ReplicaSet, by its controller: none does that": {
			request: aRequest(deployer, Update, replicaSetGVK, "web-1").changing(t, "web", "other", "metadata.labels[app]").
				of(deploymentGVK, "web", deployment).with(func(in *Input) { in.Release = true }),
			want: ReasonDenied, uncovered: []string{"metadata.labels[app]"},
		},
		"a label of a Pod, by a stranger: another one takes its place": {
			request: aRequest(mallory, Update, podGVK, "web-1-a").changing(t, "web", "other", "metadata.labels[app]").
				of(replicaSetGVK, "web-1", replicaSet).with(func(in *Input) { in.Release, in.Leaves = true, true }),
			want: ReasonReleased,
		},
		"a label of a Pod that has a number, by a stranger": {
			request: aRequest(mallory, Update, podGVK, "web-0").changing(t, "web", "other", "metadata.labels[app]").
				of(setGVK, "web", healing(t, "apps", "StatefulSet")).with(func(in *Input) { in.Release = true }),
			want: ReasonDenied, uncovered: []string{"metadata.labels[app]"},
		},
		"a label of a Pod that completes an index, by a stranger": {
			request: aRequest(mallory, Update, podGVK, "web-0-a").changing(t, "web", "other", "metadata.labels[app]").
				of(jobGVK, "web", healing(t, "batch", "Job")).with(func(in *Input) { in.Release = true }),
			want: ReasonDenied, uncovered: []string{"metadata.labels[app]"},
		},
		"a label of a Pod of a kind of which nothing is known, by a stranger": {
			request: aRequest(mallory, Update, podGVK, "web-a").changing(t, "web", "other", "metadata.labels[app]").
				of(bucketGVK, "web", healing(t, "cloud.example.com", "Bucket")).with(func(in *Input) { in.Release = true }),
			want: ReasonDenied, uncovered: []string{"metadata.labels[app]"},
		},
		"a label of a Pod, by a stranger, and its owner": {
			request: aRequest(mallory, Update, podGVK, "web-1-a").changing(t, "web", "other", "metadata.labels[app]").
				changing(t, "uid", nil, "metadata.ownerReferences[0]").
				of(replicaSetGVK, "web-1", replicaSet).with(func(in *Input) { in.Release = true }),
			want: ReasonDenied, uncovered: []string{"metadata.ownerReferences[0]"},
		},
		"a label of a Pod, by a stranger, while healing waits": {
			request: aRequest(mallory, Update, podGVK, "web-1-a").changing(t, "web", "other", "metadata.labels[app]").
				of(replicaSetGVK, "web-1", replicaSet).ofWithheld(t, "spec.replicas", int64(3)).with(func(in *Input) { in.Release = true }),
			want: ReasonDenied, uncovered: []string{"metadata.labels[app]"},
		},

		"the glass is broken": {
			request: scaling(mallory).with(func(in *Input) { in.BreakGlass = "fire" }),
			want:    ReasonBreakGlass, uncovered: []string{"spec.replicas"},
		},
		"no glass has to be broken": {
			request: scaling(deployer, scale).with(func(in *Input) { in.BreakGlass = "fire" }), want: ReasonCovered, initiator: "alice",
		},
		"warned": {
			request: scaling(deployer).with(func(in *Input) { in.Parent.Policies = action("Warn") }),
			want:    ReasonWarned, uncovered: []string{"spec.replicas"},
		},
		"audited": {
			request: scaling(deployer).with(func(in *Input) { in.Parent.Policies = action("Audit") }),
			want:    ReasonAudited, uncovered: []string{"spec.replicas"},
		},
		"the strictest policy counts": {
			request: scaling(deployer).with(func(in *Input) { in.Parent.Policies = append(action("Audit"), deployment...) }),
			want:    ReasonDenied, uncovered: []string{"spec.replicas"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			v := Decide(t.Context(), &tc.request.Input)
			got := struct {
				Reason    Reason
				Allowed   bool
				Uncovered []string
				Initiator string
			}{Reason: v.Reason, Allowed: v.Allowed}
			for _, a := range v.Uncovered {
				got.Uncovered = append(got.Uncovered, a.String())
			}
			if v.Exercised != nil {
				got.Initiator = v.Exercised.Initiator
			}
			want := got
			want.Reason, want.Allowed = tc.want, tc.want != ReasonDenied
			want.Uncovered, want.Initiator = tc.uncovered, tc.initiator
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

// Of several policies that bound a child the strictest counts, in whatever order they are.
func TestStrictest(t *testing.T) {
	const deny, warn, audit = "Deny", "Warn", "Audit"
	tests := map[string]struct {
		actions []string
		want    Reason
	}{
		"one that denies":            {[]string{deny}, ReasonDenied},
		"one that warns":             {[]string{warn}, ReasonWarned},
		"one that audits":            {[]string{audit}, ReasonAudited},
		"denying, then warning":      {[]string{deny, warn}, ReasonDenied},
		"denying, then auditing":     {[]string{deny, audit}, ReasonDenied},
		"warning, then denying":      {[]string{warn, deny}, ReasonDenied},
		"warning, then auditing":     {[]string{warn, audit}, ReasonWarned},
		"auditing, then warning":     {[]string{audit, warn}, ReasonWarned},
		"denying between the others": {[]string{audit, deny, warn}, ReasonDenied},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var policies []*policy.Policy
			for _, action := range tc.actions {
				policies = append(policies, compile(t, strings.ToLower(action), deploymentSpec+"validationActions: ["+action+"]\n"))
			}
			in := aRequest(deployer, Update, replicaSetGVK, "web-1").of(deploymentGVK, "web", policies).changing(t, int64(1), int64(2), "spec.replicas")
			if v := Decide(t.Context(), &in.Input); v.Reason != tc.want || v.Allowed != (tc.want != ReasonDenied) {
				t.Errorf("verdict %s, allowed %v, want %s", v.Reason, v.Allowed, tc.want)
			}
		})
	}
}

// A policy bounds the children that it names: in any section while the parent is new or going, and
// else for that.
func TestBounding(t *testing.T) {
	const subjects = "for: {apiGroup: apps, apiVersion: v1, kind: Deployment}\nsubjects: [{kind: Group, name: platform-team, mayInitiate: true}]\n"
	section := func(name, resource string) string {
		return name + ": {policies: [{target: {apiGroup: apps, apiVersion: v1, resource: " + resource + "}, relation: ControllerChild, verbs: [Create]}]}\n"
	}
	rules := "rules: [{trigger: spec, policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Create]}]}]\n"
	others := "rules: [{trigger: spec, policies: [{target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create]}]}]\n"
	tests := map[string]struct {
		spec                           string
		steady, initializing, deleting bool
	}{
		"a rule":                            {spec: rules, steady: true, initializing: true, deleting: true},
		"a rule that names nothing":         {spec: "rules: [{trigger: spec}]\n"},
		"a rule for others":                 {spec: others},
		"the section for what is new":       {spec: others + section("initializing", "replicasets"), initializing: true, deleting: true},
		"the section for what is going":     {spec: others + section("deleting", "replicasets"), initializing: true, deleting: true},
		"the section for what is lost":      {spec: others + section("maintaining", "replicasets"), steady: true, initializing: true, deleting: true},
		"no rules":                          {},
		"a section for others that are new": {spec: section("initializing", "deployments")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := compile(t, "p", subjects+tc.spec)
			parent := aRequest(deployer, Update, replicaSetGVK, "web-1").of(deploymentGVK, "web", []*policy.Policy{p}).Parent
			bounds := func() bool { return parent.Bounds(replicaSetGVK.GroupKind()) }
			if got := bounds(); got != tc.steady {
				t.Errorf("bounds those of a steady parent: %v, want %v", got, tc.steady)
			}
			parent.Deleting = true
			if got := bounds(); got != tc.deleting {
				t.Errorf("bounds those of a parent that is going: %v, want %v", got, tc.deleting)
			}
			parent.Deleting = false
			created := allowance("*", "*", v1alpha1.FieldCreated)
			parent.Ledger = parent.Ledger.Merge(created)
			if got := bounds(); got != tc.initializing {
				t.Errorf("bounds those of a parent that is new: %v, want %v", got, tc.initializing)
			}
		})
	}
}

// healing returns a policy of a kind whose Pods come back when they are lost.
func healing(tb testing.TB, group, kind string) []*policy.Policy {
	tb.Helper()
	return []*policy.Policy{compile(tb, "healing", `
for: {apiGroup: `+group+`, apiVersion: v1, kind: `+kind+`}
subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
maintaining:
  policies:
  - {target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create, Delete]}
`)}
}
