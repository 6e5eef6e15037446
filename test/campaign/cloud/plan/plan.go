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

// Package plan decides what a campaign does to its databases: everything in it follows
// from a seed, so that a campaign can be had again.
package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"kausality.io/operator/test/crossplane/provider/apis/instance"
)

// Plan is what happens in a campaign.
type Plan struct {
	// Databases are there from the beginning.
	Databases []Database
	// Steps are what happens to them. Those of one database, and those of the
	// machinery, happen one after the other; all others at the same time.
	Steps []Step
}

// Database is a database in a campaign, with those that take its place later.
type Database struct {
	// Claim is set where it is a claim; otherwise it is a namespaced composite
	// resource.
	Claim bool
	// Traits are the ways of its provider.
	Traits []instance.Trait
	// Goes is set where what it is in the cloud may be deleted with it.
	Goes bool
	// Size is how big it is at first.
	Size string
}

// Step is one thing that happens.
type Step struct {
	// Number is the position of the step in the plan.
	Number int
	// Database is the one that it happens to; Machinery for those that happen to
	// everybody.
	Database int
	Action   Action
	// Sizes are those that somebody asks for. No two steps ask for the same.
	Sizes [2]string
	// Delay is how long the cloud takes, or whoever is killed is away.
	Delay time.Duration
	// Partial tells that a call that fails does so half-way.
	Partial bool
	// Foreground is how a deletion goes on.
	Foreground bool
}

// Machinery is the Database of steps that happen to what everybody needs.
const Machinery = -1

// New returns the plan of a seed.
func New(seed uint64, steps, databases int) Plan {
	random := rand.New(rand.NewPCG(seed, 0))
	var p Plan
	for i := range databases {
		p.Databases = append(p.Databases, Database{
			Claim: i%2 == 0, Traits: ways[i/2%len(ways)], Goes: random.IntN(2) == 0, Size: fmt.Sprintf("db.first-%d", i),
		})
	}
	bag := filled(weights)
	var turns []int
	for number := range steps {
		if len(turns) == 0 {
			turns = random.Perm(databases)
		}
		s := Step{
			Number: number, Database: turns[0], Action: bag[random.IntN(len(bag))],
			Sizes:   [2]string{fmt.Sprintf("db.size-%d", number), fmt.Sprintf("db.other-%d", number)},
			Partial: random.IntN(2) == 0, Foreground: random.IntN(2) == 0,
		}
		longest := longestDelay
		if s.Action.OfMachinery() {
			s.Database, longest = Machinery, longestOutage
		} else {
			turns = turns[1:] // each has its turn before one has its next
		}
		s.Delay = time.Duration(random.Int64N(int64(longest))).Round(time.Millisecond)
		p.Steps = append(p.Steps, s)
	}
	return p
}

const (
	// longestDelay is some times as long as what a cloud takes that is in a hurry.
	longestDelay = 1500 * time.Millisecond
	// longestOutage is longer than the provider takes to look at the cloud twice.
	longestOutage = 8 * time.Second
)

// ways are those of the providers of databases; an example of each kind of database
// has each of them.
var ways = [][]instance.Trait{
	nil,
	{instance.Async},
	{instance.AsyncLate},
	{instance.AsyncSilent},
	{instance.SyncedEarly},
	{instance.NoGeneration},
	{instance.LateInit},
	{instance.NoObservation},
}

// filled returns each action as often as it weighs.
func filled(weights map[Action]int) []Action {
	var bag []Action
	for action, weight := range weights {
		bag = append(bag, slices.Repeat([]Action{action}, weight)...)
	}
	slices.Sort(bag)
	return bag
}

// For returns the steps of a database, or of the machinery.
func (p Plan) For(database int) []Step {
	return slices.DeleteFunc(slices.Clone(p.Steps), func(s Step) bool { return s.Database != database })
}
