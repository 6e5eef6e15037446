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

	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/policylog"
)

// lag is how much older than a request what the operator goes by may be.
const lag = 2 * time.Second

var (
	replicasPath = []string{"spec", "replicas"}
	templatePath = []string{"spec", "template"}
)

// checkLedgers follows each ledger from version to version: what it says has a cause, and
// what it said does not go without a reason.
func (c *checker) checkLedgers() {
	for _, resource := range []string{deployments, replicaSets} {
		for _, l := range c.of(resource) {
			for _, v := range l.Versions {
				c.checkVersion(l, v)
			}
			c.checkEnd(l)
		}
	}
}

func (c *checker) checkVersion(l *audit.Life, v *audit.Version) {
	c.report.Versions++
	after, err := c.readLedger(v.Object)
	if err != nil {
		c.findf(Corrupted, v.By.Received, l.String(), "%v, written by %s", err, v.By)
		return
	}
	var before []entry
	if v.Before != nil {
		before = c.ledger(v.Before.Object)
	}
	for i := range after {
		if e := &after[i]; !e.withheld() && !contains(before, e) && !c.caused(v, e) {
			c.findf(Invented, v.By.Received, l.String(), "%s, which nothing in the log caused, since %s", e, v.By)
		}
	}
	for i := range before {
		if e := &before[i]; !contains(after, e) && !c.mayLeave(v, e) {
			c.findf(Lost, v.By.Received, l.String(), "%s, by %s", e, v.By)
		}
	}
}

// checkEnd looks at what is there at the end: an object with nothing left to do allows
// nothing.
func (c *checker) checkEnd(l *audit.Life) {
	end := c.final[l.UID]
	if end == nil {
		return
	}
	left := c.ledger(end)
	for i := range left {
		if e := &left[i]; !e.withheld() && settled(end, e.Generation) {
			c.findf(Unended, l.Versions[len(l.Versions)-1].By.Answered, l.String(), "%s", e)
		}
	}
}

func contains(all []entry, e *entry) bool {
	text := e.String()
	return slices.ContainsFunc(all, func(other entry) bool { return other.String() == text })
}

// caused reports whether each hop of the trace was a change of that object, the first one by
// the initiator, who may.
func (c *checker) caused(at *audit.Version, e *entry) bool {
	for i, h := range e.Trace {
		if !slices.ContainsFunc(c.named(h, at.Namespace), func(l *audit.Life) bool {
			return slices.ContainsFunc(l.Versions, func(v *audit.Version) bool {
				return !v.By.Received.After(at.By.Answered) && c.changedAt(v, h) && (i > 0 || c.began(v, h, e.Initiator))
			})
		}) {
			return false
		}
	}
	last := e.last()
	return last.Kind == at.Kind && last.Name == at.Name && last.Generation == e.Generation
}

// named returns the objects of that name, one after the other.
func (c *checker) named(h hop, namespace string) []*audit.Life {
	return c.byName[h.Kind+"/"+namespace+"/"+h.Name]
}

// changedAt reports whether a version is what a hop says.
func (c *checker) changedAt(v *audit.Version, h hop) bool {
	switch {
	case h.Field == created:
		return v.Before == nil
	case strings.HasPrefix(h.Field, "("):
		return true // What let something through without a cause of its own.
	case v.By.Scaled != nil:
		// A Scale shows no generation: what it earned gets that of the object when it
		// enters the ledger. Another write may have done the same while the API server
		// tried again: then it has earned something, and changed nothing.
		return h.Generation >= v.Generation && audit.Related(replicasPath, policylog.PathOf(h.Field))
	case v.Generation != h.Generation:
		return false
	}
	return v.Approves(v.By) ||
		slices.ContainsFunc(changes(v), func(ch audit.Change) bool { return audit.Related(ch.Path, policylog.PathOf(h.Field)) })
}

// began reports whether a version is the work of somebody who may begin a chain with it.
func (c *checker) began(v *audit.Version, h hop, initiator string) bool {
	if strings.HasPrefix(h.Field, "(") && h.Field != created {
		return true
	}
	return slices.ContainsFunc(v.Writers(), func(w *audit.Write) bool {
		return w.User == initiator && (h.Field == created || policylog.Knows(c.rules.Ever(v.Kind, w.Received.Add(-lag), w.Answered), w, true))
	})
}

// mayLeave reports whether an entry of the version before may be gone: the object has
// settled since, another one took its place, or no policy was in effect all the time.
func (c *checker) mayLeave(v *audit.Version, e *entry) bool {
	if slices.ContainsFunc(c.ledger(v.Object), func(other entry) bool {
		return other.what() == e.what() && other.Generation >= e.Generation
	}) {
		return true
	}
	since := v
	for x := v; x != nil; x = x.Before {
		if settled(x.Object, e.Generation) {
			return true
		}
		if contains(c.ledger(x.Object), e) {
			since = x
		}
	}
	if len(c.inEffect(v.Kind, since.By.Received.Add(-policylog.Moment), v.By.Answered)) == 0 {
		return true
	}
	return e.withheld() && c.released(v, since, e)
}

// released reports whether a withheld change is none any more: somebody who may has changed
// or approved something, or the value is what it was.
func (c *checker) released(v, since *audit.Version, e *entry) bool {
	if policylog.Knows(c.rules.Ever(v.Kind, v.By.Received.Add(-lag), v.By.Answered), v.By, true) {
		return true
	}
	return since.Before != nil && !slices.ContainsFunc(audit.ContentChanges(since.Before.Object, v.Object), func(ch audit.Change) bool {
		return audit.Related(ch.Path, policylog.PathOf(e.Mutation))
	})
}

// checkGrants looks whether each change by somebody who may initiate it has earned
// something: in the ledger, or on the way there.
func (c *checker) checkGrants() {
	for _, l := range c.of(deployments) {
		for _, v := range l.Versions {
			c.checkGrant(l, v)
		}
	}
}

func (c *checker) checkGrant(l *audit.Life, v *audit.Version) {
	w := v.By
	inEffect := c.inEffect(v.Kind, w.Received, w.Answered)
	if v.Before == nil && w.Verb == audit.VerbCreate && len(inEffect) > 0 {
		c.earned(l, v, created)
		return
	}
	if v.Before == nil || w.Subresource != "" && w.Subresource != "scale" {
		return
	}
	for _, p := range inEffect {
		if !policylog.Knows([]*policylog.Policy{p}, w, true) {
			continue
		}
		for i := range p.Rules {
			if slices.ContainsFunc(changes(v), func(ch audit.Change) bool { return audit.Related(ch.Path, policylog.PathOf(p.Rules[i].Trigger)) }) {
				c.earned(l, v, p.Rules[i].Trigger)
			}
		}
	}
}

// earned looks for an entry for the change of a field, or below it.
func (c *checker) earned(l *audit.Life, v *audit.Version, field string) {
	c.report.Grants++
	about := func(e entry) bool {
		return !e.withheld() && audit.Related(policylog.PathOf(e.last().Field), policylog.PathOf(field))
	}
	if slices.ContainsFunc(c.ledger(v.Object), func(e entry) bool { return e.Generation >= v.Generation && about(e) }) {
		return
	}
	// What is pending has no generation yet.
	if slices.ContainsFunc(c.pending(l.UID, v.By.Received, v.By.Answered.Add(lag)), about) {
		return
	}
	c.findf(Lost, v.By.Received, l.String(), "the change of %s by %s has earned nothing", field, v.By)
	c.report.Findings[len(c.report.Findings)-1].Excused = unjudged(v.By)
}

// inEffect returns the policies for a kind that were in effect all through an interval.
func (c *checker) inEffect(kind string, from, to time.Time) []*policylog.Policy {
	return c.rules.Standing(kind, strings.ToLower(kind)+"s", from, to)
}

// pending returns the allowances that were on their way into a ledger. What the API server did
// not see stored may have been, and is there in what is written next.
func (c *checker) pending(uid types.UID, from, to time.Time) []entry {
	var out []entry
	for _, l := range c.recordsOf(uid) {
		for _, v := range l.Versions {
			s, err := said(v.Object)
			if err != nil {
				continue // It is found where records are looked at.
			}
			for _, grant := range s.PendingGrants {
				begun := !v.By.Received.After(to) || !grant.Time.IsZero() && !grant.Time.After(to)
				if begun && !v.Until.Before(from) {
					out = append(out, grant.Allowances...)
				}
			}
		}
	}
	return out
}

// seenAt returns the time at which an object was written last.
func seenAt(l *audit.Life) time.Time {
	if l == nil || len(l.Versions) == 0 {
		return time.Time{}
	}
	return l.Versions[len(l.Versions)-1].By.Answered
}
