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
	"net/http"
	"slices"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/policylog"
)

// checkEvictions looks for evictions that were denied although they are everybody's: policies have it that Pods
// which are lost are replaced, whatever is withheld of what is above them.
func (c *checker) checkEvictions() {
	for _, w := range c.Log.Writes {
		// An API server that has just started may not know who may do what.
		if w.Subresource != audit.SubEviction || w.Code != http.StatusForbidden || !refusal.MatchString(w.Message) {
			continue
		}
		if l := c.onlyOne(w); l != nil {
			c.checkDenied(l, w)
		}
	}
}

// onlyOne returns the Pod that a request is certainly about: there was no other one of its name around that time.
func (c *checker) onlyOne(w *audit.Write) *audit.Life {
	var out *audit.Life
	for _, l := range c.byName[kinds[pods]+"/"+w.Namespace+"/"+w.Name] {
		if l.First().By.Received.After(w.Answered) || l.GoneBefore(w.Received.Add(-lag)) {
			continue
		}
		if out != nil {
			return nil
		}
		out = l
	}
	return out
}

func (c *checker) checkDenied(l *audit.Life, w *audit.Write) {
	from, to := w.Received.Add(-lag), w.Answered
	above := l.FoundAt(from).Controller()
	ends := func(l *audit.Life) bool { return !l.Asked.IsZero() && !l.Asked.After(to.Add(lag)) }
	if l.First().By.Received.After(from) || ends(l) || above == nil || c.lives[above.UID] == nil || len(l.Current(from, to)) != 1 {
		return
	}
	parent := c.lives[above.UID]
	states := c.statesOf(parent)
	if states == nil || ends(parent) || parent.GoneBefore(to) || c.orphaned(parent, to) || c.disturbed(parent, from.Add(-policylog.Moment), to.Add(lag)) {
		return
	}
	for _, i := range parent.Current(from, to) {
		if v := parent.Versions[i]; states[i].initializing || v.Deleting {
			return
		}
	}
	all := slices.ContainsFunc(c.rulesOf(parent).During(parent.First().Kind, parent.FoundAt(to).Controller() != nil, from, to), func(p *policylog.Policy) bool {
		return p.Maintaining != nil && slices.ContainsFunc(p.Maintaining.Policies, func(e policylog.Permission) bool {
			return len(e.Subjects)+len(e.Conditions) == 0 && e.Lets(pods, audit.Change{Verb: audit.Ends})
		})
	})
	if all {
		c.findf(Denied, w.Received, l, parent, "%s evicts it, which anybody may, and is denied it", w.User)
	}
}
