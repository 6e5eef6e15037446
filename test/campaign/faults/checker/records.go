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

	"kausality.io/operator/test/campaign/audit"
)

// target returns the uid of the object that a record is about.
func target(record *audit.Object) types.UID {
	uid, _ := record.At("spec", "targetRef", "uid").(string)
	return types.UID(uid)
}

func targetKind(record *audit.Object) string {
	kind, _ := record.At("spec", "targetRef", "kind").(string)
	return kind
}

// recordsOf returns the lives of the records of an object.
func (c *checker) recordsOf(uid types.UID) []*audit.Life {
	if c.byTarget == nil {
		c.byTarget = map[types.UID][]*audit.Life{}
		for _, l := range c.of(records) {
			uid := target(l.First().Object)
			c.byTarget[uid] = append(c.byTarget[uid], l)
		}
	}
	return c.byTarget[uid]
}

// checkRecords compares what records say to the objects and to the log.
func (c *checker) checkRecords() error {
	of := map[types.UID]*audit.Object{}
	for _, record := range c.stored(kinds[records]) {
		c.report.Records++
		at := time.Time{}
		if l := c.lives[record.UID]; l != nil {
			at = seenAt(l)
		}
		what := "AllowanceRecord " + record.Namespace + "/" + record.Name
		if of[target(record)] != nil {
			c.findf(Misrecorded, at, what, "there is another one of the same object")
		}
		of[target(record)] = record
		says, err := said(record)
		if err != nil {
			return err
		}
		for _, wrong := range c.wrong(record, &says) {
			c.findf(Misrecorded, at, what, "%s", wrong)
		}
	}
	for _, kind := range []string{kinds[deployments], kinds[replicaSets]} {
		for _, obj := range c.stored(kind) {
			if len(c.ledger(obj)) > 0 && of[obj.UID] == nil {
				c.findf(Misrecorded, seenAt(c.lives[obj.UID]), kind+" "+obj.Name, "it has a ledger, and no record")
			}
		}
	}
	return c.checkDenials(of)
}

// wrong returns what a record says that is not so.
func (c *checker) wrong(record *audit.Object, s *recordStatus) []string {
	var out []string
	about := c.final[target(record)]
	if kind := targetKind(record); kind != kinds[deployments] && kind != kinds[replicaSets] {
		return nil
	}
	if about == nil {
		if s.EndedAt == nil {
			out = append(out, "it does not say that its object is gone")
		}
		return append(out, c.neverHappened(record, s)...)
	}
	if s.EndedAt != nil {
		out = append(out, "it says that its object is gone")
	}
	if len(s.PendingGrants) > 0 && settled(about, about.Generation) {
		out = append(out, "grants of an object that has settled are pending")
	}
	if s.Adopting && settled(about, about.Generation) {
		out = append(out, "it says that an object which has settled is adopting")
	}
	ledger := c.ledger(about)
	for i := range s.Active {
		if !contains(ledger, &s.Active[i]) {
			out = append(out, fmt.Sprintf("it says that %s is active, which the ledger does not", &s.Active[i]))
		}
	}
	for i := range ledger {
		if !contains(s.Active, &ledger[i]) {
			out = append(out, fmt.Sprintf("it does not say that %s is active, as the ledger does", &ledger[i]))
		}
	}
	return append(out, c.neverHappened(record, s)...)
}

// neverHappened returns what the history tells of children that nobody has tried.
func (c *checker) neverHappened(record *audit.Object, s *recordStatus) []string {
	var out []string
	for _, h := range s.History {
		resource := strings.ToLower(h.Kind) + "s"
		if h.Kind == "" || kinds[resource] == "" || h.User == "" {
			continue
		}
		for _, name := range h.Names {
			tried := c.tried[attempt{h.User, resource, record.Namespace, name}]
			// The name of what was refused was never known to the log.
			unnamed := c.tried[attempt{h.User, resource, record.Namespace, ""}]
			if !tried && !unnamed {
				out = append(out, fmt.Sprintf("%s of %s %s by %s is not in the log", h.Event, h.Kind, name, h.User))
			}
		}
	}
	return out
}

// attempt is a request by somebody about something, whatever came of it.
type attempt struct{ user, resource, namespace, name string }

// attempts returns the attempts in the log.
func attempts(log *audit.Log) map[attempt]bool {
	out := map[attempt]bool{}
	for _, w := range log.Writes {
		name := w.Name
		if !w.Succeeded() && w.Verb == audit.VerbCreate && w.Subresource == "" {
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
func (c *checker) checkDenials(of map[types.UID]*audit.Object) error {
	refused, all := map[types.UID]int64{}, map[types.UID]int64{}
	for _, w := range c.Log.Writes {
		if w.Resource != replicaSets && w.Resource != pods || w.Succeeded() && !wasDenied(w) && !unjudged(w) && !w.Uncovered {
			continue
		}
		parent := c.parentOf(w)
		all[parent]++
		lost := slices.ContainsFunc(c.Killed, func(i Interval) bool { return i.contains(w.Answered) })
		if !lost && wasDenied(w) {
			refused[parent]++
		}
	}
	for uid, record := range of {
		what := "AllowanceRecord " + record.Namespace + "/" + record.Name
		says, err := said(record)
		if err != nil {
			return err
		}
		switch got := says.Denials; {
		case c.lives[uid] == nil:
		case got < refused[uid]:
			c.findf(Misrecorded, seenAt(c.lives[uid]), what, "it counts %d denials, the log has %d", got, refused[uid])
		case got > 0 && all[uid] == 0:
			c.findf(Misrecorded, seenAt(c.lives[uid]), what, "it counts %d denials, and nobody was refused anything", got)
		}
	}
	return nil
}

// What the operator says of a request that it has denied, and of one of which it could not find
// out what it depends on. The API server may try again what was denied, where it had asked
// with an outdated object.
const (
	denied       = "Denied"
	couldNotTell = "Unjudged"
)

func wasDenied(w *audit.Write) bool { return slices.Contains(w.Reasons, denied) }

// unjudged reports whether nobody could be asked, or could tell, and policies had it that work
// goes on then.
func unjudged(w *audit.Write) bool { return w.Unasked || slices.Contains(w.Reasons, couldNotTell) }

// parentOf returns the owner of what a request is about.
func (c *checker) parentOf(w *audit.Write) types.UID {
	for _, owner := range w.Said.Owners {
		if owner.Controller {
			return owner.UID
		}
	}
	if child := c.living(w); child != nil {
		return ownerUID(child.Last().Object)
	}
	return ""
}

// living returns the object that a request names: that of the answer, else the one of that name
// which was there.
func (c *checker) living(w *audit.Write) *audit.Life {
	if l := c.lives[w.UID]; l != nil {
		return l
	}
	for _, other := range c.byName[kinds[w.Resource]+"/"+w.Namespace+"/"+w.Name] {
		if !other.First().By.Received.After(w.Answered) && (other.Asked.IsZero() || !other.Asked.Before(w.Received)) {
			return other
		}
	}
	return nil
}
