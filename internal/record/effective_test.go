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
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/ledger"
)

const holderUID = types.UID("holder-uid")

// holder returns a Deployment of generation 5 with some replicas.
func holder(replicas int64) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1",
		"kind":       "Deployment",
		"spec":       map[string]any{"replicas": replicas},
	}}
	obj.SetName("web")
	obj.SetUID(holderUID)
	obj.SetGeneration(5)
	return obj
}

func allowance(mutation, initiator string, generation int64) v1alpha1.Allowance {
	return v1alpha1.Allowance{
		Kind:       "ReplicaSet",
		Mutation:   mutation,
		Generation: generation,
		Initiator:  initiator,
		Trace:      []v1alpha1.TraceHop{{Kind: "Deployment", Name: "web", Generation: generation, Field: mutation}},
	}
}

func withheld(path string) v1alpha1.Allowance {
	return v1alpha1.Allowance{Relation: v1alpha1.RelationWithheld, Mutation: path, Generation: 5, Initiator: "mallory"}
}

func recordWith(status v1alpha1.AllowanceRecordStatus) *v1alpha1.AllowanceRecord {
	return &v1alpha1.AllowanceRecord{
		Spec:   v1alpha1.AllowanceRecordSpec{TargetRef: TargetOf(holder(0)), LedgerKnown: true},
		Status: status,
	}
}

func pendingOf(grants ...v1alpha1.PendingGrant) *v1alpha1.AllowanceRecord {
	return recordWith(v1alpha1.AllowanceRecordStatus{PendingGrants: grants})
}

func TestEffective(t *testing.T) {
	scaled := allowance("spec.replicas", "alice", 0)
	tests := map[string]struct {
		rec    *v1alpha1.AllowanceRecord
		stored []v1alpha1.Allowance
		want   []v1alpha1.Allowance
	}{
		"nothing": {},
		"what is stored": {
			rec:    pendingOf(),
			stored: []v1alpha1.Allowance{allowance("spec.replicas", "alice", 5)},
			want:   []v1alpha1.Allowance{allowance("spec.replicas", "alice", 5)},
		},
		"without a record, nothing but what is withheld": {
			stored: []v1alpha1.Allowance{allowance("spec.replicas", "alice", 5), withheld("spec.template")},
			want:   []v1alpha1.Allowance{withheld("spec.template")},
		},
		"with that of another object, the same": {
			rec: &v1alpha1.AllowanceRecord{Spec: v1alpha1.AllowanceRecordSpec{
				TargetRef: v1alpha1.TargetReference{UID: "another"}, LedgerKnown: true,
			}},
			stored: []v1alpha1.Allowance{allowance("spec.replicas", "alice", 5)},
		},
		"with one that does not know the ledger, what is pending": {
			rec: &v1alpha1.AllowanceRecord{
				Spec: v1alpha1.AllowanceRecordSpec{TargetRef: TargetOf(holder(0))},
				Status: v1alpha1.AllowanceRecordStatus{PendingGrants: []v1alpha1.PendingGrant{
					NewPending(&Content{Path: "spec.replicas", Value: 3}, nil, []v1alpha1.Allowance{scaled}, nil),
				}},
			},
			stored: []v1alpha1.Allowance{allowance("spec.a", "alice", 5)},
			want:   []v1alpha1.Allowance{allowance("spec.replicas", "alice", 5)},
		},
		"with one that somebody has looked at, what is stored": {
			rec: &v1alpha1.AllowanceRecord{
				Spec:   v1alpha1.AllowanceRecordSpec{TargetRef: TargetOf(holder(0))},
				Status: v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady},
			},
			stored: []v1alpha1.Allowance{allowance("spec.a", "alice", 5)},
			want:   []v1alpha1.Allowance{allowance("spec.a", "alice", 5)},
		},
		"the generation that the holder has next counts, a later one does not": {
			rec:    pendingOf(),
			stored: []v1alpha1.Allowance{allowance("spec.a", "alice", 6), allowance("spec.b", "alice", 7)},
			want:   []v1alpha1.Allowance{allowance("spec.a", "alice", 6)},
		},
		"consumed entries do not count": {
			rec: recordWith(v1alpha1.AllowanceRecordStatus{Consumed: []v1alpha1.ConsumedAllowance{
				{ID: ledger.NewEntry(allowance("spec.a", "alice", 5)).ID()},
			}}),
			stored: []v1alpha1.Allowance{allowance("spec.a", "alice", 5), allowance("spec.b", "alice", 5)},
			want:   []v1alpha1.Allowance{allowance("spec.b", "alice", 5)},
		},
		"a pending grant counts while the holder has its content, and takes its generation": {
			rec:  pendingOf(NewPending(&Content{Path: "spec.replicas", Value: 3}, nil, []v1alpha1.Allowance{scaled}, nil)),
			want: []v1alpha1.Allowance{allowance("spec.replicas", "alice", 5)},
		},
		"a pending grant for other content does not count": {
			rec: pendingOf(NewPending(&Content{Path: "spec.replicas", Value: 4}, nil, []v1alpha1.Allowance{scaled}, nil)),
		},
		"a pending grant for the whole content": {
			rec:  pendingOf(NewPending(nil, holder(3), []v1alpha1.Allowance{allowance("spec.a", "alice", 5)}, nil)),
			want: []v1alpha1.Allowance{allowance("spec.a", "alice", 5)},
		},
		"a pending grant for another whole content": {
			rec: pendingOf(NewPending(nil, holder(4), []v1alpha1.Allowance{allowance("spec.a", "alice", 5)}, nil)),
		},
		"a pending grant replaces the entry that it renews": {
			rec:    pendingOf(NewPending(&Content{Path: "spec.replicas", Value: 3}, nil, []v1alpha1.Allowance{scaled}, nil)),
			stored: []v1alpha1.Allowance{allowance("spec.replicas", "alice", 4)},
			want:   []v1alpha1.Allowance{allowance("spec.replicas", "alice", 5)},
		},
		"a pending grant ends what it cleared, and nothing else that is withheld": {
			rec:    pendingOf(NewPending(&Content{Path: "spec.replicas", Value: 3}, nil, nil, []string{"spec.replicas"})),
			stored: []v1alpha1.Allowance{withheld("spec.replicas"), withheld("spec.template")},
			want:   []v1alpha1.Allowance{withheld("spec.template")},
		},
		"a pending grant that does not count ends nothing": {
			rec:    pendingOf(NewPending(&Content{Path: "spec.replicas", Value: 4}, nil, nil, []string{"spec.replicas"})),
			stored: []v1alpha1.Allowance{withheld("spec.replicas")},
			want:   []v1alpha1.Allowance{withheld("spec.replicas")},
		},
		"a pending grant does not bring back what was granted before": {
			rec:    pendingOf(NewPending(&Content{Path: "spec.replicas", Value: 3}, nil, []v1alpha1.Allowance{allowance("spec.replicas", "alice", 4)}, nil)),
			stored: []v1alpha1.Allowance{allowance("spec.replicas", "alice", 5)},
			want:   []v1alpha1.Allowance{allowance("spec.replicas", "alice", 5)},
		},
		"a pending grant has what one before it withholds": {
			rec: pendingOf(NewPending(nil, holder(3), []v1alpha1.Allowance{withheld("spec.a")}, nil), NewPending(nil, holder(3), nil, []string{"spec.a"})),
		},
		"a pending grant does not have what one after it withholds": {
			rec:  pendingOf(NewPending(nil, holder(3), nil, []string{"spec.a"}), NewPending(nil, holder(3), []v1alpha1.Allowance{withheld("spec.a")}, nil)),
			want: []v1alpha1.Allowance{withheld("spec.a")},
		},
		"a pending grant does not bring back what is consumed": {
			rec: recordWith(v1alpha1.AllowanceRecordStatus{
				PendingGrants: []v1alpha1.PendingGrant{NewPending(&Content{Path: "spec.replicas", Value: 3}, nil, []v1alpha1.Allowance{scaled}, nil)},
				Consumed:      []v1alpha1.ConsumedAllowance{{ID: ledger.NewEntry(allowance("spec.replicas", "alice", 5)).ID()}},
			}),
			stored: []v1alpha1.Allowance{allowance("spec.replicas", "alice", 5)},
		},
		"the record of another object is ignored": {
			rec: &v1alpha1.AllowanceRecord{
				Spec: v1alpha1.AllowanceRecordSpec{TargetRef: v1alpha1.TargetReference{Kind: "Deployment", Name: "web", UID: "other"}},
				Status: v1alpha1.AllowanceRecordStatus{PendingGrants: []v1alpha1.PendingGrant{
					NewPending(&Content{Path: "spec.replicas", Value: 3}, nil, []v1alpha1.Allowance{scaled}, nil),
				}},
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := Effective(test.rec, holder(3), ledger.Ledger{}.Merge(test.stored...)).Allowances()
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(v1alpha1.Allowance{}, "Content")); diff != "" {
				t.Errorf("Effective() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewPending(t *testing.T) {
	grants := []v1alpha1.Allowance{allowance("spec.replicas", "alice", 0)}
	first := NewPending(&Content{Path: "spec.replicas", Value: 3}, holder(3), grants, []string{"b", "a", "b"})
	if diff := cmp.Diff(first, NewPending(&Content{Path: "spec.replicas", Value: 3}, nil, grants, []string{"a", "b"})); diff != "" {
		t.Errorf("the same grant differs (-first +again):\n%s", diff)
	}
	for name, other := range map[string]v1alpha1.PendingGrant{
		"value":   NewPending(&Content{Path: "spec.replicas", Value: 4}, nil, grants, []string{"a", "b"}),
		"path":    NewPending(&Content{Path: "spec.size", Value: 3}, nil, grants, []string{"a", "b"}),
		"content": NewPending(nil, holder(3), grants, []string{"a", "b"}),
		"grants":  NewPending(&Content{Path: "spec.replicas", Value: 3}, nil, nil, []string{"a", "b"}),
		"cleared": NewPending(&Content{Path: "spec.replicas", Value: 3}, nil, grants, nil),
	} {
		if other.ID == first.ID {
			t.Errorf("another %s has the same id", name)
		}
	}
}

// Metadata counts for the grants that are about it, and for no others.
func TestCountsByMetadata(t *testing.T) {
	labeled := func(team string) *unstructured.Unstructured {
		obj := holder(3)
		obj.SetLabels(map[string]string{"team": team})
		return obj
	}
	const label = "metadata.labels[team]"
	tests := map[string]struct {
		grant v1alpha1.PendingGrant
		want  bool
	}{
		"it ends what is withheld of it": {grant: NewPending(nil, labeled("a"), nil, []string{label})},
		"it withholds it":                {grant: NewPending(nil, labeled("a"), []v1alpha1.Allowance{withheld(label)}, nil)},
		"it is about something else":     {grant: NewPending(nil, labeled("a"), []v1alpha1.Allowance{withheld("spec.a")}, []string{"spec.b"}), want: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if !Counts(tc.grant, labeled("a")) {
				t.Error("it does not count for what it was made of")
			}
			if got := Counts(tc.grant, labeled("b")); got != tc.want {
				t.Errorf("with another label: %t, want %t", got, tc.want)
			}
		})
	}
}

// What is withheld while the mutating webhook is not asked is withheld beside a state as well.
func TestPendingBesideAState(t *testing.T) {
	state := &approved.State{Generation: 5}
	mark := func(path string) v1alpha1.PendingGrant {
		return NewPending(nil, holder(3), []v1alpha1.Allowance{withheld(path), allowance("spec.replicas", "alice", 5)}, nil)
	}
	tests := map[string]struct {
		grants            []v1alpha1.PendingGrant
		cleared, withheld []string
	}{
		"one":                       {grants: []v1alpha1.PendingGrant{mark("spec.a")}, withheld: []string{"spec.a"}},
		"one that a later one ends": {grants: []v1alpha1.PendingGrant{mark("spec.a"), mark("spec.b"), NewPending(nil, holder(3), nil, []string{"spec.a"})}, cleared: []string{"spec.a"}, withheld: []string{"spec.b"}},
		"one that was ended before": {grants: []v1alpha1.PendingGrant{NewPending(nil, holder(3), nil, []string{"spec.a"}), mark("spec.a")}, cleared: []string{"spec.a"}, withheld: []string{"spec.a"}},
		"one that does not count":   {grants: []v1alpha1.PendingGrant{NewPending(nil, holder(4), []v1alpha1.Allowance{withheld("spec.a")}, []string{"spec.b"})}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pending := PendingOf(pendingOf(tc.grants...), holder(3), state, nil)
			var cleared, marked []string
			for _, path := range pending.Cleared {
				cleared = append(cleared, path.String())
			}
			for _, m := range pending.Withheld {
				marked = append(marked, m.Author.Path)
			}
			if diff := cmp.Diff([][]string{tc.cleared, tc.withheld}, [][]string{cleared, marked}); diff != "" {
				t.Errorf("cleared and withheld (-want +got):\n%s", diff)
			}
		})
	}
}

// Folding a pending grant gives what it counted for while it was pending, and
// once folded it brings nothing more.
func TestFoldIsEffective(t *testing.T) {
	paths := rapid.SampledFrom([]string{"spec.replicas", "spec.template", "spec.paused"})
	users := rapid.SampledFrom([]string{"alice", "bob"})
	grants := func(withGeneration bool) *rapid.Generator[v1alpha1.Allowance] {
		return rapid.Custom(func(t *rapid.T) v1alpha1.Allowance {
			var generation int64
			if withGeneration {
				generation = rapid.Int64Range(1, 6).Draw(t, "generation")
			}
			return allowance(paths.Draw(t, "path"), users.Draw(t, "user"), generation)
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		stored := ledger.Ledger{}.Merge(rapid.SliceOfN(grants(true), 0, 4).Draw(t, "stored")...)
		if rapid.Bool().Draw(t, "something withheld") {
			stored = stored.Merge(withheld(paths.Draw(t, "withheld")))
		}
		p := NewPending(&Content{Path: "spec.replicas", Value: 3}, nil,
			rapid.SliceOfN(grants(false), 0, 3).Draw(t, "pending"), rapid.SliceOfN(paths, 0, 2).Draw(t, "cleared"))

		effective := Effective(pendingOf(p), holder(3), stored)
		folded := Fold(stored, p, holder(3))
		if diff := cmp.Diff(folded.Encode(), effective.Encode()); diff != "" {
			t.Fatalf("folded and pending differ (-folded +pending):\n%s", diff)
		}
		if Fold(folded, p, holder(3)).Encode() != folded.Encode() {
			t.Fatalf("a folded grant brings more")
		}
	})
}

// A grant that counts by a number counts again once the number is back, with what it withholds. Where
// another value has been approved since, which a grant in between said that does not count any more,
// the later grant knows it.
func TestFoldKnowsWhatWasApprovedSince(t *testing.T) {
	mark := func(generation int64, replaced string) v1alpha1.Allowance {
		return v1alpha1.Allowance{
			Relation: v1alpha1.RelationWithheld, Mutation: "spec.template", Generation: generation, Initiator: "mallory", Replaced: replaced,
		}
	}
	const was, is = "00000000000000000000000000000001", "00000000000000000000000000000002"
	tests := map[string]struct {
		earlier, later v1alpha1.Allowance
		want           v1alpha1.Allowance
	}{
		"the same value":      {mark(1, was), mark(2, was), mark(1, was)},
		"another value":       {mark(1, was), mark(2, is), mark(2, is)},
		"none, and a value":   {mark(1, ""), mark(2, is), mark(2, is)},
		"a value, and none":   {mark(1, was), mark(2, ""), mark(2, "")},
		"none in either case": {mark(1, ""), mark(2, ""), mark(1, "")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			folded := ledger.Ledger{}
			for _, a := range []v1alpha1.Allowance{tc.earlier, tc.later} {
				folded = Fold(folded, v1alpha1.PendingGrant{Allowances: []v1alpha1.Allowance{a}}, holder(3))
			}
			if diff := cmp.Diff(ledger.Ledger{}.Merge(tc.want).Encode(), folded.Encode()); diff != "" {
				t.Errorf("withheld (-want +got):\n%s", diff)
			}
		})
	}
}

// Beside approved content the ledger has what is withheld without what was approved of it, with a digest
// of its own: a grant that withholds it is folded in, whatever the grant says was approved.
func TestFoldBesideApprovedContent(t *testing.T) {
	mark := withheld("spec.template")
	mark.Replaced = "00000000000000000000000000000001"
	stored := withheld("spec.template")
	stored.Content = "80e79fde5443"
	with := holder(3)
	with.SetAnnotations(map[string]string{v1alpha1.AnnotationApproved: "whatever it is"})
	for name, tc := range map[string]struct {
		holder *unstructured.Unstructured
		stored []v1alpha1.Allowance
		brings bool
	}{
		"what is withheld there":            {holder: with, stored: []v1alpha1.Allowance{stored}},
		"what is not":                       {holder: with, brings: true},
		"another field":                     {holder: with, stored: []v1alpha1.Allowance{withheld("spec.paused")}, brings: true},
		"no approved content":               {holder: holder(3), stored: []v1alpha1.Allowance{stored}, brings: true},
		"no approved content, the same one": {holder: holder(3), stored: []v1alpha1.Allowance{mark}},
	} {
		t.Run(name, func(t *testing.T) {
			before := ledger.Ledger{}.Merge(tc.stored...)
			after := Fold(before, NewPending(nil, tc.holder, []v1alpha1.Allowance{mark}, nil), tc.holder)
			if got := after.Encode() != before.Encode(); got != tc.brings {
				t.Errorf("brings something: %t, want %t:\n%s", got, tc.brings, after.Encode())
			}
		})
	}
}

// TestFold shows what a grant finds in the ledger already, and what it ends of that.
func TestFold(t *testing.T) {
	for name, tc := range map[string]struct {
		stored  []v1alpha1.Allowance
		grants  []v1alpha1.Allowance
		cleared []string
		want    []v1alpha1.Allowance
	}{
		"what is part of something withheld": {
			stored: []v1alpha1.Allowance{withheld("spec.template")}, grants: []v1alpha1.Allowance{withheld("spec.template.image")},
			want: []v1alpha1.Allowance{withheld("spec.template")},
		},
		"what is an item of something withheld": {
			stored: []v1alpha1.Allowance{withheld("spec.args")}, grants: []v1alpha1.Allowance{withheld("spec.args[0]")},
			want: []v1alpha1.Allowance{withheld("spec.args")},
		},
		"what is above something withheld": {
			stored: []v1alpha1.Allowance{withheld("spec.template.image")}, grants: []v1alpha1.Allowance{withheld("spec.template")},
			want: []v1alpha1.Allowance{withheld("spec.template.image"), withheld("spec.template")},
		},
		"what only begins like something withheld": {
			stored: []v1alpha1.Allowance{withheld("spec.template")}, grants: []v1alpha1.Allowance{withheld("spec.templates")},
			want: []v1alpha1.Allowance{withheld("spec.template"), withheld("spec.templates")},
		},
		"what is withheld of a field that is allowed to follow": {
			stored: []v1alpha1.Allowance{allowance("spec.replicas", "alice", 4)}, grants: []v1alpha1.Allowance{withheld("spec.replicas")},
			want: []v1alpha1.Allowance{allowance("spec.replicas", "alice", 4), withheld("spec.replicas")},
		},
		"an approval, which leaves what is allowed": {
			stored:  []v1alpha1.Allowance{allowance("spec.replicas", "alice", 4), withheld("spec.replicas"), withheld("spec.paused")},
			cleared: []string{"spec.replicas"},
			want:    []v1alpha1.Allowance{allowance("spec.replicas", "alice", 4), withheld("spec.paused")},
		},
		"what the same initiator was granted later": {
			stored: []v1alpha1.Allowance{allowance("spec.replicas", "alice", 5)}, grants: []v1alpha1.Allowance{allowance("spec.replicas", "alice", 4)},
			want: []v1alpha1.Allowance{allowance("spec.replicas", "alice", 5)},
		},
		"something else that the same initiator was granted later": {
			stored: []v1alpha1.Allowance{allowance("spec.paused", "alice", 5)}, grants: []v1alpha1.Allowance{allowance("spec.replicas", "alice", 4)},
			want: []v1alpha1.Allowance{allowance("spec.paused", "alice", 5), allowance("spec.replicas", "alice", 4)},
		},
		"what another initiator was granted later": {
			stored: []v1alpha1.Allowance{allowance("spec.replicas", "bob", 5)}, grants: []v1alpha1.Allowance{allowance("spec.replicas", "alice", 4)},
			want: []v1alpha1.Allowance{allowance("spec.replicas", "bob", 5), allowance("spec.replicas", "alice", 4)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewPending(nil, holder(3), tc.grants, tc.cleared)
			got := Fold(ledger.Ledger{}.Merge(tc.stored...), p, holder(3))
			if diff := cmp.Diff(ledger.Ledger{}.Merge(tc.want...).Allowances(), got.Allowances(), cmpopts.IgnoreFields(v1alpha1.Allowance{}, "Content")); diff != "" {
				t.Errorf("folded (-want +got):\n%s", diff)
			}
		})
	}
}

// A record tells of its target, and of no other object that has the same content.
func TestRecordOfAnother(t *testing.T) {
	rec := pendingOf(NewPending(nil, holder(3), []v1alpha1.Allowance{withheld("spec.a")}, []string{"spec.b"}))
	other := holder(3)
	other.SetUID("another")
	if diff := cmp.Diff(approved.Pending{}, PendingOf(rec, other, &approved.State{}, nil)); diff != "" {
		t.Errorf("pending (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(approved.Pending{}, PendingOf(nil, other, &approved.State{}, nil)); diff != "" {
		t.Errorf("pending without a record (-want +got):\n%s", diff)
	}
}

// keptBeside reports whether a grant stays in a record to which another one is added, whose request found an object
// like that.
func keptBeside(t *testing.T, p v1alpha1.PendingGrant, found *unstructured.Unstructured) bool {
	t.Helper()
	ref := TargetOf(holder(3))
	s, _ := endingAfter(t, 0, nil)
	for _, err := range []error{
		s.AddPending(t.Context(), ref, p, nil), s.AddPending(t.Context(), ref, v1alpha1.PendingGrant{ID: "new", ContentHash: "new"}, found),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	rec, err := s.stored(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, 0, len(rec.Status.PendingGrants))
	for _, p := range rec.Status.PendingGrants {
		ids = append(ids, p.ID)
	}
	if !slices.Contains(ids, "new") {
		t.Errorf("the new grant is not kept: %v", ids)
	}
	return slices.Contains(ids, p.ID)
}

// TestReturning shows which grants count again if the object gets their content again.
func TestReturning(t *testing.T) {
	grant := func(replicas int64, after string) v1alpha1.PendingGrant {
		p := NewPending(&Content{Path: "spec.replicas", Value: replicas}, nil, []v1alpha1.Allowance{allowance("spec.replicas", "alice", 0)}, nil)
		p.After = after
		return p
	}
	for name, tc := range map[string]struct {
		grant v1alpha1.PendingGrant
		want  bool
	}{
		"what the object was like before":                {grant(4, "6"), true},
		"what the object is like":                        {grant(3, "6"), false},
		"what the object may be about to be like":        {grant(4, "7"), false},
		"of which it is not known when it was asked for": {grant(4, ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			obj := holder(3)
			obj.SetResourceVersion("7")
			rec := pendingOf(tc.grant)
			got := Returning(rec, obj)
			if (got != nil) != tc.want {
				t.Fatalf("Returning() = %+v", got)
			}
			if tc.want && (len(got.Status.PendingGrants) != 1 || got.Spec.TargetRef != rec.Spec.TargetRef) {
				t.Errorf("Returning() = %+v", got)
			}
			for found, want := range map[*unstructured.Unstructured]bool{obj: !tc.want, nil: true} {
				if kept := keptBeside(t, tc.grant, found); kept != want {
					t.Errorf("kept when another one is added: %t, want %t; the object is known: %t", kept, want, found != nil)
				}
			}
		})
	}
	if Returning(nil, holder(3)) != nil || Returning(pendingOf(grant(4, "6")), nil) != nil {
		t.Error("something returns without a record or an object")
	}
}
