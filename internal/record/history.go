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

package record

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
)

const (
	// maxHistory is how many entries a history has.
	maxHistory = 32
	// maxHistoryBytes is how long they may be all together. An entry is a few
	// hundred bytes, unless its trace carries long attestations.
	maxHistoryBytes = 64 << 10
	// maxNames is how many children an entry names.
	maxNames = 16
	// repetition is how soon something has to happen again to be counted rather than
	// told anew. Controllers that are refused try again at least every 17 minutes.
	repetition = time.Hour
)

// WithHistory adds entries, in the order in which they happened, to a history
// that has the newest first.
func WithHistory(history []v1alpha1.HistoryEntry, entries ...v1alpha1.HistoryEntry) []v1alpha1.HistoryEntry {
	if len(entries) == 0 {
		return history
	}
	history = slices.Clone(history)
	for _, e := range entries {
		e = shortened(e)
		at := slices.IndexFunc(history, func(old v1alpha1.HistoryEntry) bool { return repeats(e, old) })
		for at >= 0 {
			e = together(history[at], e)
			history = slices.Delete(history, at, at+1)
			// What is folded is about more fields than one, each of which may have an entry.
			at = slices.IndexFunc(history, func(old v1alpha1.HistoryEntry) bool { return IsFolded(&e) && repeats(e, old) })
		}
		history = inserted(history, e)
	}
	history = folded(history)
	return history[:room(history)]
}

// room returns how many entries of a history, the newest, are within its bounds.
func room(history []v1alpha1.HistoryEntry) int {
	most, size := min(len(history), maxHistory), 0
	for i := range most {
		if size += sizeOf(&history[i]); size > maxHistoryBytes {
			return i
		}
	}
	return most
}

// inserted adds an entry to a history, before those of the same time.
func inserted(history []v1alpha1.HistoryEntry, e v1alpha1.HistoryEntry) []v1alpha1.HistoryEntry {
	place := slices.IndexFunc(history, func(old v1alpha1.HistoryEntry) bool { return !old.Time.After(e.Time.Time) })
	if place < 0 {
		place = len(history)
	}
	return slices.Insert(history, place, e)
}

// oldestFirst turns a history round, into the order in which it happened.
func oldestFirst(history []v1alpha1.HistoryEntry) []v1alpha1.HistoryEntry {
	out := slices.Clone(history)
	slices.Reverse(out)
	return out
}

// repeats reports whether an entry tells of the same as an older one. What happens
// to a child is the same where all is but the time, the child's name, and the
// message, which has the name. What happens to the ledger is, where its cause is.
func repeats(e, old v1alpha1.HistoryEntry) bool {
	if (IsFolded(&e) || IsFolded(&old)) && sameWrite(&e, &old) {
		return true
	}
	if e.Event != old.Event || !sameChain(e, old) {
		return false
	}
	if aboutLedger(e.Event) {
		return true
	}
	between := e.Time.Sub(old.Time.Time).Abs()
	return between < repetition && equality.Semantic.DeepEqual(essence(e), essence(old))
}

func aboutLedger(event v1alpha1.HistoryEvent) bool {
	switch event {
	case v1alpha1.EventGranted, v1alpha1.EventWithheld, v1alpha1.EventReleased, v1alpha1.EventConsumed, v1alpha1.EventDeleted:
		return true
	default:
		return false
	}
}

func essence(e v1alpha1.HistoryEntry) v1alpha1.HistoryEntry {
	e.Time, e.FirstTime, e.Count = metav1.Time{}, nil, 0
	e.Names, e.Message, e.Trace = nil, "", nil
	e.Versions = slices.Clone(e.Versions)
	for i := range e.Versions {
		e.Versions[i].PodCreated = nil // A restart is no other version.
	}
	return e
}

// together makes one entry of two that tell of the same.
func together(old, e v1alpha1.HistoryEntry) v1alpha1.HistoryEntry {
	if IsFolded(&e) || IsFolded(&old) {
		return fold(old, e)
	}
	if aboutLedger(e.Event) {
		return nextStep(old, e)
	}
	if e.Time.Before(&old.Time) {
		old, e = e, old
	}
	e = counted(old, e)
	e.Names = slices.Clone(e.Names)
	for _, name := range old.Names {
		if len(e.Names) < maxNames && !slices.Contains(e.Names, name) {
			e.Names = append(e.Names, name)
		}
	}
	return e
}

// counted returns an entry that happened once more than an older one.
func counted(old, e v1alpha1.HistoryEntry) v1alpha1.HistoryEntry {
	first := old.Time
	for _, other := range []*metav1.Time{old.FirstTime, e.FirstTime} {
		if other != nil && other.Before(&first) {
			first = *other
		}
	}
	e.FirstTime = &first
	e.Count = max(old.Count, 1) + max(e.Count, 1)
	return e
}

// nextStep makes one entry of two that tell of the ledger, where a cause further up has
// made its target change several times. Admission tells of each change, and the watch
// where admission's word was lost.
func nextStep(old, e v1alpha1.HistoryEntry) v1alpha1.HistoryEntry {
	switch {
	case step(e) > step(old):
		return counted(old, e)
	case step(e) == step(old) && old.Operation == "" && e.Operation != "":
		e.FirstTime, e.Count = old.FirstTime, old.Count
		return e
	default:
		return old
	}
}

// sizeOf is about how long an entry is, in bytes: its texts, and something for all that
// is not text. It is asked at each change of a history, and encodes nothing.
func sizeOf(e *v1alpha1.HistoryEntry) int {
	const around, each = 256, 8
	size := around + len(e.Message) + len(e.User) + len(e.Initiator) + len(e.Reason) + len(e.Kind) + len(e.Namespace)
	for _, texts := range [][]string{e.Names, e.Paths, e.Policies, e.ChildInitiators, e.LettingGo} {
		for _, text := range texts {
			size += len(text) + each
		}
	}
	for i := range e.Versions {
		size += around + len(e.Versions[i].Version)
	}
	for i := range e.Trace {
		hop := &e.Trace[i]
		size += around + len(hop.Kind) + len(hop.Name) + len(hop.Namespace) + len(hop.Field)
		for path, value := range hop.Attestations {
			size += len(path) + len(value) + each
		}
	}
	return size
}

// entryOf returns a decision about a child, as the history tells it.
func entryOf(d v1alpha1.Decision) v1alpha1.HistoryEntry {
	e := v1alpha1.HistoryEntry{
		Time: d.Time, Event: v1alpha1.HistoryEvent(d.Result), User: d.User, Operation: d.Operation, Reason: d.Reason,
		Kind: d.Kind, Namespace: d.Namespace, Paths: d.Paths, Initiator: d.Initiator, Trace: d.Trace, Policies: d.Policies,
		Message: d.Message, Versions: d.Versions, ChildInitiators: d.ChildInitiators, LettingGo: d.LettingGo,
	}
	switch {
	case d.Result == ResultBrokeGlass:
		e.Event = v1alpha1.EventBreakGlass
	case d.Result == ResultAllowed && len(d.Trace) > 0:
		e.Event = v1alpha1.EventExercised
	}
	if d.Name != "" {
		e.Names = []string{d.Name}
	}
	return e
}

// Since returns when what an entry tells of happened first.
func Since(e *v1alpha1.HistoryEntry) *metav1.Time {
	if e.FirstTime != nil {
		return e.FirstTime
	}
	return &e.Time
}

// byCause returns a decision as the history tells it: once for each of several causes, as who looks for the way back
// from a field finds another person, or none, behind that of the first.
func byCause(d v1alpha1.Decision, causes []Cause) []v1alpha1.HistoryEntry {
	first := entryOf(d)
	if len(causes) < 2 {
		return []v1alpha1.HistoryEntry{first}
	}
	out := make([]v1alpha1.HistoryEntry, 0, len(causes))
	for _, c := range causes[1:] {
		first.Paths = slices.DeleteFunc(slices.Clone(first.Paths), func(path string) bool { return slices.Contains(c.Paths, path) })
		e := entryOf(d)
		e.Initiator, e.Trace, e.Paths = c.Initiator, c.Trace, c.Paths
		out = append(out, e)
	}
	return append(out, first)
}

// DeletedEntry returns the deletion of the target, as its history tells it.
func DeletedEntry(d *v1alpha1.Deletion) v1alpha1.HistoryEntry {
	return v1alpha1.HistoryEntry{
		Time: d.Time, Event: v1alpha1.EventDeleted, User: d.User, Initiator: d.Initiator, Trace: d.Trace, Policies: d.Policies,
	}
}
