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

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/policylog"
)

// earned is what a change by who may with all of an object lets happen, until that has settled.
type earned struct {
	permission policylog.Permission
	user       string
	generation int64
}

// checkEarned looks for changes by who may that their ledger does not allow anything for, and for allowances that go before their
// object has settled, as another's takes their place.
func (c *checker) checkEarned() {
	if !c.Kept || !c.Whole {
		return
	}
	for _, l := range c.all {
		if slices.Contains(reporting, l.First().Kind) {
			c.checkEarnedOf(l)
		}
	}
}

func (c *checker) checkEarnedOf(l *audit.Life) {
	var open []earned
	for i, v := range l.Versions {
		from, to := v.By.Received.Add(-lag-policylog.Moment), v.By.Answered.Add(lag)
		governing := c.rulesOf(l).During(v.Kind, v.Controller() != nil, from, to)
		if v.Deleting || len(governing) == 0 || c.disturbed(l, from, to) || c.excused(v.By, l) || l.GoneBefore(to) {
			open = nil
			continue
		}
		if i > 0 {
			open = append(open, c.earns(l, v, governing)...)
		}
		entries := entriesOf(v)
		open = slices.DeleteFunc(open, func(x earned) bool {
			used, _ := c.consumed(l, v, x.generation)
			if used || settled(v) && settledAt(v, x.generation) {
				return true
			}
			if slices.ContainsFunc(entries, func(e entry) bool {
				return e.Initiator == x.user && e.Generation >= x.generation && e.isOf(x.permission)
			}) {
				return false
			}
			c.findf(Lost, v.By.Received, l, nil, "its ledger has nothing for what %s changed at generation %d, of %s, before that has settled; %s",
				x.user, x.generation, x.permission.Target.Resource, v.By)
			return true
		})
	}
}

// earns returns what a version earns for certain: who made it may do so with all of the object, and rules are about what changes.
func (c *checker) earns(l *audit.Life, v *audit.Version, governing []*policylog.Policy) []earned {
	w := v.By
	if len(v.Also) > 0 || w.Subresource != "" || carriesOut(w) || w.User == c.Operator || v.Generation == v.Before.Generation || v.Approves(w) ||
		!c.initiates(l, v, w) || c.rightsTo(l, v).less || slices.Contains(w.Reasons, couldNotTell) || len(v.Owners) > 0 {
		return nil
	}
	var out []earned
	changes := audit.ContentChanges(v.Before.Object, v.Object)
	for _, p := range governing {
		if !policylog.Knows([]*policylog.Policy{p}, w, true) {
			continue
		}
		for _, r := range p.Rules {
			if !r.Holds(v.Object) || !slices.ContainsFunc(changes, func(ch audit.Change) bool { return audit.Within(ch.Path, policylog.PathOf(r.Trigger)) }) {
				continue
			}
			for _, e := range r.Policies {
				out = append(out, earned{permission: e, user: w.User, generation: v.Generation})
			}
		}
	}
	return out
}
