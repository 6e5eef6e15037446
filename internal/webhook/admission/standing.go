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
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lifecycle"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// standing compares a holder with its approved content: that in its annotation, along
// with what its record has of it. An object in which nothing is withheld has neither, and
// is as approved without being looked at.
func (g *Gatherer) standing(ctx context.Context, obj *unstructured.Unstructured, policies []*policy.Policy, effective ledger.Ledger, rec *v1alpha1.AllowanceRecord) *approved.Standing {
	st := compared(obj, rec, effective, g.approvable(ctx, obj, policies))
	if st.Returns() && lifecycle.SettledAt(ctx, obj, policies, obj.GetGeneration()) {
		return st.Settle() // There is nothing left that would have to be led back.
	}
	if len(st.Differences) == 0 || rec != nil && record.ChildWaits(&rec.Status) {
		return st
	}
	// What the status proves to be carried out is nothing that could be held back (D8).
	proven := lifecycle.Proven(obj, policies)
	return st.Approve(func(d approved.Difference) bool {
		return d.Author.Generation <= obj.GetGeneration() && change.AnyCovers(proven, d.Path)
	})
}

// compared compares an object, as it is given to be compared, with the approved content in its annotation,
// along with what its ledger and its record have of it. rec may be nil.
func compared(obj *unstructured.Unstructured, rec *v1alpha1.AllowanceRecord, effective ledger.Ledger, as approved.Object) *approved.Standing {
	// What cannot be read is of an object of which nothing is known to be approved.
	state, _ := approved.Decode(ledger.Annotation(obj, ledger.NameApproved))
	return approved.Now(state, record.PendingOf(rec, obj, state, effective), as)
}

// parentStanding returns the standing of a parent, nil where nothing of it can be withheld: so
// it is with nearly all.
func (g *Gatherer) parentStanding(ctx context.Context, parent *unstructured.Unstructured, policies []*policy.Policy, effective ledger.Ledger, rec *v1alpha1.AllowanceRecord) *approved.Standing {
	if len(policies) == 0 || ledger.Annotation(parent, ledger.NameApproved) == "" && !slices.ContainsFunc(effective, ledger.Entry.IsWithheld) {
		return nil
	}
	return g.standing(ctx, parent, policies, effective, rec)
}

// approvable returns a holder as its approved content is compared with.
func (g *Gatherer) approvable(ctx context.Context, obj *unstructured.Unstructured, policies []*policy.Policy) approved.Object {
	gvk := obj.GroupVersionKind()
	o := decision.Approvable(obj, policies, g.Kinds.Schema(gvk), g.DigestKey)
	if driver, _, ok := g.Gates.Gate(ctx, gvk); ok {
		o.Ignores = driver.IsSwitch
	}
	if policy.Known(gvk.GroupKind(), policies).HasTemplates() { // Else nobody could tell what leads back.
		o.Settled = func() bool { return lifecycle.Rests(ctx, obj, policies) }
	}
	o.Observed = lifecycle.Observed(obj, policies)
	return o
}

// marksWithoutPolicy returns the withheld changes that the ledger of an object goes on telling of while
// no policy is in effect for it. Its approved content stays as it is then, and the marks with it.
func (r *request) marksWithoutPolicy(f *facts) ledger.Ledger {
	if r.old == nil || f.Child.Standing != nil {
		return nil
	}
	from, has := r.old, f.stored
	if f.Operator && r.new != nil {
		from = r.new
		has, _ = r.ledgerAsked() // One that cannot be read tells of nothing.
	}
	if ledger.Annotation(from, ledger.NameApproved) == "" {
		return nil
	}
	return has.Without(isAllowance)
}

// approvedText returns the annotation that the object gets: that of before the request where
// it says the same, so that nobody sees a difference where there is none.
func (r *request) approvedText(o *outcome) string {
	if r.old == nil {
		return ""
	}
	before := ledger.Annotation(r.old, ledger.NameApproved)
	if o.Operator && r.movesOwn(ledger.NameApproved) {
		return ledger.Annotation(r.new, ledger.NameApproved)
	}
	if o.grant.Standing == nil {
		// No policy is in effect that could say.
		if o.Operator {
			return ledger.Annotation(r.new, ledger.NameApproved)
		}
		return before
	}
	state := o.grant.Standing.State()
	if was, err := approved.Decode(before); err == nil && was.Same(state) {
		return before
	}
	return state.Encode(o.grant.Standing.Object.UID)
}
