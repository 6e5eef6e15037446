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

// Package plan says what strangers, initiators and fate do in a campaign: who, what, and to
// which kind. It is a function of the seed. Which object of the kind it is, and what is written
// there, follows from the seed of the act and from what there is when it is its turn.
package plan

import (
	"math/rand/v2"
	"slices"
)

// Who acts.
type Who string

// Those who act.
const (
	// Mallory may write every kind, and initiate nothing.
	Mallory Who = "mallory"
	// Gone is a controller gone wrong: one that policies name as who carries changes out.
	Gone Who = "controller"
	// Alice may initiate.
	Alice Who = "alice"
	// Bob may initiate changes of one field of some kinds, and of nothing else.
	Bob Who = "bob"
	// Fate ends processes, and edits policies.
	Fate Who = "fate"
)

// What is done.
type What string

// What strangers do.
const (
	// Update, and the patches, write one field that is drawn from the kind's schema.
	Update    What = "update"
	JSONPatch What = "patch as JSON"
	Merge     What = "merge"
	Strategic What = "merge strategically"
	Apply     What = "apply"
	// Drop takes a field away.
	Drop What = "drop"
	// Status writes a field of the status.
	Status What = "status"
	// Owner changes a part of who owns the object.
	Owner What = "own"
	// Ours writes annotations of Kausality.
	Ours What = "annotate as ours"
	// Finalize adds a finalizer.
	Finalize What = "finalize"
	// Relabel changes a label that selectors know.
	Relabel What = "relabel"
	// Steer changes what steers a rollout, by values that mean something.
	Steer What = "steer"
	// Undo writes the template of another revision into a Deployment.
	Undo What = "undo"
	// Copy creates an object like another one, and one field otherwise.
	Copy             What = "copy"
	Delete           What = "delete"
	DeleteCollection What = "delete all"
	Scale            What = "scale"
	Evict            What = "evict"
	Debug            What = "debug"
	Resize           What = "resize"
	Bind             What = "bind"
	Autoscale        What = "autoscale"
)

// What alice does besides, to what is hers.
const (
	Roll    What = "roll"
	Approve What = "approve"
	Restore What = "restore"
	Ensure  What = "ensure"
	// Park has nothing left to do for an object, lets strangers change it meanwhile, and has it go on
	// without approving anything.
	Park What = "park"
	// Reach deletes or changes what is below hers, however far down.
	Reach What = "reach below"
	// Pick has strangers change two fields of an object that are side by side, and approves of one of them.
	Pick What = "approve of one of two"
	// Glance has strangers change what was looked at, before it is approved as it was.
	Glance What = "approve of what has changed"
	// Plant has strangers make something that is adopted while a rollout is under way.
	Plant What = "have a stray adopted"
	// Replace deletes an object without what is below it, and makes another one of its name at once.
	Replace What = "replace"
	// Exceed has strangers wish for more than was approved, and a controller gone wrong make it in the place of what is lost.
	Exceed What = "have more made than was approved"
	// Lean has an autoscaler go on from a number that strangers change.
	Lean What = "lean on an autoscaler"
	// Waver has strangers change a number again that waits.
	Waver What = "have a number changed twice"
	// Share gives a child a second parent, which deletes it.
	Share What = "share a child"
	// Linger deletes what strangers keep from its end.
	Linger What = "delete what stays"
)

// Thin deletes a child, or adds to it, while the ledger of its parent allows something else: a controller gone wrong does so.
const Thin What = "thin out"

// Part changes, adds or removes the map that has bob's field, often with another field in it, and may
// approve more than bob's field.
const Part What = "change in part"

// What fate does.
const (
	KillOperator       What = "kill the operator"
	RestartControllers What = "restart the controllers"
	RenewPolicy        What = "renew a policy"
	Clean              What = "take finalizers away"
	// Move changes the label of the second namespace by which some policies select.
	Move What = "move the second namespace"
	// Unhook takes away what has the API server ask the operator, and has strangers change something before that is back. It is in no
	// plan by itself.
	Unhook What = "have nobody asked"
)

// Act is one thing that is done.
type Act struct {
	// N counts from one, and marks what is written.
	N    int
	Who  Who
	What What
	// Resource is that of the object, empty for fate.
	Resource string
	// Dry is true where it is only tried.
	Dry bool
	// Elsewhere is true where it is done in the second namespace.
	Elsewhere bool
	// Impostor is true where another account does it that is called as a controller, in the namespace of what it is done to.
	Impostor bool
	// Seed is of what follows.
	Seed uint64
}

// Others is what another kind of the name of Things is known as, which is of another API group.
const Others = "things.other.example.org"

// Resources of parents and of children.
var (
	Parents = []string{"deployments", "statefulsets", "daemonsets", "jobs", "cronjobs", "things", Others}
	// Shared lists the parents of which bob may change one field.
	Shared   = []string{"deployments", "daemonsets", "things", "statefulsets"}
	Children = []string{"replicasets", "pods", "jobs", "controllerrevisions", "configmaps"}
	// Parked lists the parents that can be parked, and Scaled those that autoscalers can scale.
	Parked = []string{"deployments", "statefulsets", "daemonsets", "jobs", "cronjobs"}
	Scaled = []string{"deployments", "statefulsets"}
	// Picked lists the parents that have fields side by side of which one is approved.
	Picked = []string{"deployments", "statefulsets", "daemonsets"}
	// Replaced lists the parents whose children another one of the name finds.
	Replaced = []string{"deployments", "statefulsets", "daemonsets", "things"}
	// Exceeded lists the parents that have a number of children, Wavering those whose number strangers change twice, and Sharing
	// those whose children get a second parent.
	Exceeded = []string{"statefulsets", "statefulsets", "jobs", "cronjobs"}
	Wavering = []string{"statefulsets", "statefulsets", "jobs", "deployments"}
	Sharing  = []string{"statefulsets", "statefulsets", "daemonsets", "jobs"}
	// Elsewhere lists what is in the second namespace, too.
	Elsewhere = []string{"deployments", "daemonsets", "things", "replicasets", "pods", "controllerrevisions", "configmaps"}
)

// Stories are the acts that take several requests: none of them is only tried.
var Stories = []What{Park, Pick, Thin, Glance, Plant, Replace, Exceed, Lean, Waver, Share, Linger}

// posed is how many acts of controllers gone wrong there are to one of an account that is only called like one.
const posed = 4

// often is how many acts upon what is in both namespaces there are to one in the second.
const often = 6

// weighed is something that is chosen as often as its weight says.
type weighed[T any] struct {
	what   T
	weight int
}

func choose[T any](r *rand.Rand, all []weighed[T]) T {
	total := 0
	for _, w := range all {
		total += w.weight
	}
	n := r.IntN(total)
	for _, w := range all {
		if n -= w.weight; n < 0 {
			return w.what
		}
	}
	panic("no weight is left")
}

var (
	actors    = []weighed[Who]{{Mallory, 52}, {Bob, 8}, {Gone, 12}, {Alice, 26}, {Fate, 2}}
	strangers = []weighed[What]{
		{Update, 8}, {JSONPatch, 8}, {Merge, 8}, {Strategic, 8}, {Apply, 8}, {Drop, 6}, {Status, 5}, {Owner, 8}, {Ours, 6},
		{Finalize, 2}, {Relabel, 5}, {Steer, 12}, {Copy, 6}, {Delete, 5}, {DeleteCollection, 2}, {Scale, 5}, {Evict, 3},
		{Debug, 2}, {Resize, 2}, {Bind, 1}, {Autoscale, 4}, {Undo, 3},
	}
	// wrongs is what controllers gone wrong do.
	wrongs     = append(slices.Clone(strangers), weighed[What]{Thin, 30})
	initiators = []weighed[What]{
		{Roll, 30}, {Steer, 8}, {Scale, 14}, {Approve, 20}, {Restore, 20}, {Ensure, 16}, {Delete, 3}, {Evict, 3}, {Park, 20}, {Autoscale, 3},
		{Reach, 20}, {Pick, 8}, {Glance, 6}, {Plant, 8}, {Replace, 5},
		{Exceed, 10}, {Lean, 4}, {Waver, 5}, {Share, 7}, {Linger, 3},
	}
	parts = []weighed[What]{{Part, 12}, {Steer, 2}, {Drop, 1}, {Update, 1}}
	// Most ways around by parking are of Deployments without replicas.
	parkedOften = []weighed[string]{{"deployments", 3}, {"statefulsets", 1}, {"daemonsets", 1}, {"jobs", 1}, {"cronjobs", 1}}
	// What is two levels below what is hers are Pods above all, and of a rollout ReplicaSets are what nothing may delete.
	reached = []weighed[string]{{"pods", 6}, {"replicasets", 1}, {"jobs", 1}, {"configmaps", 2}}
	planted = []weighed[string]{{"deployments", 3}, {"statefulsets", 1}, {"daemonsets", 1}}
	thinned = []weighed[string]{{"replicasets", 5}, {"pods", 1}, {"jobs", 1}, {"configmaps", 3}}
	fates   = []weighed[What]{{KillOperator, 4}, {RestartControllers, 2}, {RenewPolicy, 2}, {Clean, 12}, {Move, 3}}
	targets = []weighed[string]{
		{"deployments", 22}, {"statefulsets", 14}, {"daemonsets", 10}, {"jobs", 8}, {"cronjobs", 8}, {"things", 8}, {Others, 5},
		{"replicasets", 16}, {"pods", 20}, {"controllerrevisions", 6}, {"configmaps", 5}, {"allowancerecords", 3},
	}
)

// tried is how many acts there are to one that is only tried.
const tried = 20

// Make plans acts.
func Make(seed uint64, acts int) []Act {
	r := rand.New(rand.NewPCG(seed, 0))
	out := make([]Act, 0, acts)
	for n := 1; n <= acts; n++ {
		a := Act{N: n, Who: choose(r, actors), Seed: r.Uint64()}
		switch a.Who {
		case Mallory:
			a.What, a.Resource = choose(r, strangers), choose(r, targets)
		case Bob:
			a.What, a.Resource = choose(r, parts), Shared[r.IntN(len(Shared))]
		case Gone:
			a.What, a.Resource = choose(r, wrongs), Children[r.IntN(len(Children))]
		case Alice:
			a.What, a.Resource = choose(r, initiators), Parents[r.IntN(len(Parents))]
			if a.What == Approve && r.IntN(3) == 0 {
				a.Resource = Children[r.IntN(len(Children))] // What is below is hers, too.
			}
		case Fate:
			a.What = choose(r, fates)
		}
		a.Dry = a.Who != Fate && !slices.Contains(Stories, a.What) && r.IntN(tried) == 0
		a.aim(r)
		a.Elsewhere = a.Seed%often == 0 && slices.Contains(Elsewhere, a.Resource)
		a.Impostor = a.Who == Gone && a.Seed%posed == 1
		out = append(out, a)
	}
	return out
}

// aim chooses the resource of an act that is not upon every kind.
func (a *Act) aim(r *rand.Rand) {
	switch a.What {
	case Park:
		a.Resource = choose(r, parkedOften)
	case Plant:
		a.Resource = choose(r, planted)
	case Replace:
		a.Resource = Replaced[r.IntN(len(Replaced))]
	case Exceed:
		a.Resource = Exceeded[r.IntN(len(Exceeded))]
	case Lean:
		a.Resource = Scaled[r.IntN(len(Scaled))]
	case Waver:
		a.Resource = Wavering[r.IntN(len(Wavering))]
	case Share:
		a.Resource = Sharing[r.IntN(len(Sharing))]
	case Pick, Glance:
		a.Resource = Picked[r.IntN(len(Picked))]
	case Reach:
		a.Resource = choose(r, reached)
	case Thin:
		a.Resource = choose(r, thinned)
	case Autoscale:
		if n := r.IntN(len(Scaled)); a.Who != Gone {
			a.Resource = Scaled[n]
		}
	case Undo:
		if a.Who != Gone {
			a.Resource = "deployments"
		}
	case Evict, Debug, Resize, Bind:
		a.Resource = "pods"
	case Scale:
		scaled := []string{"replicasets", "deployments", "statefulsets"}
		switch n := r.IntN(len(scaled)); a.Who {
		case Gone:
			a.Resource = scaled[0]
		case Alice:
			a.Resource = scaled[1+n%2]
		default:
			a.Resource = scaled[n]
		}
	default:
	}
}

// WithLapses has nobody asked so many times, evenly, in the place of other acts.
func WithLapses(acts []Act, times int) []Act {
	for n := 1; n <= times; n++ {
		if at := n * len(acts) / (times + 1); at < len(acts) {
			acts[at] = Act{N: acts[at].N, Who: Fate, What: Unhook, Seed: acts[at].Seed}
		}
	}
	return acts
}

// Rand returns what an act draws from.
func (a *Act) Rand() *rand.Rand {
	return rand.New(rand.NewPCG(a.Seed, uint64(a.N)))
}
