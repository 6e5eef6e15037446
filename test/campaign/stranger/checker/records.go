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
	Trace     []hop     `json:"trace"`
}

// Events of a history that are told apart.
const (
	denials   = "Denied"
	deletions = "Deleted"
)

// near is how far the time of an entry, which is in seconds, may be from that of its request.
const near = 2 * time.Second

// checkStory looks whether those whom a version of a record names have asked for what it says, once for each that
// is not known.
func (c *checker) checkStory(l *audit.Life, v *audit.Version, known map[string]bool) {
	var status struct {
		History  []deed `json:"history"`
		Deletion *deed  `json:"deletion"`
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
	target, _ := v.At("spec", "targetRef").(map[string]any)
	kind, _ := target["kind"].(string)
	name, _ := target["name"].(string)
	for i := range all {
		d := &all[i]
		if d.User == "" || d.User == c.Operator {
			continue
		}
		raw, err := json.Marshal(d)
		if err != nil || known[string(raw)] {
			continue
		}
		known[string(raw)] = true
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

// isOf reports whether an entry that a version of a record has may be of a request.
func (d *deed) isOf(w *audit.Write, v *audit.Version) bool {
	if w.Received.After(v.By.Answered) {
		return false
	}
	if d.Event == deletions {
		return w.Removes() && (d.isAbout(w) || slices.ContainsFunc(d.Trace, func(h hop) bool {
			above := deed{Kind: h.Kind, Names: []string{h.Name}}
			return above.isAbout(w)
		}))
	}
	if !d.isAbout(w) {
		return false
	}
	if d.Operation == "" {
		return true // The operator has found it when it was back.
	}
	// The API server may ask again about what its cache had otherwise.
	again := w.Removes() || w.Uncovered
	if w.Received.After(d.Time.Add(near)) || w.Answered.Before(d.Time.Add(-near)) || d.Event == denials && w.Succeeded() && !again {
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

// isAbout reports whether a request is about an object that an entry names. A name that the API server chose is not
// known of what was denied, nor are those in a collection.
func (d *deed) isAbout(w *audit.Write) bool {
	return audit.Plain(kinds[w.Resource]) == d.Kind && (w.Name == "" || w.Verb == audit.VerbDeleteCollection || slices.Contains(d.Names, w.Name))
}
