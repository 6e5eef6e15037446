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

package ledger

import (
	"slices"

	"kausality.io/operator/api/v1alpha1"
)

// Merge adds what was granted. A grant replaces the older entry for the same
// thing by the same initiator, so that a ledger does not grow with use; entries
// by others stay beside it with their own traces (D4). What is withheld already is not
// withheld again. What was granted by
// the creation of the holder stays beside what a later change grants: the holder is
// initializing for as long as it has that, and only settling ends it (D9).
//
// Merge does not depend on the order of grants, and merging the same grants
// again changes nothing.
func (l Ledger) Merge(grants ...v1alpha1.Allowance) Ledger {
	if len(grants) == 0 {
		return l
	}
	merged := slices.Clone(l)
	added := make(Ledger, 0, len(grants))
	for _, g := range grants {
		added = append(added, NewEntry(g))
	}
	for _, e := range added.sorted() {
		merged = merged.put(e)
	}
	return merged.sorted()
}

func (l Ledger) put(e Entry) Ledger {
	same := func(old Entry) bool {
		return old.Key() == e.Key() && old.IsCreation() == e.IsCreation() && (old.Initiator == e.Initiator || e.IsWithheld())
	}
	if e.IsWithheld() && slices.ContainsFunc(l, same) {
		return l
	}
	return append(slices.DeleteFunc(l, same), e)
}

// Without returns the ledger less the entries for which drop is true.
func (l Ledger) Without(drop func(Entry) bool) Ledger {
	return slices.DeleteFunc(slices.Clone(l), drop)
}
