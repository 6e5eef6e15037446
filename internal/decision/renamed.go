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

	"kausality.io/operator/api/v1alpha1"
)

// renamed refuses to have a child stand for something else outside the cluster, or be
// reached by other credentials, unless who may initiate on it or above it does so, or
// something covers it (D16). It comes before all that lets a request through because
// nothing bounds the child: whoever has the next change, or the deletion, of the child
// allowed means what it stood for then.
func renamed(ctx context.Context, in *Input) (Verdict, bool) {
	if len(in.Renames) == 0 || in.BreakGlass != "" || origin(in) || in.AncestorInitiator {
		return Verdict{}, false
	}
	uncovered := in.unnamed(ctx)
	if len(uncovered) == 0 {
		return Verdict{}, false
	}
	// An UpgradeAllowance covers all that nothing else does, or nothing.
	uncovered = in.withRest(ctx, uncovered)
	if u := in.upgradeNaming(uncovered); u != nil {
		return Verdict{Allowed: true, Reason: ReasonUpgrade, Policies: in.GatedBy, Upgrade: u}, true
	}
	return Verdict{Reason: ReasonDenied, Policies: in.GatedBy, Withheld: Withheld(in.Parent.Standing), Uncovered: uncovered}, true
}

// unnamed returns the renames that neither an allowance nor the phase of the parent covers.
func (in *Input) unnamed(ctx context.Context) []Act {
	var out []Act
	entries, conditions := in.usable(), in.conditions()
	if in.Outside {
		// The creation of the parent brought it there, and is over as far as its name goes.
		entries = slices.DeleteFunc(entries, func(p permit) bool { return p.IsCreation() })
	}
	for _, c := range in.Renames {
		act := Act{Operation: Update, Change: c}
		if _, covered := justification(entries, act); !covered && !in.phaseNames(ctx, act, conditions) {
			out = append(out, act)
		}
	}
	return out
}

// withRest adds to acts what else of the request nothing covers, where the parent bounds the child.
func (in *Input) withRest(ctx context.Context, acts []Act) []Act {
	if len(in.Bounding()) == 0 {
		return acts
	}
	for _, act := range in.judge(ctx).uncovered {
		if !slices.ContainsFunc(acts, func(a Act) bool { return a.String() == act.String() }) {
			acts = append(acts, act)
		}
	}
	return acts
}

// phaseNames reports whether the phase of the parent lets the act through, which says what
// the child stands for: from who may use the parent's allowances, and while nothing is
// there outside that it stands for already. What is being deleted keeps its name.
func (in *Input) phaseNames(ctx context.Context, act Act, conditions *conditions) bool {
	if in.ParentState != ParentFound || in.Parent.OneSided || in.IsStray() || in.Child.Deleting ||
		!in.MayExercise() {
		return false
	}
	switch in.Parent.Phase() {
	case v1alpha1.PhaseInitializing:
		return !in.Outside && in.inInitializing(act)
	case v1alpha1.PhaseSteady:
		return in.Parent.isAdopting() || in.maintaining(ctx, act, conditions)
	default:
		return false
	}
}
