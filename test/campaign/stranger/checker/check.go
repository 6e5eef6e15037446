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
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Evidence is all that there is to judge by.
type Evidence struct {
	// Log is the audit log.
	Log *Log
	// Operator is the user that the operator acts as.
	Operator string
	// Final are the UIDs of what is there at the end; nil where nobody looked.
	Final map[string]bool
	// Played are the acts that were played in the name of a controller: an allowance is for
	// a field, and not for a value, so that such values may be carried out.
	Played map[int]bool
}

// Promise is one of the things that have to be so.
type Promise string

// The promises.
const (
	// Uncovered changes of children there are none.
	Uncovered Promise = "uncovered change of a child"
	// Smuggled values of strangers there are none below their objects.
	Smuggled Promise = "a stranger's value that nobody approved of"
	// Forged traces there are none.
	Forged Promise = "a trace that names who did not act"
)

// Finding is a promise that was not kept.
type Finding struct {
	Promise Promise
	At      time.Time
	// Object and Parent are what it is about.
	Object, Parent string
	What           string
	// Story is what happened to both, up to then.
	Story []string
}

func (f Finding) String() string {
	return fmt.Sprintf("%s %s: %s: %s", f.At.Format(clock), f.Promise, f.Object, f.What)
}

// Report is what the checker found, and how much it has looked at.
type Report struct {
	Findings []Finding
	// Children are the changes of children by what let them through, and Known those that
	// docs/bypasses.md says are not stopped, by its words.
	Children, Known map[string]int
	// Contents are the versions of children in which a stranger's value was, and Entries
	// what ledgers and records say of somebody.
	Contents, Entries int
	// Vanished are the children of which the log does not say who ended them: a collection
	// of which one is denied does not tell of the others.
	Vanished int
}

// checker is a check that goes on.
type checker struct {
	Evidence
	lives  map[types.UID]*life
	all    []*life
	byName map[string][]*life
	rules  rulebook
	// strays are the children that were adopted without a cause, since when.
	strays map[types.UID]time.Time
	users  map[string]bool

	report Report
}

// Check looks at all the evidence.
func Check(e Evidence) (*Report, error) {
	c, err := prepare(e)
	if err != nil {
		return nil, err
	}
	c.checkChildren()
	c.checkContents()
	c.checkTraces()
	slices.SortStableFunc(c.report.Findings, func(a, b Finding) int { return a.At.Compare(b.At) })
	return &c.report, nil
}

// prepare puts the evidence in order.
func prepare(e Evidence) (*checker, error) {
	c := &checker{
		Evidence: e, lives: lives(e.Log.writes), byName: map[string][]*life{}, strays: map[types.UID]time.Time{}, users: map[string]bool{},
	}
	c.report.Children, c.report.Known = map[string]int{}, map[string]int{}
	for _, l := range c.lives {
		c.all = append(c.all, l)
	}
	slices.SortFunc(c.all, func(a, b *life) int {
		return cmp.Or(cmp.Compare(a.first().revision, b.first().revision), strings.Compare(string(a.uid), string(b.uid)))
	})
	var written []*life
	for _, l := range c.all {
		v := l.first()
		c.byName[v.kind+"/"+v.namespace+"/"+v.name] = append(c.byName[v.kind+"/"+v.namespace+"/"+v.name], l)
		if v.kind == kinds[policies] {
			written = append(written, l)
		}
	}
	c.evict()
	for _, w := range e.Log.writes {
		c.users[w.user] = true
	}
	var err error
	c.rules, err = policiesOf(written)
	return c, err
}

// evict finds the Pods that evictions are of: their answers do not say.
func (c *checker) evict() {
	for _, w := range c.Log.writes {
		if w.sub != subEviction || !w.succeeded() {
			continue
		}
		for _, l := range c.byName[kinds[pods]+"/"+w.namespace+"/"+w.name] {
			if l.first().by.received.Before(w.answered) && (l.gone.IsZero() || l.gone.After(w.received)) {
				l.ends = append(l.ends, w)
				if l.asked.IsZero() || w.received.Before(l.asked) {
					l.asked = w.received
				}
			}
		}
	}
}

// longest is how many lines a story has at most.
const longest = 60

func (c *checker) findf(promise Promise, at time.Time, l, parent *life, format string, args ...any) {
	f := Finding{Promise: promise, At: at, Object: l.name(), What: fmt.Sprintf(format, args...)}
	uids := []types.UID{l.uid}
	if parent != nil {
		f.Parent = parent.name()
		uids = append(uids, parent.uid)
	}
	for _, w := range c.Log.writes {
		if w.received.After(at.Add(time.Second)) || !w.succeeded() {
			continue
		}
		if slices.Contains(uids, w.uid) || w.removes() && w.name == l.first().name {
			f.Story = append(f.Story, c.line(w, parent))
		}
	}
	f.Story = f.Story[max(0, len(f.Story)-longest):]
	c.report.Findings = append(c.report.Findings, f)
}

// line tells of one write what it changed, without values.
func (c *checker) line(w *write, parent *life) string {
	text := w.String()
	if w.reason != "" {
		text += " " + w.reason
	}
	if w.approves {
		text += ", approving"
	}
	l := c.lives[w.uid]
	if l == nil {
		return text
	}
	i := slices.IndexFunc(l.versions, func(v *version) bool { return v.by == w })
	if i < 0 {
		return text
	}
	v := l.versions[i]
	text += fmt.Sprintf(", generation %d", v.generation)
	if v.before != nil {
		text += told(slices.Concat(contentChanges(v.before.object, v.object), ownerChanges(v.before.object, v.object), labelChanges(v.before.object, v.object)))
	}
	if l == parent && l.states != nil {
		s := l.states[i]
		text += fmt.Sprintf(" [initializing %t, %d withheld, %d causes, settled %t]", s.initializing, len(s.held), len(s.causes), v.settled())
	}
	return text
}

// told are changes in words.
func told(changes []change) string {
	var out strings.Builder
	for _, ch := range changes {
		out.WriteString("; " + ch.String())
	}
	return out.String()
}
