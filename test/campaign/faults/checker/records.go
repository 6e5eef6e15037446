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
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// target is the uid of the object that a record is about.
func (o *object) target() types.UID {
	uid, _ := o.at("targetRef", "uid").(string)
	return types.UID(uid)
}

func (o *object) targetKind() string {
	kind, _ := o.at("targetRef", "kind").(string)
	return kind
}

// recordsOf are the lives of the records of an object.
func (c *checker) recordsOf(uid types.UID) []*life {
	if c.byTarget == nil {
		c.byTarget = map[types.UID][]*life{}
		for _, l := range c.of(records) {
			target := l.versions[0].target()
			c.byTarget[target] = append(c.byTarget[target], l)
		}
	}
	return c.byTarget[uid]
}

// checkRecords compares what records say to the objects and to the log.
func (c *checker) checkRecords() {
	of := map[types.UID]*object{}
	for _, record := range c.stored(kinds[records]) {
		c.report.Records++
		at := time.Time{}
		if l := c.lives[record.Metadata.UID]; l != nil {
			at = seenAt(l)
		}
		what := "AllowanceRecord " + record.Metadata.Namespace + "/" + record.Metadata.Name
		if of[record.target()] != nil {
			c.findf(Misrecorded, at, what, "there is another one of the same object")
		}
		of[record.target()] = record
		for _, wrong := range c.wrong(record) {
			c.findf(Misrecorded, at, what, "%s", wrong)
		}
	}
	for _, kind := range []string{kinds[deployments], kinds[replicaSets]} {
		for _, obj := range c.stored(kind) {
			if len(obj.ledger) > 0 && of[obj.Metadata.UID] == nil {
				c.findf(Misrecorded, seenAt(c.lives[obj.Metadata.UID]), kind+" "+obj.Metadata.Name, "it has a ledger, and no record")
			}
		}
	}
	c.checkDenials(of)
}

// wrong is what a record says that is not so.
func (c *checker) wrong(record *object) []string {
	var out []string
	s := record.Status
	target := c.final[record.target()]
	if kind := record.targetKind(); kind != kinds[deployments] && kind != kinds[replicaSets] {
		return nil
	}
	if target == nil {
		if s.EndedAt == nil {
			out = append(out, "it does not say that its object is gone")
		}
		return append(out, c.neverHappened(record)...)
	}
	if s.EndedAt != nil {
		out = append(out, "it says that its object is gone")
	}
	if len(s.PendingGrants) > 0 && target.settled(target.Metadata.Generation) {
		out = append(out, "grants of an object that has settled are pending")
	}
	if s.adopting() && target.settled(target.Metadata.Generation) {
		out = append(out, "it says that an object which has settled is adopting")
	}
	for i := range s.Active {
		if !contains(target.ledger, &s.Active[i]) {
			out = append(out, fmt.Sprintf("it says that %s is active, which the ledger does not", &s.Active[i]))
		}
	}
	for i := range target.ledger {
		if !contains(s.Active, &target.ledger[i]) {
			out = append(out, fmt.Sprintf("it does not say that %s is active, as the ledger does", &target.ledger[i]))
		}
	}
	return append(out, c.neverHappened(record)...)
}

// neverHappened is what the history tells of children that nobody has tried.
func (c *checker) neverHappened(record *object) []string {
	var out []string
	for _, h := range record.Status.History {
		resource := strings.ToLower(h.Kind) + "s"
		if h.Kind == "" || kinds[resource] == "" || h.User == "" {
			continue
		}
		for _, name := range h.Names {
			tried := c.tried[attempt{h.User, resource, record.Metadata.Namespace, name}]
			// The name of what was refused was never known to the log.
			unnamed := c.tried[attempt{h.User, resource, record.Metadata.Namespace, ""}]
			if !tried && !unnamed {
				out = append(out, fmt.Sprintf("%s of %s %s by %s is not in the log", h.Event, h.Kind, name, h.User))
			}
		}
	}
	return out
}

// attempt is a request by somebody about something, whatever came of it.
type attempt struct{ user, resource, namespace, name string }

// attempts are those in the log.
func (l *Log) attempts() map[attempt]bool {
	out := map[attempt]bool{}
	for _, w := range l.writes {
		name := w.Name
		if !w.succeeded() && w.Verb == verbCreate && w.Subresource == "" {
			out[attempt{w.User, w.Resource, w.Namespace, ""}] = true
		}
		out[attempt{w.User, w.Resource, w.Namespace, name}] = true
	}
	return out
}

// checkDenials compares how many denials there were. One request can be judged several
// times, of which the log has the first reason; what was denied just before an operator was
// killed may not be written down; and what the API server did not wait for was denied all
// the same.
func (c *checker) checkDenials(of map[types.UID]*object) {
	denied, all := map[types.UID]int64{}, map[types.UID]int64{}
	for _, w := range c.Log.writes {
		if w.Resource != replicaSets && w.Resource != pods || w.succeeded() && !w.Denied && !w.Unasked && !w.Uncovered {
			continue
		}
		parent := c.parentOf(w)
		all[parent]++
		lost := slices.ContainsFunc(c.Killed, func(i Interval) bool { return i.contains(w.Answered) })
		if !lost && w.Denied {
			denied[parent]++
		}
	}
	for uid, record := range of {
		what := "AllowanceRecord " + record.Metadata.Namespace + "/" + record.Metadata.Name
		switch got := record.Status.Denials; {
		case c.lives[uid] == nil:
		case got < denied[uid]:
			c.findf(Misrecorded, seenAt(c.lives[uid]), what, "it counts %d denials, the log has %d", got, denied[uid])
		case got > 0 && all[uid] == 0:
			c.findf(Misrecorded, seenAt(c.lives[uid]), what, "it counts %d denials, and nobody was refused anything", got)
		}
	}
}

// parentOf is the owner of what a request is about.
func (c *checker) parentOf(w *write) types.UID {
	for _, owner := range w.Said.OwnerReferences {
		if owner.Controller != nil && *owner.Controller {
			return owner.UID
		}
	}
	if child := c.living(c.lives[w.UID], w); child != nil {
		return child.versions[len(child.versions)-1].ownerUID()
	}
	return ""
}
