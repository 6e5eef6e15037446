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

package admission

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/record"
)

// remember takes note of what an admitted request gave the object's own ledger: as
// it will be stored, and what was granted besides.
func (v *Validator) remember(r *request, o *outcome) {
	if r.dryRun || r.new == nil || len(o.OwnPolicies) == 0 || r.new.GetUID() == "" {
		return
	}
	has, _ := r.ledgerAsked() // What cannot be read says nothing.
	var gained []v1alpha1.Allowance
	for _, e := range has {
		if !hasID(o.stored, e) {
			gained = append(gained, e.Allowance)
		}
	}
	for _, e := range (ledger.Ledger{}).Merge(o.grant.Allowances...).Merge(o.grant.Withheld...) {
		if !holds(has, e) {
			gained = append(gained, e.Allowance)
		}
	}
	if r.old != nil {
		v.admitted.note(r.old)
	}
	if r.old != nil && len(o.grant.Withheld) > 0 {
		v.overtaken.note(r.old)
	}
	if r.old != nil && o.recordError == nil {
		v.withdrawn.forget(r.old.GetUID(), o.Child.Standing)
	}
	if st := withheldOf(o.Child.Standing); st != nil && r.old != nil {
		v.withdrawn.note(r.old.GetUID(), st)
	}
	v.rememberOwn(r, o.facts, slices.Concat(o.history(r, gained), o.approvalHistory(r), o.sparedHistory(r)))
	v.rememberContent(r, o, len(gained) > 0)
}

// rememberContent takes note of the content that an object at the top of a chain has by
// the request, where nothing of it is withheld and it can be another one than before: what
// is changed while no operator looks is found by it.
func (v *Validator) rememberContent(r *request, o *outcome, gains bool) {
	if v.rememberParents(r, o.facts) {
		return
	}
	if o.ParentState != decision.NoParent || o.gate != nil || o.grant.Standing != nil && len(o.grant.Standing.Differences) > 0 ||
		!gains && (o.record == nil || !o.Triggers()) || v.isUnseen(r, o.facts) {
		return
	}
	v.Records.Observe(record.Outcome{Target: r.target(), Approved: record.Known(o.index, r.new, true, o.OwnPolicies, v.DigestKey)})
}

// rememberParents takes note of the parents that an object gets or loses by the request,
// where its policies say who may give it some, and reports whether it does: what is given
// to it while no operator looked is found by it, and not by this.
func (v *Validator) rememberParents(r *request, f *facts) bool {
	if r.old == nil || f.record == nil || f.record.Status.Approved == nil || !record.SaysWhoAttaches(f.OwnPolicies) {
		return false
	}
	before, after := idsOf(lineage.Parents(f.index, r.old)), idsOf(lineage.Parents(f.index, r.new))
	if before.Equal(after) {
		return false
	}
	known := f.record.Status.Approved.DeepCopy()
	unseen := before.Difference(sets.New(known.Parents...))
	known.Parents = sets.List(after.Difference(unseen))
	v.Records.Observe(record.Outcome{Target: r.target(), Approved: known})
	return true
}

func idsOf(parents []lineage.Ref) sets.Set[string] {
	ids := sets.New[string]()
	for _, ref := range parents {
		ids.Insert(ref.ID())
	}
	return ids
}

// rememberRefusal takes note of a change of the object that its own policies refuse: it
// leaves nothing else that could tell of it.
func (v *Validator) rememberRefusal(r *request, f *facts, grant decision.Grant, resp admission.Response) {
	if r.dryRun || r.old == nil {
		return
	}
	v.rememberOwn(r, f, []v1alpha1.HistoryEntry{{
		Event: v1alpha1.EventRefused, User: r.requester.Username, Operation: operationText(r),
		Paths: withheldPaths(grant.Withheld), Policies: names(f.OwnPolicies), Message: resp.Result.Message,
	}})
}

// history returns what the history of the object tells of allowances that the request
// gives it, and of changes that it withholds: who made these may be somebody else than who asks, and is not
// known of what was changed while nobody looked, which the operator withholds, or the next one who writes.
func (f *facts) history(r *request, gained []v1alpha1.Allowance) []v1alpha1.HistoryEntry {
	entries := record.LedgerHistory(r.target(), gained, v1alpha1.EventGranted, v1alpha1.EventWithheld, metav1.Time{})
	for i := range entries {
		entries[i].Policies = names(f.OwnPolicies)
		if entries[i].Event == v1alpha1.EventWithheld && entries[i].User != r.requester.Username {
			continue
		}
		entries[i].User, entries[i].Operation = r.requester.Username, operationText(r)
	}
	return entries
}

// approvalHistory returns what the history of the object tells of what the request approves. The annotation
// is gone by now; what comes of it is known, whatever other webhooks have made of the request. A pending
// grant of the requester that is folded in approves nothing.
func (f *facts) approvalHistory(r *request) []v1alpha1.HistoryEntry {
	e := v1alpha1.HistoryEntry{
		Event: v1alpha1.EventApproved, User: r.requester.Username, Operation: operationText(r), Policies: names(f.OwnPolicies),
	}
	for _, c := range f.approvedBefore {
		if path := c.Path.String(); !slices.Contains(e.Paths, path) && !f.isPending(c) {
			e.Paths = append(e.Paths, path)
		}
	}
	if len(e.Paths) == 0 {
		return nil
	}
	return []v1alpha1.HistoryEntry{e}
}

// isPending reports whether a pending grant of the requester is because of a change of the same field.
func (f *facts) isPending(c change.Change) bool {
	return f.record != nil && slices.ContainsFunc(f.record.Status.PendingGrants, func(p v1alpha1.PendingGrant) bool {
		return slices.ContainsFunc(p.Allowances, func(a v1alpha1.Allowance) bool {
			hop, ok := ledger.NewEntry(a).LastHop()
			return ok && a.Initiator == f.Requester.Username && hop.Field == c.Path.String()
		})
	})
}

// rememberForgery takes note of a ledger that somebody wrote: only the mutating hook sees what a request
// says of it.
func (m *Mutator) rememberForgery(r *request, o *outcome) {
	if r.dryRun || r.new.GetUID() == "" || r.old == nil || o.Operator || o.copied() || !o.forges(r) {
		return
	}
	m.rememberOwn(r, o.facts, []v1alpha1.HistoryEntry{{
		Event: v1alpha1.EventRestored, User: r.requester.Username, Operation: operationText(r), Policies: names(o.OwnPolicies),
	}})
}

// isUnseen reports whether the object had another content before the request than its
// record knows of, and nothing says why: then it is not the request that explains it. Where
// the record is only behind, the controller tells of what the object has.
func (v *Validator) isUnseen(r *request, f *facts) bool {
	if r.old == nil || f.record == nil || f.record.Status.Approved == nil {
		return false
	}
	before := record.ContentOf(r.old, f.OwnPolicies, v.DigestKey)
	return len(record.Unexplained(&f.record.Status, before, f.OwnPolicies, f.Child.Ledger)) > 0
}

func (g *Gatherer) rememberOwn(r *request, f *facts, entries []v1alpha1.HistoryEntry) {
	if len(entries) > 0 && len(f.OwnPolicies) > 0 {
		g.Records.Observe(record.Outcome{Target: r.target(), History: entries})
	}
}
