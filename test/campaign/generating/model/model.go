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

package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Model is the world, and what may be in it that policies made, or somebody else in its place.
type Model struct {
	*World
	objects map[ID]map[State]bool
}

// New returns the model of an empty world.
func New() *Model { return &Model{World: NewWorld(), objects: map[ID]map[State]bool{}} }

// IDs returns all objects that there were, are, or may be.
func (m *Model) IDs() []ID { return slices.SortedFunc(maps.Keys(m.objects), ID.Compare) }

// MayBe returns the objects that are there in some of the states that are possible, and of which a
// state is as asked.
func (m *Model) MayBe(is func(Seen) bool) []ID {
	return slices.DeleteFunc(m.IDs(), func(id ID) bool {
		for s := range m.objects[id] {
			if is(s.Seen) {
				return false
			}
		}
		return true
	})
}

// Effect is what an act is about.
type Effect struct {
	// Concerned lists the objects for which the act may be a cause.
	Concerned []ID
	// Unwanted lists the objects that no policy wants after it, or maybe none.
	Unwanted []ID
}

// Act does something to the world. Whatever the operator could have done before, it may have done.
// Of objects, Touch says what was done to them.
func (m *Model) Act(do func(*World), touched ...Touch) Effect {
	before := m.wants()
	m.settle(before)
	was := m.digests(before)
	m.Clock++
	do(m.World)
	m.tick()
	after := m.wants()
	for _, t := range touched {
		m.touch(t)
	}
	m.know(after)
	is := m.digests(after)
	e := Effect{}
	for _, id := range m.IDs() {
		isTouched := slices.ContainsFunc(touched, func(t Touch) bool { return t.ID == id })
		if isTouched || was[id] != is[id] {
			e.Concerned = append(e.Concerned, id)
		}
		if len(wanting(after, id, func(t want) bool { return t.counts == yes })) == 0 {
			e.Unwanted = append(e.Unwanted, id)
		}
	}
	return e
}

// digests says of each object what it depends upon.
func (m *Model) digests(wants []want) map[ID]string {
	m.know(wants)
	out := map[ID]string{}
	for id, states := range m.objects {
		var b strings.Builder
		fmt.Fprintln(&b, m.isThere(id.Namespace), m.MayNotWrite[id.Kind])
		for _, t := range wanting(wants, id, func(t want) bool { return t.counts != no }) {
			fmt.Fprintln(&b, *t.policy, t.trigger, t.data, t.counts)
		}
		owners := map[string]bool{}
		for s := range states {
			owners[s.Owner] = m.Policies[s.Owner] != nil
		}
		for _, name := range slices.Sorted(maps.Keys(owners)) {
			if owners[name] {
				fmt.Fprintln(&b, *m.Policies[name])
			}
		}
		out[id] = b.String()
	}
	return out
}

// know has the model know of all that is wanted.
func (m *Model) know(wants []want) {
	for _, t := range wants {
		m.states(t.id)
	}
}

func (m *Model) states(id ID) map[State]bool {
	if m.objects[id] == nil {
		m.objects[id] = map[State]bool{{}: true}
	}
	return m.objects[id]
}

// settle adds all states that the operator may have brought about.
func (m *Model) settle(wants []want) {
	m.know(wants)
	if m.Down {
		return
	}
	for id, states := range m.objects {
		for next := slices.Collect(maps.Keys(states)); len(next) > 0; {
			s := next[0]
			next = next[1:]
			for _, uncertain := range []bool{true, false} {
				for _, t := range m.moves(wants, id, s, uncertain) {
					if !states[t] {
						states[t] = true
						next = append(next, t)
					}
				}
			}
		}
	}
}

// Touch is what somebody did to an object by hand.
type Touch struct {
	ID
	// Do is what.
	Do Verb
	// Value is written by Make and Change.
	Value string
}

// Verb is what somebody does by hand.
type Verb int

// What people do to objects.
const (
	// Make makes an object that was not there.
	Make Verb = iota
	// Change changes its value.
	Change
	// Add adds data to it.
	Add
	// Claim takes the annotation away that says which policy made it.
	Claim
	// Delete deletes it.
	Delete
	// Lose is a Delete along with all of its namespace, if it was there.
	Lose
	// Miss finds that it is not there.
	Miss
)

func (m *Model) touch(t Touch) {
	out := map[State]bool{}
	for s := range m.states(t.ID) {
		if next, ok := t.done(s); ok {
			out[next] = true
		}
	}
	m.objects[t.ID] = out
}

// done returns the state after it, and whether it could be done.
func (t Touch) done(s State) (State, bool) {
	switch t.Do {
	case Make:
		next := State{Seen: Seen{There: true, Data: Data{"value": t.Value}.String()}, memory: s.memory}
		return next, !s.There
	case Change:
		s.Data = with(s.Data, "value", t.Value)
	case Add:
		s.Data = with(s.Data, "more", t.Value)
	case Claim:
		s = State{Seen: Seen{There: true, Data: s.Data}, memory: s.memory}
		return s, true
	case Delete:
		return s.gone(), s.There
	case Lose:
		return s.gone(), true
	case Miss:
		return s, !s.There
	}
	return s, s.There
}

// End deletes a policy.
func (w *World) End(name string) {
	p := w.Policies[name]
	w.ended[ending{name, p.Born}] = p.Spec
	delete(w.Policies, name)
}

// Finished notes that a policy that was deleted is gone: what it left, it left for good.
func (m *Model) Finished(name string) {
	wants := m.wants()
	m.settle(wants)
	for id, states := range m.objects {
		maps.DeleteFunc(states, func(s State, _ bool) bool {
			_, of := m.ended[ending{s.Owner, s.born}]
			isWanted := len(wanting(wants, id, func(t want) bool { return t.counts != no })) > 0
			return of && s.Owner == name && !isWanted && len(m.unwanted(s)) > 0
		})
	}
	maps.DeleteFunc(m.ended, func(e ending, _ Spec) bool { return e.name == name })
}

// Ending returns the policies that were deleted, and are not known to be gone.
func (m *Model) Ending() []string {
	var out []string
	for e := range m.ended {
		out = append(out, e.name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Rest returns what may be seen of each object once the operator has nothing left to do.
func (m *Model) Rest() map[ID][]Seen {
	wants := m.wants()
	m.settle(wants)
	out := map[ID][]Seen{}
	for id, states := range m.objects {
		for s := range states {
			if m.isAtRest(wants, id, s) && !slices.Contains(out[id], s.Seen) {
				out[id] = append(out[id], s.Seen)
			}
		}
	}
	return out
}

// Look keeps the states that an object may be in that is at rest and looks so.
func (m *Model) Look(id ID, seen Seen) {
	wants := m.wants()
	maps.DeleteFunc(m.states(id), func(s State, _ bool) bool { return s.Seen != seen || !m.isAtRest(wants, id, s) })
}

// Differ says how objects differ from what they may be like at rest, none where they do not.
func Differ(may map[ID][]Seen, is map[ID]Seen) map[ID]string {
	out := map[ID]string{}
	for id, all := range may {
		if !slices.Contains(all, is[id]) {
			out[id] = fmt.Sprintf("%s is %s, and may be %s", id, is[id], all)
		}
	}
	for id, seen := range is {
		if _, known := may[id]; !known && seen.There {
			out[id] = fmt.Sprintf("%s is %s, and nobody made it", id, seen)
		}
	}
	return out
}

// String says what is seen.
func (s Seen) String() string {
	switch {
	case !s.There:
		return "gone"
	case s.Owner == "":
		return "somebody's " + s.Data
	}
	return s.Owner + "'s " + s.Data
}
