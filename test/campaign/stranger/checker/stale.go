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
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/policylog"
)

// Stale says that a record tells of its object as it is.
const Stale Promise = "a record that tells of its object as it is not"

const (
	// outdated is for how long a record may tell of an object as it was.
	outdated = 12 * time.Second
	// prompt is for how long a record may tell nothing of the end of its object, which nothing else has to be known for.
	prompt = 8 * time.Second
	// written is how long after a time that a record says it may be written.
	written = 20 * time.Second
)

// mirrored is what a record says of its object.
type mirrored struct {
	Phase         string            `json:"phase"`
	Active        []json.RawMessage `json:"active"`
	PendingGrants []json.RawMessage `json:"pendingGrants"`
	Blocked       *struct {
		Since    time.Time `json:"since"`
		Withheld []string  `json:"withheld"`
	} `json:"blocked"`
	Strays  []noted     `json:"strays"`
	History []happening `json:"history"`
}

// checkRecords looks for records that say for long what is not so: in which phase their object is, what it is allowed, and
// that it waits for what has come; for strays that they forget; and for times at which nothing happened.
func (c *checker) checkRecords() {
	if c.Said == "" || !c.Whole || len(c.Log.Writes) == 0 {
		return
	}
	end := c.Log.Writes[len(c.Log.Writes)-1].Answered
	for _, record := range c.all {
		if record.First().Kind != kinds[records] {
			continue
		}
		uid, _ := record.First().At("spec", "targetRef", "uid").(string)
		told := toldBy(record, c.Operator)
		if c.lives[types.UID(uid)] != nil || controllers[targetKind(record)] == "" {
			c.checkTimes(record, told) // Of what was never stored it is told when that is certain.
			c.checkHistory(record, told)
		}
		if l := c.lives[types.UID(uid)]; l != nil && controllers[l.First().Kind] != "" {
			c.checkForgotten(record, l, told)
			c.checkStale(record, l, told, end)
		}
	}
}

// targetKind returns the kind of what a record is about.
func targetKind(record *audit.Life) string {
	kind, _ := record.First().At("spec", "targetRef", "kind").(string)
	return kind
}

// saying is a version of a record, with what it says.
type saying struct {
	*audit.Version
	mirrored
}

// toldBy returns the versions of a record that the operator wrote.
func toldBy(record *audit.Life, operator string) []saying {
	var out []saying
	for _, v := range record.Versions {
		s := saying{Version: v}
		if len(v.RawStatus) > 0 && v.By.User == operator && json.Unmarshal(v.RawStatus, &s.mirrored) == nil {
			out = append(out, s)
		}
	}
	return out
}

// entries returns the allowances that a record lists.
func (s *saying) entries() []entry {
	out := make([]entry, 0, len(s.Active))
	for _, raw := range s.Active {
		var e entry
		if json.Unmarshal(raw, &e) == nil {
			out = append(out, e)
		}
	}
	return out
}

// checkTimes looks for new entries of a history whose time is not that of anything which has just happened: an operator that was
// just started has to catch up.
func (c *checker) checkTimes(record *audit.Life, told []saying) {
	known := map[string]bool{}
	for i := range told {
		s := &told[i]
		for _, e := range s.History {
			// What is folded has the time of the last of its parts.
			key := e.Event + e.Time.String()
			if known[key] {
				continue
			}
			known[key] = true
			// What went with something else went when the end of that was asked for.
			late := e.Event != deletions && s.By.Received.Sub(e.Time) > written && (i > 0 || e.FirstTime == nil) && !c.startedIn(e.Time, s.By.Received)
			if early := e.Time.Sub(s.By.Answered) > near; early || late {
				c.findf(Stale, s.By.Received, record, nil, "its history says %s at %s, and was written at %s", e.Event, e.Time.Format(audit.Clock), s.By.Received.Format(audit.Clock))
			}
		}
	}
}

// startedIn reports whether an operator was started in an interval, or shortly before.
func (c *checker) startedIn(from, to time.Time) bool {
	return slices.ContainsFunc(c.started, func(t time.Time) bool { return t.After(from.Add(-beginning)) && t.Before(to) })
}

// checkForgotten looks for strays of which a record ceases to tell although they are there, below the same object, and nobody has
// approved of who owns them.
func (c *checker) checkForgotten(record, l *audit.Life, told []saying) {
	for i := 1; i < len(told); i++ {
		for _, s := range told[i-1].Strays {
			child := c.lives[s.UID]
			if child == nil || slices.ContainsFunc(told[i].Strays, func(n noted) bool { return n.UID == s.UID }) {
				continue
			}
			at := told[i].By.Received
			from := s.Time.Add(-lag)
			above := child.FoundAt(at).Controller()
			// What was asked for later than it was written is no reason.
			if child.GoneBefore(at) || !child.Asked.IsZero() && child.Asked.Before(at) || above == nil || above.UID != l.UID || l.GoneBefore(at) ||
				child.FoundAt(at).Deleting || c.disturbed(l, from, at.Add(lag)) || c.mayBeNoStray(child, l, from, at.Add(lag)) {
				continue
			}
			c.findf(Stale, at, record, child, "it ceases to tell of %s as a stray, which nobody has approved of", child)
		}
	}
}

// mayBeNoStray reports whether a child may have ceased to be a stray in an interval: somebody who may has approved of its owners, or
// it was taken out of its parent, and back.
func (c *checker) mayBeNoStray(child, l *audit.Life, from, to time.Time) bool {
	return slices.ContainsFunc(child.Versions, func(v *audit.Version) bool {
		if v.By.Received.Before(from) || v.By.Received.After(to) {
			return false
		}
		return v.Before != nil && controls(l, v.Before) && !controls(l, v) || v.ApprovesOwners() && c.isApproved(child, v)
	})
}

// controls reports whether an object controls a version of a child.
func controls(l *audit.Life, v *audit.Version) bool {
	above := v.Controller()
	return above != nil && above.UID == l.UID
}

// checkStale looks for what a record says for long otherwise than its object is.
func (c *checker) checkStale(record, l *audit.Life, told []saying, end time.Time) {
	since, found := map[string]time.Time{}, map[string]bool{}
	for i := range told {
		from, to := told[i].By.Answered, end
		if i+1 < len(told) {
			to = told[i+1].By.Received
		}
		for _, v := range l.Versions {
			begin, until := v.By.Answered, v.Until
			if !v.Deleting {
				until = lastOf(l, v, end)
			}
			if begin.Before(from) {
				begin = from
			}
			if until.After(to) {
				until = to
			}
			if !begin.Before(until) {
				continue
			}
			last, going := c.lasting(v, told[i].entries()), isGoing(v, &told[i])
			wrong := slices.Concat(c.wrong(l, v, &told[i]), last, going)
			maps.DeleteFunc(since, func(key string, _ time.Time) bool { return !slices.Contains(wrong, key) })
			for _, key := range wrong {
				if _, known := since[key]; !known {
					since[key] = begin
				}
				late, promise := outdated, Stale
				if slices.Contains(going, key) {
					late = prompt
				}
				if slices.Contains(last, key) {
					late, promise = quiet+tardy, Outlived
					since[key] = c.quietSince(l, since[key], until)
				}
				if at := c.tooLongFor(l, since[key], until, late); !at.IsZero() && !found[key] && !l.GoneBefore(at) {
					found[key] = true
					c.findf(promise, at, record, l, "it says since %s that %s", since[key].Format(audit.Clock), key)
				}
			}
		}
	}
}

// isGoing returns what a record says of the phase of a version that is being deleted, where that is another one.
func isGoing(v *audit.Version, s *saying) []string {
	if !v.Deleting || s.Phase == "" || s.Phase == deletingPhase {
		return nil
	}
	return []string{fmt.Sprintf("its phase is %s, and it is being deleted: %t", s.Phase, v.Deleting)}
}

// deletingPhase is that of what is being deleted.
const deletingPhase = "Deleting"

// wrong returns what a record says of a version otherwise than it is.
func (c *checker) wrong(l *audit.Life, v *audit.Version, s *saying) []string {
	var out []string
	had, initializing, paths := map[string]bool{}, false, []string{}
	addEntries(had, ledgerOf(v.Object))
	for _, raw := range s.Active {
		var e entry
		if json.Unmarshal(raw, &e) != nil {
			continue
		}
		n := len(e.Trace)
		initializing = initializing || n > 0 && e.Trace[n-1].Field == created && e.Relation != withheldRelation
		if len(s.PendingGrants) == 0 && !had[canonical(raw, false)] {
			out = append(out, fmt.Sprintf("it has %s %s of %s by %s, which its ledger has no more", e.Relation, e.Mutation, e.Kind, e.Initiator))
		}
	}
	switch {
	case !v.Deleting && s.Phase == deletingPhase:
		out = append(out, fmt.Sprintf("its phase is %s, and it is being deleted: %t", s.Phase, v.Deleting))
	case !v.Deleting && initializing != (s.Phase == "Initializing") && s.Phase != "":
		out = append(out, fmt.Sprintf("its phase is %s, and it has allowances of its creation: %t", s.Phase, initializing))
	}
	if s.Blocked == nil {
		return out
	}
	for _, e := range entriesOf(v) {
		if e.Relation == withheldRelation {
			paths = append(paths, e.Mutation)
		}
	}
	for _, path := range s.Blocked.Withheld {
		if !slices.Contains(paths, path) && len(s.PendingGrants) == 0 {
			out = append(out, "it waits for an approval of "+path+", which is withheld no more")
		}
	}
	paused, _ := v.At("spec", "paused").(bool)
	if slices.Contains(reporting, v.Kind) && settled(v) && settledAt(v, v.Generation) && c.isReported(v) && !paused && c.isMeant(l, v) {
		out = append(out, "it waits, which has settled")
	}
	return out
}

// isMeant reports whether policies leave it to what a controller reports when an object has settled, or say the same.
func (c *checker) isMeant(l *audit.Life, v *audit.Version) bool {
	used, written := c.consumed(l, v, v.Generation)
	return (used || !written) && len(c.rulesOf(l).During(v.Kind, v.Controller() != nil, v.By.Answered.Add(-policylog.Moment), v.By.Answered)) > 0
}
