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

// Package plan says what a campaign does, as a function of its seed. To which object, and whether there
// is anything to do it to, depends on what is there at that moment.
package plan

import (
	"cmp"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
)

// Do is what is done.
type Do string

// What is done to triggers, sources and namespaces.
const (
	MakeTrigger    Do = "make a trigger"
	ChangeTrigger  Do = "change a trigger"
	RelabelTrigger Do = "have a trigger match, or not"
	DeleteTrigger  Do = "delete a trigger"

	MakeSource   Do = "make a source"
	ChangeSource Do = "change a source"
	DeleteSource Do = "delete a source"

	MakeNamespace    Do = "make a namespace"
	RelabelNamespace Do = "have a namespace match, or not"
	DeleteNamespace  Do = "delete a namespace"
)

// What is done to objects that policies made, or would.
const (
	ChangeObject Do = "change an object"
	AddToObject  Do = "add to an object"
	ClaimObject  Do = "claim an object"
	DeleteObject Do = "delete an object"
	MakeObject   Do = "make an object by hand"
	DeleteOwn    Do = "delete what was made by hand"
)

// What is done to policies.
const (
	MakePolicy     Do = "make a policy"
	RewritePolicy  Do = "change what a policy makes"
	ReshapePolicy  Do = "have a policy make something else"
	SwitchSync     Do = "switch synchronize"
	SwitchExisting Do = "switch generateExisting"
	SwitchOrphan   Do = "switch orphanDownstreamOnPolicyDelete"
	DeletePolicy   Do = "delete a policy"
	// FlashPolicy deletes it in the middle of what it makes.
	FlashPolicy Do = "make a policy and delete it at once"
)

// What is broken, and made whole again.
const (
	TakeRights  Do = "take rights"
	GiveRights  Do = "give rights back"
	Kill        Do = "kill the operator"
	Revive      Do = "have the operator back"
	RestartAPIs Do = "restart the API server"
)

// weights say how often each is done.
var weights = map[Do]int{
	MakeTrigger: 14, ChangeTrigger: 8, RelabelTrigger: 8, DeleteTrigger: 6,
	MakeSource: 6, ChangeSource: 6, DeleteSource: 4,
	MakeNamespace: 6, RelabelNamespace: 6, DeleteNamespace: 1,
	ChangeObject: 8, AddToObject: 4, ClaimObject: 2, DeleteObject: 8, MakeObject: 4, DeleteOwn: 4,
	MakePolicy: 10, RewritePolicy: 5, ReshapePolicy: 3, SwitchSync: 6, SwitchExisting: 4, SwitchOrphan: 4, DeletePolicy: 6, FlashPolicy: 3,
	TakeRights: 2, Kill: 3, RestartAPIs: 1,
}

// mends are what makes whole again what is broken.
var mends = map[Do]Do{Kill: Revive, TakeRights: GiveRights}

// Act is one thing that is done.
type Act struct {
	N  int
	Do Do
	// Pick are numbers by which is chosen to what, and how.
	Pick [4]int
}

// String returns it in a line.
func (a Act) String() string { return fmt.Sprintf("%d: %s", a.N, a.Do) }

// opening is done first, so that there is something to do the rest to.
var opening = []Do{MakeNamespace, MakeNamespace, MakeTrigger, MakeSource, MakeSource, MakePolicy, MakeTrigger, MakeTrigger, MakePolicy, MakePolicy, MakePolicy}

// Make returns what is done, without an end, which follows from a seed.
func Make(seed uint64) iter.Seq[Act] {
	return func(yield func(Act) bool) {
		r := rand.New(rand.NewPCG(seed, 30))
		// due is when what is broken is whole again.
		due := map[Do]int{}
		for n := 1; ; n++ {
			act := Act{N: n, Do: next(r, n, due), Pick: [4]int{r.IntN(1 << 16), r.IntN(1 << 16), r.IntN(1 << 16), r.IntN(1 << 16)}}
			if !yield(act) {
				return
			}
		}
	}
}

// next returns what is done as the nth act.
func next(r *rand.Rand, n int, due map[Do]int) Do {
	if n <= len(opening) {
		return opening[n-1]
	}
	for _, do := range []Do{Revive, GiveRights} {
		if at, ok := due[do]; ok && n >= at {
			delete(due, do)
			return do
		}
	}
	for {
		do := draw(r)
		by, long := mends[do], 4+r.IntN(6)
		if by == GiveRights {
			long = 5 + r.IntN(20)
		}
		// Nothing is broken twice, and the API server not while the operator is down.
		if due[by] != 0 || do == RestartAPIs && due[Revive] != 0 {
			continue
		}
		if by != "" {
			due[by] = n + long
		}
		return do
	}
}

// draw draws what to do.
func draw(r *rand.Rand) Do {
	all := make([]Do, 0, len(weights))
	total := 0
	for do, weight := range weights {
		all = append(all, do)
		total += weight
	}
	slices.SortFunc(all, cmp.Compare[Do])
	n := r.IntN(total)
	for _, do := range all {
		if n -= weights[do]; n < 0 {
			return do
		}
	}
	return all[0]
}
