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
	"slices"
	"strings"
)

// Explain says what is thought about an object: who wants it, and in which states it may be.
func (m *Model) Explain(id ID) []string {
	wants := m.wants()
	var out []string
	for _, t := range wanting(wants, id, func(want) bool { return true }) {
		out = append(out, fmt.Sprintf("wanted by %s (%+v, of %d) for %s: %s, certainty %d", t.policy.Name, t.policy.Spec, t.policy.Born, t.trigger, t.data, t.counts))
	}
	var states []string
	for s := range m.objects[id] {
		states = append(states, fmt.Sprintf("may be %s, of %d, synchronized %t, clone %t, for [%s], remembered for [%s], at rest %t",
			s.Seen, s.born, s.synchronized, s.clone, s.triggers, s.memory, m.isAtRest(wants, id, s)))
	}
	slices.Sort(states)
	return append(out, states...)
}

// Held returns the objects that are there for certain, of policies that synchronize and want them.
func (m *Model) Held() []ID {
	wants := m.wants()
	return m.certainly(func(id ID, s State) bool {
		by := wanting(wants, id, func(t want) bool { return t.counts == yes })
		return s.There && len(by) > 0 && by[0].policy.Synchronize && s.Owner == by[0].policy.Name && !m.MayNotWrite[id.Kind]
	})
}

// Left returns the objects that are there for certain, and that policies made once and leave alone.
func (m *Model) Left() []ID {
	wants := m.wants()
	return m.certainly(func(id ID, s State) bool {
		return s.There && s.Owner != "" && !s.synchronized && m.isAtRest(wants, id, s) &&
			len(wanting(wants, id, func(t want) bool { return t.policy.Synchronize })) == 0
	})
}

func (m *Model) certainly(is func(ID, State) bool) []ID {
	return slices.DeleteFunc(m.IDs(), func(id ID) bool {
		for s := range m.objects[id] {
			if !is(id, s) {
				return true
			}
		}
		return len(m.objects[id]) == 0
	})
}

// Lost reports whether something happened to an object that cannot be.
func (m *Model) Lost() bool {
	for _, states := range m.objects {
		if len(states) == 0 {
			return true
		}
	}
	return false
}

// ExplainLost says to which.
func (m *Model) ExplainLost() string {
	var out []string
	for _, id := range m.IDs() {
		if len(m.objects[id]) == 0 {
			out = append(out, append([]string{id.String()}, m.Explain(id)...)...)
		}
	}
	return strings.Join(out, "\n  ")
}
