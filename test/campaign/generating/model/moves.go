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

// moves returns what the operator may do next about an object, none where there is nothing left to do.
// uncertain says whether what may be a trigger or not is one.
func (w *World) moves(wants []want, id ID, s State, uncertain bool) []State {
	if !w.isThere(id.Namespace) {
		return nil
	}
	by := wanting(wants, id, func(t want) bool {
		isMadeFor := s.There && s.Owner == t.policy.Name && s.triggers.has(t.trigger)
		return t.counts == yes || t.counts == maybe && (uncertain || isMadeFor)
	})
	var out []State
	switch {
	case len(by) == 0:
		out = w.unwanted(s)
	case s.There && s.Owner == "":
		// It is somebody's.
	default:
		out = wanted(s, decidersOf(by))
		if !s.There && len(out) > 0 {
			out = append(out, madeFirst(s, by[len(decidersOf(by)):])...)
		}
	}
	if !w.MayNotWrite[id.Kind] {
		return out
	}
	// It can still be remembered.
	var kept []State
	for _, next := range out {
		if next.memory != s.memory {
			kept = append(kept, next)
		}
	}
	return kept
}

// decidersOf returns the part that is of the oldest policy.
func decidersOf(by []want) []want {
	for i, t := range by {
		if t.policy != by[0].policy {
			return by[:i]
		}
	}
	return by
}

// wanted says what happens to an object that is wanted, by the triggers of the policy that decides.
func wanted(s State, by []want) []State {
	p := by[0].policy
	switch {
	case p.Synchronize:
		return applied(s, by, by)
	case s.There && s.Owner == p.Name:
		return remembered(s, by)
	}
	// Whoever had it once does not get it again.
	var without []want
	for _, t := range by {
		if !s.memory.has(memoryOf(t)) {
			without = append(without, t)
		}
	}
	return applied(s, without, by)
}

// madeFirst returns the objects that younger policies make, where several begin to want one at the same moment:
// nobody knows who looks first. The one that decides takes it over, unless it is kept from that until it does
// not want it any more.
func madeFirst(s State, by []want) []State {
	var out []State
	for len(by) > 0 {
		own := decidersOf(by)
		for _, next := range wanted(s, own) {
			out = append(out, next)
			if !own[0].policy.Synchronize {
				// It remembers that, whoever takes the object over meanwhile.
				out = append(out, remembered(next, own)...)
			}
		}
		by = by[len(own):]
	}
	return out
}

// applied returns the object as one of the triggers wants it, where it is otherwise.
func applied(s State, as, by []want) []State {
	var triggers []string
	for _, t := range by {
		triggers = append(triggers, t.trigger)
	}
	var out []State
	for _, t := range as {
		next := State{
			Seen: Seen{There: true, Data: t.data, Owner: t.policy.Name},
			born: t.policy.Born, synchronized: t.policy.Synchronize, clone: t.clone, triggers: listOf(triggers), memory: s.memory,
		}
		if next == s {
			return nil
		}
		out = append(out, next)
	}
	return out
}

// remembered returns the object of a policy that does not synchronize: it is left alone, and the triggers'
// records remember it.
func remembered(s State, by []want) []State {
	next := s
	for _, t := range by {
		next.memory = next.memory.plus(memoryOf(t))
	}
	if next == s {
		return nil
	}
	return []State{next}
}

func memoryOf(t want) string { return t.policy.Name + " " + t.trigger }

// unwanted says what happens to an object that nobody wants.
func (w *World) unwanted(s State) []State {
	if !s.There || s.Owner == "" || !s.synchronized {
		return nil
	}
	if p := w.Policies[s.Owner]; p != nil && p.Born == s.born {
		if p.Synchronize {
			return []State{s.gone()}
		}
		return nil
	}
	if spec, ok := w.ended[ending{s.Owner, s.born}]; ok && spec.Synchronize && !spec.Orphan && !s.clone {
		return []State{s.gone()}
	}
	return nil
}

// isAtRest reports whether the operator has nothing left to do about an object.
func (w *World) isAtRest(wants []want, id ID, s State) bool {
	return len(w.moves(wants, id, s, true)) == 0 || len(w.moves(wants, id, s, false)) == 0
}
