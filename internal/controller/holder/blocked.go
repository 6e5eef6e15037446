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

package holder

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/conditions"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/denial"
	"kausality.io/operator/internal/kubectl"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/listing"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
	"kausality.io/operator/internal/upgrade"
)

// situation is what a blocked holder has: what could help differs from it.
type situation struct {
	// allowances are the ids of the active entries.
	allowances []string
	// withheld are the paths of withheld changes.
	withheld []string
	// policies in effect, with their generations.
	policies []string
	// upgrades are the UpgradeAllowances that select the holder.
	upgrades []*upgrade.Allowance
	// helpless is true where something is withheld of the holder by a policy in effect: none of them lets
	// anything through then.
	helpless bool
}

func (v view) situation(effective ledger.Ledger) situation {
	s := situation{policies: policiesOf(v.policies), upgrades: v.upgrades, helpless: len(decision.Marked(effective, v.policies)) > 0}
	for _, e := range effective {
		if e.IsWithheld() {
			s.withheld = append(s.withheld, e.Mutation)
		} else {
			s.allowances = append(s.allowances, e.ID())
		}
	}
	return s
}

// writtenHelps reports whether something has come, or something that was in the way is
// gone, since the holder was blocked: its controllers should try again (D13). Each is a write of
// the holder, which wakes them.
func (s situation) writtenHelps(b *v1alpha1.Blocked) bool {
	return slices.ContainsFunc(s.allowances, func(id string) bool { return !slices.Contains(b.Allowances, id) }) ||
		slices.ContainsFunc(b.Withheld, func(path string) bool { return !slices.Contains(s.withheld, path) })
}

// unwrittenHelps reports whether a policy or an UpgradeAllowance has come, gone or changed that may
// help: that is no write of the holder, so that its controllers do not hear of it. Of policies each change counts
// once: Blocked has those that are there when it begins, whatever was denied.
func (s situation) unwrittenHelps(status *v1alpha1.AllowanceRecordStatus) bool {
	return !slices.Equal(s.policies, status.Blocked.Policies) || len(s.helping(status)) > 0
}

// helping returns the UpgradeAllowances that have come, or have changed, and that could let through
// what was denied: those of whoever was denied it, that name the child, and that were not asked
// then. What a denial says of who was asked is not enough for each to count once: the last denial may be of
// somebody else, and a replica that has not heard of one yet does not name it.
func (s situation) helping(status *v1alpha1.AllowanceRecordStatus) []string {
	b, d := status.Blocked, status.LastDenial
	if d == nil || s.helpless {
		return nil
	}
	var out []string
	for _, a := range s.upgrades {
		id := a.ID()
		if !slices.Contains(b.Upgrades, id) && !slices.Contains(d.Upgrades, id) && mayWake(status, a) &&
			((a.User == b.User || a.User == d.User) && a.IsAbout(d.Kind) || wasDenied(status, a)) {
			out = append(out, id)
		}
	}
	return out
}

// mayWake bounds how often one UpgradeAllowance wakes the controllers of a holder before it settles, whatever they
// are denied then: each write that wakes them is followed by a denial where it does not help, and that by the next
// write. It is once, and once more where its own user was denied something since: a replica that has not heard of
// it yet may have done that.
func mayWake(status *v1alpha1.AllowanceRecordStatus, a *upgrade.Allowance) bool {
	woken := 0
	for _, id := range status.WokenBy {
		if id == a.ID() {
			woken++
		}
	}
	return woken == 0 || woken == 1 && status.LastDenial.User == a.User
}

// remember keeps of those by which controllers were woken what still selects the holder, and adds those that wake
// them now.
func (s situation) remember(status *v1alpha1.AllowanceRecordStatus, waking []string) {
	known := slices.DeleteFunc(slices.Clone(status.WokenBy), func(id string) bool {
		return !slices.ContainsFunc(s.upgrades, func(a *upgrade.Allowance) bool { return a.ID() == id })
	})
	status.WokenBy = slices.Concat(known, waking)
}

// wasDenied reports whether whoever an UpgradeAllowance is for was denied a change of a child that it
// names since the holder is blocked. The history tells: the last denial is about one child only.
func wasDenied(status *v1alpha1.AllowanceRecordStatus, a *upgrade.Allowance) bool {
	since := status.Blocked.Since.Add(-denial.Together)
	return slices.ContainsFunc(status.History, func(e v1alpha1.HistoryEntry) bool {
		return e.Event == v1alpha1.EventDenied && e.User == a.User && !e.Time.Time.Before(since) && a.IsAbout(e.Kind)
	})
}

// answer begins and ends the time in which the holder is blocked. It begins with
// a denial, and what has been denied until it ends is answered. A holder that has
// settled waits for nothing.
//
// A denial may be answered before it is known here: an initiator reads the message and approves within the
// second or two until the record is written. It blocks nobody. Blocked would keep the approval among what
// was there already, and wait for another one.
func (v view) answer(status *v1alpha1.AllowanceRecordStatus, effective ledger.Ledger) {
	now := v.situation(effective)
	waiting := !v.progress.Settled && v.obj.GetDeletionTimestamp() == nil
	if !waiting {
		status.WokenBy = nil
	}
	if b := status.Blocked; b != nil {
		if waiting && !isPassed(status) && !now.writtenHelps(b) && (!now.unwrittenHelps(status) || !conditions.ShowsBlocked(v.obj)) {
			return // To be woken by what is taken away, a controller has to be shown it first.
		}
		if waiting {
			now.remember(status, now.helping(status))
		} else if d := status.LastDenial; d != nil && v.progress.Settled {
			d.Settled = true
		}
		status.Blocked, status.AnsweredDenials = nil, status.Denials
		return
	}
	if status.Denials <= status.AnsweredDenials {
		return
	}
	if !waiting || status.LastDenial == nil || denial.Answered(status.History, status.LastDenial) || isPassed(status) {
		status.AnsweredDenials = status.Denials
		return
	}
	status.Blocked = &v1alpha1.Blocked{
		Since:      metav1.NewTime(status.LastDenial.Time.Time),
		Message:    v.blockedMessage(*status.LastDenial, withheldIn(decision.Marked(effective, v.policies)), status.Strays),
		Allowances: now.allowances,
		Withheld:   now.withheld,
		Policies:   now.policies,
		User:       status.LastDenial.User,
		Upgrades:   status.LastDenial.Upgrades,
	}
}

// withheldIn returns the paths of the withheld changes in a ledger: of one that no rule in effect is about nobody can
// say that it has to be approved.
func withheldIn(l ledger.Ledger) []string {
	var out []string
	for _, e := range l {
		if e.IsWithheld() {
			out = append(out, e.Mutation)
		}
	}
	return out
}

// isPassed reports whether what was denied last was let through since: nobody waits for it, whatever
// it passed by.
func isPassed(status *v1alpha1.AllowanceRecordStatus) bool {
	return status.LastDenial != nil && denial.Passed(status.History, status.LastDenial)
}

// blockedMessage says what waits and who could help. It names paths, and never
// what is in them.
func (v view) blockedMessage(d v1alpha1.Decision, withheld []string, strays []v1alpha1.StrayChild) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s was denied: ", d.Operation, strings.TrimSpace(d.Kind+" "+d.Name))
	stray, others := record.StraysInTheWay(strays, d.Operation, d.Kind, d.Name)
	kind := v.obj.GroupVersionKind().GroupKind()
	forOthers := len(withheld) == 0 && !stray && len(others) == 0 && strings.Contains(d.Message, decision.MayNotUse)
	switch {
	case forOthers:
		fmt.Fprintf(&b, "%s may not use the allowances of this %s: they are for %s.", d.User, kind.Kind, listing.Join(policy.Exercisers(v.policies, nil), ", "))
		if name := policy.ToName(kind, d.User, d.Policies); name != "" {
			b.WriteString(" " + name)
		}
		if policy.MakerOf(kind, d.User) == policy.IsMaker {
			return b.String() // No approval helps it.
		}
	case len(withheld) > 0:
		fmt.Fprintf(&b, "a change that is withheld has to be approved or taken back first: %s.", listing.Paths(withheld))
		if notMet := v.notMet(withheld); len(notMet) > 0 {
			fmt.Fprintf(&b, " Nobody can approve it before this holds of the object: %s.", listing.Join(notMet, "; "))
		}
	case stray:
		b.WriteString("it was adopted without a cause, and has to be deleted or approved first.")
	case len(others) > 0:
		fmt.Fprintf(&b, "what was adopted without a cause has to be deleted or approved first: %s %s.", d.Kind, listing.Paths(record.NamesOf(others)))
	default:
		fmt.Fprintf(&b, "no allowance covers it")
		if len(d.Paths) > 0 {
			fmt.Fprintf(&b, ": %s", listing.Paths(d.Paths))
		}
		b.WriteString(".")
	}
	initiators := v.initiators()
	if about := decision.Approvers(v.policies, nil, withheld...); len(about) > 0 {
		initiators = slices.Compact(slices.Sorted(slices.Values(about)))
	}
	if len(initiators) > 0 {
		fmt.Fprintf(&b, " Who may initiate: %s.", strings.Join(initiators, ", "))
	}
	if len(initiators) > 0 && len(withheld) == 0 && !forOthers && !stray && len(others) == 0 {
		gvk := v.obj.GroupVersionKind()
		of := kubectl.Objects{Group: gvk.Group, Kind: gvk.Kind, Namespace: v.obj.GetNamespace(), Names: []string{v.obj.GetName()}, Version: v.versionToName}
		fmt.Fprintf(&b, " To have children made as %s says, where rules allow it: %s.", gvk.Kind,
			kubectl.Annotate(of, ledger.AnnotationKey(v.obj, ledger.NameApprove), v1alpha1.Any))
	}
	return b.String()
}

// notMet returns the conditions because of which nobody can approve what is withheld of the holder as it is.
func (v view) notMet(withheld []string) []string {
	return decision.NotMet(context.Background(), v.policies, decision.Child{
		Namespace: v.obj.GetNamespace(), Name: v.obj.GetName(), New: v.obj.Object,
	}, withheld...)
}

// initiators of the policies in effect.
func (v view) initiators() []string {
	var all []string
	for _, p := range v.policies {
		all = append(all, p.Initiators()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
