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
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/requeue"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lifecycle"
	"kausality.io/operator/internal/record"
)

// plan is what is left to do about a holder.
type plan struct {
	// rewrite asks for a request by which the webhook writes the ledger anew.
	rewrite bool
	// next is when to look again though nothing has happened; the zero time is
	// never.
	next time.Time
}

// mirror advances the status of a record, and reports whether that changed it.
func (v view) mirror(ctx context.Context, status *v1alpha1.AllowanceRecordStatus) (plan, bool) {
	before := status.DeepCopy()
	p := v.advance(ctx, status)
	return p, !equality.Semantic.DeepEqual(before, status)
}

// mirrorOnly advances what of a status only mirrors the holder, and reports whether that
// changed it. It is for a moment later: what is kept in the record and nowhere else
// has to follow from a fresh look.
func (v view) mirrorOnly(ctx context.Context, status *v1alpha1.AllowanceRecordStatus) bool {
	after := status.DeepCopy()
	if _, changed := v.mirror(ctx, after); !changed {
		return false
	}
	before := status.DeepCopy()
	after.DeepCopyInto(status)
	status.PendingGrants, status.Consumed, status.RawLedger = before.PendingGrants, before.Consumed, before.RawLedger
	status.Adopting, status.AdoptingSince = before.Adopting, before.AdoptingSince
	status.Deletion, status.Conditions, status.IgnoredParents = before.Deletion, before.Conditions, before.IgnoredParents
	if status.Approved != nil && len(status.Approved.Digests) > 0 && before.Approved != nil && status.Approved.Generation < before.Approved.Generation {
		status.Approved = before.Approved // Whoever admitted the change has told since.
	}
	return !equality.Semantic.DeepEqual(before, status)
}

// sameCanonical reports whether two statuses are the same in what is kept in the record and
// nowhere else.
func sameCanonical(a, b *v1alpha1.AllowanceRecordStatus) bool {
	same := b.DeepCopy()
	same.Phase, same.Active, same.ActiveCount, same.Initiator = a.Phase, a.Active, a.ActiveCount, a.Initiator
	same.LedgerKey = a.LedgerKey
	same.FirstSeen, same.History, same.WithheldCount = a.FirstSeen, a.History, a.WithheldCount
	same.Blocked, same.AnsweredDenials, same.Gated = a.Blocked, a.AnsweredDenials, a.Gated
	same.WokenBy, same.LastDenial = a.WokenBy, a.LastDenial
	same.Approved, same.ParentUID = a.Approved, a.ParentUID
	return equality.Semantic.DeepEqual(a, same)
}

// advance makes the status of the holder's record say what is so now. To do it
// again changes nothing.
func (v view) advance(ctx context.Context, status *v1alpha1.AllowanceRecordStatus) plan {
	if status.Phase == "" && v.isLost {
		v.giveUp(status)
	}
	c := v.consumption(ctx, status)
	var fold bool
	status.PendingGrants, fold = c.pending(status.PendingGrants)
	status.Consumed = c.consumed()
	v.adopt(ctx, status, &c.next)
	v.ignore(status, &c.next)
	v.approve(status, &c.next)
	v.reportUnreadable(status)

	effective := record.Effective(v.asRecord(status), v.obj, v.stored)
	status.Phase, status.EndedAt = v.phase(effective), nil
	status.History = record.FollowLedger(record.TargetOf(v.obj), status.History, status.Active, effective.Allowances(),
		v.obj.GetGeneration(), metav1.NewTime(v.now))
	status.Active = effective.Allowances()
	if key := ledger.AnnotationKey(v.obj, ledger.NameAllowances); len(status.Active) > 0 && key != v1alpha1.AnnotationAllowances {
		status.LedgerKey = key
	}
	held := effective.Without(ledger.Entry.IsWithheld)
	status.ActiveCount = int32(len(held))                    //nolint:gosec // a ledger has at most ledger.MaxEntries
	status.WithheldCount = int32(len(effective) - len(held)) //nolint:gosec // as above
	if latest := latestOf(held); latest != "" {
		status.Initiator = latest
	}
	status.FirstSeen = v.firstSeen(c.firstSeen, held)
	status.Gated = gate.ReadState(v.obj.GetAnnotations()).Adopted()
	v.deleted(status, &c.next)
	v.overdue(status, held, &c.next)
	v.answer(status, effective)
	v.tellCarriedOut(status)
	if v.parent != nil {
		status.ParentUID = v.parent
	}

	rewrite := v.rewrite(fold || c.carriesOut(status) || v.hasReturned(ctx), c.noted, status, &c.next)
	return plan{rewrite: rewrite, next: c.next.Time}
}

// asRecord returns the record that has the status.
func (v view) asRecord(status *v1alpha1.AllowanceRecordStatus) *v1alpha1.AllowanceRecord {
	return &v1alpha1.AllowanceRecord{
		// What the look makes of the ledger is known by it.
		Spec:   v1alpha1.AllowanceRecordSpec{TargetRef: record.TargetOf(v.obj), LedgerKnown: true},
		Status: *status,
	}
}

// rewrite reports whether the webhook has something to change about the ledger.
func (v view) rewrite(fold bool, noted map[string]bool, status *v1alpha1.AllowanceRecordStatus, next *requeue.Soonest) bool {
	consumed := status.Consumed
	if v.obj.GetDeletionTimestamp() != nil {
		return false
	}
	if fold {
		return true
	}
	if len(consumed) == 0 || ledgerRequest(v.obj.GroupVersionKind()).costly && !v.rests(len(status.Active) == 0, next) {
		return false
	}
	// The webhook sees for itself that the holder has settled; anything else it
	// takes from the record, which has to say so first.
	bySettling := func(id string) bool {
		return v.progress.Settled && !slices.ContainsFunc(v.stored, func(e ledger.Entry) bool { return e.IsForReaders() && e.ID() == id })
	}
	return !slices.ContainsFunc(consumed, func(a v1alpha1.ConsumedAllowance) bool { return !noted[a.ID] && !bySettling(a.ID) })
}

// adopt ends the adoption of a holder that has settled, or of which something is
// withheld (D20). Where its status never tells, it ends as allowances do. Whether it has
// settled is the policies' to say: while none is in effect, the one that the holder is
// adopted for may be about to be, and the adoption lasts until then.
func (v view) adopt(ctx context.Context, status *v1alpha1.AllowanceRecordStatus, next *requeue.Soonest) {
	if !status.Adopting || len(v.policies) == 0 {
		return
	}
	if status.AdoptingSince == nil {
		status.AdoptingSince = &metav1.Time{Time: v.now}
	}
	if !v.adopting(ctx, status.AdoptingSince.Time, next) {
		status.Adopting, status.AdoptingSince = false, nil
	}
}

// adopting reports whether an adoption that began at a time goes on.
func (v view) adopting(ctx context.Context, since time.Time, next *requeue.Soonest) bool {
	if v.withheld() {
		return false
	}
	goes, end := lifecycle.Adopting(ctx, v.obj, v.policies, since, v.now)
	if goes && !end.IsZero() {
		next.At(end)
	}
	return goes
}

// deleted says who deletes the holder, and forgets who only tried to: something
// else can have refused a deletion that the webhook let through.
func (v view) deleted(status *v1alpha1.AllowanceRecordStatus, next *requeue.Soonest) {
	switch {
	case v.obj.GetDeletionTimestamp() != nil:
		if status.Deletion == nil && v.inherited != nil {
			status.Deletion = v.inherited
			status.History = record.WithHistory(status.History, record.DeletedEntry(v.inherited))
		}
	case status.Deletion != nil:
		end := status.Deletion.Time.Add(record.UnseenLimit)
		if end.After(v.now) {
			next.At(end)
			return
		}
		status.Deletion = nil
		status.History = slices.DeleteFunc(slices.Clone(status.History), func(e v1alpha1.HistoryEntry) bool {
			return e.Event == v1alpha1.EventDeleted
		})
	}
}

// phase of the holder (D9).
func (v view) phase(effective ledger.Ledger) v1alpha1.Phase {
	switch {
	case v.obj.GetDeletionTimestamp() != nil:
		return v1alpha1.PhaseDeleting
	case effective.Initializing():
		return v1alpha1.PhaseInitializing
	}
	return v1alpha1.PhaseSteady
}

// firstSeen keeps the times of the entries that are still held.
func (v view) firstSeen(before map[string]time.Time, held ledger.Ledger) []v1alpha1.SeenAllowance {
	out := make([]v1alpha1.SeenAllowance, 0, len(held))
	for _, e := range held {
		seen, ok := before[e.ID()]
		if !ok {
			seen = v.now
		}
		out = append(out, v1alpha1.SeenAllowance{ID: e.ID(), Time: metav1.NewTime(seen)})
	}
	return out
}

// latestOf returns the initiator of the entry with the highest generation.
func latestOf(held ledger.Ledger) string {
	var latest ledger.Entry
	for _, e := range held {
		if latest.Initiator == "" || e.Generation > latest.Generation {
			latest = e
		}
	}
	return latest.Initiator
}
