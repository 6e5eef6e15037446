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
	"slices"
	"time"

	"kausality.io/operator/test/campaign/audit"
)

// deed is what a record says that somebody did: to the object, or to a child of a kind.
type deed struct {
	Event     string    `json:"event"`
	User      string    `json:"user"`
	Operation string    `json:"operation"`
	Kind      string    `json:"kind"`
	Names     []string  `json:"names"`
	Time      time.Time `json:"time"`
	// FirstTime is that of the first of several fields that share an entry.
	FirstTime *time.Time `json:"firstTime"`
	Trace     []hop      `json:"trace"`
	Initiator string     `json:"initiator"`
}

// Events of a history that are told apart.
const (
	denials   = "Denied"
	deletions = "Deleted"
	exercised = "Exercised"
	grants    = "Granted"
	ends      = "Consumed"

	withholdings = "Withheld"
)

// near is how far the time of an entry, which is in seconds, may be from that of its request.
const near = 2 * time.Second

// checkStory looks whether those whom a version of a record names have asked for what it says, once for each that
// is not known.
func (c *checker) checkStory(l *audit.Life, v *audit.Version, known map[string]bool) {
	var status struct {
		History      []deed    `json:"history"`
		Deletion     *deed     `json:"deletion"`
		LastDenial   *decision `json:"lastDenial"`
		LastDecision *decision `json:"lastDecision"`
	}
	if len(v.RawStatus) == 0 {
		return // It was just made.
	}
	if err := json.Unmarshal(v.RawStatus, &status); err != nil {
		c.findf(Forged, v.By.Received, l, nil, "its status does not parse, as %s left it: %v", v.By, err)
		return
	}
	all := status.History
	if status.Deletion != nil {
		status.Deletion.Event = deletions
		all = append(all, *status.Deletion)
	}
	for event, last := range map[string]*decision{denials: status.LastDenial, "Decided": status.LastDecision} {
		if last != nil {
			last.Event, last.Names = event, []string{last.Name}
			all = append(all, last.deed)
		}
	}
	target, _ := v.At("spec", "targetRef").(map[string]any)
	kind, _ := target["kind"].(string)
	name, _ := target["name"].(string)
	for i := range all {
		d := &all[i]
		raw, err := json.Marshal(d)
		if err != nil || known[string(raw)] {
			continue
		}
		known[string(raw)] = true
		c.checkInitiator(l, v, d)
		if d.User == "" || d.User == c.Operator {
			continue
		}
		c.report.Entries++
		if d.Kind == "" {
			d.Kind, d.Names = kind, []string{name}
		}
		if !slices.ContainsFunc(c.byUser[d.User], func(w *audit.Write) bool { return !c.Whole || d.isOf(w, v) }) {
			c.findf(Forged, v.By.Received, l, nil, "its record says %s of %s (%s %s) at %s, who has asked for nothing like it",
				d.Event, d.User, d.Operation, d.Kind, d.Time.Format(audit.Clock))
		}
	}
}

// checkInitiator looks whether the one whom an entry names as its initiator has begun what its trace says.
func (c *checker) checkInitiator(l *audit.Life, v *audit.Version, d *deed) {
	if d.Event == deletions || d.Initiator == "" || len(d.Trace) == 0 || !c.Whole || slices.ContainsFunc(c.named(v, d.Trace), func(o *audit.Life) bool { return c.ungoverned(o, d.Trace[0].Generation) }) {
		return
	}
	c.report.Entries++
	// The request that was asked about may have found another generation in the end, as others may have been stored since it
	// was asked about first, or a scale that nothing was left to do.
	scales := slices.Equal(fieldPath(d.Trace[0].Field), numbers) && slices.ContainsFunc(c.byUser[d.Initiator], func(w *audit.Write) bool {
		return w.Subresource == audit.SubScale && w.Name == d.Trace[0].Name
	})
	if !scales && !c.inVain(v, d) && !slices.ContainsFunc([]int64{0, 1, -1, 2, 3}, func(off int64) bool {
		e := &entry{Initiator: d.Initiator, Trace: slices.Clone(d.Trace)}
		e.Trace[0].Generation += off
		return c.began(v, e)
	}) {
		c.findf(Forged, v.By.Received, l, nil, "its record says %s of what %s began by %s, which the log does not have", d.Event, d.Initiator, way(d.Trace))
	}
}

// inVain reports whether an entry may tell of what an initiator was granted, and what came to nothing: the object had gone
// meanwhile, or was another one.
func (c *checker) inVain(v *audit.Version, d *deed) bool {
	first := deed{Kind: d.Trace[0].Kind, Names: []string{d.Trace[0].Name}}
	namespace := d.Trace[0].in(v)
	since := d.Time.Add(-near)
	if d.Event == ends {
		since = d.Time.Add(-time.Minute)
	}
	return (d.Event == grants || d.Event == ends) && slices.ContainsFunc(c.byUser[d.Initiator], func(w *audit.Write) bool {
		return !w.Succeeded() && !refusal.MatchString(w.Message) && first.isAbout(w, namespace) &&
			!w.Received.After(d.Time.Add(near)) && !w.Answered.Before(since)
	})
}

// ungoverned reports whether no policy was in effect for certain for a generation of an object, or one came or went: nobody knows
// then by what it was judged.
func (c *checker) ungoverned(l *audit.Life, generation int64) bool {
	return slices.ContainsFunc(l.Versions, func(v *audit.Version) bool {
		from, to := v.By.Received.Add(-lag), v.By.Answered
		return v.Generation == generation && (c.disturbed(l, from, to) || len(c.rulesOf(l).During(v.Kind, true, from, to)) == 0)
	})
}

// isOf reports whether an entry that a version of a record has may be of a request.
func (d *deed) isOf(w *audit.Write, v *audit.Version) bool {
	if w.Received.After(v.By.Answered) {
		return false
	}
	if w.Received.After(d.Time.Add(near)) {
		return false
	}
	if d.Event == deletions {
		// It is noted while the request is answered, and of several by the same user the first counts, below it as well.
		return w.Removes() && !w.Answered.Before(d.Time.Add(-near)) && (d.isAbout(w, v.Namespace) || slices.ContainsFunc(d.Trace, func(h hop) bool {
			above := deed{Kind: h.Kind, Names: []string{h.Name}}
			return above.isAbout(w, h.in(v))
		}))
	}
	if !d.isAbout(w, v.Namespace) {
		return false
	}
	if d.Operation == "" {
		return true // The operator has found it when it was back.
	}
	// The API server may ask again about what its cache had otherwise.
	again := w.Removes() || w.Uncovered
	if d.Event == exercised && refusal.MatchString(w.Message) {
		return false
	}
	// Of what is withheld it is told anew, in the name of who changed it, when somebody else changes what is beside it.
	since := d.Time
	if d.Event == grants && d.FirstTime != nil {
		// What was granted for one generation shares an entry, also where a scale and an approval came one after the other.
		since = *d.FirstTime
	}
	early := d.Event != withholdings && w.Answered.Before(since.Add(-near))
	if early || d.Event == denials && w.Succeeded() && !again {
		return false
	}
	switch d.Operation {
	case "Delete":
		return w.Verb == audit.VerbDelete || w.Verb == audit.VerbDeleteCollection
	case "Eviction":
		return w.Subresource == audit.SubEviction
	case "Scale":
		return w.Subresource == audit.SubScale
	case "Create":
		return w.Verb == audit.VerbCreate || w.Verb == audit.VerbPatch // Applying creates, too.
	}
	return !w.Removes()
}

// in returns the namespace of the object of a hop in a record of a version: that of the object of the record where none is named.
func (h *hop) in(v *audit.Version) string {
	if h.Namespace != "" {
		return h.Namespace
	}
	return v.Namespace
}

// isAbout reports whether a request is about an object of a namespace that an entry names. A name that the API server chose is not
// known of what was denied, nor are those in a collection.
func (d *deed) isAbout(w *audit.Write, namespace string) bool {
	return w.Namespace == namespace && audit.Plain(kinds[w.Resource]) == d.Kind && (w.Name == "" || w.Verb == audit.VerbDeleteCollection || slices.Contains(d.Names, w.Name))
}
