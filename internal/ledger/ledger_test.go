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

package ledger

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"kausality.io/operator/api/v1alpha1"
)

func scaled(initiator string, generation int64) v1alpha1.Allowance {
	return v1alpha1.Allowance{
		Kind: "ReplicaSet", Mutation: "spec.replicas", Generation: generation, Initiator: initiator,
		Trace: []v1alpha1.TraceHop{{Kind: "Deployment", Name: "web", Generation: generation, Field: "spec.replicas"}},
	}
}

func createdBy(initiator string) v1alpha1.Allowance {
	a := scaled(initiator, 1)
	a.Trace[0].Field = v1alpha1.FieldCreated
	return a
}

func withheld(path, initiator, replaced string) v1alpha1.Allowance {
	return v1alpha1.Allowance{
		Relation: v1alpha1.RelationWithheld, Mutation: path, Initiator: initiator, Replaced: replaced, Generation: 3,
	}
}

func TestDecode(t *testing.T) {
	tests := map[string]struct {
		text    string
		want    []v1alpha1.Allowance
		wantErr string
	}{
		"nothing":        {text: " \n"},
		"an empty list":  {text: "[]"},
		"as we write it": {text: Ledger{}.Merge(scaled("alice", 7)).Encode(), want: []v1alpha1.Allowance{scaled("alice", 7)}},
		"as the specification writes it": {
			text: `
- kind: ReplicaSet           # child kind the controller may mutate
  mutation: spec.replicas
  generation: 7
  initiator: alice
  trace:
  - kind: Deployment
    name: web
    generation: 7
    field: spec.replicas
`,
			want: []v1alpha1.Allowance{scaled("alice", 7)},
		},
		"not YAML":                {text: "{", wantErr: "neither JSON nor YAML"},
		"an object":               {text: `{"kind":"ReplicaSet"}`, wantErr: "not a list"},
		"a list of something":     {text: `["a"]`, wantErr: "entry 0: not an allowance"},
		"a list of nothing":       {text: `[null]`, wantErr: "entry 0: not an allowance"},
		"a field of a wrong type": {text: `[{"generation":"seven"}]`, wantErr: "entry 0: a field of the allowance has the wrong type"},
		"far too long":            {text: strings.Repeat(" ", maxInput) + "[]", wantErr: "more than any annotation can hold"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Decode(tc.text)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("error %v, want one that says %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Allowances()); diff != "" {
				t.Errorf("allowances (-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorsTellNoValues(t *testing.T) {
	_, err := Decode(`[{"initiator":{"password":"hunter2"}}]`)
	if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "password") {
		t.Errorf("error %v, want one without what the annotation says", err)
	}
}

func TestUnknownFieldsSurvive(t *testing.T) {
	const text = "[\n" + `{"kind":"ReplicaSet","mutation":"create","since":"tomorrow","trace":[{"kind":"Deployment","weight":3}]}` + "\n]"
	l, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, l.Encode()); diff != "" {
		t.Errorf("encoded (-want +got):\n%s", diff)
	}
	if grown := l.Merge(scaled("alice", 7)).Encode(); !strings.Contains(grown, `"since":"tomorrow"`) || !strings.Contains(grown, `"weight":3`) {
		t.Errorf("after a merge the unknown fields are gone:\n%s", grown)
	}
}

func TestMerge(t *testing.T) {
	tests := map[string]struct {
		have, grant, want []v1alpha1.Allowance
	}{
		"the first": {
			grant: []v1alpha1.Allowance{scaled("alice", 7)},
			want:  []v1alpha1.Allowance{scaled("alice", 7)},
		},
		"again by the same initiator: replaced": {
			have:  []v1alpha1.Allowance{scaled("alice", 7)},
			grant: []v1alpha1.Allowance{scaled("alice", 9)},
			want:  []v1alpha1.Allowance{scaled("alice", 9)},
		},
		"by another initiator: beside it, with its own trace": {
			have:  []v1alpha1.Allowance{scaled("alice", 7)},
			grant: []v1alpha1.Allowance{scaled("bob", 8)},
			want:  []v1alpha1.Allowance{scaled("alice", 7), scaled("bob", 8)},
		},
		"for a creation and for a later change by the same initiator: beside it, as the holder is still initializing": {
			have:  []v1alpha1.Allowance{createdBy("alice")},
			grant: []v1alpha1.Allowance{scaled("alice", 2)},
			want:  []v1alpha1.Allowance{createdBy("alice"), scaled("alice", 2)},
		},
		"withheld already": {
			have:  []v1alpha1.Allowance{withheld("spec.replicas", "mallory", "10")},
			grant: []v1alpha1.Allowance{withheld("spec.replicas", "trudy", "7")},
			want:  []v1alpha1.Allowance{withheld("spec.replicas", "mallory", "10")},
		},
		"withheld elsewhere: beside it": {
			have:  []v1alpha1.Allowance{withheld("spec.replicas", "mallory", "10")},
			grant: []v1alpha1.Allowance{withheld("spec.paused", "mallory", "")},
			want:  []v1alpha1.Allowance{withheld("spec.paused", "mallory", ""), withheld("spec.replicas", "mallory", "10")},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := Ledger{}.Merge(tc.have...).Merge(tc.grant...)
			if diff := cmp.Diff(tc.want, got.Allowances()); diff != "" {
				t.Errorf("allowances (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWithout(t *testing.T) {
	l := Ledger{}.Merge(scaled("alice", 7), scaled("bob", 8), withheld("spec.paused", "mallory", ""))
	want := []v1alpha1.Allowance{withheld("spec.paused", "mallory", ""), scaled("bob", 8)}
	got := l.Without(func(e Entry) bool { return e.Initiator == "alice" }).Allowances()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("allowances (-want +got):\n%s", diff)
	}
	if len(l) != 3 {
		t.Errorf("the ledger itself changed: %d entries", len(l))
	}
}

func TestCheck(t *testing.T) {
	var many, long []v1alpha1.Allowance
	for i := range MaxEntries + 1 {
		many = append(many, scaled(fmt.Sprintf("user-%d", i), 1))
	}
	for i := range 10 {
		a := scaled(fmt.Sprintf("user-%d", i), 1)
		a.Trace[0].Attestations = map[string]string{"spec.text": strings.Repeat("x", MaxBytes/10)}
		long = append(long, a)
	}
	tests := map[string]struct {
		have    []v1alpha1.Allowance
		wantErr string
	}{
		"just enough entries": {have: many[:MaxEntries]},
		"one too many":        {have: many, wantErr: " entries, at most "},
		"few, but too long":   {have: long, wantErr: " bytes, at most "},
		"just enough, beside what strangers have changed": {
			have: slices.Concat(many[:MaxEntries], []v1alpha1.Allowance{withheld("spec."+strings.Repeat("x", MaxBytes), "mallory", "")}),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := (Ledger{}).Merge(tc.have...).Check()
			if (err != nil) != (tc.wantErr != "") || err != nil && !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("error %v, want one that says %q", err, tc.wantErr)
			}
		})
	}
}

func TestInitializing(t *testing.T) {
	created := scaled("alice", 1)
	created.Trace[0].Field = v1alpha1.FieldCreated
	if !(Ledger{}).Merge(created).Initializing() {
		t.Error("a creation entry does not make its holder initializing")
	}
	inherited := scaled("alice", 1)
	inherited.Trace = append(created.Trace, inherited.Trace...)
	if (Ledger{}).Merge(inherited).Initializing() {
		t.Error("a creation further up makes the holder initializing")
	}
	created.Through = "Prometheus.monitoring.coreos.com"
	if (Ledger{}).Merge(created).Initializing() {
		t.Error("what readers may do makes the holder initializing")
	}
}

func TestAnnotationPrefix(t *testing.T) {
	const uid = "1f2e3d4c-0000-0000-0000-000000000000"
	owners := func(kinds ...string) []any {
		var out []any
		for _, kind := range kinds {
			out = append(out, map[string]any{"apiVersion": "example.com/v1", "kind": kind, "name": "owner", "uid": uid})
		}
		return out
	}
	tests := map[string]struct {
		kind   string
		owners []any
		want   string
	}{
		"without an owner":                     {kind: "ReplicaSet", want: "kausality.io/"},
		"of a Deployment":                      {kind: "ReplicaSet", owners: owners("Deployment"), want: "replicaset.kausality.io/"},
		"of a kind that nobody has heard of":   {kind: "ReplicaSet", owners: owners("Rollout"), want: "replicaset.kausality.io/"},
		"of several":                           {kind: "Thing", owners: owners("App", "Deployment"), want: "thing.kausality.io/"},
		"of its own kind":                      {kind: "Thing", owners: owners("App", "Thing"), want: "thing-1f2e3d4c.kausality.io/"},
		"of a kind of the same name":           {kind: "Thing", owners: owners("thing"), want: "thing-1f2e3d4c.kausality.io/"},
		"of its own kind, with a strange UID":  {kind: "Thing", owners: []any{map[string]any{"kind": "Thing", "uid": "$$$$$$$$$"}}, want: "thing.kausality.io/"},
		"of more owners than are looked at":    {kind: "Thing", owners: append(owners("Thing"), make([]any, MaxOwners)...), want: "thing.kausality.io/"},
		"of what is no reference":              {kind: "Thing", owners: []any{"owner"}, want: "thing.kausality.io/"},
		"of a reference without kind and name": {kind: "Thing", owners: []any{map[string]any{}}, want: "thing.kausality.io/"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			obj := &unstructured.Unstructured{Object: map[string]any{"kind": tc.kind, "metadata": map[string]any{}}}
			if tc.owners != nil {
				obj.Object["metadata"] = map[string]any{"ownerReferences": tc.owners}
			}
			if diff := cmp.Diff(tc.want, AnnotationPrefix(obj)); diff != "" {
				t.Errorf("prefix (-want +got):\n%s", diff)
			}
			if key := AnnotationKey(obj, NameAllowances); !IsOurs(key) {
				t.Errorf("%s is not in the domain of Kausality", key)
			}
		})
	}
}

func TestNameOf(t *testing.T) {
	tests := map[string]string{
		"kausality.io/allowances":             "allowances",
		"replicaset.kausality.io/allowances":  "allowances",
		"thing-1f2e3d4c.kausality.io/Blocked": "Blocked",
		"notkausality.io/allowances":          "",
		"kausality.io.example.org/a":          "",
		"kausality.io":                        "",
		"example.org/kausality.io":            "",
	}
	for key, want := range tests {
		t.Run(key, func(t *testing.T) {
			name, ok := NameOf(key)
			if !ok {
				name = ""
			}
			if diff := cmp.Diff(want, name); diff != "" || IsOurs(key) != (want != "") {
				t.Errorf("name (-want +got):\n%s", diff)
			}
		})
	}
}

// anyAllowance draws an allowance from few enough names that they often meet.
func anyAllowance(t *rapid.T) v1alpha1.Allowance {
	few := func(label string, values ...string) string { return rapid.SampledFrom(values).Draw(t, label) }
	return v1alpha1.Allowance{
		Kind:       few("kind", "ReplicaSet", "Pod", "*"),
		Mutation:   few("mutation", "create", "delete", "spec.replicas", "*"),
		Relation:   v1alpha1.Relation(few("relation", "", "", "Withheld")),
		Replaced:   few("replaced", "", "3"),
		Initiator:  few("initiator", "alice", "bob"),
		Generation: rapid.Int64Range(0, 5).Draw(t, "generation"),
	}
}

func TestMergeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		have := Ledger{}.Merge(rapid.SliceOfN(rapid.Custom(anyAllowance), 0, 8).Draw(t, "have")...)
		grants := rapid.SliceOfN(rapid.Custom(anyAllowance), 0, 8).Draw(t, "grants")
		merged := have.Merge(grants...)

		if diff := cmp.Diff(merged.Encode(), merged.Merge(grants...).Encode()); diff != "" && !anyWithheld(grants) {
			t.Errorf("merging again changes something:\n%s", diff)
		}
		shuffled := rapid.Permutation(grants).Draw(t, "shuffled")
		if diff := cmp.Diff(merged.Encode(), have.Merge(shuffled...).Encode()); diff != "" {
			t.Errorf("the order of grants matters:\n%s", diff)
		}
		decoded, err := Decode(merged.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(merged.Encode(), decoded.Encode()); diff != "" {
			t.Errorf("decoding and encoding changes something:\n%s", diff)
		}
		if !slices.IsSortedFunc(merged, compare) {
			t.Error("not sorted")
		}
	})
}

// Ledgers that meet in whatever grouping give the same, a ledger that meets itself
// stays what it is, and the order matters only for what both have.
func TestMergeIsAssociative(t *testing.T) {
	anyLedger := rapid.Custom(func(t *rapid.T) Ledger {
		return Ledger{}.Merge(rapid.SliceOfN(rapid.Custom(anyAllowance), 0, 8).Draw(t, "allowances")...)
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := anyLedger.Draw(t, "a"), anyLedger.Draw(t, "b"), anyLedger.Draw(t, "c")
		merge := func(l, m Ledger) Ledger { return l.Merge(m.Allowances()...) }

		if diff := cmp.Diff(merge(merge(a, b), c).Encode(), merge(a, merge(b, c)).Encode()); diff != "" {
			t.Errorf("not associative:\n%s", diff)
		}
		if diff := cmp.Diff(a.Encode(), merge(a, a).Encode()); diff != "" {
			t.Errorf("not idempotent:\n%s", diff)
		}
		others := b.Without(func(e Entry) bool {
			return slices.ContainsFunc(a, func(f Entry) bool { return f.Key() == e.Key() })
		})
		if diff := cmp.Diff(merge(a, others).Encode(), merge(others, a).Encode()); diff != "" {
			t.Errorf("not commutative although nothing is in both:\n%s", diff)
		}
	})
}

// anyWithheld: of two withheld changes of one field merged at once, which one is
// the first is not known; merging them again may keep the other.
func anyWithheld(grants []v1alpha1.Allowance) bool {
	return slices.ContainsFunc(grants, func(a v1alpha1.Allowance) bool { return a.Relation == v1alpha1.RelationWithheld })
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"", "[]", "[{}]", "{", "- kind: ReplicaSet\n  generation: 7", Ledger{}.Merge(scaled("alice", 7)).Encode(),
		`[{"verbs":["Insert"],"external":{"a":"b"},"trace":[{}]}]`, "&a [*a]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := Decode(text)
		if err != nil {
			return
		}
		again, err := Decode(l.Encode())
		if err != nil {
			t.Fatalf("what Encode wrote does not decode: %v", err)
		}
		if again.Encode() != l.Encode() {
			t.Error("decoding and encoding changes something")
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for _, n := range []int{1, 4, 16, 64} {
		var allowances []v1alpha1.Allowance
		for i := range n {
			allowances = append(allowances, scaled(fmt.Sprintf("user-%d", i), 7))
		}
		text := Ledger{}.Merge(allowances...).Encode()
		b.Run(fmt.Sprintf("entries=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestAcross(t *testing.T) {
	trace := []v1alpha1.TraceHop{{Kind: "Team", Name: "a"}, {Kind: "ConfigMap", Name: "b"}}
	got := Across(trace, "settings", "shop")
	want := []v1alpha1.TraceHop{{Kind: "Team", Name: "a"}, {Kind: "ConfigMap", Name: "b", Namespace: "settings"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if trace[1].Namespace != "" {
		t.Error("the trace of the object itself has changed")
	}
	if len(Across(nil, "settings", "shop")) > 0 {
		t.Error("a trace without hops has got some")
	}
}

// TestKeyOf shows what makes allowances be about the same: all that they permit, and not who gave
// them, when, or in which order they were written down.
func TestKeyOf(t *testing.T) {
	base := func() v1alpha1.Allowance {
		return v1alpha1.Allowance{
			APIGroup: "apps", Kind: "ReplicaSet", Mutation: "spec.replicas", Generation: 3, Initiator: "alice",
			Verbs: []v1alpha1.MutationVerb{"Insert", "Mutate"}, Mutations: []string{"spec.a", "spec.b"},
			External: map[string]string{"provider": "aws", "region": "eu"},
		}
	}
	for name, tc := range map[string]struct {
		edit func(*v1alpha1.Allowance)
		same bool
	}{
		"another relation":         {edit: func(a *v1alpha1.Allowance) { a.Relation = v1alpha1.RelationExternal }},
		"for readers":              {edit: func(a *v1alpha1.Allowance) { a.Through = "Issuer" }},
		"another group":            {edit: func(a *v1alpha1.Allowance) { a.APIGroup = "" }},
		"another kind":             {edit: func(a *v1alpha1.Allowance) { a.Kind = "Pod" }},
		"another field":            {edit: func(a *v1alpha1.Allowance) { a.Mutation = "spec.paused" }},
		"another verb":             {edit: func(a *v1alpha1.Allowance) { a.Verbs = a.Verbs[:1] }},
		"another system outside":   {edit: func(a *v1alpha1.Allowance) { a.External["region"] = "us" }},
		"a system outside or none": {edit: func(a *v1alpha1.Allowance) { a.External = nil }},
		"fewer fields outside":     {edit: func(a *v1alpha1.Allowance) { a.Mutations = a.Mutations[1:] }},
		"verbs in another order":   {edit: func(a *v1alpha1.Allowance) { slices.Reverse(a.Verbs) }, same: true},
		"fields in another order":  {edit: func(a *v1alpha1.Allowance) { slices.Reverse(a.Mutations) }, same: true},
		"somebody else's":          {edit: func(a *v1alpha1.Allowance) { a.Initiator, a.Trace = "bob", scaled("bob", 3).Trace }, same: true},
		"of another generation":    {edit: func(a *v1alpha1.Allowance) { a.Generation = 4 }, same: true},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := base(), base()
			tc.edit(&b)
			written := slices.Clone(b.Verbs)
			if same := KeyOf(&a) == KeyOf(&b); same != tc.same {
				t.Errorf("%q and %q: the same = %t", KeyOf(&a), KeyOf(&b), same)
			}
			if diff := cmp.Diff(written, b.Verbs); diff != "" {
				t.Errorf("what was written down has changed:\n%s", diff)
			}
		})
	}
}

func TestWhatAnEntryIsAbout(t *testing.T) {
	type about struct{ Withheld, External, Gate, Creation, Readers bool }
	cloud := v1alpha1.Allowance{Relation: v1alpha1.RelationExternal, Mutation: "spec.size"}
	elsewhere, readers, creation := cloud, scaled("alice", 3), createdBy("alice")
	elsewhere.External, readers.Through = map[string]string{"provider": "aws"}, "Issuer"
	mark := withheld("spec.replicas", "mallory", "")
	mark.Trace = creation.Trace
	for name, tc := range map[string]struct {
		of   v1alpha1.Allowance
		want about
	}{
		"a child":                             {scaled("alice", 3), about{}},
		"what the object itself stands for":   {cloud, about{External: true, Gate: true}},
		"a system outside that is named":      {elsewhere, about{External: true}},
		"readers":                             {readers, about{Readers: true}},
		"its own creation":                    {creation, about{Creation: true}},
		"what is withheld since its creation": {mark, about{Withheld: true}},
	} {
		t.Run(name, func(t *testing.T) {
			e := NewEntry(tc.of)
			if diff := cmp.Diff(tc.want, about{e.IsWithheld(), e.IsExternal(), e.IsGate(), e.IsCreation(), e.IsForReaders()}); diff != "" {
				t.Errorf("it is about (-want +got):\n%s", diff)
			}
		})
	}
}
