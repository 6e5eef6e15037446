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

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/policy"
)

// A stray is a child that its parent adopted without a cause: somebody made an object
// that the parent's controller takes for its own, as a Deployment does with each
// ReplicaSet that its selector matches. The adoption passes, since refusing it would
// end the controller's sync; but the parent's allowances do not reach the stray, and
// healing makes no room for it (D5).

// Adoption is what a request does that gives the child another parent.
type Adoption struct {
	// Parent is the one that the child has after the request.
	Parent Parent
	// Initiator is true where the requester may initiate on that parent or above it.
	Initiator bool
	// Returned says which initiator had that parent adopt the child, as it is, a moment ago; nil where
	// none did.
	Returned *v1alpha1.ReturnedChild
	// Younger is true where the child was made after that parent.
	Younger bool
}

// AdoptsWithoutCause reports whether the request gives the child a parent although
// nothing that was allowed, and nobody who may initiate, had that happen.
func (in *Input) AdoptsWithoutCause() bool {
	if in.Adoption == nil || in.Operator || in.Child.Deleting || platform(in) || bookkeeping(in) {
		return false // It needs no cause.
	}
	if in.Adoption.Initiator || in.Adoption.Returned != nil || origin(in) || in.BreakGlass != "" {
		return false // The requester is one, or somebody who may had it happen.
	}
	adopted := *in
	adopted.ParentState, adopted.Parent = ParentFound, in.Adoption.Parent
	return !adopted.isAdoptionCaused()
}

// isAdoptionCaused reports whether the parent may adopt the child: it is not bound to
// what is allowed, or the child could have been created in its place.
func (in *Input) isAdoptionCaused() bool {
	denies := func(p *policy.Policy) bool { return p.Action == v1alpha1.ActionDeny }
	if !slices.ContainsFunc(in.Bounding(), denies) || in.Parent.isAdopting() {
		return true
	}
	creation := Act{Operation: Create}
	// Being able to create a child is a reason to take over one that was asked for
	// by its name. A selector takes over whatever somebody makes meanwhile.
	selects := in.Parent.Known().Selector != ""
	switch in.Parent.Phase() {
	case v1alpha1.PhaseDeleting:
		return true // Nothing is allowed any more that could reach it.
	case v1alpha1.PhaseInitializing:
		// What was there before the parent was left behind for it. A Job is initializing for as long as it runs.
		return in.inInitializing(creation) && (!selects || !in.Adoption.Younger)
	default:
		_, covered := justification(in.allowances(), creation)
		return covered && !selects
	}
}

// IsAdopted reports whether the parent that bounds the request is one that the child gets by it.
func (in *Input) IsAdopted() bool {
	return in.Adoption != nil && in.Adoption.Parent.UID == in.Parent.UID
}

// IsStray reports whether the parent adopted the child without a cause, or does so by
// this very request.
func (in *Input) IsStray() bool {
	if in.ParentState != ParentFound {
		return false
	}
	if in.IsAdopted() {
		return in.AdoptsWithoutCause() // What was before its adoption does not matter any more.
	}
	return in.Parent.Strays.Has(in.Child.UID)
}

// wasStray reports whether the child is a stray, also where the parent that adopted it is gone. What goes with
// a parent, and is outside, is what the parent had with a cause: of a stray nobody has said what it stands for.
func (in *Input) wasStray() bool {
	return in.IsStray() || in.ParentState == ParentGone && in.Parent.Strays.Has(in.Child.UID)
}

// makesRoom reports whether the act deletes a child while a stray of its kind is alive:
// the controller would delete the one to keep the other. That nobody has allowed who changed
// something, as who maintains the parent, or only made it, has not. An eviction is for the sake of
// the node, and passes.
func (in *Input) makesRoom(act Act) bool {
	return act.Operation == Delete && !in.Eviction && len(in.Parent.Surplus) > 0
}

// coveringFor filters what may cover an act: that the parent was made covers nothing that makes room for a stray.
func (in *Input) coveringFor(act Act, entries []permit) []permit {
	if !in.makesRoom(act) {
		return entries
	}
	return slices.DeleteFunc(slices.Clone(entries), func(p permit) bool { return p.IsCreation() })
}

const replicasPath = "spec.replicas"

// discards allows where all that the request does to a stray is to get rid of it:
// deleting, evicting or releasing it, or having fewer replicas of it.
func discards(in *Input, _ judgement) (Verdict, bool) {
	v := Verdict{Allowed: true, Reason: ReasonDiscarding}
	if !in.IsStray() || !in.AncestorInitiator && !in.MayExercise() {
		return v, false
	}
	return v, !slices.ContainsFunc(in.Acts(), func(act Act) bool {
		return act.Operation != Delete && !in.isRelease(act) && !isFewer(act.Change)
	})
}

// isFewer reports whether a change lowers the number of replicas. A number that is left
// out is one, as the API defaults it.
func isFewer(c change.Change) bool {
	before, ok := number(c.Old)
	after, alsoOK := number(c.New)
	return c.Path.String() == replicasPath && ok && alsoOK && after < before
}

func number(value any) (int64, bool) {
	switch n := value.(type) {
	case nil:
		return 1, true
	case int64:
		return n, true
	default:
		return 0, false
	}
}
