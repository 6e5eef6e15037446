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

package checker

import (
	"slices"
	"time"

	"sigs.k8s.io/yaml"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/policylog"
)

// isWritten reports whether the ledger of a parent says the same as the model, in each version that there was between a request
// and its answer: nothing is withheld, and where the model knows a cause there is an entry for it. Then the operator
// refuses what it has written down itself: it looks again before it refuses, so that what it went by before is no excuse.
func (c *checker) isWritten(w *childWrite, parent *audit.Life, why string) bool {
	if c.disturbed(parent, w.Received.Add(-lag-policylog.Moment), w.Answered.Add(lag)) || c.adopting(parent, w.Answered) || parent.GoneBefore(w.Answered.Add(lag)) {
		return false
	}
	if w.brings() && takesBack(parent, w) {
		return false
	}
	found := parent.Current(w.Received, w.Answered)
	return len(found) > 0 && !slices.ContainsFunc(found, func(i int) bool {
		v := parent.Versions[i]
		paused, _ := v.At("spec", "paused").(bool)
		return v.Deleting || paused || len(v.Owners) > 1 || v.By.Posing || !c.says(v, w, why)
	})
}

// remembered is for how long the operator knows what was withheld and has gone again: what is made of that meanwhile is refused.
const remembered = time.Minute

// brings reports whether a request brings any content.
func (w *childWrite) brings() bool {
	return slices.ContainsFunc(w.changes, func(ch audit.Change) bool { return ch.Verb != audit.Ends })
}

// takesBack reports whether the ledger of a parent withheld something shortly before a request, of which that may be made.
func takesBack(parent *audit.Life, w *childWrite) bool {
	return slices.ContainsFunc(parent.Current(w.Received.Add(-remembered-lag), w.Answered), func(i int) bool {
		return withholds(entriesOf(parent.Versions[i]))
	})
}

// entriesOf returns the ledger of a version, nil where it does not parse.
func entriesOf(v *audit.Version) []entry {
	var entries []entry
	if yaml.Unmarshal([]byte(ledgerOf(v.Object)), &entries) != nil {
		return nil
	}
	return entries
}

// withholds reports whether any entry of a ledger is of what is withheld.
func withholds(entries []entry) bool {
	return slices.ContainsFunc(entries, func(e entry) bool { return e.Relation == withheldRelation })
}

// says reports whether the ledger of a version withholds nothing, and allows all that was asked for where that needs a cause.
func (*checker) says(v *audit.Version, w *childWrite, why string) bool {
	var entries []entry
	if err := yaml.Unmarshal([]byte(ledgerOf(v.Object)), &entries); err != nil {
		return false
	}
	if withholds(entries) {
		return false
	}
	return why != covered || !slices.ContainsFunc(w.changes, func(ch audit.Change) bool {
		return !slices.ContainsFunc(entries, func(e entry) bool { return e.lets(w, ch) })
	})
}

// lets reports whether an entry allows a change of a child.
func (e *entry) lets(w *childWrite, ch audit.Change) bool {
	if e.Kind != "*" && e.Kind != audit.Plain(w.child.Kind) {
		return false
	}
	switch ch.Verb {
	case audit.Makes:
		return e.Mutation == "create"
	case audit.Ends:
		return e.Mutation == "delete"
	}
	return e.Mutation == "*" || e.Mutation != "create" && e.Mutation != "delete" && audit.Within(ch.Path, policylog.PathOf(e.Mutation)) &&
		among(e.Verbs, ch.Verb)
}
