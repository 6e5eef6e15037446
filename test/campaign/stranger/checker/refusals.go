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
	"bufio"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/policylog"
)

const (
	// sure is for how long all that a refusal depends on has to have been as it is.
	sure = 10 * time.Second
	// unwritten is for how long an operator may not have written down what it has decided.
	unwritten = 2 * time.Second
)

// Forgotten is why a controller is refused what an initiator's change allows, where the operator was killed
// right after that.
const Forgotten = "an operator was killed before it had written down whose change it was"

// checkRefusals judges what controllers were refused. Where no version of the parent that may have counted lets through
// what was asked for, a refusal is right. Where each of them does it is wrong, if the model knows for certain all that
// it depends on: by itself, as nothing of it, or of what is above it, may be withheld, or as the ledger says the same
// before the request came and when it was answered. It does not judge without the operator's log, which tells
// when one was started.
func (c *checker) checkRefusals() {
	if c.Said == "" {
		return
	}
	for _, w := range c.Log.Writes {
		if !refusal.MatchString(w.Message) || slices.Contains(w.Reasons, couldNotTell) || c.keepsAlive(w) {
			continue
		}
		child := c.refused(w)
		if child == nil {
			continue
		}
		parent := c.parentOf(child)
		if parent == nil || c.statesOf(parent) == nil {
			continue
		}
		if !slices.Contains(c.trusted(), w.User) || w.Posing {
			c.checkOthers(child, parent)
			continue
		}
		c.checkRefusal(child, parent)
	}
}

func (c *checker) checkRefusal(w *childWrite, parent *audit.Life) {
	if why := c.always(w, parent); why != "" {
		c.report.Denials++
		c.findf(Refused, w.Received, w.life, parent, "%s is refused, which is %s: %s", w, why, w.Message)
		return
	}
	if c.surelyNot(w, parent) {
		c.report.Denials++
		return
	}
	why := c.surely(w, parent)
	if why == "" || !c.isSure(parent, w.Write) && !c.isWritten(w, parent, why) {
		return
	}
	c.report.Denials++
	if forgotten(parent, c.started, w.Received) {
		c.report.Known[Forgotten]++
		return
	}
	c.findf(Refused, w.Received, w.life, parent, "%s is refused, which is %s: %s", w, why, w.Message)
}

// always returns why a controller may do something whatever its parent is allowed, or nothing: what ends it tidies up, it keeps its
// books, and it lets go of what it has not selected for long.
func (c *checker) always(w *childWrite, parent *audit.Life) string {
	kind := parent.First().Kind
	if w.found == nil || c.disturbed(parent, w.Received.Add(-lag-policylog.Moment), w.Answered.Add(lag)) || w.User != controllers[kind] {
		return ""
	}
	from, to := w.Received.Add(-lag), w.Answered.Add(lag)
	states, found := c.statesOf(parent), parent.Current(from, to)
	releases := len(w.changes) > 0 && !slices.ContainsFunc(w.changes, func(ch audit.Change) bool {
		before, dropped := ch.Before.(audit.Owner)
		return !audit.Within(ch.Path, audit.OwnersPath) || ch.Verb != audit.Drops || !dropped || before.UID != parent.UID
	})
	if !releases || len(found) == 0 || !w.isUpdate() {
		return ""
	}
	for _, i := range found {
		v := parent.Versions[i]
		if v.Deleting || len(states[i].held) > 0 || selects(v.Object, w.found) || len(audit.AsMap(v.At("spec", "selector", "matchLabels"))) == 0 {
			return ""
		}
	}
	for _, i := range w.life.Current(from, to) {
		v := w.life.Versions[i]
		if v.By.UID == w.life.UID && v.By != w.Write && (len(v.Owners) != 1 || selects(parent.FoundAt(to).Object, v.Object)) {
			return ""
		}
	}
	return released
}

// isUpdate reports whether a request changes what is there.
func (w *childWrite) isUpdate() bool { return w.Verb == audit.VerbUpdate || w.Verb == audit.VerbPatch }

// startsIn returns when operators were started, by what they said.
func startsIn(said string) []time.Time {
	var out []time.Time
	lines := bufio.NewScanner(strings.NewReader(said))
	lines.Buffer(nil, len(said)+1)
	for lines.Scan() {
		var line struct {
			At  time.Time `json:"ts"`
			Msg string    `json:"msg"`
		}
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "Starting Kausality" {
			out = append(out, line.At)
		}
	}
	return out
}

// refused returns what a denied request was to do to a child, nil where that cannot be told.
func (c *checker) refused(w *audit.Write) *childWrite {
	var asked *audit.Object
	if w.Refused != nil {
		var err error
		if asked, err = c.Log.Decode(w.Refused); err != nil {
			return nil
		}
		asked.Kind, asked.Namespace = kinds[w.Resource], w.Namespace
	}
	if w.Verb == audit.VerbCreate && w.Subresource == "" && asked != nil {
		life := &audit.Life{UID: types.UID("refused-" + w.Received.String())}
		life.Versions = []*audit.Version{{Object: asked, By: w, Until: audit.Forever}}
		return &childWrite{Write: w, life: life, child: asked, changes: []audit.Change{{Verb: audit.Makes}}}
	}
	if w.Subresource != "" {
		return nil
	}
	life, found := c.target(w, asked)
	if found == nil {
		return nil
	}
	child := &childWrite{Write: w, life: life, found: found.Object, child: found.Object}
	if w.Verb == audit.VerbPatch {
		asked = c.patched(w, found.Object)
	}
	switch {
	case w.Verb == audit.VerbDelete:
		child.changes = []audit.Change{{Verb: audit.Ends}}
	case asked != nil && asked.UID == found.UID:
		child.child = asked
		version := &audit.Version{Object: asked, By: w, Before: found}
		child.changes = slices.Concat(audit.ContentChanges(found.Object, asked), c.owning(w, version), c.leaving(version), c.telling(version))
	}
	if len(child.changes) == 0 {
		return nil
	}
	return child
}

// target returns what a denied request was about: the version that it says, or the only one that there was.
func (c *checker) target(w *audit.Write, asked *audit.Object) (*audit.Life, *audit.Version) {
	for _, l := range c.byName[kinds[w.Resource]+"/"+w.Namespace+"/"+w.Name] {
		if l.First().Kind != kinds[w.Resource] || !l.First().By.Answered.Before(w.Received) || l.GoneBefore(w.Answered) {
			continue
		}
		current := l.Current(w.Received, w.Answered)
		for _, i := range current {
			if v := l.Versions[i]; len(current) == 1 || asked != nil && v.Revision == asked.Revision {
				return l, v
			}
		}
	}
	return nil, nil
}

// isSure reports whether the model knows for certain what a request depends on: policies have not changed, and of
// the parent and of all that is above it nothing may be withheld, nor has anybody else said that it is carried out.
func (c *checker) isSure(parent *audit.Life, w *audit.Write) bool {
	to := w.Answered.Add(lag)
	for range deepest {
		// What is just going lets happen what it let happen before, or anything.
		if c.statesOf(parent) == nil || parent.GoneBefore(w.Received.Add(-lag)) || strings.Contains(w.Message, "(Deleting") || c.adopting(parent, to) {
			return false
		}
		clean := c.cleanSince(parent, w)
		if clean < 0 || c.disturbed(parent, parent.Versions[clean].By.Received.Add(-sure), to) {
			return false
		}
		for _, v := range parent.Versions[clean:] {
			if v.By.Received.After(to) {
				break
			}
			reported := v.Before != nil && v.By.User != c.Operator && string(v.RawStatus) != string(v.Before.RawStatus)
			paused, _ := v.At("spec", "paused").(bool)
			if reported && (v.By.Posing || !c.isReport(v)) || v.Deleting || len(v.Owners) > 1 || paused {
				return false
			}
		}
		owner := parent.FoundAt(to).Controller()
		if owner == nil {
			return true
		}
		if parent = c.lives[owner.UID]; parent == nil {
			return false
		}
	}
	return false
}

// cleanSince returns the version of an object since which everything was done to it by who may: its creation, or
// one in which somebody has approved of all of it. It returns a negative number where there is none.
func (c *checker) cleanSince(l *audit.Life, w *audit.Write) int {
	clean := -1
	for i, v := range l.Versions {
		switch {
		case v.By.Received.After(w.Answered.Add(lag)):
			return clean
		case i == 0 && v.By.Creates(), c.approvesAll(l, v) && v.By.Answered.Before(w.Received.Add(-lag)):
			clean = i
		case i > 0 && !c.isProper(l, v):
			clean = -1
		}
	}
	return clean
}

// approvesAll reports whether somebody who may do so with all of an object approves of all of it.
func (c *checker) approvesAll(l *audit.Life, v *audit.Version) bool {
	return !c.rightsTo(l, v).less && !slices.ContainsFunc(v.Writers(), func(w *audit.Write) bool {
		return !v.Approves(w) || !slices.Contains(w.Approved(), "*") || !c.initiates(l, v, w)
	})
}

// isProper reports whether a version changes nothing, or is by who may change all of the object, or of a controller.
func (c *checker) isProper(l *audit.Life, v *audit.Version) bool {
	changes := slices.Concat(
		audit.ContentChanges(v.Before.Object, v.Object), audit.LabelChanges(v.Before.Object, v.Object), audit.OwnerChanges(v.Before.Object, v.Object))
	if len(changes) == 0 {
		return true
	}
	above := v.Controller()
	return !c.rightsTo(l, v).less && !slices.ContainsFunc(v.Writers(), func(w *audit.Write) bool {
		return !c.initiates(l, v, w) && (w.Posing || above == nil || w.User != controllers[above.Kind])
	})
}

// surelyNot reports whether nothing lets a change of a child through, in no version of the parent that the operator may go by:
// it would be found if it had passed.
func (c *checker) surelyNot(w *childWrite, parent *audit.Life) bool {
	from, to := w.Received.Add(-lag), w.Answered
	kind := parent.First().Kind
	governing := c.rulesOf(parent).During(kind, parent.FoundAt(to).Controller() != nil, from, to)
	return len(governing) > 0 && !c.adopting(parent, to) && !c.disturbed(parent, from.Add(-policylog.Moment), to) &&
		c.byPhase(w, parent, c.rulesOf(parent).Ever(kind, from, to), from, to) == ""
}

// surely returns what lets a change of a child through in each version of the parent that there was between the request
// and its answer, or nothing. Where the parent may have strays it depends on these.
func (c *checker) surely(w *childWrite, parent *audit.Life) string {
	for _, adopted := range c.strays {
		if adopted.by == parent.UID {
			return ""
		}
	}
	w.strict = true
	kind := parent.First().Kind
	governing := c.rulesOf(parent).During(kind, parent.FoundAt(w.Answered).Controller() != nil, w.Received.Add(-lag), w.Answered.Add(lag))
	states, why := c.statesOf(parent), ""
	for _, i := range parent.Current(w.Received, w.Answered) {
		if v := parent.Versions[i]; v.Kind == kinds[jobs] && settled(v) {
			return "" // Whatever is changed of a Job that has ended, it makes nothing any more.
		}
		why = ""
		for _, p := range governing {
			found := c.byPolicy(w, parent.Versions[i], states[i], p)
			if found == initializing || !states[i].initializing && (found == covered || found == maintaining) {
				why = found
			}
		}
		if why == "" {
			return ""
		}
	}
	return why
}

// forgotten reports whether an operator was started before a request within the seconds in which the one before it may
// not have written down what it had decided of the present generation of an object.
func forgotten(l *audit.Life, started []time.Time, at time.Time) bool {
	generation := l.FoundAt(at).Generation
	return slices.ContainsFunc(l.Versions, func(v *audit.Version) bool {
		return v.Generation == generation && slices.ContainsFunc(started, func(t time.Time) bool {
			// It says the second.
			return t.Before(at) && t.After(v.By.Received.Add(-time.Second)) && t.Before(v.By.Answered.Add(unwritten+time.Second))
		})
	})
}
