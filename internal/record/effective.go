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

package record

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
)

// Effective returns what counts of a holder's ledger now: stored, which is what its
// annotation says, with the pending grants that count, without what is consumed
// (D8) and without entries for a generation that holder cannot have yet (D10).
//
// rec is the record of holder; that of another object is ignored. Without one that knows
// the ledger no allowance in the annotation counts: it may have been lost, and what it said
// of them with it. A grant has its record before the request that earned it is answered.
//
// Withheld changes are part of the result: whether a rule in effect still asks for them is
// for the caller.
func Effective(rec *v1alpha1.AllowanceRecord, holder *unstructured.Unstructured, stored ledger.Ledger) ledger.Ledger {
	next := holder.GetGeneration() + 1
	effective := stored.Without(func(e ledger.Entry) bool { return e.Generation > next })
	if rec != nil && rec.Spec.TargetRef.UID != holder.GetUID() {
		rec = nil
	}
	if !KnowsLedger(rec) {
		effective = effective.Without(func(e ledger.Entry) bool { return !e.IsWithheld() })
	}
	if rec == nil {
		return effective
	}
	effective = Folded(effective, rec, holder)
	consumed := map[string]bool{}
	for _, c := range rec.Status.Consumed {
		consumed[c.ID] = true
	}
	return effective.Without(func(e ledger.Entry) bool { return consumed[e.ID()] })
}

// KnowsLedger reports whether a record tells which entries of its target's ledger are used
// up: it was made with the first of them, or somebody has looked at the ledger since. rec
// may be nil.
func KnowsLedger(rec *v1alpha1.AllowanceRecord) bool {
	return rec != nil && (rec.Spec.LedgerKnown || rec.Status.Phase != "")
}

// Folded returns a ledger with all pending grants of a record that count for holder, in the
// order in which they were made. rec may be nil.
func Folded(l ledger.Ledger, rec *v1alpha1.AllowanceRecord, holder *unstructured.Unstructured) ledger.Ledger {
	if rec == nil {
		return l
	}
	for _, p := range rec.Status.PendingGrants {
		if Counts(p, holder) {
			l = Fold(l, p, holder)
		}
	}
	return l
}

// Fold adds a pending grant that counts for holder to a ledger: its allowances
// enter, and the withheld changes that it ends leave. What is withheld of a field that
// is withheld already, or is part of one, is there already, unless another value of it has been
// approved since. What the same initiator was granted at a later generation stays.
//
// Beside approved content the ledger does not tell which value was approved: that content does, and
// counts whatever a grant says. *Observed* where a grant was compared with it all the same: it was
// never folded in, and the holder was written for it again and again.
func Fold(l ledger.Ledger, p v1alpha1.PendingGrant, holder *unstructured.Unstructured) ledger.Ledger {
	allowances, knows := Allowances(p, holder), ledger.Annotation(holder, ledger.NameApproved) != ""
	rest := l.Without(func(e ledger.Entry) bool {
		return e.IsWithheld() && (slices.Contains(p.Cleared, e.Mutation) || slices.ContainsFunc(allowances, func(a v1alpha1.Allowance) bool {
			return a.Relation == v1alpha1.RelationWithheld && a.Mutation == e.Mutation && a.Replaced != e.Replaced && !knows
		}))
	})
	return rest.Merge(slices.DeleteFunc(allowances, func(a v1alpha1.Allowance) bool {
		return slices.ContainsFunc(rest, func(e ledger.Entry) bool {
			if a.Relation == v1alpha1.RelationWithheld {
				return e.IsWithheld() && isAtOrAbove(e.Mutation, a.Mutation)
			}
			return e.Generation > a.Generation && e.Initiator == a.Initiator && e.Key() == ledger.KeyOf(&a)
		})
	})...)
}

// isAtOrAbove reports whether the text of a path is that of another one, or of one above.
func isAtOrAbove(above, path string) bool {
	rest, ok := strings.CutPrefix(path, above)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
