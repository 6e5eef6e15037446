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
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/policylog"
)

// Evidence is all that there is to judge by.
type Evidence struct {
	// Log is the audit log.
	Log *audit.Log
	// Operator is the user that the operator acts as.
	Operator string
	// Final are the UIDs of what is there at the end; nil where nobody looked.
	Final map[string]bool
	// Played are the acts that were played in the name of a controller: an allowance is for
	// a field, and not for a value, so that such values may be carried out.
	Played map[int]bool
	// Whole is true where the log has all that was asked for, as the API server was never ended, and times are those
	// of one clock: then what is said of requests is compared with them, and not only who made any.
	Whole bool
	// Kept is true where an operator was to keep ledgers: then what they do not tell of counts.
	Kept bool
	// Said is what the operator wrote into its log.
	Said string
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
	// Refused says that a controller may do what has a cause.
	Refused Promise = "a controller refused what is allowed"
	// Hasty says that nobody but who may changes a field that is carried out without a change of children.
	Hasty Promise = "a change that could not wait"
	// Unending says that an adoption ends when its object has settled.
	Unending Promise = "an adoption that does not end"
	// Outlived says that an allowance ends when what it is for has been done.
	Outlived Promise = "an allowance that does not end"
	// Escaped says that nobody but who may begin something takes an object out of a policy by its labels.
	Escaped Promise = "an object that left a policy"
	// Lost says that the changes by which who may has an object come under a policy let happen what it says.
	Lost Promise = "a change by who may that allows nothing"
	// Attached says that nobody but who may begin something with an object gives it a parent.
	Attached Promise = "an object that got a parent"
	// Told says that no message has a value of a stranger in it.
	Told Promise = "a value in a message"
	// Stuck says that a stray ceases to be one when it is approved.
	Stuck Promise = "a stray that stays one although it was approved"
	// Denied says that everybody may evict a Pod where a maintaining section lets them.
	Denied Promise = "an eviction denied that anybody may make"
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
	return fmt.Sprintf("%s %s: %s: %s", f.At.Format(audit.Clock), f.Promise, f.Object, f.What)
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
	// Denials counts the refusals of controllers that the model can judge.
	Denials int
	// Unjudged counts the refusals of what the operator could not judge: nothing goes on then.
	Unjudged int
	// Messages are those that were looked at for values.
	Messages int
	// Vanished are the children of which the log does not say who ended them: a collection
	// of which one is denied does not tell of the others.
	Vanished int
}

// checker is a check that goes on.
type checker struct {
	Evidence
	lives  map[types.UID]*audit.Life
	all    []*audit.Life
	byName map[string][]*audit.Life
	rules  policylog.Log
	// strays are the children that were adopted without a cause.
	strays map[types.UID]adoption
	// states are what the model says of each version of an object that was asked about.
	states map[*audit.Life][]*state
	// byUser are the requests of each user.
	byUser map[string][]*audit.Write
	// vanished are the objects whose end was found by vanish.
	vanished map[types.UID]bool
	// adopted are the children that a controller took.
	adopted map[types.UID]bool
	// asked caches what othersAbout returns.
	asked map[types.UID][]time.Time
	// activity caches what activityOf returns, by the UID of the object.
	activity map[types.UID][]span
	// selected caches what rulesOf returns.
	selected map[*audit.Life]policylog.Log
	// started is when operators were started, and lapses are the times in which the API server asked nobody.
	started []time.Time
	lapses  []span

	report Report
}

// adoption is when a child was adopted that its parent had not made.
type adoption struct {
	at time.Time
	// by is the parent: a stray of the one may be no stray of the next.
	by types.UID
	// sure is false where the adoption may have had a cause: the parent was initializing in some of the
	// versions that the operator may have seen.
	sure bool
}

// Check looks at all the evidence.
func Check(e Evidence) (*Report, error) {
	c, err := prepare(e)
	if err != nil {
		return nil, err
	}
	c.checkChildren()
	c.checkDeputies()
	c.checkScaled()
	c.checkEvictions()
	c.checkApprovedStrays()
	c.checkApprovals()
	c.checkHeld()
	c.checkLapses()
	c.checkEarned()
	c.checkContents()
	c.checkTraces()
	c.checkMessages()
	c.checkRefusals()
	c.checkPeople()
	c.checkUngoverned()
	c.checkRecords()
	c.checkLoops()
	c.checkInvalid()
	c.checkAdoptions()
	c.checkConsumption()
	c.checkHasty()
	c.checkJobs()
	c.checkEscapes()
	c.checkArrivals()
	c.checkAttachments()
	slices.SortStableFunc(c.report.Findings, func(a, b Finding) int { return a.At.Compare(b.At) })
	return &c.report, nil
}

// prepare puts the evidence in order.
func prepare(e Evidence) (*checker, error) {
	c := &checker{
		Evidence: e, lives: audit.Lives(e.Log.Writes), byName: map[string][]*audit.Life{}, strays: map[types.UID]adoption{}, byUser: map[string][]*audit.Write{},
		states: map[*audit.Life][]*state{}, activity: map[types.UID][]span{}, asked: map[types.UID][]time.Time{}, adopted: map[types.UID]bool{}, vanished: map[types.UID]bool{},
		selected: map[*audit.Life]policylog.Log{}, started: startsIn(e.Said), lapses: lapsesIn(e.Log, e.Operator),
	}
	c.report.Children, c.report.Known = map[string]int{}, map[string]int{}
	for _, l := range c.lives {
		c.all = append(c.all, l)
	}
	slices.SortFunc(c.all, func(a, b *audit.Life) int {
		return cmp.Or(cmp.Compare(a.First().Revision, b.First().Revision), strings.Compare(string(a.UID), string(b.UID)))
	})
	var written []*audit.Life
	for _, l := range c.all {
		v := l.First()
		// Records and traces name no group.
		for _, kind := range slices.Compact([]string{v.Kind, audit.Plain(v.Kind)}) {
			key := kind + "/" + v.Namespace + "/" + v.Name
			c.byName[key] = append(c.byName[key], l)
		}
		if v.Kind == kinds[policies] {
			written = append(written, l)
		}
	}
	c.evict()
	c.vanish()
	for _, w := range e.Log.Writes {
		if w.Resource != events {
			c.byUser[w.User] = append(c.byUser[w.User], w)
		}
	}
	var err error
	c.rules, err = policylog.Read(written, kinds)
	return c, err
}

// evict finds the Pods that evictions are of: their answers do not say.
func (c *checker) evict() {
	for _, w := range c.Log.Writes {
		if w.Subresource != audit.SubEviction || !w.Succeeded() {
			continue
		}
		for _, l := range c.byName[kinds[pods]+"/"+w.Namespace+"/"+w.Name] {
			if l.First().By.Received.Before(w.Answered) && (l.Gone.IsZero() || l.Gone.After(w.Received)) {
				l.Ends = append(l.Ends, w)
				if l.Asked.IsZero() || w.Received.Before(l.Asked) {
					l.Asked = w.Received
				}
			}
		}
	}
}

// vanish finds the ends that no answer tells of: a collection of which one is denied does not name the
// others, and the answer to who took the last finalizer away may be lost. What is not there in the end is
// taken for gone since the first request that may have ended it, or did not find it.
func (c *checker) vanish() {
	if c.Final == nil {
		return
	}
	// Without an end that is known; the end of Pods is their node's.
	var open []*audit.Life
	for _, l := range c.all {
		kind := l.First().Kind
		if l.Gone.IsZero() && !c.Final[string(l.UID)] && (l.Asked.IsZero() || kind != kinds[pods]) && (controllers[kind] != "" || slices.Contains(childKinds, kind)) {
			open = append(open, l)
		}
	}
	for _, w := range c.Log.Writes {
		if w.Succeeded() || w.Subresource != "" {
			continue
		}
		for _, l := range open {
			v := l.Last()
			if l.Gone.IsZero() && kinds[w.Resource] == v.Kind && w.Namespace == v.Namespace && w.Answered.After(v.By.Answered) && mayHaveEnded(w, v) {
				l.Gone, c.vanished[l.UID] = w.Received, true
			}
		}
	}
}

// mayHaveEnded reports whether a request without success may have ended an object all the same, or has
// found that it is gone. The version is the last one that is known.
func mayHaveEnded(w *audit.Write, v *audit.Version) bool {
	switch {
	case w.Verb == audit.VerbDeleteCollection:
		return true
	case w.Name != v.Name:
		return false
	case w.Code == http.StatusNotFound:
		return true
	default:
		return w.Code >= http.StatusInternalServerError && (w.Verb == audit.VerbDelete || v.Deleting)
	}
}

// longest is how many lines a story has at most.
const longest = 60

func (c *checker) findf(promise Promise, at time.Time, l, parent *audit.Life, format string, args ...any) {
	f := Finding{Promise: promise, At: at, Object: l.String(), What: fmt.Sprintf(format, args...)}
	uids := []types.UID{l.UID}
	if parent != nil {
		f.Parent = parent.String()
		uids = append(uids, parent.UID)
	}
	for _, w := range c.Log.Writes {
		if w.Received.After(at.Add(time.Second)) || !w.Succeeded() {
			continue
		}
		if slices.Contains(uids, w.UID) || w.Removes() && w.Name == l.First().Name {
			f.Story = append(f.Story, c.line(w, parent))
		}
	}
	f.Story = f.Story[max(0, len(f.Story)-longest):]
	c.report.Findings = append(c.report.Findings, f)
}

// line tells of one write what it changed, without values.
func (c *checker) line(w *audit.Write, parent *audit.Life) string {
	text := w.String()
	if len(w.Reasons) > 0 {
		text += " " + strings.Join(slices.Compact(slices.Clone(w.Reasons)), ", ")
	}
	l := c.lives[w.UID]
	if l == nil || len(l.Versions) == 0 {
		return text
	}
	i := slices.IndexFunc(l.Versions, func(v *audit.Version) bool { return v.By == w })
	if i < 0 {
		return text
	}
	v := l.Versions[i]
	if v.Approves(w) {
		text += ", approving"
	}
	text += fmt.Sprintf(", generation %d", v.Generation)
	if v.Before != nil {
		text += told(slices.Concat(audit.ContentChanges(v.Before.Object, v.Object), audit.OwnerChanges(v.Before.Object, v.Object), audit.LabelChanges(v.Before.Object, v.Object)))
	}
	if states := c.states[l]; l == parent && states != nil {
		s := states[i]
		text += fmt.Sprintf(" [initializing %t, %d withheld, %d causes, settled %t]", s.initializing, len(s.held), len(s.causes), settled(v))
	}
	return text
}

// told returns changes in words.
func told(changes []audit.Change) string {
	var out strings.Builder
	for _, ch := range changes {
		out.WriteString("; " + ch.String())
	}
	return out.String()
}
