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

// arrivals looks for what became of the changes of a root.
func (c *checker) arrivals(root *object) {
	changes := c.Policies.changes(root)
	for i, ch := range changes {
		c.verdict.Counts.Changes++
		span := Span{From: ch.made.from()}
		last := i == len(changes)-1
		if !last {
			span.To = changes[i+1].made.write.Answered
		}
		gone := c.goneAt(root)
		if last && !gone.IsZero() {
			span.To, last = gone, false
		}
		stood := c.stood(ch, span)
		switch {
		case c.arrived(ch, span):
			c.verdict.Counts.Arrived++
		case last || stood > c.Patience:
			c.findf("Lost", span.From, "size %s of %s, by %s, stood for %s and has not reached the cloud",
				ch.made.Spec.Size, root.place, ch.made.write.User, stood.Round(time.Second))
		default:
			c.verdict.Counts.Superseded++
		}
	}
}

// goneAt returns when somebody deleted an object; zero if nobody did.
func (c *checker) goneAt(o *object) time.Time {
	if len(o.deletions) > 0 {
		return o.deletions[0].Answered
	}
	return o.ended
}

// stood is for how long within a while an object had the size of a change, and nobody
// was away.
func (c *checker) stood(ch change, span Span) time.Duration {
	to := span.To
	if to.IsZero() {
		to = c.latest()
	}
	var out time.Duration
	for _, v := range ch.root.versions {
		begin, end := v.from(), v.until
		if end.IsZero() || end.After(to) {
			end = to
		}
		if v.Spec.Size == ch.made.Spec.Size && !begin.Before(span.From) && end.After(begin) {
			out += Span{From: begin, To: end}.without(c.Outages)
		}
	}
	return out
}

// latest returns when the API server was asked last.
func (c *checker) latest() time.Time {
	var out time.Time
	for _, r := range c.Requests {
		if r.Answered.After(out) {
			out = r.Answered
		}
	}
	return out
}

// arrived reports whether the cloud had the size of a change within a while, or a moment
// later.
func (c *checker) arrived(ch change, span Span) bool {
	for _, managed := range c.managed(ch.root) {
		has, since := "", time.Time{}
		for _, call := range c.done(managed) {
			if has == ch.made.Spec.Size && call.Ended.After(span.From) {
				break // it had it until now
			}
			if !span.To.IsZero() && call.Ended.After(span.To.Add(Flight)) {
				break
			}
			has, since = call.size(), call.Ended
		}
		if has == ch.made.Spec.Size && !since.IsZero() {
			return true
		}
	}
	return false
}

// done returns the calls for a managed resource that were carried out. Half an update of
// the one field that differs is the whole of it.
func (c *checker) done(managed *object) []Call {
	calls := slices.DeleteFunc(slices.Clone(c.Calls), func(call Call) bool {
		half := call.Verb == update && call.Outcome == partial
		return call.resource() != managed.place || call.Outcome != done && !half
	})
	slices.SortFunc(calls, func(a, b Call) int { return a.Ended.Compare(b.Ended) })
	return calls
}

// deletion looks for what became of the deletion of a root, and of what it was in the
// cloud.
func (c *checker) deletion(root *object) {
	when := c.goneAt(root)
	if when.IsZero() {
		return
	}
	goes := c.Policies.deletes(root.versions[0].Kind, root.last().Metadata.Labels)
	if root.alive() {
		c.findf("Kept", when, "%s was deleted, and is there", root.place)
	}
	for _, managed := range c.managed(root) {
		calls := c.done(managed)
		exists := len(calls) > 0 && calls[len(calls)-1].Verb != remove
		switch {
		case managed.alive():
			c.findf("Kept", when, "%s was to go with %s, and is there", managed.place, root.place)
		case goes && exists:
			c.findf("Leaked", when, "%s was to go with %s, and the cloud has it", managed.place, root.place)
		case goes:
			c.verdict.Counts.Deleted++
		case exists:
			c.verdict.Counts.Preserved++
		}
	}
}

// strange counts what people tried who may not initiate, and what Crossplane found to
// change too often.
func (c *checker) strange() {
	for _, r := range c.Requests {
		person := !strings.Contains(r.User, ":")
		if person && slices.Contains(changeable, r.Resource) && !slices.Contains(r.Groups, initiators) {
			c.verdict.Counts.Strange++
		}
	}
	for _, o := range c.composites() {
		if slices.ContainsFunc(o.versions, func(v *version) bool { return v.unresponsive() }) {
			c.verdict.Counts.Unresponsive++
		}
	}
}

// changeable are the resources of databases, and initiators the group of people who may
// change them.
var changeable = []string{"databaseclaims", "xdatabases", "databases", instances}

const initiators = "platform-team"

// leftovers looks at how everything is at the end.
func (c *checker) leftovers() {
	for _, managed := range c.byResource[instances] {
		last := managed.last()
		if !managed.alive() {
			continue
		}
		if open := last.open(); len(open) > 0 {
			c.findf("Left", last.from(), "%s is open for %v", managed.place, open)
		}
		if last.holds(external) {
			c.findf("Left", last.from(), "%s has an allowance", managed.place)
		}
	}
	for _, root := range c.roots() {
		if root.alive() && root.last().holds(withheld) {
			c.findf("Left", root.last().from(), "a change of %s is withheld", root.place)
		}
	}
	for _, rec := range c.byResource["allowancerecords"] {
		target := c.byUID[rec.last().Spec.TargetRef.UID]
		if active := len(rec.last().Status.Active); rec.alive() && active > 0 && target != nil && target.alive() {
			c.findf("Left", rec.last().from(), "the record of %s has %d active allowances", target.place, active)
		}
	}
}
