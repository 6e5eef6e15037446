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
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/internal/change"
)

const (
	waitingGood = `spec: {a: "1", m: {b: "1", c: "1"}, list: [{name: x, image: "1"}, {name: y, image: "1"}]}`
	waitingEvil = `spec: {a: evil, m: {b: "1", c: "1"}, list: [{name: x, image: "1"}, {name: y, image: evil}]}`
)

// waiting returns an object of which a and an image are withheld, and are what no rule is about any more.
func waiting(t *testing.T) *holder {
	t.Helper()
	h := newHolder(t, object(t, waitingGood))
	h.write("mallory", object(t, waitingEvil), never, nil)
	of := patterns(t, "spec.m")
	h.object.Triggers = triggers(of)
	h.object.Concerns = func(p change.Path) bool { return of[0].Touches(p) }
	return h
}

func TestDiffersAt(t *testing.T) {
	for name, tc := range map[string]struct {
		to string
		// want are the changes that are at a place that differs.
		want []string
	}{
		"what differs":       {to: `spec: {a: worse, m: {b: "1", c: "1"}, list: [{name: x, image: "1"}, {name: y, image: evil}]}`, want: []string{"Mutate spec.a"}},
		"what does not":      {to: `spec: {a: evil, m: {b: "2", c: "1"}, list: [{name: x, image: "2"}, {name: y, image: evil}]}`},
		"put back":           {to: waitingGood, want: []string{"Mutate spec.a", "Mutate spec.list[1].image"}},
		"all of it":          {to: `data: {}`, want: []string{"Delete spec"}},
		"an item that moves": {to: `spec: {a: evil, m: {b: "1", c: "1"}, list: [{name: y, image: worse}]}`, want: []string{"Mutate spec.list[0].image"}},
		"the item goes":      {to: `spec: {a: evil, m: {b: "1", c: "1"}, list: [{name: x, image: "1"}]}`, want: []string{"Delete spec.list[1]"}},
		"another item goes":  {to: `spec: {a: evil, m: {b: "1", c: "1"}, list: [{name: y, image: evil}]}`},
		"an item under another name": {
			to:   `spec: {a: evil, m: {b: "1", c: "1"}, list: [{name: x, image: "1"}, {name: z, image: worse}]}`,
			want: []string{"Delete spec.list[1]", "Insert spec.list[1]"},
		},
		"another order": {
			to: `spec: {a: evil, m: {b: "1", c: "1"}, list: [{name: y, image: worse}, {name: x, image: "1"}]}`, want: []string{"Mutate spec.list"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, st, to := waiting(t), waiting(t).now(), object(t, tc.to)
			var got []string
			for _, c := range h.changes(to) {
				if st.DiffersAt(c, to) {
					got = append(got, string(c.Verb)+" "+c.Path.String())
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("an item that was taken out comes back", func(t *testing.T) {
		h := newHolder(t, object(t, waitingGood))
		h.write("mallory", object(t, `spec: {a: "1", m: {b: "1", c: "1"}, list: [{name: y, image: "1"}]}`), never, nil)
		to := object(t, `spec: {a: "1", m: {b: "1", c: "1"}, list: [{name: y, image: "1"}, {name: x, image: evil}]}`)
		for _, c := range h.changes(to) {
			if !h.now().DiffersAt(c, to) {
				t.Errorf("%s %s is told to be as it was approved", c.Verb, c.Path)
			}
		}
	})
}

func TestWaiting(t *testing.T) {
	h := waiting(t)
	st := h.now()
	var got []string
	for _, s := range st.Waiting() {
		got = append(got, s.Path+" by "+s.User)
	}
	if diff := cmp.Diff([]string{"spec.a by mallory", "spec.list[1].image by mallory"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	back := newHolder(t, h.object.Fields)
	back.text = h.text
	if diff := cmp.Diff(back.now().Summary(), st.Waiting()); diff != "" {
		t.Errorf("when the rule is back (-want +got):\n%s", diff)
	}
}

// What nobody has seen of a list in which something waits is not approved either.
func TestUnseenWhileWaiting(t *testing.T) {
	for name, tc := range map[string]struct {
		found string
		same  bool // generation
		want  []string
	}{
		"changed again": {
			found: `spec: {a: worse, m: {b: "1", c: "1"}, list: [{name: x, image: "1"}, {name: y, image: worse}]}`,
			want:  []string{"(Mutate spec.a by mallory)", "(Mutate spec.list[1].image by mallory)"},
		},
		"it has moved": {
			found: `spec: {a: "1", m: {b: "1", c: "1"}, list: [{name: y, image: worse}]}`,
			want:  []string{"(Delete spec.list[0] by )", "(Mutate spec.list[0].image by )"},
		},
		"the API server has new defaults": {
			found: `spec: {a: "1", m: {b: "1", c: "1"}, list: [{name: x, image: "1", pull: Always}, {name: y, image: "1"}]}`, same: true,
		},
		"another field": {
			found: `spec: {a: "1", m: {b: "1", c: "1"}, n: new, list: [{name: x, image: "1"}, {name: y, image: "1"}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := waiting(t)
			h.object.Fields = object(t, tc.found)
			if !tc.same {
				h.object.Generation++
			}
			if diff := cmp.Diff(tc.want, told(h.now())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestBesideItems shows that what a stranger put into a list without keys, of whose items rules name a part, leaves
// nothing behind when it is put back.
func TestBesideItems(t *testing.T) {
	const plain = "spec: {l: [{name: x, value: '1', size: 1}, {name: x, value: '2', size: 2}]}"
	const matrix = "spec: {l: [[1, 2], [3, 4]]}"
	for name, tc := range map[string]struct{ trigger, from, to string }{
		"an item in front":     {"spec.l[*].value", plain, "spec: {l: [{name: x, value: '0', size: 0}, {name: x, value: '1', size: 1}, {name: x, value: '2', size: 2}]}"},
		"an item less":         {"spec.l[*].value", plain, "spec: {l: [{name: x, value: '2', size: 2}]}"},
		"two that are swapped": {"spec.l[*].value", plain, "spec: {l: [{name: x, value: '2', size: 2}, {name: x, value: '1', size: 1}]}"},
		"lists of lists":       {"spec.l[*][1]", matrix, "spec: {l: [[3, 4], [1, 2]]}"},
		"values in place":      {"spec.l[*][1]", matrix, "spec: {l: [[9, 8], [7, 6]]}"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHolder(t, object(t, tc.from))
			h.object.Triggers = triggers(patterns(t, tc.trigger))
			h.object.Concerns = nil
			triggered := h.object.Triggers
			for i, to := range []string{tc.to, tc.from} {
				h.write("mallory", object(t, to), func(c change.Change) bool { return !triggered(c) }, nil)
				if got := len(h.now().Withheld()); (got > 0) != (i == 0) {
					t.Fatalf("after step %d: %q", i+1, told(h.now()))
				}
			}
			if got := told(h.now()); len(got) > 0 {
				t.Errorf("put back, and still otherwise: %q", got)
			}
		})
	}
}
