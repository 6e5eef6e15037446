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
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/api/v1alpha1"
)

func TestFollowLedger(t *testing.T) {
	type (
		ledger  = []v1alpha1.Allowance
		entries = []v1alpha1.HistoryEntry
	)
	target := v1alpha1.TargetReference{Kind: "Deployment", Name: "web"}
	entitled := func(generation int64, kind string) v1alpha1.Allowance {
		return v1alpha1.Allowance{
			Kind: kind, Mutation: "spec.replicas", Generation: generation, Initiator: "alice",
			Trace: granted(0, "", generation, "").Trace,
		}
	}
	saying := func(e v1alpha1.HistoryEntry, message string) v1alpha1.HistoryEntry {
		e.Message = message
		return e
	}
	stranger := v1alpha1.Allowance{
		Relation: v1alpha1.RelationWithheld, Mutation: "spec.replicas", Generation: 5, Initiator: "mallory", Replaced: "3",
	}
	withheld := granted(9, v1alpha1.EventWithheld, 5, "")
	withheld.Initiator, withheld.User = "", "mallory"
	released := withheld
	released.Event, released.User = v1alpha1.EventReleased, ""
	told := granted(1, v1alpha1.EventGranted, 5, "Update")

	tests := map[string]struct {
		history      entries
		before, held ledger
		want         entries
	}{
		"nothing": {},
		"a new grant, as one": {
			held: ledger{entitled(5, "ReplicaSet"), entitled(5, "Pod")},
			want: entries{saying(granted(9, v1alpha1.EventGranted, 5, ""), "ReplicaSet spec.replicas; Pod spec.replicas")},
		},
		"the grant of a creation, of anything": {
			held: ledger{{Kind: "*", Mutation: "*", Generation: 5, Initiator: "alice", Trace: told.Trace}},
			want: entries{saying(granted(9, v1alpha1.EventGranted, 5, ""), "anything")},
		},
		"admission has told of it":              {history: entries{told}, held: ledger{entitled(5, "Pod")}, want: entries{told}},
		"it was told, and has left the history": {before: ledger{entitled(5, "Pod")}, held: ledger{entitled(5, "Pod")}},
		"a part of it is over":                  {before: ledger{entitled(5, "Pod"), entitled(5, "Job")}, held: ledger{entitled(5, "Pod")}},
		"it is over": {
			history: entries{told}, before: ledger{entitled(5, "Pod")},
			want: entries{saying(granted(9, v1alpha1.EventConsumed, 5, ""), "Pod spec.replicas"), told},
		},
		"it is over, told before": {
			history: entries{granted(2, v1alpha1.EventConsumed, 5, ""), told}, before: ledger{entitled(5, "Pod")},
			want: entries{granted(2, v1alpha1.EventConsumed, 5, ""), told},
		},
		"it began and ended between two looks": {
			history: entries{told}, want: entries{granted(9, v1alpha1.EventConsumed, 5, ""), told},
		},
		"it is for a generation that has yet to be seen": {
			history: entries{granted(1, v1alpha1.EventGranted, 6, "Update")},
			want:    entries{granted(1, v1alpha1.EventGranted, 6, "Update")},
		},
		"a withheld change":               {held: ledger{stranger}, want: entries{withheld}},
		"a withheld change that stays so": {history: entries{withheld}, before: ledger{stranger}, held: ledger{stranger}, want: entries{withheld}},
		"a withheld change that is not any more": {
			history: entries{withheld}, before: ledger{stranger}, want: entries{released, withheld},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := FollowLedger(target, tc.history, tc.before, tc.held, 5, minute(9))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(got, FollowLedger(target, got, tc.held, tc.held, 5, minute(10))); diff != "" {
				t.Errorf("a second look changes the history (-first +second):\n%s", diff)
			}
		})
	}
}

func TestDone(t *testing.T) {
	target := v1alpha1.TargetReference{Kind: "Deployment", Name: "web"}
	held := []v1alpha1.Allowance{{
		Kind: "Pod", Mutation: "create", Generation: 5, Initiator: "alice",
		Trace: []v1alpha1.TraceHop{{Kind: "Deployment", Name: "web", Generation: 5, Field: "spec.replicas"}},
	}}
	first := Done(target, nil, held, minute(9))
	events := make([]v1alpha1.HistoryEvent, 0, len(first))
	for _, e := range first {
		events = append(events, e.Event)
	}
	want := []v1alpha1.HistoryEvent{v1alpha1.EventConsumed, v1alpha1.EventGranted}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("what nobody saw was granted, and is over (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(first, Done(target, first, held, minute(10))); diff != "" {
		t.Errorf("it is told once (-first +second):\n%s", diff)
	}
	if diff := cmp.Diff(first, FollowLedger(target, first, held, nil, 5, minute(10))); diff != "" {
		t.Errorf("a look at the ledger tells it again (-first +second):\n%s", diff)
	}
}

// The allowances of a ReplicaSet in a rollout replace each other: their history is one of
// grants, and one of ends.
func TestFollowLedgerOfARollout(t *testing.T) {
	target := v1alpha1.TargetReference{Kind: "ReplicaSet", Name: "web-1"}
	held := func(generation int64) []v1alpha1.Allowance {
		return []v1alpha1.Allowance{{
			Kind: "Pod", Mutation: "create", Generation: generation, Initiator: "alice", Trace: scaled(0, "", generation, "").Trace,
		}}
	}
	var history []v1alpha1.HistoryEntry
	var before []v1alpha1.Allowance
	for generation := int64(2); generation <= 6; generation++ {
		history = FollowLedger(target, history, before, held(generation), generation, minute(int(generation)))
		before = held(generation)
	}
	history = FollowLedger(target, history, before, nil, 6, minute(9))

	saying := func(e v1alpha1.HistoryEntry) v1alpha1.HistoryEntry { e.Message = "Pod create"; return e }
	want := []v1alpha1.HistoryEntry{
		repeated(saying(scaled(9, v1alpha1.EventConsumed, 6, "")), 3, 5),
		repeated(saying(scaled(6, v1alpha1.EventGranted, 6, "")), 2, 5),
	}
	if diff := cmp.Diff(want, history); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(history, FollowLedger(target, history, nil, nil, 6, minute(10))); diff != "" {
		t.Errorf("a second look changes the history (-first +second):\n%s", diff)
	}
}
