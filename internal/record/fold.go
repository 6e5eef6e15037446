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
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
)

// maxFields is how many fields an entry about a whole write names: as many as a ledger has entries.
const maxFields = 64

// isOfFields reports whether each entry of an event is about one field of a write, or, folded, about several.
func isOfFields(event v1alpha1.HistoryEvent) bool {
	return aboutLedger(event) && event != v1alpha1.EventDeleted
}

// IsFolded reports whether an entry tells of several fields of one write.
func IsFolded(e *v1alpha1.HistoryEntry) bool { return isOfFields(e.Event) && len(e.Paths) > 1 }

// sameOrigin reports whether two entries come from the same write, whatever fields of it they are about and
// whatever is attested to about these. Below the first object of a chain, all steps are one. A scale and an approval have the
// same generation, and are two writes.
func sameOrigin(a, b *v1alpha1.HistoryEntry) bool {
	last := len(a.Trace) - 1
	if last < 0 || last != len(b.Trace)-1 || a.Initiator != b.Initiator || a.Reason != b.Reason ||
		a.User != b.User && a.User != "" && b.User != "" || a.Operation != b.Operation && a.Operation != "" && b.Operation != "" {
		return false
	}
	end := b.Trace[last]
	end.Field, end.Attestations = a.Trace[last].Field, a.Trace[last].Attestations
	if last > 0 {
		end.Generation = a.Trace[last].Generation
	}
	return sameHop(a.Trace[last], end) && slices.EqualFunc(a.Trace[:last], b.Trace[:last], sameHop)
}

// sameWrite reports whether two entries tell of the same event of the same write.
func sameWrite(a, b *v1alpha1.HistoryEntry) bool {
	return a.Event == b.Event && isOfFields(a.Event) && sameOrigin(a, b)
}

// tellsFields reports whether an entry tells of all fields that another one is about.
func tellsFields(old, e *v1alpha1.HistoryEntry) bool {
	return sameWrite(e, old) && !slices.ContainsFunc(e.Paths, func(path string) bool { return !slices.Contains(old.Paths, path) })
}

// fieldsOf returns an entry for each field that one tells of. Where there are several, it is not known any more to
// which of them an attestation belongs.
func fieldsOf(e *v1alpha1.HistoryEntry) []v1alpha1.HistoryEntry {
	if !IsFolded(e) || len(e.Trace) == 0 {
		return []v1alpha1.HistoryEntry{*e}
	}
	out := make([]v1alpha1.HistoryEntry, 0, len(e.Paths))
	for _, path := range e.Paths {
		one := *e
		one.Paths = []string{path}
		one.Trace = slices.Clone(e.Trace)
		one.Trace[len(one.Trace)-1].Field = path
		out = append(out, one)
	}
	return out
}

// fold makes one entry of two that tell of the same event of the same write.
func fold(old, e v1alpha1.HistoryEntry) v1alpha1.HistoryEntry {
	out := nextStep(old, e)
	if !tellsFields(&old, &e) {
		first, last := old.Time, e.Time
		if last.Before(&first) {
			first, last = last, first
		}
		if out.Time = last; out.FirstTime == nil && first.Before(&last) {
			out.FirstTime = &first
		}
	}
	out.Count = max(out.Count, old.Count, e.Count)
	out.Paths = union(old.Paths, e.Paths, maxFields)
	out.Message = strings.Join(union(parts(old.Message), parts(e.Message), maxFields), partEnd)
	out.Trace = slices.Clone(out.Trace)
	out.Trace[len(out.Trace)-1].Attestations = attested(old, e)
	return shortened(out)
}

// partEnd is between what one allowance permits and the next, in a message.
const partEnd = "; "

func parts(message string) []string {
	if message == "" {
		return nil
	}
	return strings.Split(message, partEnd)
}

// union returns what is in either list, at most so many.
func union(a, b []string, most int) []string {
	out := slices.Clone(a)
	for _, text := range b {
		if len(out) < most && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// attested returns what the last hops of two entries attest to. All is of the same object after the same write.
func attested(old, e v1alpha1.HistoryEntry) map[string]string {
	a, b := old.Trace[len(old.Trace)-1].Attestations, e.Trace[len(e.Trace)-1].Attestations
	if len(b) == 0 {
		return a
	}
	out := maps.Clone(a)
	if out == nil {
		out = map[string]string{}
	}
	for _, path := range slices.Sorted(maps.Keys(b)) {
		if _, has := out[path]; has || len(out) < max(maxItems, len(b)) {
			out[path] = b[path]
		}
	}
	return out
}

// folded returns a history in which the fields of a write share an entry where there is no room for one each: the write
// of the most entries first. What one write leaves would drive all else out otherwise, and everybody may write 40 fields.
// The rest goes by age alone: the end of something is younger than its beginning, and would be told anew without it.
func folded(history []v1alpha1.HistoryEntry) []v1alpha1.HistoryEntry {
	for room(history) < len(history) {
		widest, most := -1, 1
		for i := len(history) - 1; i >= 0; i-- {
			if n := entriesOf(history, &history[i]); n > most {
				widest, most = i, n
			}
		}
		if widest < 0 {
			break
		}
		e := history[widest]
		rest := make([]v1alpha1.HistoryEntry, 0, len(history))
		for i := len(history) - 1; i >= 0; i-- {
			switch {
			case i == widest:
			case sameWrite(&history[i], &e):
				e = fold(e, history[i])
			default:
				rest = append(rest, history[i])
			}
		}
		slices.Reverse(rest)
		history = inserted(rest, e)
	}
	return history
}

// entriesOf counts the entries that tell of the same event of the same write as one of them.
func entriesOf(history []v1alpha1.HistoryEntry, e *v1alpha1.HistoryEntry) int {
	n := 0
	for i := range history {
		if sameWrite(&history[i], e) {
			n++
		}
	}
	return n
}

// over returns the end of what was granted of which a history does not tell yet, as far as nothing of it is held any
// more; nil where there is none.
func over(granted *v1alpha1.HistoryEntry, at metav1.Time, isKnown func(*v1alpha1.HistoryEntry) bool) *v1alpha1.HistoryEntry {
	var out *v1alpha1.HistoryEntry
	for _, one := range fieldsOf(granted) {
		one = v1alpha1.HistoryEntry{
			Time: at, Event: v1alpha1.EventConsumed, Initiator: one.Initiator, Trace: one.Trace, Paths: one.Paths, Message: one.Message,
		}
		if isKnown(&one) {
			continue
		}
		if out != nil {
			one = fold(*out, one)
		}
		out = &one
	}
	return out
}
