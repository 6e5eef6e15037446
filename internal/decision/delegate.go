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

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/ledger"
)

// Delegate decides whether the requester may have somebody else make a change of the child
// from now on, as who makes an autoscaler for it does: it is judged as if the requester
// made the change, which is the only one of the input. The verdict is that of the parent;
// the second result is false also where the child's own policies want a cause that the
// requester is not.
//
// What a phase lets anybody do is over when the deputy acts. It only counts for who made
// the child itself, and of the parent's phase for controllers that act for the parent. The
// deletion of the child lets nobody: the deputy outlives it, and acts on the next object of that name.
// Conditions of rules are left to when it acts: they are about the child as it is then.
func Delegate(ctx context.Context, in *Input) (Verdict, bool) {
	lasting := in.lasting()
	v := Decide(ctx, lasting)
	switch {
	case in.AncestorInitiator, v.Reason == ReasonOwn, v.Reason == ReasonPlatform:
		return v, true
	default:
		return v, v.Allowed && lasting.isCause(v)
	}
}

// lasting returns the input without the phases that let anybody through.
func (in *Input) lasting() *Input {
	out := *in
	out.Child.Ledger = in.Child.Ledger.Without(func(e ledger.Entry) bool {
		return e.IsCreation() && e.Initiator != in.Requester.Username
	})
	out.Child.Deleting = false
	if !in.MayExercise() {
		out.Parent.Deleting = false
		out.Parent.Ledger = in.Parent.Ledger.Without(ledger.Entry.IsCreation)
		out.Parent.Adopting = false
	}
	return &out
}

// isCause reports whether the requester is a cause of the changes for each target of the
// rules that they trigger and that withhold what has none.
func (in *Input) isCause(v Verdict) bool {
	g := granter{Input: in, verdict: v, usable: append(in.usable(), in.ownReferred()...)}
	return !slices.ContainsFunc(in.OwnChanges, func(c change.Change) bool {
		return len(g.withoutCause(c, matching(g.rulesAt(c, false)))) > 0
	})
}
