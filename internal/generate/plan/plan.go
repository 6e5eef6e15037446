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

package plan

import (
	"maps"
	"slices"

	"k8s.io/utils/ptr"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/generate"
)

// want is an object that triggers want.
type want struct {
	by      []generate.ID
	objects map[generate.ID]generate.Wanted
}

// For says what to do with each object that the policy wants, or has made, by kind, namespace
// and name. rivals are the other policies that want an object now, by object.
func For(p Policy, triggers []Trigger, existing []Existing, rivals map[generate.ID][]PolicyRef) []Step {
	m := &maker{policy: p, triggers: map[generate.ID]*Trigger{}, wants: map[generate.ID]*want{}, rivals: rivals}
	for i := range triggers {
		m.triggers[triggers[i].ID] = &triggers[i]
		if triggers[i].State == Evaluated {
			m.addWants(&triggers[i])
		}
	}
	for _, w := range m.wants {
		slices.SortFunc(w.by, generate.ID.Compare)
	}
	there := make(map[generate.ID]*Existing, len(existing))
	for i := range existing {
		there[existing[i].ID] = &existing[i]
	}
	ids := maps.Clone(there)
	for id := range m.wants {
		ids[id] = nil
	}
	var out []Step
	for _, id := range slices.SortedFunc(maps.Keys(ids), generate.ID.Compare) {
		if step, ok := m.step(id, there[id], m.wants[id]); ok {
			step.ID = id
			out = append(out, step)
		}
	}
	return out
}

// maker makes one plan.
type maker struct {
	policy   Policy
	triggers map[generate.ID]*Trigger
	wants    map[generate.ID]*want
	rivals   map[generate.ID][]PolicyRef
}

func (m *maker) addWants(t *Trigger) {
	for _, object := range t.Wanted {
		w := m.wants[object.ID]
		if w == nil {
			w = &want{objects: map[generate.ID]generate.Wanted{}}
			m.wants[object.ID] = w
		}
		w.by = append(w.by, t.ID)
		w.objects[t.ID] = object
	}
}

// step says what to do with one object, and whether that is anything to speak of: what the
// policy neither wants nor made is none of its business.
func (m *maker) step(id generate.ID, there *Existing, w *want) (Step, bool) {
	// What an earlier policy of that name made is applied again where it is wanted, and not
	// deleted where it is not: its end may have left it there on purpose.
	ours := there != nil && there.Marks != nil && there.Marks.Policy.isNamed(m.policy.PolicyRef)
	made := ours && there.Marks.Policy.is(m.policy.PolicyRef)
	switch {
	case m.policy.Deleted:
		if !made {
			return Step{}, false
		}
		return m.afterPolicy(id, there), true
	case w != nil && there == nil:
		return m.missing(id, w), true
	case w != nil:
		return m.wanted(id, there, w, ours), true
	}
	if !made {
		return Step{}, false
	}
	return m.unwanted(id, there), true
}

// afterPolicy says what becomes of an object when its policy is deleted: a clone stays, and so
// does what was made once.
func (m *maker) afterPolicy(id generate.ID, there *Existing) Step {
	switch {
	case there.Marks.Source != nil, !m.policy.Synchronize, !there.Marks.Synchronized, m.policy.OrphanDownstreamOnPolicyDelete:
		return Step{Do: Leave, Reason: Retained}
	case isBeingDeleted(there):
		return Step{Do: Leave, Reason: BeingDeleted}
	}
	if heir := m.heir(id); heir != nil {
		return Step{Do: Leave, Reason: HandedOver, By: heir}
	}
	return Step{Do: Delete, Reason: PolicyDeleted}
}

// missing says what to do about an object that is wanted and not there.
func (m *maker) missing(id generate.ID, w *want) Step {
	if older := m.older(id); older != nil {
		return Step{Do: Leave, Reason: Overruled, By: older}
	}
	by := w.by
	if !m.policy.Synchronize {
		// Whoever had it once, and deleted it, does not get it again.
		if by = m.withoutIt(id, w); len(by) == 0 {
			return Step{Do: Leave, Reason: MadeOnce, MadeFor: w.by}
		}
	}
	return m.make(Create, Wanted, w, by[0], w.by)
}

// withoutIt returns the triggers that want an object and that it was not made for yet.
func (m *maker) withoutIt(id generate.ID, w *want) []generate.ID {
	return slices.DeleteFunc(slices.Clone(w.by), func(by generate.ID) bool { return m.triggers[by].Made[id] })
}

// wanted says what to do about an object that is wanted and there.
func (m *maker) wanted(id generate.ID, there *Existing, w *want, ours bool) Step {
	older := m.older(id)
	switch {
	case there.Marks == nil:
		return Step{Do: Leave, Reason: NotOurs}
	case older != nil:
		return Step{Do: Leave, Reason: Overruled, By: older}
	case isBeingDeleted(there):
		return Step{Do: Leave, Reason: BeingDeleted}
	case !ours:
		if !m.policy.Synchronize && len(m.withoutIt(id, w)) == 0 {
			return Step{Do: Leave, Reason: MadeOnce, MadeFor: w.by}
		}
		step := m.make(Apply, TakenOver, w, w.by[0], w.by)
		step.Remove = otherData(step.Content, there.Content)
		return step
	case !m.policy.Synchronize:
		return Step{Do: Leave, Reason: MadeOnce, MadeFor: w.by}
	}
	triggers := m.still(there.Marks.Triggers, w)
	if _, evaluated := w.objects[triggers[0]]; !evaluated {
		return Step{Do: Leave, Reason: NotKnown, MadeFor: w.by}
	}
	step := m.make(Apply, WantedOtherwise, w, triggers[0], triggers)
	step.Remove = otherData(step.Content, there.Content)
	switch {
	case !sameMarks(*there.Marks, *step.Marks):
		return step
	case len(step.Remove) > 0, !isIntact(step.Content, there.Content):
		step.Reason = Modified
		return step
	}
	return Step{Do: Leave, Reason: InPlace, MadeFor: w.by}
}

// still returns the triggers that an object is for: those that it was made for and that want it
// still, or may, and then those that want it as well. The first keeps deciding, so that two
// that want it otherwise do not take turns.
func (m *maker) still(before []generate.ID, w *want) []generate.ID {
	var out []generate.ID
	for _, id := range before {
		if _, wants := w.objects[id]; wants || m.isUnknown(id) {
			out = append(out, id)
		}
	}
	for _, id := range w.by {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// isUnknown reports whether a trigger may want what it wanted before.
func (m *maker) isUnknown(id generate.ID) bool {
	t := m.triggers[id]
	return t == nil || t.State == Unknown
}

// unwanted says what becomes of an object that the policy made, and that nobody wants.
func (m *maker) unwanted(id generate.ID, there *Existing) Step {
	switch {
	case !m.policy.Synchronize, !there.Marks.Synchronized:
		return Step{Do: Leave, Reason: MadeOnce}
	case len(there.Marks.Triggers) == 0 || slices.ContainsFunc(there.Marks.Triggers, m.isUnknown):
		return Step{Do: Leave, Reason: NotKnown}
	case isBeingDeleted(there):
		return Step{Do: Leave, Reason: BeingDeleted}
	}
	if heir := m.heir(id); heir != nil {
		return Step{Do: Leave, Reason: HandedOver, By: heir}
	}
	reason := TriggerGone
	if slices.ContainsFunc(there.Marks.Triggers, func(by generate.ID) bool { return m.triggers[by].State != Gone }) {
		reason = NotWanted
	}
	return Step{Do: Delete, Reason: reason}
}

// make makes a step that writes the object as one of the triggers wants it.
func (m *maker) make(do Verb, reason Reason, w *want, as generate.ID, triggers []generate.ID) Step {
	object := w.objects[as]
	// Whoever decides comes first.
	ordered := append([]generate.ID{as}, slices.DeleteFunc(slices.Clone(triggers), func(id generate.ID) bool { return id == as })...)
	return Step{
		Do: do, Reason: reason, Content: object.Content, MadeFor: w.by,
		Marks: &Marks{
			Policy: m.policy.PolicyRef, Triggers: ordered, Source: object.Source,
			Synchronized: m.policy.Synchronize, Digest: change.StrictHash(object.Content),
		},
	}
}

// older returns the oldest of the policies that want the object and are older.
func (m *maker) older(id generate.ID) *PolicyRef {
	first := m.heir(id)
	if first != nil && first.OlderThan(m.policy.PolicyRef) {
		return first
	}
	return nil
}

// heir returns the oldest of the other policies that want the object.
func (m *maker) heir(id generate.ID) *PolicyRef {
	var out *PolicyRef
	for i, rival := range m.rivals[id] {
		if !rival.isNamed(m.policy.PolicyRef) && (out == nil || rival.OlderThan(*out)) {
			out = &m.rivals[id][i]
		}
	}
	return out
}

// sameMarks reports whether two marks say the same. When the policy was created does not
// matter: it tells with its UID.
func sameMarks(a, b Marks) bool {
	return a.Policy.Name == b.Policy.Name && a.Policy.UID == b.Policy.UID && a.Synchronized == b.Synchronized && a.Digest == b.Digest &&
		slices.Equal(a.Triggers, b.Triggers) && ptr.Equal(a.Source, b.Source)
}
