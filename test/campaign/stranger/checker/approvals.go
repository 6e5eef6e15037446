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

	"kausality.io/operator/test/campaign/policylog"
)

// Clung says that nothing is withheld any more of what was approved.
const Clung Promise = "what stays withheld although it was approved"

// checkApprovals looks for ledgers that withhold something when somebody who may do so with all of an object has just approved of
// all that is there: the operator writes down both in the same request.
func (c *checker) checkApprovals() {
	if !c.Whole {
		return
	}
	for _, l := range c.all {
		if controllers[l.First().Kind] == "" {
			continue
		}
		for _, v := range l.Versions {
			from, to := v.By.Received.Add(-lag), v.By.Answered
			if v.Before == nil || v.Deleting || !c.approvesAll(l, v) || v.By.Unasked || slices.Contains(v.By.Reasons, couldNotTell) ||
				c.disturbed(l, from.Add(-policylog.Moment), to) || len(c.rulesOf(l).During(v.Kind, v.Controller() != nil, from, to)) == 0 {
				continue
			}
			c.report.Entries++
			for _, e := range entriesOf(v) {
				if e.Relation == withheldRelation {
					c.findf(Clung, v.By.Received, l, nil, "its ledger withholds %s by %q, of which %s approved", e.Mutation, e.Initiator, v.By)
				}
			}
		}
	}
}
