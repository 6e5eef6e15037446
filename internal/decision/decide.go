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

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// Reason names the check that decided. It is the reason in audit annotations,
// records and metrics.
type Reason string

// The reasons, in the order of the checks (D2).
const (
	ReasonOwn          Reason = "Own"
	ReasonUnchanged    Reason = "Unchanged"
	ReasonFinishing    Reason = "Finishing"
	ReasonPlatform     Reason = "Platform"
	ReasonBookkeeping  Reason = "Bookkeeping"
	ReasonOrigin       Reason = "Origin"
	ReasonRoot         Reason = "Root"
	ReasonOrphan       Reason = "Orphan"
	ReasonUnbounded    Reason = "Unbounded"
	ReasonAdopting     Reason = "Adopting"
	ReasonInitializing Reason = "Initializing"
	ReasonMaintaining  Reason = "Maintaining"
	ReasonDeleting     Reason = "Deleting"
	ReasonCovered      Reason = "Covered"
	ReasonReleased     Reason = "Released"
	ReasonStray        Reason = "Stray"
	ReasonDiscarding   Reason = "Discarding"
	ReasonReturning    Reason = "Returning"
	ReasonUpgrade      Reason = "Upgrade"
	ReasonBreakGlass   Reason = "BreakGlass"
	ReasonWarned       Reason = "Warned"
	ReasonAudited      Reason = "Audited"
	ReasonDenied       Reason = "Denied"
)

// Verdict is the answer to whether a request may make its changes.
type Verdict struct {
	// Allowed is false only where the reason is Denied.
	Allowed bool
	// Reason is the check that decided.
	Reason Reason
	// Policies are those that bound the child in the parent's phase.
	Policies []*policy.Policy
	// Uncovered are the acts that nothing covers; the verdict is then BreakGlass,
	// Warned, Audited or Denied.
	Uncovered []Act
	// Maintainers are who may do it without an allowance.
	Maintainers []Maintainer
	// Exercised is the allowance that is said to have caused the request, where
	// one covers it.
	Exercised *ledger.Entry
	// Causes are all that have caused the request, the first of which is that of Exercised: one write may carry what
	// several changes of the parent allow.
	Causes []Cause
	// Upgrade is what lets the request through as part of an upgrade of its parent; nil
	// where the reason is another one.
	Upgrade *Upgrade
	// TakenBack are the fields in which the child gets what was withheld of the parent and
	// is there no more.
	TakenBack []change.Path
	// Withheld are the parent's withheld changes, which keep its allowances from
	// being used.
	Withheld ledger.Ledger
}

// Check looks at one reason for a verdict. The second result is false where it
// does not apply.
type Check func(context.Context, *Input) (Verdict, bool)

// checks are asked in this order, and the first that applies decides (D2). A new
// reason is a new entry here, or in actChecks, which are asked after them.
var checks = []Check{
	// Kausality's own writes must never wait for themselves.
	when(ReasonOwn, ownWrite),
	// What changes nothing that counts needs no cause.
	when(ReasonUnchanged, func(in *Input) bool { return in.Operation == Update && len(in.Changes) == 0 }),
	// What a child stands for outside is never free.
	renamed,
	// A deletion that was admitted must be able to end.
	when(ReasonFinishing, func(in *Input) bool { return in.Child.Deleting }),
	// Who keeps the cluster alive is never caused by a parent.
	when(ReasonPlatform, platform),
	// What a system writes for itself moves nothing below.
	when(ReasonBookkeeping, bookkeeping),
	// Initiators of the child's own policy are causes themselves, of what is theirs.
	when(ReasonOrigin, func(in *Input) bool { return origin(in) && !in.CopiesWithheld() }),
	// Without a parent there is nobody who could have allowed it.
	when(ReasonRoot, func(in *Input) bool { return in.ParentState == NoParent }),
	when(ReasonOrphan, func(in *Input) bool { return in.ParentState == ParentGone }),
	// A resource that no policy of the parent names is unrestricted.
	when(ReasonUnbounded, func(in *Input) bool { return len(in.Bounding()) == 0 }),
	// What was under way when the policy came may finish, but for what has been withheld
	// since.
	when(ReasonAdopting, func(in *Input) bool {
		return in.Parent.isAdopting() && in.mayFinish() && len(in.takenBack()) == 0 && !isWithheldOf(in.Referents)
	}),
}

// actCheck looks at one reason for a verdict that depends on what covers the acts of the
// request.
type actCheck func(*Input, judgement) (Verdict, bool)

// actChecks are asked in this order, where none of checks applied.
var actChecks = []actCheck{
	// The parent's phase and its allowances.
	permitted,
	// What was adopted without a cause can always be got rid of.
	discards,
	// What was carried out of a change that was taken back can be undone.
	returning,
	// What is left is what somebody has agreed to for a new version of its controller.
	upgraded,
	// Nothing covers it, and somebody who may says that it has to be.
	brokenGlass,
	// Nothing covers it: what happens is up to the policies.
	enforced,
}

// Decide returns the verdict on a request. It makes no difference between people
// and controllers. The acts are judged at most once.
func Decide(ctx context.Context, in *Input) Verdict {
	for _, check := range checks {
		if v, ok := check(ctx, in); ok {
			return v
		}
	}
	judged := in.judge(ctx)
	for _, check := range actChecks {
		if v, ok := check(in, judged); ok {
			return v
		}
	}
	return Verdict{Allowed: true, Reason: ReasonUnbounded}
}

// when makes a check that allows where a condition holds.
func when(reason Reason, holds func(*Input) bool) Check {
	return func(_ context.Context, in *Input) (Verdict, bool) {
		return Verdict{Allowed: true, Reason: reason}, holds(in)
	}
}

// ownWrite reports whether Kausality makes the request and nobody has changed it on the way. Kausality's
// updates change nothing that counts. Where one does, another mutating webhook has added that, and it is
// judged like anybody's change.
func ownWrite(in *Input) bool {
	return in.Operator && (in.Operation != Update || len(in.Changes)+len(in.OwnChanges) == 0)
}

// bookkeeping does not have what takes the child away from its parent: that ends what the books are
// kept of. So it is judged like any child's, and refused where the controller would keep the child.
func bookkeeping(in *Input) bool {
	return in.LateInitialization || in.Bookkeeping && !in.Leaves && in.KeepsBooks()
}

// mayFinish reports whether the requester may go on with what was under way: who may use the parent's
// allowances, and who may have begun it. What others do is no part of that. *Observed* where it was: a
// policy came in the middle of a rollout that never ended, and anybody scaled down the Pods that worked. An
// eviction is for the sake of the node.
func (in *Input) mayFinish() bool {
	return in.Eviction || in.AncestorInitiator || in.MayExercise()
}

// KeepsBooks reports whether the requester is one of those whose bookkeeping needs no
// cause: a service account that may exercise the parent's allowances, or that a policy
// in effect for the parent or the child names.
func (in *Input) KeepsBooks() bool {
	if in.Requester.Username == controllerManager {
		return true
	}
	return in.Requester.IsServiceAccount() && in.MayExercise()
}

func origin(in *Input) bool {
	return policy.MayInitiate(in.Requester, in.OwnPolicies)
}

// Bounding returns the policies of the parent that bound the child in its phase.
func (in *Input) Bounding() []*policy.Policy {
	if in.ParentState != ParentFound {
		return nil
	}
	return in.Parent.bounding(in.Child.GVK.GroupKind())
}

// Bounds reports whether any policy bounds children of a kind in the phase of the parent.
func (p *Parent) Bounds(child schema.GroupKind) bool { return len(p.bounding(child)) > 0 }

// bounding returns the policies that bound children of a kind in the phase of the parent:
// those that name it in any section, but of a steady parent those that name it
// for that phase. That the initializing or the deleting section of a policy may
// restrict nothing is for the section to say: what it lets through is caused by
// the phase, and can go on further down.
func (p *Parent) bounding(child schema.GroupKind) []*policy.Policy {
	phase := p.Phase()
	var out []*policy.Policy
	for _, by := range p.Policies {
		if by.Bounds(child) && (phase != v1alpha1.PhaseSteady || by.BoundsIn(phase, child)) {
			out = append(out, by)
		}
	}
	return out
}

// permitted allows where each act is within the section for the parent's phase,
// or covered by one of its allowances.
func permitted(in *Input, judged judgement) (Verdict, bool) {
	v := Verdict{Policies: in.Bounding(), Exercised: judged.exercised, Causes: judged.causes}
	if len(judged.uncovered) > 0 {
		return v, false
	}
	v.Allowed = true
	v.Reason = judged.reason
	if in.IsAdopted() && in.AdoptsWithoutCause() {
		v.Reason = ReasonStray
	}
	return v, true
}

// brokenGlass allows what nothing covers, for the reason that the requester gave
// (D13).
func brokenGlass(in *Input, judged judgement) (Verdict, bool) {
	if in.BreakGlass == "" {
		return Verdict{}, false
	}
	v := in.uncovered(judged)
	v.Allowed, v.Reason = true, ReasonBreakGlass
	return v, true
}

// enforced refuses, warns or only says what nothing covers; the strictest of the
// policies that bound the child counts (D13).
func enforced(in *Input, judged judgement) (Verdict, bool) {
	v := in.uncovered(judged)
	action := v1alpha1.ActionAudit
	for _, p := range v.Policies {
		if p.Action == v1alpha1.ActionDeny || p.Action == v1alpha1.ActionWarn && action == v1alpha1.ActionAudit {
			action = p.Action
		}
	}
	switch action {
	case v1alpha1.ActionDeny:
		v.Reason = ReasonDenied
	case v1alpha1.ActionWarn:
		v.Allowed, v.Reason = true, ReasonWarned
	default:
		v.Allowed, v.Reason = true, ReasonAudited
	}
	return v, true
}

// uncovered returns the verdict, still to be given, on what nothing covers.
func (in *Input) uncovered(judged judgement) Verdict {
	return Verdict{
		Policies:    in.Bounding(),
		Uncovered:   judged.uncovered,
		Maintainers: judged.maintainers,
		TakenBack:   in.takenBack(),
		Withheld:    Withheld(in.Parent.Standing),
	}
}
