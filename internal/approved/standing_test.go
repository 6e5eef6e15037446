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

package approved

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/internal/change"
)

// check compares what is withheld, and what is approved.
func check(t *testing.T, h *holder, approved string, want ...string) {
	t.Helper()
	st := h.now()
	if diff := cmp.Diff(want, told(st)); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
	if diff := sameContent(st, object(t, approved)); diff != "" {
		t.Errorf("Content() (-want +got):\n%s", diff)
	}
}

func TestNowWithoutState(t *testing.T) {
	h := newHolder(t, object(t, withMap))
	check(t, h, withMap)
	if st := h.now(); st.State() != nil || st.Summary() != nil || st.Withheld() != nil {
		t.Errorf("something is withheld: %v", st.State())
	}
	if st := h.now().Approve(func(Difference) bool { return true }); st.State() != nil {
		t.Errorf("something is withheld after everything is approved: %v", st.State())
	}
}

// TestFromNothing shows that approved content that is empty is not none.
func TestFromNothing(t *testing.T) {
	o := newHolder(t, nil).object
	added := o
	added.Fields = object(t, `data: {a: evil}`)
	st := Now(nil, Pending{}, o).After(Request{New: added, User: "mallory", Uncaused: change.Find(nil, added.Fields, change.Options{})})
	st = st.After(Request{New: added, User: alice})
	if diff := cmp.Diff([]string{"Insert data by mallory"}, told(st)); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
}

func TestDefaults(t *testing.T) {
	const changed = `spec: {m: {a: evil}}`
	tests := map[string]struct {
		// generation of the object as it is found, where it was 2 with the change.
		generation int64
		found      string
		want       []string
		approved   string
	}{
		"beside a withheld change": {
			generation: 2, found: `spec: {m: {a: evil}, p: "4"}`,
			want: []string{"Mutate spec.m.a by mallory"}, approved: `spec: {m: {a: "1"}, p: "4"}`,
		},
		"in the same map": {
			generation: 2, found: `spec: {m: {a: evil, q: "4"}}`,
			want: []string{"Mutate spec.m.a by mallory"}, approved: `spec: {m: {a: "1", q: "4"}}`,
		},
		"at another generation": {
			generation: 3, found: `spec: {m: {a: evil}, p: "4"}`,
			want: []string{"Mutate spec.m.a by mallory", "Insert spec.p by "}, approved: `spec: {m: {a: "1"}}`,
		},
		"nothing new at another generation": {
			generation: 3, found: changed, want: []string{"Mutate spec.m.a by mallory"}, approved: `spec: {m: {a: "1"}}`,
		},
		"the change put back where nobody looked": {
			generation: 3, found: `spec: {m: {a: "1"}}`, approved: `spec: {m: {a: "1"}}`,
		},
		"of a kind without generations": {
			generation: 0, found: `spec: {m: {a: evil}, p: "4"}`,
			want: []string{"Mutate spec.m.a by mallory", "Insert spec.p by "}, approved: `spec: {m: {a: "1"}}`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHolder(t, object(t, `spec: {m: {a: "1"}}`))
			if tc.generation == 0 {
				h.object.Generation = 0
			}
			h.write("mallory", object(t, changed), never, nil)
			h.object.Fields, h.object.Generation = object(t, tc.found), tc.generation
			check(t, h, tc.approved, tc.want...)
			// Whoever looks next finds the same.
			h.store(h.now())
			check(t, h, tc.approved, tc.want...)
		})
	}
}

// TestVersions shows an object in another version of its kind than that of which its State was made, after
// mallory has changed spec.size from 5 to 6000 there, and the policy is for that version.
func TestVersions(t *testing.T) {
	for name, tc := range map[string]struct {
		was, version string
		found        string
		triggers     []string
		want         []string
	}{
		"the same":                                  {was: "v1", version: "v1", found: `spec: {size: 6000, color: red}`, want: []string{"Mutate spec.size by mallory"}},
		"the same, with a default":                  {was: "v1", version: "v1", found: `spec: {size: 6000, color: red, p: "4"}`, want: []string{"Mutate spec.size by mallory"}},
		"from before it was kept":                   {version: "v1", found: `spec: {size: 6000, color: red, p: "4"}`, want: []string{"Mutate spec.size by mallory"}},
		"that says the same":                        {was: "v1", version: "v2", found: `spec: {size: 6000, color: red}`, want: []string{"Mutate spec.size by mallory"}},
		"with another name":                         {was: "v1", version: "v2", found: `spec: {capacity: 6000, color: red}`, want: []string{"Mutate spec by mallory"}},
		"with another name that is another field's": {was: "v1", version: "v2", found: `spec: {color: 6000, paint: red}`, want: []string{"Mutate spec by mallory"}},
		"in another unit, as what was approved":     {was: "v1", version: "v2", found: `spec: {size: 5, color: red}`, want: []string{"Mutate spec by mallory"}},
		"under another field":                       {was: "v1", version: "v2", found: `parameters: {size: 6000, color: red}`, want: []string{"Mutate parameters by "}},
		"where no rule is about it":                 {was: "v1", version: "v2", found: `spec: {capacity: 6000, color: red}`, triggers: []string{"status"}, want: []string{"(Mutate spec by mallory)"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHolder(t, object(t, `spec: {size: 5, color: red}`))
			h.object.Version = tc.was
			h.write("mallory", object(t, `spec: {size: 6000, color: red}`), never, nil)
			h.object.Fields, h.object.Version = object(t, tc.found), tc.version
			if tc.triggers != nil {
				of := patterns(t, tc.triggers...)
				h.object.Triggers, h.object.Concerns = triggers(of), nil
			}
			for range 2 { // Whoever looks next finds the same.
				st := h.now()
				if diff := cmp.Diff(tc.want, told(st)); diff != "" {
					t.Errorf("differences (-want +got):\n%s", diff)
				}
				h.store(st)
			}
			h.write(alice, h.object.Fields, always, func(Difference) bool { return true })
			if got := h.now().Withheld(); len(got) > 0 {
				t.Errorf("after an approval: %v", got)
			}
		})
	}
}

func TestPoliciesThatComeAndGo(t *testing.T) {
	const before, evil = `spec: {a: "1", b: "2"}`, `spec: {a: evil, b: "2"}`
	setup := func(t *testing.T) *holder {
		t.Helper()
		h := newHolder(t, object(t, before))
		h.object.Triggers = triggers(patterns(t, "spec.a"))
		h.write("mallory", object(t, evil), never, nil)
		return h
	}
	t.Run("one that goes approves nothing", func(t *testing.T) {
		h := setup(t)
		h.object.Triggers = never
		h.store(h.now())
		check(t, h, before, "(Mutate spec.a by mallory)")
		if got := h.now().Withheld(); len(got) > 0 {
			t.Errorf("what no rule is about is withheld: %v", got)
		}
		h.write(alice, object(t, `spec: {a: evil, b: "3"}`), always, nil)
		check(t, h, `spec: {a: "1", b: "3"}`, "(Mutate spec.a by mallory)")
		h.object.Triggers = triggers(patterns(t, "spec.a"))
		check(t, h, `spec: {a: "1", b: "3"}`, "Mutate spec.a by mallory")
	})
	t.Run("what waits ends where it is put back", func(t *testing.T) {
		h := setup(t)
		h.object.Triggers = never
		h.write("mallory", object(t, before), always, nil)
		check(t, h, before)
	})
	t.Run("what waits can be approved", func(t *testing.T) {
		h := setup(t)
		h.object.Triggers = never
		h.write(alice, object(t, evil), always, func(d Difference) bool { return d.Path.String() == "spec.a" })
		check(t, h, evil)
	})
	t.Run("one that comes withholds nothing that was not", func(t *testing.T) {
		h := setup(t)
		// No rule is about it, so that it has a cause.
		h.write("trudy", object(t, `spec: {a: evil, b: "4"}`), always, nil)
		h.object.Triggers = always
		check(t, h, `spec: {a: "1", b: "4"}`, "Mutate spec.a by mallory")
	})
	t.Run("what nobody saw while none was in effect is not withheld", func(t *testing.T) {
		h := setup(t)
		h.object.Triggers = never
		h.object.Fields, h.object.Generation = object(t, `spec: {a: evil, b: "4"}`), 7
		check(t, h, `spec: {a: "1", b: "4"}`, "(Mutate spec.a by mallory)")
	})
}

// TestResumed shows an object that nobody followed after mallory had changed it from before to evil.
func TestResumed(t *testing.T) {
	const (
		before  = `spec: {a: "1", b: "2", list: [{name: x, image: "1"}, {name: y, image: "1"}]}`
		evil    = `spec: {a: evil, b: "2", list: [{name: x, image: "1"}, {name: y, image: "1"}]}`
		inList  = `spec: {a: "1", b: "2", list: [{name: x, image: evil}, {name: y, image: "1"}]}`
		inserts = `spec: {a: "1", b: "2", m: {c: evil}, list: [{name: x, image: "1"}, {name: y, image: "1"}]}`
	)
	for name, tc := range map[string]struct {
		evil, found string
		// generation of the object as it is found, 3 unless it says otherwise.
		generation int64
		version    string
		triggers   []string
		want       []string
		approved   string
	}{
		"as it was": {evil: evil, found: evil, want: []string{"Mutate spec.a by mallory"}, approved: before},
		"another field changed": {
			evil: evil, found: `spec: {a: evil, b: "3", n: new}`,
			want: []string{"Mutate spec.a by mallory"}, approved: `spec: {a: "1", b: "3", n: new}`,
		},
		"changed again": {evil: evil, found: `spec: {a: worse}`, want: []string{"Mutate spec.a by mallory"}, approved: `spec: {a: "1"}`},
		"removed":       {evil: evil, found: `spec: {b: "2"}`, want: []string{"Delete spec.a by mallory"}, approved: `spec: {a: "1", b: "2"}`},
		"removed with what it is in": {
			evil: evil, found: `other: x`, want: []string{"Delete spec by mallory"},
			approved: before + "\nother: x",
		},
		"put back":                        {evil: evil, found: before, approved: before},
		"put back, and another one":       {evil: evil, found: `spec: {a: "1", b: "3"}`, approved: `spec: {a: "1", b: "3"}`},
		"what was added, and more of it":  {evil: inserts, found: `spec: {b: "3", m: {c: evil, d: new}}`, want: []string{"Insert spec.m by mallory"}, approved: `spec: {b: "3"}`},
		"what was added is taken out":     {evil: inserts, found: `spec: {b: "3"}`, approved: `spec: {b: "3"}`},
		"no rule is about it":             {evil: evil, found: `spec: {a: evil, b: "3"}`, triggers: []string{"spec.b"}, want: []string{"(Mutate spec.a by mallory)"}, approved: `spec: {a: "1", b: "3"}`},
		"in another version":              {evil: evil, found: `spec: {size: evil}`, version: "v2", want: []string{"Mutate spec by mallory"}},
		"in another version, as it was":   {evil: evil, found: evil, version: "v2", want: []string{"Mutate spec.a by mallory"}, approved: before},
		"of another object":               {evil: evil, found: `spec: {a: evil, b: "3"}`, generation: 1, approved: `spec: {a: evil, b: "3"}`},
		"of another object that is alike": {evil: evil, found: evil, generation: 1, want: []string{"Mutate spec.a by mallory"}, approved: before},
		"a list in which it moved on": {
			evil: inList, found: `spec: {list: [{name: new, image: "1"}, {name: x, image: evil}, {name: y, image: "1"}]}`,
			want: []string{"Insert spec.list[0] by mallory", "Mutate spec.list[1].image by "},
		},
		"a list in which it moved": {
			evil: inList, found: `spec: {a: "3", list: [{name: y, image: "1"}, {name: x, image: evil}]}`,
			want: []string{"Mutate spec.list by mallory"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHolder(t, object(t, before))
			h.object.Version = "v1"
			h.write("mallory", object(t, tc.evil), never, nil)
			h.object.Fields, h.object.Generation = object(t, tc.found), 3
			if tc.generation > 0 {
				h.object.Generation = tc.generation
			}
			if tc.version != "" {
				h.object.Version = tc.version
			}
			if tc.triggers != nil {
				of := patterns(t, tc.triggers...)
				h.object.Triggers, h.object.Concerns = triggers(of), nil
			}
			s, err := Decode(h.text)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // To do it again changes nothing.
				st := Resumed(s, h.object)
				if diff := cmp.Diff(tc.want, told(st)); diff != "" {
					t.Errorf("differences (-want +got):\n%s", diff)
				}
				if tc.approved != "" {
					if diff := sameContent(st, object(t, tc.approved)); diff != "" {
						t.Errorf("Content() (-want +got):\n%s", diff)
					}
				}
				h.store(st)
				s = st.State()
			}
		})
	}
}

func TestMetadataPatternsThatComeAndGo(t *testing.T) {
	const (
		before = `metadata: {labels: {a: x, b: w}, annotations: {c: v}}`
		gone   = `metadata: {annotations: {c: v}}`
		other  = `metadata: {labels: {b: w}, annotations: {c: u}}`
	)
	h := newHolder(t, object(t, before))
	h.object.Metadata = patterns(t, "metadata.labels[a]")
	h.write("mallory", object(t, gone), never, nil)
	check(t, h, `metadata: {labels: {a: x}}`, "Delete metadata.labels[a] by mallory")

	h.object.Metadata = patterns(t, "metadata.labels[a]", "metadata.annotations")
	check(t, h, `metadata: {labels: {a: x}, annotations: {c: v}}`, "Delete metadata.labels[a] by mallory")
	h.write("trudy", object(t, other), never, nil)
	check(t, h, `metadata: {labels: {a: x}, annotations: {c: v}}`, "Mutate metadata.annotations[c] by trudy", "Delete metadata.labels[a] by mallory")

	h.object.Metadata, h.object.Triggers = nil, never
	h.store(h.now())
	check(t, h, `metadata: {labels: {a: x}, annotations: {c: v}}`, "(Mutate metadata.annotations[c] by trudy)", "(Delete metadata.labels[a] by mallory)")

	// A wider pattern makes nothing withheld that was not, and approves nothing.
	h.object.Metadata, h.object.Triggers = patterns(t, "metadata"), always
	check(t, h, `metadata: {labels: {a: x, b: w}, annotations: {c: v}}`, "Mutate metadata.annotations[c] by trudy", "Delete metadata.labels[a] by mallory")

	h.store(h.now())
	// What nobody saw is no default, whatever the generation.
	h.object.Fields = object(t, `metadata: {labels: {b: evil}, annotations: {c: u}}`)
	check(t, h, `metadata: {labels: {a: x, b: w}, annotations: {c: v}}`,
		"Mutate metadata.annotations[c] by trudy", "Delete metadata.labels[a] by mallory", "Mutate metadata.labels[b] by ")
	h.object.Fields = object(t, other)

	h.write(alice, object(t, `metadata: {labels: {a: x}, annotations: {c: u}}`), always, nil)
	check(t, h, `metadata: {labels: {a: x}, annotations: {c: v}}`, "Mutate metadata.annotations[c] by trudy")
	h.write("mallory", object(t, `metadata: {labels: {a: x}, annotations: {c: v}}`), never, nil)
	check(t, h, `metadata: {labels: {a: x}, annotations: {c: v}}`)
}

func TestLargeValues(t *testing.T) {
	large := map[string]any{
		"spec": map[string]any{"small": "1", "large": noise("a", 50_000), "list": []any{map[string]any{"name": "a", "x": noise("b", 40_000)}}},
		"data": map[string]any{"large": noise("c", 50_000), "small": "1"},
	}
	with := func(at string, value any) map[string]any { return with(t, large, at, value) }
	tests := map[string]struct {
		evil map[string]any
		want []string
	}{
		"a large value changed": {evil: with("spec.large", noise("evil", 50_000)), want: []string{"Mutate spec.large by mallory"}},
		"a large value removed": {evil: with("data[large]", nil), want: []string{"Delete data[large] by mallory"}},
		"a small one changed":   {evil: with("spec.small", "evil"), want: []string{"Mutate spec.small by mallory"}},
		"within a list":         {evil: with("spec.list[0].x", "evil"), want: []string{"Mutate spec.list by mallory"}},
		"a map removed":         {evil: with("data", nil), want: []string{"Delete data by mallory"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHolder(t, large)
			h.write("mallory", tc.evil, never, nil)
			if diff := cmp.Diff(tc.want, told(h.now())); diff != "" {
				t.Fatalf("differences (-want +got):\n%s", diff)
			}
			another, _ := clone(tc.evil).(map[string]any)
			another["another"] = "evil"
			h.write("trudy", another, never, nil)
			h.write("trudy", tc.evil, never, nil)
			if diff := cmp.Diff(1, len(h.now().Withheld())); diff != "" {
				t.Fatalf("differences after another change was taken back: %v", told(h.now()))
			}
			h.write("mallory", large, never, nil)
			if h.text != "" {
				t.Errorf("still withheld: %v", told(h.now()))
			}
		})
	}
}

// TestLargeObjects shows what becomes of objects of which not all can be kept.
func TestLargeObjects(t *testing.T) {
	value := func(i int) any { return noise(asJSON(i), 70) }
	tests := map[string]map[string]any{
		"a name of 40 KB":            {"spec": map[string]any{noise("name", 40<<10): "1", "x": "2"}},
		"a top-level name of 80 KB":  {noise("name", 80<<10): "1", "spec": map[string]any{"x": "2"}},
		"many values":                {"data": numbered("k", 2500, value)},
		"many short values":          {"data": numbered(noise("n", 30), 2500, func(int) any { return "x" })},
		"many top-level fields":      numbered(noise("n", 30), 2000, value),
		"a long list":                {"spec": map[string]any{"l": []any{noise("x", 400_000), "2"}}},
		"a value of a megabyte":      {"data": map[string]any{"x": noise("x", 1<<20)}},
		"a value that packs well":    {"data": map[string]any{"x": strings.Repeat("x", 2<<20), "v": "1"}},
		"a list at the top":          {"rules": []any{noise("x", 400_000), "2"}},
		"many labels":                {"metadata": map[string]any{"labels": numbered("k", 2000, value)}},
		"large annotations":          {"metadata": map[string]any{"annotations": numbered("k", 4, func(i int) any { return noise(asJSON(i), 30_000) })}},
		"a value that reads as seal": {"spec": map[string]any{"x": noise("x", 50_000), "v": sealPrefix + "00"}},
	}
	namesTakeTheRoom := []string{"a top-level name of 80 KB", "many top-level fields", "many labels"}
	for name, fields := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHolder(t, fields)
			h.object.Metadata = patterns(t, "metadata")
			evil, _ := clone(fields).(map[string]any)
			evil["evil"] = "evil"
			h.write("mallory", evil, never, nil)
			unknown := slices.Contains(slices.Collect(maps.Values(h.now().Content())), any(seal("")))
			if want := slices.Contains(namesTakeTheRoom, name); unknown != want {
				t.Errorf("unknown: %t", unknown)
			}
			if got := told(h.now()); !unknown && !slices.Equal(got, []string{"Insert evil by mallory"}) {
				t.Errorf("differences: %.300v", got)
			}
			// What is taken out is withheld too, as far as it is known.
			for name := range fields {
				less := maps.Clone(evil)
				delete(less, name)
				h.write("mallory", less, never, nil)
				if got := told(h.now()); !unknown && len(got) < 2 {
					t.Errorf("differences without %.30s: %.300v", name, got)
				}
				h.write("mallory", evil, never, nil)
				break
			}
			h.write("mallory", fields, never, nil)
			if (h.text == "") == unknown {
				t.Errorf("after all was put back, unknown %t: %.300v", unknown, told(h.now()))
			}
			h.write(alice, evil, always, func(Difference) bool { return true })
			if h.text != "" {
				t.Errorf("after all was approved: %.300v", told(h.now()))
			}
		})
	}
}

// TestManyChanges shows that thousands of changes are not too many. It takes minutes where
// the cost grows with the square of their number.
func TestManyChanges(t *testing.T) {
	for name, n := range map[string]int{"some": 200, "many": 5_000, "more than are told apart": 11_000} {
		t.Run(name, func(t *testing.T) {
			object := func(value string, gone int) map[string]any {
				list := make([]any, 0, n)
				for i := range n - gone {
					list = append(list, map[string]any{"name": fmt.Sprintf("%s%d", strings.Repeat("x", i%7), i), "value": value})
				}
				return map[string]any{"spec": map[string]any{"env": list}, "data": numbered("k", n, func(int) any { return value })}
			}
			h := newHolder(t, object("1", 0))
			h.write("mallory", object("2", 1), never, nil)
			st := h.write("mallory", with(t, object("3", 2), "spec.x", "1"), never, nil)
			if got := len(st.Summary()); got == 0 || got > mostShown {
				t.Errorf("%d changes are shown", got)
			}
			h.write("mallory", object("1", 0), never, nil)
			if h.text != "" {
				t.Errorf("something is withheld after all was put back: %.200v", told(h.now()))
			}
		})
	}
}

func TestSealsAreNoValues(t *testing.T) {
	large := map[string]any{"data": map[string]any{"a": noise("a", 50_000), "b": "1"}}
	h := newHolder(t, large)
	h.write("mallory", with(t, large, "data[a]", "evil"), never, nil)
	// What the annotation shows as a seal is no value that a stranger could put in.
	shown, _ := path(t, "data[a]").Value(h.now().Content())
	text, ok := shown.(seal)
	if !ok {
		t.Fatalf("the value is not sealed: %.100v", shown)
	}
	for _, value := range []string{sealPrefix + string(text), sealPrefix} {
		h.write("mallory", with(t, large, "data[a]", value), never, nil)
		if diff := cmp.Diff([]string{"Mutate data[a] by mallory"}, told(h.now())); diff != "" {
			t.Errorf("differences with the text of a seal (-want +got):\n%s", diff)
		}
	}

	// Nor is one that somebody approved something else than it is.
	likeSeal := sealPrefix + fingerprint(uid, "evil")
	h = newHolder(t, map[string]any{"data": map[string]any{"a": likeSeal, "b": "1"}})
	h.write("mallory", map[string]any{"data": map[string]any{"a": "evil", "b": "2"}}, never, nil)
	if diff := cmp.Diff([]string{"Mutate data[a] by mallory", "Mutate data[b] by mallory"}, told(h.now())); diff != "" {
		t.Errorf("differences from a value like a seal (-want +got):\n%s", diff)
	}
	h.write("mallory", map[string]any{"data": map[string]any{"a": likeSeal, "b": "1"}}, never, nil)
	check(t, h, asJSON(map[string]any{"data": map[string]any{"a": likeSeal, "b": "1"}}))
}

// TestSealedRules shows that a rule about a part of a value that is not kept is asked by
// its path alone.
func TestSealedRules(t *testing.T) {
	large := map[string]any{"spec": map[string]any{"m": map[string]any{"a": noise("a", 50_000), "b": "1"}}}
	evil := with(t, large, "spec.m.b", nil)
	for name, tc := range map[string]struct {
		concerns func(change.Path) bool
		want     []string
	}{
		"a rule about a part": {func(change.Path) bool { return true }, []string{"Mutate spec.m by mallory"}},
		"no rule about it":    {func(change.Path) bool { return false }, []string{"(Mutate spec.m by mallory)"}},
		"nobody to ask":       {nil, []string{"(Mutate spec.m by mallory)"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHolder(t, large)
			h.object.Triggers, h.object.Concerns = triggers(patterns(t, "spec.m.b")), tc.concerns
			h.text = h.now().After(Request{New: Object{
				UID: uid, Generation: 2, Fields: evil, Triggers: h.object.Triggers, Concerns: tc.concerns,
			}, User: "mallory", Uncaused: h.changes(evil)}).State().Encode(uid)
			h.object.Fields, h.object.Generation = evil, 2
			if diff := cmp.Diff(tc.want, told(h.now())); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStatesThatCannotBeRead(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000)
	for name, text := range map[string]string{
		"not ours":        "hello",
		"another format":  "v2:AAAA",
		"no base64":       Format + "%",
		"not packed":      Format + "AAAA",
		"no JSON":         packed(t, "{"),
		"no state":        packed(t, `[]`),
		"another content": packed(t, `{"content":[]}`),
		"wrong types":     packed(t, `{"generation":"x"}`),
		"too deep":        packed(t, `{"content":`+deep+`}`),
		"too long":        packed(t, `{"content":{"a":"`+noise("x", 80_000)+`"}}`),
		"too large":       packed(t, `{"content":{"a":"`+strings.Repeat("x", maxUnpacked)+`"}}`),
		"no number":       packed(t, `{"content":{"a":1e999}}`),
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Decode(text)
			if err == nil || !s.Unknown {
				t.Fatalf("Decode() = %v, %v", s, err)
			}
			h := newHolder(t, object(t, withMap))
			h.object.Metadata = patterns(t, "metadata.labels")
			st := Now(s, Pending{}, h.object)
			if diff := cmp.Diff([]string{"Mutate spec by "}, told(st)); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
			// No policy that goes approves it, and no change of something else.
			h.object.Triggers, h.object.Concerns = never, nil
			h.store(Now(s, Pending{}, h.object))
			h.object.Triggers = always
			if diff := cmp.Diff([]string{"Mutate spec by "}, told(h.now())); diff != "" {
				t.Errorf("differences after a policy that went (-want +got):\n%s", diff)
			}
			h.write(alice, object(t, `{spec: {m: {a: evil, b: "2"}, p: "3"}, data: {a: x}}`), always, nil)
			if diff := cmp.Diff([]string{"Mutate spec by "}, told(h.now())); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
			// What a stranger takes out is not forgotten either.
			h.write("mallory", object(t, `data: {a: x}`), never, nil)
			if diff := cmp.Diff([]string{"Delete spec by mallory"}, told(h.now())); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
			h.write(alice, object(t, withMap), always, func(Difference) bool { return true })
			check(t, h, withMap)
		})
	}
	if s, err := Decode(""); s != nil || err != nil {
		t.Errorf("Decode() of nothing = %v, %v", s, err)
	}
}

func TestCleared(t *testing.T) {
	const before, evil = `spec: {m: {a: "1"}, p: "2"}`, `spec: {m: {a: evil, b: evil}, p: evil, q: {x: evil, v: evil}}`
	tests := map[string]struct {
		cleared []string
		want    []string
	}{
		"nothing":        {nil, []string{"Mutate spec.m.a by mallory", "Insert spec.m.b by mallory", "Mutate spec.p by mallory", "Insert spec.q by mallory"}},
		"the place":      {[]string{"spec.p"}, []string{"Mutate spec.m.a by mallory", "Insert spec.m.b by mallory", "Insert spec.q by mallory"}},
		"a place above":  {[]string{"spec.m"}, []string{"Mutate spec.p by mallory", "Insert spec.q by mallory"}},
		"all":            {[]string{"spec"}, nil},
		"a part of what": {[]string{"spec.q.x"}, []string{"Mutate spec.m.a by mallory", "Insert spec.m.b by mallory", "Mutate spec.p by mallory", "Insert spec.q by mallory"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHolder(t, object(t, before))
			h.write("mallory", object(t, evil), never, nil)
			var cleared []change.Path
			for _, text := range tc.cleared {
				cleared = append(cleared, path(t, text))
			}
			s, err := Decode(h.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, told(Now(s, Pending{Cleared: cleared}, h.object))); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMarks(t *testing.T) {
	const fields = `{spec: {p: evil, m: {a: evil}, l: [{name: a, x: evil}, {name: b, x: "1"}, {name: c, x: evil}], args: [u, evil, w]}}`
	mark := func(at string, m Mark) Mark {
		m.Author = Author{Path: at, User: "mallory", Generation: 1}
		return m
	}
	printOf := func(v any) string { return Print(uid, v) }
	tests := map[string]struct {
		marks []Mark
		want  []string
		// back ends it.
		back string
	}{
		"nothing":                {},
		"a value":                {[]Mark{mark("spec.p", Mark{Value: int64(3)})}, []string{"Mutate spec.p by mallory"}, `3`},
		"a print":                {[]Mark{mark("spec.p", Mark{Print: printOf("good")})}, []string{"Mutate spec.p by mallory"}, `good`},
		"the same":               {[]Mark{mark("spec.p", Mark{Print: printOf("evil")})}, nil, ""},
		"none before":            {[]Mark{mark("spec.p", Mark{})}, []string{"Insert spec.p by mallory"}, ""},
		"unknown":                {[]Mark{mark("spec.p", Mark{Unknown: true})}, []string{"Mutate spec.p by mallory"}, ""},
		"was removed":            {[]Mark{mark("spec.z", Mark{Print: printOf("good")})}, []string{"Delete spec.z by mallory"}, ""},
		"none, and is not there": {[]Mark{mark("spec.z.z", Mark{})}, nil, ""},
		"a map":                  {[]Mark{mark("spec.m", Mark{Print: printOf(map[string]any{"a": "good"})})}, []string{"Mutate spec.m by mallory"}, ""},
		"no room":                {[]Mark{mark("spec.p.x", Mark{Print: printOf("good")})}, []string{"Mutate spec.p by mallory"}, ""},
		"no such item":           {[]Mark{mark("spec.l[7].x", Mark{Print: printOf("good")})}, []string{"Mutate spec.l by mallory"}, ""},
		"in an item":             {[]Mark{mark("spec.l[2].x", Mark{Print: printOf("good")})}, []string{"Mutate spec.l[2].x by mallory"}, ""},
		"an item":                {[]Mark{mark("spec.l[2]", Mark{Print: printOf("good")})}, []string{"Mutate spec.l by mallory"}, ""},
		"a new item":             {[]Mark{mark("spec.l[0]", Mark{})}, []string{"Insert spec.l[0] by mallory"}, ""},
		"new items": {
			[]Mark{mark("spec.l[0]", Mark{}), mark("spec.l[1]", Mark{}), mark("spec.l[2].x", Mark{Value: "good"})},
			[]string{"Insert spec.l[0] by mallory", "Insert spec.l[1] by mallory", "Mutate spec.l[2].x by mallory"}, "",
		},
		"an item without a key":               {[]Mark{mark("spec.args[1]", Mark{Value: "good"})}, []string{"Mutate spec.args[1] by mallory"}, ""},
		"an item without a key, by its print": {[]Mark{mark("spec.args[1]", Mark{Print: printOf("good")})}, []string{"Mutate spec.args by mallory"}, ""},
		"no path":                             {[]Mark{mark("spec[", Mark{Unknown: true})}, nil, ""},
		"several": {
			[]Mark{mark("spec.p", Mark{Unknown: true}), mark("spec.m.a", Mark{Value: "good"})},
			[]string{"Mutate spec.m.a by mallory", "Mutate spec.p by mallory"}, "",
		},
		"one above another": {
			[]Mark{mark("spec.m", Mark{Unknown: true}), mark("spec.m.a", Mark{Value: "good"})},
			[]string{"Mutate spec.m by mallory"}, "",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHolder(t, object(t, fields))
			before := asJSON(h.object.Fields)
			st := Now(nil, Pending{Withheld: tc.marks}, h.object)
			if diff := cmp.Diff(tc.want, told(st)); diff != "" {
				t.Fatalf("differences (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, asJSON(h.object.Fields)); diff != "" {
				t.Errorf("the object was modified (-before +after):\n%s", diff)
			}
			h.store(st)
			if tc.back == "" {
				return
			}
			back := with(t, h.object.Fields, "spec.p", object(t, "v: "+tc.back)["v"])
			h.write("trudy", back, never, nil)
			check(t, h, asJSON(back))
		})
	}
}

func TestMarksBesideAState(t *testing.T) {
	h := newHolder(t, object(t, abc))
	h.write("mallory", object(t, `spec: {containers: [{name: bb}, {name: a, image: a1}, {name: b, image: b2}, {name: c, image: c1}]}`), never, nil)
	s, err := Decode(h.text)
	if err != nil {
		t.Fatal(err)
	}
	st := Now(s, Pending{Withheld: []Mark{
		{Author: Author{Path: "spec.containers[3].image", User: "trudy"}, Print: Print(uid, "c0")},
		{Author: Author{Path: "spec.containers[0].tty", User: "trudy"}, Print: Print(uid, true)},
	}}, h.object)
	want := []string{"Insert spec.containers[0] by mallory", "Mutate spec.containers[2].image by mallory", "Mutate spec.containers[3].image by trudy"}
	if diff := cmp.Diff(want, told(st)); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
}

// Where the state tells what was approved, a mark of the same place is nothing new.
func TestMarksOfWhatAStateTells(t *testing.T) {
	h := newHolder(t, object(t, `spec: {p: "1", q: "1"}`))
	h.write("mallory", object(t, `spec: {p: evil, q: "1"}`), never, nil)
	s, err := Decode(h.text)
	if err != nil {
		t.Fatal(err)
	}
	st := Now(s, Pending{Withheld: []Mark{{Author: Author{Path: "spec.p", User: "trudy"}, Unknown: true}}}, h.object)
	if diff := cmp.Diff([]string{"Mutate spec.p by mallory"}, told(st)); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
	back := h.object
	back.Fields = object(t, `spec: {p: "1", q: "1"}`)
	if after := st.After(Request{New: back, User: "mallory"}); len(after.Differences) > 0 {
		t.Errorf("put back, and still withheld: %q", told(after))
	}
}

func TestIgnored(t *testing.T) {
	h := newHolder(t, object(t, `spec: {a: "1", paused: true}`))
	h.object.Ignores = func(p change.Path) bool { return p.String() == "spec.paused" }
	h.write("mallory", object(t, `spec: {a: "1"}`), never, nil)
	check(t, h, `spec: {a: "1"}`)
	h.write("mallory", object(t, `spec: {a: evil, paused: true}`), never, nil)
	if diff := cmp.Diff([]string{"Mutate spec.a by mallory"}, told(h.now())); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
	h.write("mallory", object(t, `spec: {a: "1", paused: false}`), never, nil)
	if h.text != "" {
		t.Errorf("still withheld: %v", told(h.now()))
	}
}

func TestSummary(t *testing.T) {
	var long change.Path
	for range 60 {
		long = long.Field("abcdefgh")
	}
	field := func(text string) map[string]any {
		var v any = text
		for range 60 {
			v = map[string]any{"abcdefgh": v}
		}
		fields, _ := v.(map[string]any)
		return fields
	}
	tests := map[string]struct {
		from, to map[string]any
		want     []string
	}{
		"a few": {object(t, abc), object(t, bbEvil), []string{"spec.containers[1]"}},
		"many fields of one map": {
			map[string]any{"data": numbered("k", 17, func(int) any { return "1" })},
			map[string]any{"data": numbered("k", 17, func(int) any { return "2" })}, []string{"data"},
		},
		"many fields of two maps": {
			map[string]any{"spec": map[string]any{"a": numbered("k", 10, func(int) any { return "1" }), "b": numbered("k", 10, func(int) any { return "1" })}},
			map[string]any{"spec": map[string]any{"a": numbered("k", 10, func(int) any { return "2" }), "b": numbered("k", 10, func(int) any { return "2" })}},
			[]string{"spec.a", "spec.b"},
		},
		"sixteen": {
			map[string]any{"data": numbered("k", 16, func(int) any { return "1" })},
			map[string]any{"data": numbered("k", 16, func(int) any { return "2" })},
			[]string{
				"data[k00000]", "data[k00001]", "data[k00002]", "data[k00003]", "data[k00004]", "data[k00005]", "data[k00006]", "data[k00007]",
				"data[k00008]", "data[k00009]", "data[k00010]", "data[k00011]", "data[k00012]", "data[k00013]", "data[k00014]", "data[k00015]",
			},
		},
		"a long path": {field("a"), field("b"), []string{long[:28].String()}},
		"a long name": {
			map[string]any{"data": map[string]any{noise("n", 300): "1"}}, map[string]any{"data": map[string]any{noise("n", 300): "2"}}, []string{"data"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHolder(t, tc.from)
			h.write("mallory", tc.to, never, nil)
			var got []string
			for _, s := range h.now().Summary() {
				got = append(got, s.Path)
				if s.Digest != h.now().Digest(path(t, s.Path)) || len(s.Digest) != 2*digestSize {
					t.Errorf("the digest of %s is %s", s.Path, s.Digest)
				}
				if s.User != "mallory" {
					t.Errorf("the author of %s is %s", s.Path, s.User)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Summary() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDigest(t *testing.T) {
	evil := object(t, `spec: {m: {a: evil, b: "2"}, p: worse}`)
	digests := func(fields map[string]any, user string) map[string]string {
		h := newHolder(t, object(t, withMap))
		h.write(user, fields, func(c change.Change) bool { return strings.HasPrefix(c.Path.String(), "spec.other") }, nil)
		out := map[string]string{"": h.now().Digest(nil)}
		for _, text := range []string{"spec", "spec.m", "spec.m.a", "spec.m.a.x", "spec.m.b", "spec.p"} {
			out[text] = h.now().Digest(path(t, text))
		}
		return out
	}
	differ := func(a, b map[string]string) []string {
		var out []string
		for _, text := range slices.Sorted(maps.Keys(a)) {
			if a[text] != b[text] {
				out = append(out, text)
			}
		}
		return out
	}
	before := digests(evil, "mallory")
	tests := map[string]struct {
		fields map[string]any
		want   []string
	}{
		"nothing else":                  {evil, nil},
		"something with a cause":        {with(t, evil, "spec.other", "1"), nil},
		"the content of a change":       {with(t, evil, "spec.m.a", "evil2"), []string{"", "spec", "spec.m", "spec.m.a", "spec.m.a.x"}},
		"another change":                {with(t, evil, "spec.m.b", "3"), []string{"", "spec", "spec.m", "spec.m.b"}},
		"a change taken back":           {with(t, evil, "spec.p", "3"), []string{"", "spec", "spec.p"}},
		"a value removed":               {with(t, evil, "spec.p", nil), []string{"", "spec", "spec.p"}},
		"an empty value in its place":   {with(t, evil, "spec.p", map[string]any{}), []string{"", "spec", "spec.p"}},
		"a number in the place of text": {with(t, evil, "spec.p", int64(3)), []string{"", "spec", "spec.p"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, differ(before, digests(tc.fields, "trudy"))); diff != "" {
				t.Errorf("digests that are other ones (-want +got):\n%s", diff)
			}
		})
	}
	h := newHolder(t, object(t, withMap))
	h.write("mallory", evil, never, nil)
	other := h.object
	other.UID = "uid-2"
	s, err := Decode(h.text)
	if err != nil {
		t.Fatal(err)
	}
	if h.now().Digest(nil) == Now(s, Pending{}, other).Digest(nil) {
		t.Error("two objects have the same digest")
	}
}

func TestPrint(t *testing.T) {
	values := []any{
		nil, "", "a", `"a"`, int64(1), "1", true, "true", []any{}, map[string]any{}, []any{nil}, []any{[]any{}}, []any{"a", "b"}, []any{"ab"},
		map[string]any{"a": "b"}, map[string]any{"a": map[string]any{"b": "c"}}, map[string]any{"a": []any{"b"}}, map[string]any{"ab": ""},
	}
	seen := map[string]any{}
	for _, v := range values {
		p := Print(uid, v)
		if other, known := seen[p]; known {
			t.Errorf("%s and %s have the print %s", asJSON(other), asJSON(v), p)
		}
		seen[p] = v
		if (v == nil) != (p == "") {
			t.Errorf("the print of %s is %q", asJSON(v), p)
		}
		if v != nil && p == Print("uid-2", v) {
			t.Errorf("%s has the same print in two objects", asJSON(v))
		}
	}
	if Print(uid, int64(3)) != Print(uid, float64(3)) {
		t.Error("numbers of one value have different prints")
	}
	whole := map[string]any{"a": "b", "c": []any{"d"}, "e": nil}
	if Print(uid, whole) != Print(uid, map[string]any{"a": seal(Print(uid, "b")), "c": []any{seal(Print(uid, "d"))}}) {
		t.Error("a print depends on what is sealed")
	}
	if got := Print(uid, map[string]any{"a": seal("")}); got != "" {
		t.Errorf("the print of what is not known is %q", got)
	}
}

func TestSame(t *testing.T) {
	state := func(change func(*State)) *State {
		s := &State{
			Content: map[string]any{"a": "b", "c": nil}, Metadata: []string{"metadata"}, Generation: 1, Seen: "x",
			Withheld: []Author{{Path: "a", User: "b", Generation: 1}},
		}
		change(s)
		return s
	}
	s := state(func(*State) {})
	for name, tc := range map[string]struct {
		other *State
		want  bool
	}{
		"none":               {nil, false},
		"itself":             {s, true},
		"the same":           {state(func(*State) {}), true},
		"without nulls":      {state(func(s *State) { delete(s.Content, "c") }), true},
		"another content":    {state(func(s *State) { s.Content["a"] = "x" }), false},
		"another generation": {state(func(s *State) { s.Generation++ }), false},
		"another author":     {state(func(s *State) { s.Withheld[0].User = "x" }), false},
		"other metadata":     {state(func(s *State) { s.Metadata = nil }), false},
		"another look":       {state(func(s *State) { s.Seen = "" }), false},
		"unknown":            {state(func(s *State) { s.Unknown = true }), false},
	} {
		if got := s.Same(tc.other); got != tc.want || tc.other.Same(s) != tc.want {
			t.Errorf("%s: Same() = %t", name, got)
		}
	}
	if !(*State)(nil).Same(nil) {
		t.Error("no State differs from none")
	}
}

// TestDecodeTakesNoMemory shows that a short text cannot cost much.
func TestDecodeTakesNoMemory(t *testing.T) {
	for name, text := range map[string]string{
		"blanks":  strings.Repeat(" ", 20<<20),
		"maps":    `{"content":{"a":[` + strings.Repeat("{},", 300_000) + `{}]}}`,
		"lists":   `{"content":{"a":[` + strings.Repeat("[],", 300_000) + `{}]}}`,
		"numbers": `{"content":{"a":[` + strings.Repeat("1,", 500_000) + `1]}}`,
		"authors": `{"withheld":[` + strings.Repeat("{},", 300_000) + `{}]}`,
		"a value": `{"content":{"a":"` + strings.Repeat("x", 20<<20) + `"}}`,
	} {
		text = packed(t, text)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = Decode(text)
		runtime.ReadMemStats(&after)
		if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 100 {
			t.Errorf("%s: %d bytes of text cost %d MB", name, len(text), used)
		}
	}
}

// TestNastyObjects shows that nothing that an object may be makes it panic.
func TestNastyObjects(t *testing.T) {
	var deep any = "x"
	for i := range 300 {
		if i%2 == 0 {
			deep = []any{deep}
		} else {
			deep = map[string]any{"name": deep}
		}
	}
	nasty := []map[string]any{
		nil, {}, {"spec": nil}, {"spec": "x"}, {"spec": deep}, {"": map[string]any{"": []any{}}},
		{"spec": []any{nil, nil}}, {"spec": []any{map[string]any{}, map[string]any{"name": nil}}},
		{"spec": []any{map[string]any{"name": "a"}, map[string]any{"name": "a"}, "x", []any{}}},
		{"spec": []any{map[string]any{"name": []any{}}, map[string]any{"name": map[string]any{}}}},
		{"metadata": "x"}, {"metadata": map[string]any{"labels": []any{"x"}, "annotations": map[string]any{"a": map[string]any{"b": nil}}}},
		{"spec": map[string]any{"ports": []any{map[string]any{"port": int64(1)}, map[string]any{"containerPort": 1.5}}}},
		{"spec": map[string]any{"*": "[*]", "a.b['c']": sealPrefix}},
	}
	for i, a := range nasty {
		for j, b := range nasty {
			for _, k := range []int{i, (i + j) % len(nasty), (i + 2*j + 1) % len(nasty)} {
				c := nasty[k]
				h := newHolder(t, a)
				h.object.Metadata = patterns(t, "metadata")
				h.write("mallory", b, never, nil)
				h.write(alice, c, always, nil)
				h.write("mallory", c, never, func(Difference) bool { return true })
				if h.text != "" {
					t.Errorf("%d, %d, %d: still withheld: %v", i, j, k, told(h.now()))
				}
				for _, m := range []Mark{{}, {Unknown: true}, {Value: "x"}, {Print: "x"}} {
					if i+j > 0 {
						break
					}
					m.Author.Path = "spec[0].name"
					h.store(Now(nil, Pending{Withheld: []Mark{m}}, h.object))
				}
			}
		}
	}
}

// TestPartPutBack has somebody put something else into a map that a stranger has taken out: what is missing
// of it is still the stranger's doing.
func TestPartPutBack(t *testing.T) {
	of := func(context any) map[string]any {
		spec := map[string]any{"image": "web:1"}
		if context != nil {
			spec["context"] = context
		}
		return map[string]any{"spec": spec}
	}
	h := newHolder(t, of(map[string]any{"user": int64(300)}))
	h.write("mallory", of(nil), never, nil)
	h.write("bob", of(map[string]any{"group": int64(1)}), never, nil)
	got := map[string]string{}
	for _, d := range h.now().Withheld() {
		got[d.Path.String()] = d.Author.User
	}
	if diff := cmp.Diff(map[string]string{"spec.context.user": "mallory", "spec.context.group": "bob"}, got); diff != "" {
		t.Errorf("authors (-want +got):\n%s", diff)
	}
}
