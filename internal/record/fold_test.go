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
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/api/v1alpha1"
)

// fieldAllowances returns what one write of so many fields gives, or withholds.
func fieldAllowances(n int, generation int64, relation v1alpha1.Relation) []v1alpha1.Allowance {
	out := make([]v1alpha1.Allowance, 0, n)
	for i := range n {
		field := fmt.Sprintf("spec.field%d", i)
		if relation == v1alpha1.RelationWithheld {
			out = append(out, v1alpha1.Allowance{Relation: relation, Mutation: field, Generation: generation, Initiator: "mallory"})
			continue
		}
		out = append(out, v1alpha1.Allowance{
			Kind: "ConfigMap", Mutation: fmt.Sprintf("data.k%d", i), Generation: generation, Initiator: "alice",
			Trace: []v1alpha1.TraceHop{{
				Kind: "Thing", Name: "x", Generation: generation, Field: field, Attestations: map[string]string{"spec.n": field},
			}},
		})
	}
	return out
}

// eventsOf says how many entries a history has of each event, and of how many fields all of them tell.
func eventsOf(history []v1alpha1.HistoryEntry) map[v1alpha1.HistoryEvent][2]int {
	out := map[v1alpha1.HistoryEvent][2]int{}
	for _, e := range history {
		n := out[e.Event]
		out[e.Event] = [2]int{n[0] + 1, n[1] + len(e.Paths)}
	}
	return out
}

// One write of many fields drives nothing else out of a history, whoever makes it, and however its allowances end.
func TestOneWriteOfManyFields(t *testing.T) {
	type counts = map[v1alpha1.HistoryEvent][2]int
	target := v1alpha1.TargetReference{Kind: "Thing", Name: "x"}
	for name, tc := range map[string]struct {
		fields   int
		relation v1alpha1.Relation
		// still is how many of the fields hold something at the second look.
		still         int
		at5, at6, at7 counts
	}{
		"few fields are told one by one": {
			fields: 3,
			at5:    counts{"Denied": {1, 1}, "Granted": {3, 3}},
			at6:    counts{"Denied": {1, 1}, "Granted": {3, 3}, "Consumed": {3, 3}},
			at7:    counts{"Denied": {1, 1}, "Granted": {3, 3}, "Consumed": {3, 3}},
		},
		"many, granted": {
			fields: 40,
			at5:    counts{"Denied": {1, 1}, "Granted": {1, 40}},
			at6:    counts{"Denied": {1, 1}, "Granted": {1, 40}, "Consumed": {1, 40}},
			at7:    counts{"Denied": {1, 1}, "Granted": {1, 40}, "Consumed": {1, 40}},
		},
		"many, that end in two steps": {
			fields: 40, still: 35,
			at5: counts{"Denied": {1, 1}, "Granted": {1, 40}},
			at6: counts{"Denied": {1, 1}, "Granted": {1, 40}, "Consumed": {5, 5}},
			at7: counts{"Denied": {1, 1}, "Granted": {1, 40}, "Consumed": {1, 40}},
		},
		"as many as there can be": {
			fields: 64,
			at5:    counts{"Denied": {1, 1}, "Granted": {1, 64}},
			at6:    counts{"Denied": {1, 1}, "Granted": {1, 64}, "Consumed": {1, 64}},
			at7:    counts{"Denied": {1, 1}, "Granted": {1, 64}, "Consumed": {1, 64}},
		},
		"many, withheld": {
			fields: 40, relation: v1alpha1.RelationWithheld,
			at5: counts{"Denied": {1, 1}, "Withheld": {1, 40}},
			at6: counts{"Denied": {1, 1}, "Withheld": {1, 40}, "Released": {1, 40}},
			at7: counts{"Denied": {1, 1}, "Withheld": {1, 40}, "Released": {1, 40}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := fieldAllowances(tc.fields, 5, tc.relation)
			still := all[len(all)-tc.still:]
			history := []v1alpha1.HistoryEntry{refusal(1, "a")}
			before := []v1alpha1.Allowance(nil)
			for i, look := range []struct {
				held []v1alpha1.Allowance
				want counts
			}{{all, tc.at5}, {still, tc.at6}, {nil, tc.at7}} {
				history = FollowLedger(target, history, before, look.held, 5, minute(5+10*i))
				before = look.held
				if diff := cmp.Diff(look.want, eventsOf(history)); diff != "" {
					t.Fatalf("entries and fields after look %d (-want +got):\n%s", i, diff)
				}
				if diff := cmp.Diff(history, FollowLedger(target, history, before, before, 5, minute(6+10*i))); diff != "" {
					t.Fatalf("a second look changes the history (-first +second):\n%s", diff)
				}
			}
		})
	}
}

// What admission and the watch tell of a write of many fields is one entry, whoever tells first, and in how many parts.
func TestFoldedEntryIsToldAgain(t *testing.T) {
	target := v1alpha1.TargetReference{Kind: "Thing", Name: "x"}
	all := fieldAllowances(40, 5, "")
	watch := LedgerHistory(target, all, v1alpha1.EventGranted, v1alpha1.EventWithheld, minute(2))
	asked := LedgerHistory(target, all, v1alpha1.EventGranted, v1alpha1.EventWithheld, minute(1))
	for i := range asked {
		asked[i].User, asked[i].Operation = "alice", "Update"
	}
	admitted := WithHistory(nil, asked...)
	for name, history := range map[string][]v1alpha1.HistoryEntry{
		"one by one": func() (out []v1alpha1.HistoryEntry) {
			for _, e := range asked {
				out = WithHistory(out, e)
			}
			return out
		}(),
		"again":                      WithHistory(admitted, asked...),
		"the watch after admission":  WithHistory(admitted, watch...),
		"admission after the watch":  WithHistory(WithHistory(nil, watch...), asked...),
		"folded onto what is folded": WithHistory(WithHistory(nil, watch...), admitted...),
		"folded onto single ones":    WithHistory(WithHistory(nil, watch[:20]...), admitted...),
	} {
		t.Run(name, func(t *testing.T) {
			if len(history) != 1 || len(history[0].Paths) != 40 || history[0].User != "alice" || history[0].Count != 0 {
				t.Errorf("history %v: %+v", eventsOf(history), history[0])
			}
		})
	}
}

// A scale has the generation of the object before it, as an approval has, and is another write.
func TestScaleIsNotFolded(t *testing.T) {
	entries := LedgerHistory(v1alpha1.TargetReference{Kind: "Thing", Name: "x"}, fieldAllowances(41, 5, ""), v1alpha1.EventGranted, v1alpha1.EventWithheld, minute(1))
	for i := range entries {
		entries[i].User, entries[i].Operation = "alice", "Update"
	}
	entries[40].Operation = "Scale"
	got := map[string]int{}
	for _, e := range WithHistory(nil, entries...) {
		got[e.Operation] += len(e.Paths)
	}
	if diff := cmp.Diff(map[string]int{"Update": 40, "Scale": 1}, got); diff != "" {
		t.Errorf("fields by operation (-want +got):\n%s", diff)
	}
}

// Of several writes of many fields, the largest share entries first, and each keeps its own.
func TestFoldedByWrite(t *testing.T) {
	target := v1alpha1.TargetReference{Kind: "Thing", Name: "x"}
	var history []v1alpha1.HistoryEntry
	for generation, fields := range []int{3, 20, 12} {
		entries := LedgerHistory(target, fieldAllowances(fields, int64(generation), ""), v1alpha1.EventGranted, v1alpha1.EventWithheld, minute(generation))
		history = WithHistory(history, entries...)
	}
	got := make([]int, 0, len(history))
	for _, e := range slices.Backward(history) {
		got = append(got, len(e.Paths))
	}
	want := slices.Concat([]int{1, 1, 1}, []int{20}, slices.Repeat([]int{1}, 12))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields of the entries, the oldest first (-want +got):\n%s", diff)
	}
}
