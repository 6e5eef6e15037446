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
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/record"
)

// deviation is how the ledger that an object is about to be stored with differs from
// the one that it should have. The mutating webhook may not have been asked, its
// answer may not have arrived, and other mutating webhooks may have written after it.
type deviation struct {
	// missing are entries that the object does not have: granted by the request, or
	// kept from before it, and what is withheld that its approved content does not tell.
	missing []v1alpha1.Allowance
	// ended are paths at which its approved content has something withheld that is not.
	ended []string
	// foreign are allowances that nobody granted.
	foreign ledger.Ledger
}

// deviation compares the ledger of the new object with the one that follows from the
// old object and the grant.
func (o *outcome) deviation(r *request) deviation {
	toItsEnd := o.scalesToItsEnd(r)
	if !toItsEnd && !o.isLedgerJudged(r, o.verdict) {
		return deviation{}
	}
	has, _ := r.ledgerAsked() // What cannot be read counts as empty.
	if toItsEnd {
		var d deviation
		o.withheldDeviation(r, o.grant.Standing, has, &d)
		return d
	}
	d := deviation{foreign: has.Without(func(e ledger.Entry) bool {
		return e.IsWithheld() || hasKey(o.next, e) || hasID(o.stored, e)
	})}
	if o.verdict.Reason == decision.ReasonOwn {
		return d // What it wants folded in is in the record already.
	}
	for _, e := range o.next.Without(func(e ledger.Entry) bool { return e.IsWithheld() || holds(has, e) }) {
		d.missing = append(d.missing, e.Allowance)
	}
	o.withheldDeviation(r, o.grant.Standing, has, &d)
	if r.subresource == subresourceScale {
		d.missing = ungenerated(d.missing, o.Child.Generation)
	}
	return d
}

// pending returns the pending grants that make up for the deviation. That of a scale counts for as
// long as the object has the number, whatever else changes. So what a scale finds approved of other
// fields is a grant of its own, which counts only while the object stays as it is.
func (d *deviation) pending(r *request) []v1alpha1.PendingGrant {
	var ended, others []string
	for _, path := range d.ended {
		if r.scale == nil || path == r.scale.Path {
			ended = append(ended, path)
		} else {
			others = append(others, path)
		}
	}
	var out []v1alpha1.PendingGrant
	if len(others) > 0 {
		out = append(out, record.NewPending(nil, r.new, nil, others))
	}
	if len(d.missing)+len(ended) > 0 {
		out = append(out, record.NewPending(r.scale, r.new, d.missing, ended))
	}
	return out
}

// withheldDeviation compares what is withheld by the approved content that the object is
// about to be stored with to what should be. The value that was approved is not for a
// record, which has a digest of it.
func (f *facts) withheldDeviation(r *request, want *approved.Standing, stored ledger.Ledger, d *deviation) {
	text := ledger.Annotation(r.new, ledger.NameApproved)
	announced := record.Folded(stored, f.record, r.new)
	if want == nil || len(want.Differences) == 0 && text == "" && !slices.ContainsFunc(announced, ledger.Entry.IsWithheld) {
		return
	}
	has := compared(r.new, nil, stored, want.Object)
	at := func(st *approved.Standing, path string) bool {
		return slices.ContainsFunc(st.Withheld(), func(d approved.Difference) bool { return d.Path.String() == path })
	}
	// What the object has withheld counts only if no earlier grant, for content that now comes back, ends it.
	returning := has
	if old := record.Returning(f.record, r.old); old != nil {
		returning = compared(r.new, old, record.Folded(stored, old, r.new), want.Object)
	}
	for _, each := range want.Withheld() {
		path := each.Path.String()
		if at(has, path) && at(returning, path) || slices.ContainsFunc(f.approvedBefore, func(c change.Change) bool { return c.Path.Overlaps(each.Path) }) {
			continue
		}
		d.missing = append(d.missing, v1alpha1.Allowance{
			Relation: v1alpha1.RelationWithheld, Mutation: path, Generation: each.Author.Generation,
			Initiator: each.Author.User, Replaced: approved.Print(want.Object.UID, each.Old),
		})
	}
	// What ends is approved with all that is below: not where some of that is withheld.
	// What only a pending grant withholds ends as well: it would come back when that is folded in.
	all := compared(r.new, f.record, announced, want.Object)
	for _, each := range slices.Concat(has.Withheld(), all.Withheld()) {
		if !want.Withholds(each.Path) {
			d.ended = append(d.ended, each.Path.String())
		}
	}
}

// ungenerated returns allowances without the generation that was predicted for them. A
// Scale has none, and the cache may be behind: they take that of the object when it
// has the scaled value (D11).
func ungenerated(allowances []v1alpha1.Allowance, predicted int64) []v1alpha1.Allowance {
	out := make([]v1alpha1.Allowance, 0, len(allowances))
	for _, a := range allowances {
		if a.Generation == predicted {
			a = *a.DeepCopy()
			a.Generation = 0
			if last := len(a.Trace) - 1; last >= 0 {
				a.Trace[last].Generation = 0
			}
		}
		out = append(out, a)
	}
	return out
}

// isLedgerJudged reports whether the ledger that the object is about to be stored with has
// to be the one that follows from the request.
func (f *facts) isLedgerJudged(r *request, v decision.Verdict) bool {
	return r.validating && r.new != nil && len(f.OwnPolicies) > 0 && v.Allowed && v.Reason != decision.ReasonFinishing
}

// scalesToItsEnd reports whether a request scales an object that is being deleted. Its ledger does not matter
// any more. But the next request would find a number that nobody is known to have set, and have it withheld.
func (o *outcome) scalesToItsEnd(r *request) bool {
	return r.validating && r.subresource == subresourceScale && len(o.OwnPolicies) > 0 && o.verdict.Reason == decision.ReasonFinishing
}

// findApprovedBefore finds the fields that the requester has approved. The mutating webhook has
// removed the annotation that asked for it, so this is read from the object that is about to be
// stored. A field that was withheld before is known by takenUp. The approval of any other field
// leaves an entry of the requester's for a field that the request does not change, as does a
// pending grant that is folded in.
func (f *facts) findApprovedBefore(ctx context.Context, r *request, v decision.Verdict) {
	if !f.isLedgerJudged(r, v) || r.old == nil || !f.mayApprove() {
		return
	}
	has, _ := r.ledgerAsked() // What cannot be read approves nothing.
	f.approvedBefore = f.approvedIn(ctx, r, v, has)
	f.Approved = slices.Concat(f.Approved, f.approvedBefore)
}

// approvedIn returns the fields whose approval by the requester a ledger tells of.
func (f *facts) approvedIn(ctx context.Context, r *request, v decision.Verdict, has ledger.Ledger) []change.Change {
	found := f.takenUp(ctx, r, v, has)
	isOf := func(changes []change.Change, field string) bool {
		return slices.ContainsFunc(changes, func(c change.Change) bool { return c.Path.String() == field })
	}
	for _, e := range has {
		hop, ok := e.LastHop()
		if !ok || e.Initiator != f.Requester.Username || hasID(f.stored, e) || hasID(f.Child.Ledger, e) {
			continue
		}
		path, err := change.ParsePath(hop.Field)
		if err != nil || isOf(f.OwnChanges, hop.Field) || isOf(found, hop.Field) {
			continue
		}
		found = append(found, r.asChange(path))
	}
	return found
}

// takenUp returns what was withheld before the request, and is not withheld in the object that is
// about to be stored. It returns nothing if the ledger lacks an entry that approving all of it
// leaves there. Which change of the request left that entry does not matter: if several allow the
// same, the ledger has one entry for all. A field that only a pending grant withheld counts if the
// ledger has a new entry, as otherwise nothing shows that the mutating webhook was asked.
func (f *facts) takenUp(ctx context.Context, r *request, v decision.Verdict, has ledger.Ledger) []change.Change {
	if f.Child.Standing == nil || len(f.Child.Standing.Differences) == 0 {
		return nil
	}
	before := r.unapproved(f)
	was, after := compared(r.old, nil, f.stored, f.Child.Standing.Object), compared(r.new, nil, has, before.Object)
	isNew := hasNew(has, f)
	var out []change.Change
	for _, d := range before.Withheld() {
		if !after.Withholds(d.Path) && (isNew || was.Withholds(d.Path)) {
			out = append(out, d.Change)
		}
	}
	if len(out) == 0 || !f.leaves(ctx, r, v, out, has) {
		return nil
	}
	return out
}

// hasNew reports whether a ledger has an allowance that the object had not.
func hasNew(has ledger.Ledger, f *facts) bool {
	return slices.ContainsFunc(has, func(e ledger.Entry) bool { return !e.IsWithheld() && !hasID(f.stored, e) })
}

// leaves reports whether a ledger has every entry that an approval of the fields by the requester
// leaves in it. A full ledger gets no new ones (D4).
func (f *facts) leaves(ctx context.Context, r *request, v decision.Verdict, fields []change.Change, has ledger.Ledger) bool {
	approving := *f
	approving.Approved = fields
	grant := decision.Grants(ctx, &approving.Input, v)
	if len(grant.Allowances) == 0 || len(has) == 0 {
		return false
	}
	left := approving.bound(ctx, r, &grant)
	if grant.TooLarge == nil {
		left = ledger.Ledger{}.Merge(grant.Allowances...)
	}
	return !slices.ContainsFunc(left, func(e ledger.Entry) bool { return !e.IsWithheld() && !holds(has, e) })
}

// holds reports whether a ledger has an entry, or a newer one for the same thing by the
// same initiator. A withheld change is the same whoever made it.
func holds(l ledger.Ledger, want ledger.Entry) bool {
	return slices.ContainsFunc(l, func(e ledger.Entry) bool {
		switch {
		case e.Key() != want.Key():
			return false
		case want.IsWithheld():
			return true
		default:
			return e.Initiator == want.Initiator && e.Generation >= want.Generation
		}
	})
}

func hasKey(l ledger.Ledger, e ledger.Entry) bool {
	return slices.ContainsFunc(l, func(other ledger.Entry) bool { return other.Key() == e.Key() })
}

func hasID(l ledger.Ledger, e ledger.Entry) bool {
	return slices.ContainsFunc(l, func(other ledger.Entry) bool { return other.ID() == e.ID() })
}

// refusedForeign answers a request whose object would be stored with allowances that
// nobody granted. The validating webhook cannot take them out.
func refusedForeign(r *request, f *facts, foreign ledger.Ledger) admission.Response {
	message := fmt.Sprintf("%s would get allowances that nobody granted (%s): another mutating webhook has written %s "+
		"after Kausality's, or that was not asked; have it leave the annotations of Kausality alone, or try again",
		objectText(f.Child.GVK.Kind, f.Child.Name), describeGrants(foreign.Allowances()), ledger.AnnotationKey(r.new, ledger.NameAllowances))
	resp := admission.Denied(message)
	resp.AuditAnnotations = map[string]string{auditReason: "Foreign", auditPolicies: strings.Join(names(f.OwnPolicies), ",")}
	return resp
}
