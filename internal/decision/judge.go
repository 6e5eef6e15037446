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
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// judgement is how the acts of a request stand to the parent's section and
// ledger.
type judgement struct {
	reason      Reason
	uncovered   []Act
	exercised   *ledger.Entry
	causes      []Cause
	maintainers []Maintainer
}

// Cause is what has caused some of a request's acts.
type Cause struct {
	// Initiator began it.
	Initiator string
	// Trace is the way from there to the parent.
	Trace []v1alpha1.TraceHop
	// Acts are what its allowances cover.
	Acts []Act
}

// judge holds each act against the section of the parent's phase and against the
// parent's allowances; different acts may be covered by different allowances.
//
// A cause says more than a section: where allowances cover everything that a
// steady parent's child goes through, the reason is Covered even if its
// maintaining section would have let it through too.
func (in *Input) judge(ctx context.Context) judgement {
	phase := in.Parent.Phase()
	entries, conditions := in.usable(), in.conditions()
	j := judgement{}
	sectionOnly, ledgerOnly := true, true
	stale := len(in.takenBack()) > 0
	for _, act := range in.Acts() {
		if in.isRelease(act) {
			continue
		}
		inSection := !stale && in.inSection(ctx, phase, act, conditions)
		entry, covered := justification(in.coveringFor(act, entries), act)
		covered = covered && !stale
		if covered {
			j.exercise(&entry, act)
		}
		if !inSection && !covered {
			j.uncovered = append(j.uncovered, act)
		}
		sectionOnly = sectionOnly && inSection
		ledgerOnly = ledgerOnly && covered
	}
	j.reason = reasonFor(phase, sectionOnly, ledgerOnly && j.exercised != nil)
	if in.Leaves && len(j.uncovered) == 0 {
		j.reason = ReasonReleased // Whatever else it does: from now on nothing bounds the child.
	}
	if len(j.uncovered) > 0 {
		j.maintainers = in.maintainers(ctx, j.uncovered, conditions)
	}
	return j
}

// exercise notes that an allowance covers an act. What the allowances of one cause cover belongs together.
func (j *judgement) exercise(entry *ledger.Entry, act Act) {
	if j.exercised == nil {
		j.exercised = entry
	}
	at := slices.IndexFunc(j.causes, func(c Cause) bool {
		return c.Initiator == entry.Initiator && equality.Semantic.DeepEqual(c.Trace, entry.Trace)
	})
	if at < 0 {
		at = len(j.causes)
		j.causes = append(j.causes, Cause{Initiator: entry.Initiator, Trace: entry.Trace})
	}
	j.causes[at].Acts = append(j.causes[at].Acts, act)
}

func reasonFor(phase v1alpha1.Phase, sectionOnly, ledgerOnly bool) Reason {
	switch {
	case phase == v1alpha1.PhaseDeleting:
		return ReasonDeleting
	case phase == v1alpha1.PhaseInitializing && sectionOnly:
		return ReasonInitializing
	case ledgerOnly || !sectionOnly:
		return ReasonCovered
	default:
		return ReasonMaintaining
	}
}

// isRelease reports whether the act is the release or adoption of the child by
// somebody who may exercise the parent's allowances (D5), or by the label of a child
// that is then replaced: what nobody loses, anybody may set aside. By a label none but an
// initiator does else: no controller has its own children selected no more, to let go of
// them afterwards.
func (in *Input) isRelease(act Act) bool {
	if !in.Release || act.Operation != Update || !lineage.IsLineage(act.Change.Path) {
		return false
	}
	switch {
	case in.Parent.isWithheld() && in.Parent.differsAt(selectorPath):
		return false // It lets go of what the approved selector has.
	case lineage.IsReference(act.Change.Path):
	case in.isReplaced():
		return true
	case !in.AncestorInitiator && !in.IsStray() && act.Change.Verb != change.Insert:
		return false
	}
	return in.MayExercise()
}

var selectorPath = change.Path{}.Field("spec").Field("selector")

// isReplaced reports whether healing makes another child in the place of one that is
// lost, under another name, so that the place is taken when the lost one is given back. One that
// has a number of its own, as a Pod of a StatefulSet or of a Job, is given back to that number:
// observed, a stranger freed such a Pod, gave it another image and labeled it back.
func (in *Input) isReplaced() bool {
	made, _ := in.Parent.Known().Child(in.Child.GVK.GroupKind())
	if made.Template == nil || made.Ordinals != nil || made.Completions != nil || in.Parent.isWithheld() {
		return false
	}
	return in.isMaintained(Act{Operation: Create}, anyEntry)
}

// inSection reports whether the section for the phase lets the act through.
func (in *Input) inSection(ctx context.Context, phase v1alpha1.Phase, act Act, conditions *conditions) bool {
	if in.Parent.OneSided {
		return false
	}
	switch phase {
	case v1alpha1.PhaseInitializing:
		return !in.IsStray() && !in.makesRoom(act) && in.inInitializing(act)
	case v1alpha1.PhaseDeleting:
		return in.within(act, func(p *policy.Policy) *policy.Section { return p.Deleting })
	default:
		return in.maintaining(ctx, act, conditions)
	}
}

// inInitializing reports whether the section for an initializing parent lets the act
// through.
func (in *Input) inInitializing(act Act) bool {
	section := func(p *policy.Policy) *policy.Section { return p.Initializing }
	if in.Parent.Blind && !in.isNamed(section) && !in.MayExercise() {
		return false // Nobody can tell that it is, and nobody has said what it may be.
	}
	return !in.heldBack(act) && in.within(act, section)
}

// isNamed reports whether the section of one of the policies names the child's resource.
func (in *Input) isNamed(section func(*policy.Policy) *policy.Section) bool {
	return slices.ContainsFunc(in.Parent.Policies, func(p *policy.Policy) bool {
		s := section(p)
		return s != nil && s.Names(in.Child.GVK.GroupKind())
	})
}

// within reports whether the union of the policies' sections lets the act through.
// Sections that do not name the child's resource restrict nothing.
func (in *Input) within(act Act, section func(*policy.Policy) *policy.Section) bool {
	kind := in.Child.GVK.GroupKind()
	named := false
	for _, p := range in.Parent.Policies {
		s := section(p)
		if s == nil || !s.Names(kind) {
			continue
		}
		named = true
		for _, e := range s.Entries {
			if allows(e, kind, act) {
				return true
			}
		}
	}
	return !named
}

// heldBack reports whether the act may carry out a change of the parent that is
// withheld: while there is one, only evictions go on, and the creation of children as
// the parent's approved content makes them (D2). Neither healing nor the parent's being
// new is a way around that.
func (in *Input) heldBack(act Act) bool {
	if in.Eviction {
		return false
	}
	return isWithheldOf(in.Referents) || in.Parent.isWithheld() && !in.carriesNothingWithheld(act)
}

// maintaining reports whether the act needs no allowance.
func (in *Input) maintaining(ctx context.Context, act Act, conditions *conditions) bool {
	if in.heldBack(act) || in.IsStray() && !in.Eviction || in.makesRoom(act) {
		return false
	}
	return in.isMaintained(act, func(m policy.MaintainingEntry) bool {
		return in.mayMaintain(m) && conditions.hold(ctx, m.Conditions) == nil
	})
}

// isMaintained reports whether a maintaining entry lets the act through that serves the requester,
// as serves says.
func (in *Input) isMaintained(act Act, serves func(policy.MaintainingEntry) bool) bool {
	return slices.ContainsFunc(in.Parent.Policies, func(p *policy.Policy) bool {
		return slices.ContainsFunc(p.Maintaining, func(m policy.MaintainingEntry) bool {
			return allows(m.Entry, in.Child.GVK.GroupKind(), act) && serves(m)
		})
	})
}

// anyEntry serves whoever it is for.
func anyEntry(policy.MaintainingEntry) bool { return true }

// mayMaintain reports whether the requester may do what an entry lets through: where it
// names nobody, whoever may exercise the parent's allowances, and who may initiate above
// it. The latter could have the same done by changing what is above, and anybody may have a
// Pod evicted.
func (in *Input) mayMaintain(m policy.MaintainingEntry) bool {
	switch {
	case in.Eviction:
		return true
	case len(m.Subjects) > 0:
		return m.MatchesSubject(in.Requester)
	default:
		return in.AncestorInitiator || in.MayExercise()
	}
}
