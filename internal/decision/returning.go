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

	"k8s.io/apimachinery/pkg/api/equality"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/knowledge"
	"kausality.io/operator/internal/policy"
)

// What was withheld is carried out in part where nothing holds it back for a while: the policy only warns, or is
// gone, or the operator is away. Once it is withheld again and taken back, by whomever, the parent is as approved,
// and its children are not. To lead them back nobody is the cause, unless who takes it back may initiate. So where
// the parent had settled as it is before, and has not since, its controller may lead children back to that (D2).
// What is not as approved for another reason is none of it: nothing goes on that had not settled.

// returning allows where all that nothing covers leads the child back to what is approved of its parent.
func returning(in *Input, judged judgement) (Verdict, bool) {
	v := Verdict{Allowed: true, Reason: ReasonReturning, Policies: in.Bounding(), Exercised: judged.exercised, Causes: judged.causes}
	if !in.mayReturn() {
		return v, false
	}
	return v, !slices.ContainsFunc(judged.uncovered, func(act Act) bool { return !in.leadsBack(act) })
}

// mayReturn reports whether the requester may lead the child back, if it does. What a parent adopted without a cause
// nobody has approved; that is got rid of as such.
func (in *Input) mayReturn() bool {
	return in.ParentState == ParentFound && in.Parent.Returning && in.Parent.Phase() == v1alpha1.PhaseSteady && in.parentAllows() &&
		in.Adoption == nil && !in.IsStray() && len(in.takenBack()) == 0
}

// leadsBack reports whether an act makes the child more like what its parent has it be. Of kinds of which nothing is
// known nobody can tell.
func (in *Input) leadsBack(act Act) bool {
	m, _ := in.Parent.Known().Child(in.Child.GVK.GroupKind())
	switch {
	case m.Template == nil, in.makesRoom(act):
		return false
	case m.At != nil:
		return act.Operation == Update && in.isNearer(m, act.Change)
	case act.Operation == Create:
		return in.isMissing(m)
	case act.Operation == Delete:
		return in.isOutdated(m) || in.Parent.Beyond
	default:
		return false
	}
}

// isNearer reports whether a change of a child that holds a template itself is towards what its parent has: fewer are
// made of another template, and of the parent's own as many as it says; what else it is told is what the parent has.
func (in *Input) isNearer(m knowledge.Child, c change.Change) bool {
	value, _ := c.Path.Value(in.Parent.Standing.Object.Fields)
	if !in.Child.counts(c.Path, in.OwnPolicies) {
		isTold := slices.ContainsFunc(in.Parent.Known().Steering, func(p change.Path) bool { return slices.Equal(p, c.Path) })
		return isTold && !c.Path.Overlaps(m.At) && equality.Semantic.DeepEqual(c.New, value)
	}
	from, fromKnown := number(c.Old)
	to, toKnown := number(c.New)
	want, wantKnown := number(value)
	switch {
	case !fromKnown || !toKnown || !wantKnown:
		return false
	case !in.hasParentsTemplate(m):
		return 0 <= to && to < from
	default:
		return from < to && to <= want || want <= to && to < from
	}
}

// counts reports whether a field of the child says how many children it has itself.
func (c *Child) counts(field change.Path, policies []*policy.Policy) bool {
	return slices.ContainsFunc(policy.Known(c.GVK.GroupKind(), policies).Children, func(m knowledge.Child) bool {
		return slices.ContainsFunc(m.Counts, func(p change.Path) bool { return slices.Equal(p, field) })
	})
}

// templateHashes are the labels that controllers add to the templates of their children.
var templateHashes = []string{"pod-template-hash", "rollouts-pod-template-hash"}

// hasParentsTemplate reports whether a child that holds a template has that of its parent, and nothing else in it.
func (in *Input) hasParentsTemplate(m knowledge.Child) bool {
	want, _ := m.Template.Value(in.Parent.Standing.Object.Fields)
	has, _ := m.At.Value(in.Child.Old)
	isHash := func(c change.Change) bool {
		return c.Verb == change.Insert && slices.ContainsFunc(templateHashes, func(label string) bool {
			return slices.Equal(c.Path[1:], change.Path{}.Field("metadata").Field("labels").Field(label))
		})
	}
	return !slices.ContainsFunc(change.Find(underTemplate(want), underTemplate(has), change.Options{}), func(c change.Change) bool { return !isHash(c) })
}

// isMissing reports whether a new child is one that its parent has not, and made of its template.
func (in *Input) isMissing(m knowledge.Child) bool {
	switch {
	case m.Completions != nil, !in.Parent.mayGoOn(m), in.lacksOfTemplate(m, in.Child.New):
		return false
	case m.Ordinals != nil:
		return in.isInOrder(m)
	default:
		return len(m.Counts) == 0 || in.Parent.Short
	}
}

// isOutdated reports whether a child is not one that its parent has: it is of another revision, or has another
// number than there are, or lacks something of the template. What it has beside the template somebody may have added.
func (in *Input) isOutdated(m knowledge.Child) bool {
	if m.Ordinals == nil {
		return m.Completions == nil && in.lacksOfTemplate(m, in.Child.Old)
	}
	if ordinal, ok := in.ordinal(); !ok || !in.isInRange(m, ordinal) {
		return ok
	}
	o := in.Parent.Standing.Object
	kept, known := in.isPartitioned(m.Ordinals)
	return o.Observed == o.Generation && in.Parent.UpdateRevision != "" && known &&
		!in.isOf(in.Parent.UpdateRevision, m.Ordinals) && (!kept || !in.isOf(in.Parent.CurrentRevision, m.Ordinals))
}

// isInRange reports whether the parent has a numbered child of a number.
func (in *Input) isInRange(m knowledge.Child, ordinal int64) bool {
	first, known := in.Parent.approvedNumber(m.Ordinals.Start, 0)
	if !known || ordinal < first {
		return !known // What is not known is nobody's to delete.
	}
	return !slices.ContainsFunc(m.Counts, func(field change.Path) bool {
		count, known := in.Parent.approvedNumber(field, 1)
		return known && ordinal >= first+count
	})
}

// lacksOfTemplate reports whether a child has something else than its parent's template has, or not all of that.
func (in *Input) lacksOfTemplate(m knowledge.Child, child map[string]any) bool {
	want, _ := m.Template.Value(in.Parent.Standing.Object.Fields)
	return slices.ContainsFunc(change.Find(underTemplate(want), underTemplate(metadataAndSpec(child)), change.Options{}), func(c change.Change) bool {
		return c.Verb != change.Insert
	})
}

// ReturningCount returns how many Pods the parent has, where the request makes or deletes one and its parent's
// controller may lead them back: the admission webhook finds out how many are alive, and sets Parent.Short and
// Parent.Beyond. It is false where their number does not tell.
func (in *Input) ReturningCount() (int64, bool) {
	if in.Child.GVK.GroupKind() != podKind || in.Operation == Update || in.Eviction || !in.mayReturn() {
		return 0, false
	}
	m, _ := in.Parent.Known().Child(in.Child.GVK.GroupKind())
	if m.Ordinals != nil || m.Completions != nil || len(m.Counts) == 0 {
		return 0, false
	}
	least, all := in.Parent.approvedNumber(m.Counts[0], 1)
	for _, field := range m.Counts[1:] {
		n, known := in.Parent.approvedNumber(field, 1)
		least, all = min(least, n), all && known
	}
	return least, all
}
