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
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/ledger"
)

// deviation is how the ledger that an object is about to be stored with differs from
// the one that it should have. The mutating webhook may not have been asked, its
// answer may not have arrived, and other mutating webhooks may have written after it.
type deviation struct {
	// missing are entries that the object does not have: granted by the request, or
	// kept from before it.
	missing []v1alpha1.Allowance
	// ended are paths whose withheld change should be gone, or be replaced by one
	// among the missing.
	ended []string
	// foreign are allowances that nobody granted.
	foreign ledger.Ledger
}

// deviation compares the ledger of the new object with the one that follows from the
// old object and the grant.
func (f *facts) deviation(ctx context.Context, r *request, v decision.Verdict, grant decision.Grant) deviation {
	if !r.validating || r.new == nil || len(f.OwnPolicies) == 0 || !v.Allowed || v.Reason == decision.ReasonFinishing {
		return deviation{}
	}
	// What cannot be read counts as empty.
	has, _ := r.ledgerAsked()
	want, approved := f.next, f.approvedBefore(r, has)
	if len(approved) > 0 {
		in := f.Input
		in.Approved = slices.Concat(in.Approved, approved)
		grant = decision.Grants(ctx, &in, v)
		want = f.bound(ctx, r, &grant)
	}
	d := deviation{foreign: has.Without(func(e ledger.Entry) bool {
		return e.IsWithheld() || hasKey(want, e) || hasID(f.stored, e)
	})}
	if v.Reason == decision.ReasonOwn {
		return d // What it wants folded in is in the record already.
	}
	for _, e := range want.Without(func(e ledger.Entry) bool { return holds(has, e) }) {
		if !e.IsWithheld() || len(approved) == 0 {
			d.missing = append(d.missing, e.Allowance)
		}
	}
	for _, e := range has {
		if e.IsWithheld() && !holds(want, e) && (slices.Contains(grant.Cleared, e.Mutation) || hasKey(want, e)) {
			d.ended = append(d.ended, e.Mutation)
		}
	}
	if r.subresource == subresourceScale {
		d.missing = ungenerated(d.missing, f.Child.Generation)
	}
	return d
}

// ungenerated are allowances without the generation that was predicted for them. A
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

// approvedBefore are the fields that the requester has approved, as far as the ledger
// tells: the mutating webhook took the annotation away that asked for it. An approval
// leaves an entry of the requester's for a field that the request does not change, as does
// what was pending and is folded in.
func (f *facts) approvedBefore(r *request, has ledger.Ledger) []change.Change {
	if r.old == nil || !f.mayApprove() {
		return nil
	}
	var out []change.Change
	for _, e := range has {
		hop, ok := e.LastHop()
		if !ok || e.Initiator != f.Requester.Username || hasID(f.stored, e) || hasID(f.Child.Ledger, e) {
			continue
		}
		path, err := change.ParsePath(hop.Field)
		if err != nil || slices.ContainsFunc(f.OwnChanges, func(c change.Change) bool { return c.Path.String() == hop.Field }) {
			continue
		}
		out = append(out, r.asChange(path))
	}
	return out
}

// holds tells whether a ledger has an entry, or a newer one for the same thing by the
// same initiator. A withheld change is the same with the value that it replaced.
func holds(l ledger.Ledger, want ledger.Entry) bool {
	return slices.ContainsFunc(l, func(e ledger.Entry) bool {
		switch {
		case e.Key() != want.Key():
			return false
		case want.IsWithheld():
			return e.Replaced == want.Replaced
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
		objectText(f.Child.GVK.Kind, f.Child.Name), describeGrants(foreign.Allowances()), annotationKey(r.new, allowancesName))
	resp := admission.Denied(message)
	resp.AuditAnnotations = map[string]string{auditReason: "Foreign", auditPolicies: strings.Join(names(f.OwnPolicies), ",")}
	return resp
}
