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
	"strings"
	"time"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/policylog"
)

// Dropped says that a ledger tells of what is withheld: what it does not tell of nobody can approve, and is carried out.
const Dropped Promise = "something withheld that the ledger does not tell of"

// untold is for how long a ledger may not tell of what is withheld: what the answer to a request cannot carry, as that of a scale,
// is in the record until the operator looks.
const untold = 5 * time.Second

// checkHeld looks for what the model withholds of an object, as nobody has approved, overruled or put it back, nor a report
// proved it, while its ledger withholds nothing there for a while.
func (c *checker) checkHeld() {
	if !c.Kept || c.Said == "" || !c.Whole || len(c.Log.Writes) == 0 {
		return
	}
	end := c.Log.Writes[len(c.Log.Writes)-1].Answered
	for _, l := range c.all {
		if controllers[l.First().Kind] != "" {
			c.checkHeldOf(l, end)
		}
	}
}

func (c *checker) checkHeldOf(l *audit.Life, end time.Time) {
	states := c.statesOf(l)
	since, found := map[string]time.Time{}, map[string]bool{}
	for i := range states {
		v := l.Versions[i]
		until, missing := lastOf(l, v, end), map[string]time.Time{}
		for _, h := range c.missing(l, v, states[i]) {
			key := strings.Join(h.path, ".")
			if from, known := since[key]; known {
				missing[key] = from
			} else {
				missing[key] = v.By.Answered
			}
			if at := c.tooLongFor(l, missing[key], until, untold); !at.IsZero() && !found[key] && !c.adopting(l, at) {
				found[key] = true
				c.findf(Dropped, at, l, nil, "its ledger withholds nothing of %s, which somebody has changed who may not; nobody has approved of it by %s", key, at.Format(audit.Clock))
			}
		}
		since = missing
	}
}

// missing returns what is withheld of a version for certain, and its ledger does not tell of.
func (c *checker) missing(l *audit.Life, v *audit.Version, s *state) []held {
	// Of what was adopted, perhaps by several, one after the other, it is not known for certain whose strays its changes were of.
	if len(s.held) == 0 || v.Deleting || c.adopted[l.UID] || c.orphaned(l, v.By.Answered) ||
		len(c.rulesOf(l).During(v.Kind, v.Controller() != nil, v.By.Received.Add(-policylog.Moment), v.By.Answered)) == 0 {
		return nil
	}
	entries := entriesOf(v)
	return slices.DeleteFunc(slices.Clone(s.held), func(h held) bool {
		return h.loose || slices.ContainsFunc(entries, func(e entry) bool { return e.Relation == withheldRelation && alike(fieldPath(e.Mutation), h.path) })
	})
}
