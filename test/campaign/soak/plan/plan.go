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

// Package plan says who does what in a soak, for ever: a function of the seed.
package plan

import (
	"fmt"
	"iter"
	"math/rand/v2"
)

// Act is what somebody does.
type Act string

// The acts. What initiates is done by somebody who may, unless it says otherwise.
const (
	// Roll gives a Deployment another image.
	Roll Act = "Roll"
	// Scale gives it another size.
	Scale Act = "Scale"
	// Approve approves what a stranger has changed.
	Approve Act = "Approve"
	// Recreate deletes it, and creates it again.
	Recreate Act = "Recreate"
	// Withhold has a stranger change it, who may not initiate.
	Withhold Act = "Withhold"
	// Deny has a stranger change what it has made.
	Deny Act = "Deny"
	// EditPolicy changes the policy of Deployments.
	EditPolicy Act = "EditPolicy"
	// ReplacePolicy creates a policy, and deletes it.
	ReplacePolicy Act = "ReplacePolicy"
)

// weights say how often each act is, among a hundred.
var weights = []struct {
	act    Act
	weight int
}{
	{Roll, 30}, {Scale, 20}, {Approve, 10}, {Recreate, 8}, {Withhold, 12}, {Deny, 14}, {EditPolicy, 3}, {ReplacePolicy, 3},
}

// Step is something that happens.
type Step struct {
	Act Act
	// Deployment it happens to.
	Deployment int
	// Replicas that are asked for, where it is about these.
	Replicas int32
}

// String says what happens to what.
func (s Step) String() string { return fmt.Sprintf("%s of Deployment %d", s.Act, s.Deployment) }

// mostReplicas is the largest size.
const mostReplicas = 4

// Steps returns what happens to that many Deployments, without an end.
func Steps(seed uint64, deployments int) iter.Seq2[int, Step] {
	random := rand.New(rand.NewPCG(seed, uint64(deployments)))
	return func(yield func(int, Step) bool) {
		for n := 0; ; n++ {
			if !yield(n, Step{Act: draw(random.IntN(100)), Deployment: random.IntN(deployments), Replicas: 1 + random.Int32N(mostReplicas)}) {
				return
			}
		}
	}
}

// draw returns the act that a number of a hundred falls to.
func draw(number int) Act {
	for _, w := range weights {
		if number < w.weight {
			return w.act
		}
		number -= w.weight
	}
	return Roll
}
