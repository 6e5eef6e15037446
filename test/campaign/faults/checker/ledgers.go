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
)

// checkLedgers follows each ledger from version to version: what it says has a cause, and
// what it said does not go without a reason.
func (c *checker) checkLedgers() {
	for _, resource := range []string{deployments, replicaSets} {
		for _, l := range c.of(resource) {
			for _, v := range l.versions {
				c.checkVersion(l, v)
			}
			c.checkEnd(l)
		}
	}
}

func (c *checker) checkVersion(l *life, v *version) {
	c.report.Versions++
	if v.ledgerErr != nil {
		c.findf(Corrupted, v.by.Received, l.name(), "%v, written by %s", v.ledgerErr, v.by)
		return
	}
	var before []entry
	if v.before != nil {
		before = v.before.ledger
	}
	for i := range v.ledger {
		if e := &v.ledger[i]; !e.withheld() && !contains(before, e) && !c.caused(v, e) {
			c.findf(Invented, v.by.Received, l.name(), "%s, which nothing in the log caused, since %s", e, v.by)
		}
	}
	for i := range before {
		if e := &before[i]; !contains(v.ledger, e) && !c.mayLeave(v, e) {
			c.findf(Lost, v.by.Received, l.name(), "%s, by %s", e, v.by)
		}
	}
}

// checkEnd looks at what is there at the end: an object with nothing left to do allows
// nothing.
func (c *checker) checkEnd(l *life) {
	end := c.final[l.uid]
	if end == nil {
		return
	}
	for i := range end.ledger {
		if e := &end.ledger[i]; !e.withheld() && end.settled(e.Generation) {
			c.findf(Unended, l.versions[len(l.versions)-1].by.Answered, l.name(), "%s", e)
		}
	}
}

func contains(all []entry, e *entry) bool {
	text := e.String()
	return slices.ContainsFunc(all, func(other entry) bool { return other.String() == text })
}

// caused tells whether each hop of the trace was a change of that object, the first one by
// the initiator, who may.
func (c *checker) caused(at *version, e *entry) bool {
	for i, h := range e.Trace {
		if !slices.ContainsFunc(c.named(h, at.Metadata.Namespace), func(l *life) bool {
			return slices.ContainsFunc(l.versions, func(v *version) bool {
				return !v.by.Received.After(at.by.Answered) && c.changedAt(v, h) && (i > 0 || c.began(v, h, e.Initiator))
			})
		}) {
			return false
		}
	}
	last := e.last()
	return last.Kind == at.Kind && last.Name == at.Metadata.Name && last.Generation == e.Generation
}

// named are the objects of that name, one after the other.
func (c *checker) named(h hop, namespace string) []*life {
	return c.byName[h.Kind+"/"+namespace+"/"+h.Name]
}

// changedAt tells whether a version is what a hop says.
func (c *checker) changedAt(v *version, h hop) bool {
	switch {
	case h.Field == created:
		return v.before == nil
	case strings.HasPrefix(h.Field, "("):
		return true // What let something through without a cause of its own.
	case v.by.Scaled != nil:
		// A Scale shows no generation: what it earned gets that of the object when it
		// enters the ledger. Another write may have done the same while the API server
		// tried again: then it has earned something, and changed nothing.
		return h.Generation >= v.Metadata.Generation && related("spec.replicas", h.Field)
	case v.Metadata.Generation != h.Generation:
		return false
	}
	return v.by.Said.Annotations[approveKey] != nil ||
		slices.ContainsFunc(v.changes(), func(ch change) bool { return related(ch.path, h.Field) })
}

// began tells whether a version is the work of somebody who may begin a chain with it.
func (c *checker) began(v *version, h hop, initiator string) bool {
	if strings.HasPrefix(h.Field, "(") && h.Field != created {
		return true
	}
	return slices.ContainsFunc(v.writers(), func(w *write) bool {
		return w.User == initiator && (h.Field == created || mayInitiate(c.rules.ever(v.Kind, w.Received.Add(-lag), w.Answered), w.User, w.Groups))
	})
}

// mayLeave tells whether an entry of the version before may be gone: the object has
// settled since, another one took its place, or no policy was in effect all the time.
func (c *checker) mayLeave(v *version, e *entry) bool {
	if slices.ContainsFunc(v.ledger, func(other entry) bool {
		return other.what() == e.what() && other.Generation >= e.Generation
	}) {
		return true
	}
	since := v
	for x := v; x != nil; x = x.before {
		if x.settled(e.Generation) {
			return true
		}
		if contains(x.ledger, e) {
			since = x
		}
	}
	if len(c.rules.of(v.Kind, since.by.Received.Add(-moment), v.by.Answered)) == 0 {
		return true
	}
	return e.withheld() && c.released(v, since, e)
}

// released tells whether a withheld change is none any more: somebody who may has changed
// or approved something, or the value is what it was.
func (c *checker) released(v, since *version, e *entry) bool {
	if mayInitiate(c.rules.ever(v.Kind, v.by.Received.Add(-lag), v.by.Answered), v.by.User, v.by.Groups) {
		return true
	}
	return since.before != nil && !slices.ContainsFunc(diff("spec", since.before.Spec, v.Spec), func(ch change) bool {
		return related(ch.path, e.Mutation)
	})
}

// checkGrants looks whether each change by somebody who may initiate it has earned
// something: in the ledger, or on the way there.
func (c *checker) checkGrants() {
	for _, l := range c.of(deployments) {
		for _, v := range l.versions {
			c.checkGrant(l, v)
		}
	}
}

func (c *checker) checkGrant(l *life, v *version) {
	w := v.by
	inEffect := c.rules.of(v.Kind, w.Received, w.Answered)
	if v.before == nil && w.Verb == verbCreate && len(inEffect) > 0 {
		c.earned(l, v, created)
		return
	}
	if v.before == nil || w.Subresource != "" && w.Subresource != "scale" {
		return
	}
	for _, p := range inEffect {
		if !p.subject(w.User, w.Groups, true) {
			continue
		}
		for i := range p.Rules {
			if slices.ContainsFunc(v.changes(), func(ch change) bool { return related(ch.path, p.Rules[i].Trigger) }) {
				c.earned(l, v, p.Rules[i].Trigger)
			}
		}
	}
}

// earned looks for an entry for the change of a field, or below it.
func (c *checker) earned(l *life, v *version, field string) {
	c.report.Grants++
	about := func(e entry) bool { return !e.withheld() && related(e.last().Field, field) }
	if slices.ContainsFunc(v.ledger, func(e entry) bool { return e.Generation >= v.Metadata.Generation && about(e) }) {
		return
	}
	// What is pending has no generation yet.
	if slices.ContainsFunc(c.pending(l.uid, v.by.Received, v.by.Answered.Add(lag)), about) {
		return
	}
	c.findf(Lost, v.by.Received, l.name(), "the change of %s by %s has earned nothing", field, v.by)
	c.report.Findings[len(c.report.Findings)-1].Excused = v.by.Unasked
}

// seenAt is the time at which an object was written last.
func seenAt(l *life) time.Time {
	if l == nil || len(l.versions) == 0 {
		return time.Time{}
	}
	return l.versions[len(l.versions)-1].by.Answered
}
