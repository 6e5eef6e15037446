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

// Package plan says what happens in a campaign, and when: who changes what, and what
// breaks meanwhile. It is a function of the seed and the size alone, so that a campaign
// can be had again.
package plan

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Break is something that breaks.
type Break string

// What breaks.
const (
	// Kill ends an operator without a warning.
	Kill Break = "kill the operator"
	// Freeze stops an operator for a while; it keeps its connections.
	Freeze Break = "freeze the operator"
	// Restart ends an operator the orderly way and starts it again.
	Restart Break = "restart the operator"
	// Depose takes the lease of the elected operator away.
	Depose Break = "take the lease away"
	// RestartAPIServer restarts the API server.
	RestartAPIServer Break = "restart the API server"
	// FreezeEtcd stops etcd for a while.
	FreezeEtcd Break = "freeze etcd"
	// ExpireCertificate has the webhooks serve with a certificate that has expired.
	ExpireCertificate Break = "let the certificate expire"
	// RotateCertificate takes the certificate and its authority away.
	RotateCertificate Break = "rotate the certificate"
	// CutWatches ends the connections of the operators to the API server, and compacts
	// what they would go on from.
	CutWatches Break = "cut watches, and compact"
	// EditPolicy adds a rule to a policy and takes it away again.
	EditPolicy Break = "edit the policies"
	// DeletePolicy deletes the policies and creates them again.
	DeletePolicy Break = "delete the policies"
	// StepClock sets the clocks of the operators ahead by an hour, or back, and right again.
	StepClock Break = "step the clock"
	// DelayCalls delays one in twenty calls of the webhooks past their timeout.
	DelayCalls Break = "delay calls of the webhooks"
)

// Breaks returns all that can break.
func Breaks() []Break {
	return []Break{
		Kill, Freeze, Restart, Depose, RestartAPIServer, FreezeEtcd,
		ExpireCertificate, RotateCertificate, CutWatches, EditPolicy, DeletePolicy, DelayCalls, StepClock,
	}
}

// ofOne breaks one operator, others the whole cluster.
func (b Break) ofOne() bool { return slices.Contains([]Break{Kill, Freeze, Restart}, b) }

// Fault is something that breaks at a time of a round.
type Fault struct {
	Break Break
	At    time.Duration
	// For is how long it stays broken, where that is for the campaign to say.
	For time.Duration
	// Ahead is how far a clock is set ahead; behind where it is negative.
	Ahead time.Duration
	// Operator is which one breaks.
	Operator int
}

func (f Fault) String() string {
	if f.Break.ofOne() {
		return fmt.Sprintf("%s %d", f.Break, f.Operator)
	}
	return string(f.Break)
}

// Who acts.
type Who string

// The people. The first two may initiate.
const (
	Alice   Who = "alice"
	Carol   Who = "carol"
	Mallory Who = "mallory"
)

// Act is what somebody does.
type Act string

// What people do to a Deployment, or below it.
const (
	// Roll sets another image.
	Roll Act = "roll"
	// Scale sets the number of replicas, and ScaleByAPI does so by /scale.
	Scale      Act = "scale"
	ScaleByAPI Act = "scale by /scale"
	// Touch changes what no policy is about.
	Touch Act = "touch"
	// Recreate deletes the Deployment and creates it again.
	Recreate Act = "recreate"
	// Evict evicts a Pod, and LosePod deletes one as the collector of Pods does.
	Evict   Act = "evict a Pod"
	LosePod Act = "lose a Pod"
	// These change children without a cause.
	ScaleChild  Act = "scale a ReplicaSet"
	DeleteChild Act = "delete a ReplicaSet"
	ChangePod   Act = "change a Pod"
	DeletePod   Act = "delete a Pod"
)

// Change is what somebody does at a time of a round.
type Change struct {
	At         time.Duration
	Deployment int
	Who        Who
	Act        Act
	// Replicas to scale to.
	Replicas int32
}

// Round is a part of a campaign, at the end of which all work has to be done.
type Round struct {
	// Operators is how many operators run.
	Operators int
	Faults    []Fault
	Changes   []Change
}

// Plan is a campaign.
type Plan struct {
	Seed   uint64
	Rounds []Round
}

// Size of a campaign.
type Size struct {
	Deployments, Rounds int
	// Length is for how long people act in a round.
	Length time.Duration
}

// step is by how much clocks are set: longer than anything that the operator waits for in hours.
const step = time.Hour

// frozen is for how long processes are frozen.
const frozen = 5 * time.Second

// Make makes the plan of a seed.
func Make(seed uint64, size Size) Plan {
	random := rand.New(rand.NewPCG(seed, 0))
	p := Plan{Seed: seed, Rounds: make([]Round, size.Rounds)}
	for i := range p.Rounds {
		// One operator in the first half, then two.
		p.Rounds[i].Operators = 1
		if 2*(i+1) > size.Rounds {
			p.Rounds[i].Operators = 2
		}
	}
	p.deal(random)
	for i := range p.Rounds {
		p.Rounds[i].place(random, size.Length)
		p.Rounds[i].populate(random, size)
	}
	return p
}

// deal gives each round about as many of all breaks, those of one operator in both
// halves. A leader is deposed where there is another one.
func (p *Plan) deal(random *rand.Rand) {
	var one, two []int
	for i, r := range p.Rounds {
		if r.Operators == 1 {
			one = append(one, i)
		} else {
			two = append(two, i)
		}
	}
	for _, b := range Breaks() {
		to := random.IntN(len(p.Rounds))
		if b == Depose || b.ofOne() {
			to = two[random.IntN(len(two))]
		}
		p.Rounds[to].Faults = append(p.Rounds[to].Faults, Fault{Break: b})
	}
	for _, b := range []Break{Kill, Freeze, Restart} {
		if len(one) > 0 {
			to := one[random.IntN(len(one))]
			p.Rounds[to].Faults = append(p.Rounds[to].Faults, Fault{Break: b})
		}
	}
	p.even()
}

// even moves faults out of the fullest round until no two differ by more than one.
func (p *Plan) even() {
	for range len(p.Rounds) * len(Breaks()) {
		most, least := 0, 0
		for i := range p.Rounds {
			if len(p.Rounds[i].Faults) > len(p.Rounds[most].Faults) {
				most = i
			}
			if len(p.Rounds[i].Faults) < len(p.Rounds[least].Faults) {
				least = i
			}
		}
		from, to := &p.Rounds[most], &p.Rounds[least]
		movable := slices.IndexFunc(from.Faults, func(f Fault) bool {
			return from.Operators == to.Operators || f.Break != Depose && !f.Break.ofOne()
		})
		if len(from.Faults)-len(to.Faults) < 2 || movable < 0 {
			return
		}
		to.Faults = append(to.Faults, from.Faults[movable])
		from.Faults = slices.Delete(from.Faults, movable, movable+1)
	}
}

// place puts the faults of a round into a random order, one after the other.
func (r *Round) place(random *rand.Rand, length time.Duration) {
	random.Shuffle(len(r.Faults), func(i, j int) { r.Faults[i], r.Faults[j] = r.Faults[j], r.Faults[i] })
	for i := range r.Faults {
		f := &r.Faults[i]
		slot := length / time.Duration(len(r.Faults))
		f.At = slot*time.Duration(i) + between(random, 0, slot/4)
		f.For = frozen
		f.Operator = random.IntN(r.Operators)
		if f.Break == StepClock {
			f.Ahead = []time.Duration{step, -step}[random.IntN(2)]
		}
	}
}

// populate says what people do in a round.
func (r *Round) populate(random *rand.Rand, size Size) {
	for d := range size.Deployments {
		add := func(who Who, act Act, at time.Duration) {
			r.Changes = append(r.Changes, Change{At: at, Deployment: d, Who: who, Act: act, Replicas: 1 + random.Int32N(4)})
		}
		at := func() time.Duration { return between(random, 0, size.Length) }
		// Most roll, and soon: many at once is the point.
		add(Alice, Roll, between(random, 0, size.Length/3))
		legitimate := []Act{Scale, ScaleByAPI, Touch, Evict, LosePod}
		for _, act := range legitimate {
			if random.IntN(8) == 0 {
				add(Alice, act, at())
			}
		}
		if random.IntN(10) == 0 {
			// Two at the same time.
			both := at()
			add(Alice, Scale, both)
			add(Carol, Roll, both)
		}
		if random.IntN(40) == 0 {
			add(Alice, Recreate, at())
		}
		for _, act := range []Act{Roll, Scale, ScaleByAPI, ScaleChild, DeleteChild, ChangePod, DeletePod} {
			if random.IntN(25) == 0 {
				add(Mallory, act, at())
			}
		}
	}
	slices.SortStableFunc(r.Changes, func(a, b Change) int { return cmp.Compare(a.At, b.At) })
}

// Strange reports whether a stranger acted on a Deployment of the round or below it.
func (r *Round) Strange(deployment int) bool {
	return slices.ContainsFunc(r.Changes, func(c Change) bool { return c.Deployment == deployment && c.Who == Mallory })
}

func between(random *rand.Rand, from, to time.Duration) time.Duration {
	if to <= from {
		return from
	}
	return from + time.Duration(random.Int64N(int64(to-from)))
}
