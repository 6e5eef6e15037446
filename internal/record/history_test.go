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
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"kausality.io/operator/api/v1alpha1"
)

var historyStart = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func minute(n int) metav1.Time {
	return metav1.NewTime(historyStart.Add(time.Duration(n) * time.Minute))
}

// refusal returns a denied creation of a Pod.
func refusal(at int, name string) v1alpha1.HistoryEntry {
	return v1alpha1.HistoryEntry{
		Time: minute(at), Event: v1alpha1.EventDenied, User: "controller", Operation: "Create", Kind: "Pod",
		Names: []string{name}, Paths: []string{"create"}, Message: "no " + name,
	}
}

func repeated(e v1alpha1.HistoryEntry, first int, count int64, names ...string) v1alpha1.HistoryEntry {
	t := minute(first)
	e.FirstTime, e.Count, e.Names = &t, count, names
	return e
}

func inNamespace(e v1alpha1.HistoryEntry, namespace string) v1alpha1.HistoryEntry {
	e.Namespace = namespace
	return e
}

func byUser(e v1alpha1.HistoryEntry, user string) v1alpha1.HistoryEntry {
	e.User = user
	return e
}

// granted returns a change by alice; told by admission where it says the operation.
func granted(at int, event v1alpha1.HistoryEvent, generation int64, operation string) v1alpha1.HistoryEntry {
	return v1alpha1.HistoryEntry{
		Time: minute(at), Event: event, Operation: operation, Initiator: "alice", Paths: []string{"spec.replicas"},
		Trace: []v1alpha1.TraceHop{{Kind: "Deployment", Name: "web", Generation: generation, Field: "spec.replicas"}},
	}
}

// scaled returns a change by the Deployment controller that follows from one by alice.
func scaled(at int, event v1alpha1.HistoryEvent, generation int64, operation string) v1alpha1.HistoryEntry {
	e := granted(at, event, 5, operation)
	e.Trace = append(e.Trace, v1alpha1.TraceHop{Kind: "ReplicaSet", Name: "web-1", Generation: generation, Field: "spec.replicas"})
	return e
}

// under has a chain begin with another generation of the Deployment.
func under(generation int64, e v1alpha1.HistoryEntry) v1alpha1.HistoryEntry {
	e.Trace = slices.Clone(e.Trace)
	e.Trace[0].Generation = generation
	return e
}

// by has the cause of one entry lead to another.
func by(cause, e v1alpha1.HistoryEntry) v1alpha1.HistoryEntry {
	e.Event, e.Initiator, e.Trace = v1alpha1.EventExercised, cause.Initiator, cause.Trace
	return e
}

func TestWithHistory(t *testing.T) {
	type entries = []v1alpha1.HistoryEntry
	tests := map[string]struct{ history, add, want entries }{
		"the newest is first": {
			history: entries{refusal(1, "a")},
			add:     entries{byUser(refusal(2, "a"), "mallory"), byUser(refusal(0, "a"), "bob")},
			want:    entries{byUser(refusal(2, "a"), "mallory"), refusal(1, "a"), byUser(refusal(0, "a"), "bob")},
		},
		"what is repeated is counted, with the latest message": {
			history: entries{byUser(refusal(2, "x"), "mallory"), refusal(1, "a")},
			add:     entries{refusal(3, "b"), refusal(4, "b"), refusal(5, "a")},
			want:    entries{repeated(refusal(5, "a"), 1, 4, "a", "b"), byUser(refusal(2, "x"), "mallory")},
		},
		"a child of another namespace is another one": {
			history: entries{inNamespace(refusal(2, "a"), "other")},
			add:     entries{refusal(3, "a"), inNamespace(refusal(4, "a"), "other")},
			want:    entries{repeated(inNamespace(refusal(4, "a"), "other"), 2, 2, "a"), refusal(3, "a")},
		},
		"what is told late is counted, too": {
			history: entries{refusal(3, "b")},
			add:     entries{refusal(1, "a")},
			want:    entries{repeated(refusal(3, "b"), 1, 2, "b", "a")},
		},
		"what was long ago is another story": {
			history: entries{refusal(1, "a")},
			add:     entries{refusal(61, "a")},
			want:    entries{refusal(61, "a"), refusal(1, "a")},
		},
		"admission tells of a grant again": {
			history: entries{granted(1, v1alpha1.EventGranted, 5, "Update")},
			add:     entries{granted(2, v1alpha1.EventGranted, 5, "Update")},
			want:    entries{granted(1, v1alpha1.EventGranted, 5, "Update")},
		},
		"admission knows more of a grant than the watch": {
			history: entries{granted(2, v1alpha1.EventGranted, 5, "")},
			add:     entries{granted(1, v1alpha1.EventGranted, 5, "Update")},
			want:    entries{granted(1, v1alpha1.EventGranted, 5, "Update")},
		},
		"the steps of a rollout are one grant": {
			history: entries{scaled(1, v1alpha1.EventGranted, 2, "Update")},
			add:     entries{scaled(2, v1alpha1.EventGranted, 3, "Update"), scaled(3, v1alpha1.EventGranted, 4, "Update")},
			want:    entries{repeated(scaled(3, v1alpha1.EventGranted, 4, "Update"), 1, 3)},
		},
		"the watch tells of a step again, and admission of one before": {
			history: entries{repeated(scaled(3, v1alpha1.EventGranted, 4, "Update"), 1, 3)},
			add:     entries{scaled(5, v1alpha1.EventGranted, 4, ""), scaled(6, v1alpha1.EventGranted, 3, "Update")},
			want:    entries{repeated(scaled(3, v1alpha1.EventGranted, 4, "Update"), 1, 3)},
		},
		"admission knows more of a step than the watch": {
			history: entries{repeated(scaled(3, v1alpha1.EventGranted, 4, ""), 1, 3)},
			add:     entries{scaled(2, v1alpha1.EventGranted, 4, "Update")},
			want:    entries{repeated(scaled(2, v1alpha1.EventGranted, 4, "Update"), 1, 3)},
		},
		"the steps of another cause are another grant": {
			history: entries{scaled(1, v1alpha1.EventGranted, 2, "Update")},
			add:     entries{under(6, scaled(2, v1alpha1.EventGranted, 3, "Update"))},
			want:    entries{under(6, scaled(2, v1alpha1.EventGranted, 3, "Update")), scaled(1, v1alpha1.EventGranted, 2, "Update")},
		},
		"what is done by virtue of the steps is one entry, too": {
			history: entries{by(scaled(1, "", 2, ""), refusal(1, "a"))},
			add:     entries{by(scaled(2, "", 3, ""), refusal(2, "b"))},
			want:    entries{repeated(by(scaled(2, "", 3, ""), refusal(2, "b")), 1, 2, "b", "a")},
		},
		"another change is another grant": {
			history: entries{granted(1, v1alpha1.EventGranted, 5, "Update")},
			add:     entries{granted(2, v1alpha1.EventGranted, 6, "Update")},
			want:    entries{granted(2, v1alpha1.EventGranted, 6, "Update"), granted(1, v1alpha1.EventGranted, 5, "Update")},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, WithHistory(tc.history, tc.add...)); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever is told, a history stays bounded and sorted, and has the newest.
func TestHistoryIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SampledFrom([]string{"", "a", "b", strings.Repeat("x", maxMessage), strings.Repeat("ä", 20*maxMessage)})
		events := rapid.SampledFrom([]v1alpha1.HistoryEvent{v1alpha1.EventDenied, v1alpha1.EventGranted, v1alpha1.EventConsumed})
		var history []v1alpha1.HistoryEntry
		newest := time.Time{}
		for range rapid.IntRange(1, 3*maxHistory).Draw(t, "entries") {
			e := v1alpha1.HistoryEntry{
				Time:    minute(rapid.IntRange(0, 1000).Draw(t, "time")),
				Event:   events.Draw(t, "event"),
				User:    rapid.StringN(0, 3, 3).Draw(t, "user"),
				Message: texts.Draw(t, "message"),
				Paths:   rapid.SliceOfN(texts, 0, 2*maxItems).Draw(t, "paths"),
				Names:   rapid.SliceOfN(texts, 0, 2*maxItems).Draw(t, "names"),
				Trace: []v1alpha1.TraceHop{{
					Generation: rapid.Int64().Draw(t, "generation"), Attestations: map[string]string{"a": texts.Draw(t, "attestation")},
				}},
			}
			history = WithHistory(history, e)
			if !aboutLedger(e.Event) && e.Time.After(newest) {
				newest = e.Time.Time
			}
			for i := range history {
				if i > 0 && history[i].Time.After(history[i-1].Time.Time) {
					t.Fatalf("entry %d is newer than the one before", i)
				}
			}
			// Texts without anything to escape are encoded as long as they are.
			raw, err := json.Marshal(history)
			if err != nil {
				t.Fatal(err)
			}
			if len(history) > maxHistory || len(raw) > maxHistoryBytes {
				t.Fatalf("%d entries of %d bytes", len(history), len(raw))
			}
			if history[0].Time.Time.Before(newest) {
				t.Fatalf("the newest entry is of %s, want %s", history[0].Time, newest)
			}
		}
	})
}
