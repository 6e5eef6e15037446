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
	"regexp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/ledger"
)

// PendingOf returns what is known of the approved content of a holder besides its state: what
// grants have ended and withheld that could not be carried into it and that count (D11), and,
// where it has no state, what of its effective ledger is withheld: by such a grant, or since a
// version of Kausality that kept no approved content.
func PendingOf(rec *v1alpha1.AllowanceRecord, holder *unstructured.Unstructured, state *approved.State, effective ledger.Ledger) approved.Pending {
	var out approved.Pending
	if state == nil {
		for _, e := range effective {
			if e.IsWithheld() {
				out.Withheld = append(out.Withheld, markOf(e.Allowance))
			}
		}
		return out
	}
	if rec == nil || rec.Spec.TargetRef.UID != holder.GetUID() {
		return out
	}
	for _, p := range rec.Status.PendingGrants {
		if Counts(p, holder) {
			addPending(&out, p)
		}
	}
	return out
}

// addPending adds what one grant withholds and ends to what those before it do.
func addPending(to *approved.Pending, p v1alpha1.PendingGrant) {
	to.Withheld = slices.DeleteFunc(to.Withheld, func(m approved.Mark) bool { return slices.Contains(p.Cleared, m.Author.Path) })
	for _, text := range p.Cleared {
		if path, err := change.ParsePath(text); err == nil {
			to.Cleared = append(to.Cleared, path)
		}
	}
	for _, a := range p.Allowances {
		if a.Relation == v1alpha1.RelationWithheld {
			to.Withheld = append(to.Withheld, markOf(a))
		}
	}
}

// ChildWaits reports whether a child of the target was refused, for which its controllers
// wait: then no status proves that a change is carried out.
func ChildWaits(status *v1alpha1.AllowanceRecordStatus) bool {
	return status.Blocked != nil || status.Denials > status.AnsweredDenials
}

// markOf reads what a Withheld entry says of the value that was approved. Entries of
// ledgers that were written before approved content was kept say a number, or a hash
// that nothing can be compared with any more.
func markOf(a v1alpha1.Allowance) approved.Mark {
	m := approved.Mark{
		Author: approved.Author{Path: a.Mutation, User: a.Initiator, Generation: a.Generation},
		Print:  a.Replaced,
	}
	if a.Replaced == absent {
		m.Print = ""
		return m
	}
	if n, err := strconv.ParseInt(a.Replaced, 10, 64); err == nil {
		m.Value = n
	}
	m.Unknown = a.Replaced != "" && m.Value == nil && !isPrint.MatchString(a.Replaced)
	return m
}

// isPrint is the form of what approved.Print returns.
var isPrint = regexp.MustCompile(`^[0-9a-f]{32}$`)
