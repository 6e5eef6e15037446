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
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lifecycle"
	"kausality.io/operator/internal/record"
)

// What is withheld is carried out all the same where nothing holds back what follows from it: where Pods end without
// their controller, as by an eviction, and none is to take their place, while no rule of a policy
// that denies is about it, or where nobody is asked, as while the operator is away. Once the status proves it there is nothing left to hold back (D8), and the
// mark goes with the next request. Only a look before that knows whose change it was, and that nobody
// approved it. Of what has finished for good nothing is held back either, although nothing was carried
// out: *observed* of a Job whose parallelism a stranger changed after it was Complete.

// carriedOutText is what the history, and an Event, say of it. Which of these it was nobody has seen, unless no such
// rule is there now.
const (
	carriedOutText = "it was withheld, nobody approved it, and it is carried out all the same, as the status of the object proves: nothing held back what " +
		"followed, as where Pods that it leaves out were evicted, ended, or were lost with a node, while no rule of a policy that denies is about it, or while the operator is " +
		"away. Change it back to take it back"
	carriedOutUnruledText = "it was withheld, nobody approved it, and it is carried out all the same, as the status of the object proves: no rule of a policy " +
		"in effect that denies is about it any more, and so nothing that follows is held back. Change it back to take it back"
)

// tellCarriedOut says in the history what of the holder was withheld and is carried out.
func (v view) tellCarriedOut(status *v1alpha1.AllowanceRecordStatus) {
	if !v.withheld() || v.obj.GetDeletionTimestamp() != nil || record.ChildWaits(status) {
		return
	}
	proven := lifecycle.Proven(v.obj, v.policies)
	if len(proven) == 0 || lifecycle.IsOver(v.obj, v.policies) {
		return
	}
	standing := v.standing(status)
	concerns := decision.Concerns(v.policies)
	for _, e := range v.stored {
		path, err := change.ParsePath(e.Mutation)
		if err != nil || !e.IsWithheld() || e.Generation > v.obj.GetGeneration() || !change.AnyCovers(proven, path) || !standing.Differs(path) {
			continue
		}
		for _, told := range record.LedgerHistory(
			record.TargetOf(v.obj), []v1alpha1.Allowance{e.Allowance}, v1alpha1.EventConsumed, v1alpha1.EventReleased, metav1.NewTime(v.now),
		) {
			told.User, told.Reason, told.Message = e.Initiator, v1alpha1.ReasonCarriedOut, carriedOutText
			if !concerns(path) {
				told.Message = carriedOutUnruledText
			}
			status.History = record.WithHistory(status.History, told)
		}
	}
}

// standing compares the holder with its approved content: what was taken back is not carried out.
func (v view) standing(status *v1alpha1.AllowanceRecordStatus) *approved.Standing {
	state, _ := approved.Decode(ledger.Annotation(v.obj, ledger.NameApproved))
	pending := record.PendingOf(v.asRecord(status), v.obj, state, v.effective(status))
	return approved.Now(state, pending, decision.Approvable(v.obj, v.policies, nil, v.digestKey))
}

// newlyCarriedOut returns what a history tells of that was carried out, and one before it does not.
func newlyCarriedOut(before, after []v1alpha1.HistoryEntry) []v1alpha1.HistoryEntry {
	return slices.DeleteFunc(slices.Clone(after), func(e v1alpha1.HistoryEntry) bool {
		return !record.IsCarriedOut(e) || slices.ContainsFunc(before, func(old v1alpha1.HistoryEntry) bool {
			// The fields of one write may share an entry by now, which has the time of the latest of them.
			isOne := slices.ContainsFunc(old.Paths, func(path string) bool { return slices.Contains(e.Paths, path) })
			return record.IsCarriedOut(old) && isOne && old.Time.Equal(&e.Time)
		})
	})
}

// announceCarriedOut makes an Event about each change that was withheld and is carried out.
func (r *Reconciler) announceCarriedOut(v view, before, after *v1alpha1.AllowanceRecordStatus) {
	for _, e := range newlyCarriedOut(before.History, after.History) {
		by := e.User
		if by == "" {
			by = "somebody"
		}
		for _, path := range e.Paths {
			r.Events.Eventf(v.obj, nil, corev1.EventTypeWarning, v1alpha1.ReasonCarriedOut, "Watch", "%s changed %s: %s", by, path, e.Message)
		}
	}
}
