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
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"
	"pgregory.net/rapid"

	"kausality.io/operator/internal/change"
)

// writer makes values of which each string is its own, and changes others. Names of items
// are nobody's.
type writer struct {
	t      *rapid.T
	prefix string
	n      *int
}

func (w *writer) roll(n int) int { return rapid.IntRange(0, n-1).Draw(w.t, "roll") }

func (w *writer) number() int {
	*w.n++
	return *w.n
}

func (w *writer) text() string { return fmt.Sprintf("%s%d;", w.prefix, w.number()) }

// value returns JSON of some depth. Items of lists have names, names that several have, or none.
func (w *writer) value(depth int) any {
	kind := w.roll(8)
	switch {
	case depth == 0 || kind > 5:
		return w.text()
	case kind > 3:
		return w.fields(depth)
	}
	l := []any{}
	keyed, step := w.roll(2) == 0, w.roll(2)
	for i := range 4 - w.roll(4) {
		v := w.value(depth - 1)
		if keyed {
			v = map[string]any{"name": fmt.Sprint("n", i*step+i/2), "v": v}
		}
		l = append(l, v)
	}
	return l
}

func (w *writer) fields(depth int) map[string]any {
	m := map[string]any{}
	for _, name := range []string{"a", "b", "labels"} {
		if w.roll(3) < 2 {
			m[name] = w.value(depth - 1)
		}
	}
	return m
}

// object returns an object with a spec, data and labels.
func (w *writer) object() map[string]any {
	return map[string]any{
		"kind": "Thing", "spec": w.fields(4), "data": w.fields(2),
		"metadata": map[string]any{"labels": map[string]any{"a": w.text(), "b": w.text()}},
	}
}

// edit returns a copy of v in which a few things differ.
func (w *writer) edit(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return w.editMap(v)
	case []any:
		return w.editList(v)
	case string:
		if w.roll(8) == 7 {
			return w.text()
		}
	}
	return v
}

func (w *writer) editMap(v map[string]any) map[string]any {
	m := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		switch roll := w.roll(10); {
		case name == "name" || name == "kind":
			m[name] = v[name]
		case roll == 9 && name != "metadata" && name != "labels":
		case roll == 8 && name != "metadata" && name != "labels":
			m[name] = w.value(1)
		default:
			m[name] = w.edit(v[name])
		}
	}
	if w.roll(5) == 4 {
		m["new"] = w.value(1)
	}
	return m
}

func (w *writer) editList(v []any) []any {
	l := []any{}
	for _, item := range v {
		switch w.roll(8) {
		case 7:
		case 6:
			l = append(l, w.edit(item), w.value(1))
		case 5:
			l = append(l, map[string]any{"name": fmt.Sprint("new", w.number()), "v": w.text()}, w.edit(item))
		default:
			l = append(l, w.edit(item))
		}
	}
	if w.roll(6) == 5 {
		l = rapid.Permutation(l).Draw(w.t, "shuffled")
	}
	return l
}

var writerText = regexp.MustCompile(`(good|evil)[0-9]+;`)

// writtenIn returns the strings of a value that a writer has written.
func writtenIn(t *rapid.T, v any) sets.Set[string] {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return sets.New(writerText.FindAllString(string(text), -1)...)
}

func evilIn(t *rapid.T, v any) sets.Set[string] {
	out := sets.New[string]()
	for text := range writtenIn(t, v) {
		if text[:4] == "evil" {
			out.Insert(text)
		}
	}
	return out
}

// game is an object that initiators and strangers change in turn.
type game struct {
	*holder
	t *rapid.T
	n int
}

func newGame(t *rapid.T) *game {
	g := &game{t: t}
	g.holder = newHolder(t, g.writer("good").object())
	var metadata change.Path
	g.object.Metadata = []change.Pattern{change.Pattern(metadata.Field("metadata").Field("labels"))}
	return g
}

func (g *game) writer(prefix string) *writer { return &writer{t: g.t, prefix: prefix, n: &g.n} }

// stranger changes something without a cause.
func (g *game) stranger() {
	g.write("mallory", g.writer("evil").editMap(g.object.Fields), never, nil)
}

// initiator changes something.
func (g *game) initiator() {
	g.write(alice, g.writer("good").editMap(g.object.Fields), always, nil)
}

// some holds for some changes, and the same ones each time.
func some(t *rapid.T) func(change.Change) bool {
	known := map[string]bool{}
	return func(c change.Change) bool {
		key := c.Path.String() + string(c.Verb)
		if _, ok := known[key]; !ok {
			known[key] = rapid.Bool().Draw(t, "some")
		}
		return known[key]
	}
}

// toward returns an object with some of the changes that make it another one.
func (g *game) toward(to map[string]any) map[string]any {
	var except []change.Change
	is := some(g.t)
	for _, c := range change.Find(g.object.Fields, to, change.Options{Metadata: g.object.Metadata}) {
		if is(c) {
			except = append(except, c)
		}
	}
	next := change.Merge(g.object.Fields, g.object.Fields, to, nil, except)
	next["kind"] = "Thing"
	return next
}

// approvedObject returns the object as it is approved.
func (g *game) approvedObject() map[string]any {
	out, _ := clone(g.now().Content()).(map[string]any)
	out["kind"] = "Thing"
	return out
}

func TestPropertyNothingOfStrangersIsApproved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newGame(t)
		approved := sets.New[string]()
		for range rapid.IntRange(1, 6).Draw(t, "requests") {
			switch rapid.IntRange(0, 4).Draw(t, "who") {
			case 0, 1:
				g.stranger()
			case 2, 3:
				g.initiator()
			default:
				is := some(t)
				st := g.now().Approve(func(d Difference) bool {
					if !is(d.Change) {
						return false
					}
					approved = approved.Union(evilIn(t, d.New))
					return true
				})
				g.store(st)
			}
			if foreign := evilIn(t, g.now().Content()).Difference(approved); foreign.Len() > 0 {
				t.Fatalf("approved is %v: %s", foreign, asJSON(g.now().Content()))
			}
			// What is there and not approved is withheld.
			var withheld []any
			for _, d := range g.now().Withheld() {
				withheld = append(withheld, d.New)
			}
			there := evilIn(t, content(g.object.Fields, g.object.Metadata)).Difference(evilIn(t, g.now().Content()))
			if free := there.Difference(evilIn(t, withheld)); free.Len() > 0 {
				t.Fatalf("nothing withholds %v", free)
			}
		}
	})
}

func TestPropertyWhatIsTakenBackEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newGame(t)
		first := g.object.Fields
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			g.stranger()
		}
		if diff := sameContent(g.now(), content(first, g.object.Metadata)); diff != "" {
			t.Fatalf("Content() after changes of strangers alone (-want +got):\n%s", diff)
		}
		if rapid.Bool().Draw(t, "with an initiator") {
			g.initiator()
		}
		for range rapid.IntRange(0, 4).Draw(t, "steps back") {
			g.write("trudy", g.toward(g.approvedObject()), never, nil)
		}
		g.write("trudy", g.approvedObject(), never, nil)
		if g.text != "" {
			t.Fatalf("still withheld: %v", told(g.now()))
		}
	})
}

func TestPropertyOnlyTheObjectMatters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newGame(t)
		g.stranger()
		g.initiator()
		last := g.writer("evil").editMap(g.object.Fields)
		whole := *g.holder
		whole.write("mallory", last, never, nil)
		for range rapid.IntRange(1, 3).Draw(t, "parts") {
			g.write("mallory", g.toward(last), never, nil)
		}
		g.write("mallory", last, never, nil)
		if diff := cmp.Diff(whole.now().Content(), g.now().Content()); diff != "" {
			t.Fatalf("Content() (-in one request +in several):\n%s", diff)
		}
		places := func(st *Standing) []string {
			var out []string
			for _, d := range st.Withheld() {
				out = append(out, string(d.Verb)+" "+d.Path.String())
			}
			return out
		}
		if diff := cmp.Diff(places(whole.now()), places(g.now())); diff != "" {
			t.Fatalf("withheld (-in one request +in several):\n%s", diff)
		}
		if whole.now().Digest(nil) != g.now().Digest(nil) {
			t.Fatal("the digests differ")
		}
	})
}

func TestPropertyOrderOfUncausedDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newGame(t)
		g.stranger()
		next := g.object
		next.Generation++
		next.Fields = g.writer("evil").editMap(g.object.Fields)
		is := some(t)
		uncaused := slices.DeleteFunc(g.changes(next.Fields), is)
		one := g.now().After(Request{New: next, User: "mallory", Uncaused: uncaused})
		uncaused = rapid.Permutation(uncaused).Draw(t, "order")
		other := g.now().After(Request{New: next, User: "mallory", Uncaused: uncaused})
		if diff := cmp.Diff(told(one), told(other)); diff != "" {
			t.Fatalf("differences (-one order +another):\n%s", diff)
		}
		if one.State().Encode(uid) != other.State().Encode(uid) {
			t.Fatal("what is stored depends on the order of changes")
		}
	})
}

func TestPropertyApprovingAllLeavesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newGame(t)
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			g.stranger()
		}
		if rapid.Bool().Draw(t, "with an initiator") {
			g.initiator()
		}
		st := g.now().Approve(func(Difference) bool { return true })
		if len(st.Differences) > 0 || st.State() != nil {
			t.Fatalf("still withheld: %v", told(st))
		}
		if diff := sameContent(st, content(g.object.Fields, g.object.Metadata)); diff != "" {
			t.Fatalf("Content() (-object +got):\n%s", diff)
		}
		if diff := cmp.Diff(told(st), told(g.now().After(Request{New: g.object, User: alice, Approves: func(Difference) bool { return true }}))); diff != "" {
			t.Fatalf("approved in a request (-want +got):\n%s", diff)
		}
	})
}

func TestPropertyEncodeAndDecode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newGame(t)
		g.stranger()
		s := g.now().State()
		text := s.Encode(uid)
		got, err := Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, got); diff != "" {
			t.Fatalf("Decode() (-want +got):\n%s", diff)
		}
		if !s.Same(got) || got.Encode(uid) != text {
			t.Fatal("a State that was read differs from what was written")
		}
	})
}

// place is one in an object of maps and of lists whose items have names.
type place []string

// op is one edit: a value for a field, or nil to remove it.
type op struct {
	at    place
	value any
}

// item returns where a list has the item with a name.
func item(list []any, name string) int {
	return slices.IndexFunc(list, func(v any) bool {
		m, _ := v.(map[string]any)
		return m["name"] == name
	})
}

// apply makes an edit in v, as far as there is room for it. A part of a place that begins
// with "#" is the name of an item.
func apply(v any, at place, value any) any {
	if len(at) == 0 {
		return value
	}
	if at[0][0] == '#' {
		return applyToItem(v, at, value)
	}
	m, isMap := v.(map[string]any)
	if v != nil && !isMap {
		return v
	}
	out := maps.Clone(m)
	next := apply(m[at[0]], at[1:], value)
	switch {
	case next == nil:
		delete(out, at[0])
	case out == nil:
		out = map[string]any{at[0]: next}
	default:
		out[at[0]] = next
	}
	if out == nil && v == nil {
		return nil
	}
	return out
}

func applyToItem(v any, at place, value any) any {
	l, isList := v.([]any)
	if v != nil && !isList {
		return v
	}
	i := item(l, at[0][1:])
	var before any
	if i >= 0 {
		before = l[i]
	}
	next := apply(before, at[1:], value)
	if m, isMap := next.(map[string]any); isMap && before == nil {
		m["name"] = at[0][1:]
	}
	switch {
	case next == nil && i < 0:
		return v
	case next == nil:
		return slices.Delete(slices.Clone(l), i, i+1)
	case i < 0:
		return append(slices.Clone(l), next)
	}
	out := slices.Clone(l)
	out[i] = next
	return out
}

// places are some places of the objects of the model.
var places = rapid.Custom(func(t *rapid.T) place {
	at := place{rapid.SampledFrom([]string{"spec", "data"}).Draw(t, "top")}
	for range rapid.IntRange(0, 2).Draw(t, "depth") {
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			at = append(at, "m"+rapid.SampledFrom([]string{"1", "2"}).Draw(t, "map"))
		default:
			at = append(at, "l"+rapid.SampledFrom([]string{"1", "2"}).Draw(t, "list"), "#"+rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "item"))
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "leaf") > 0 || at[len(at)-1][0] != '#' {
		at = append(at, "f"+rapid.SampledFrom([]string{"1", "2"}).Draw(t, "field"))
	}
	return at
})

// inOrder returns a value with the items of lists in order of their names.
func inOrder(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, held := range v {
			out[name] = inOrder(held)
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, item := range v {
			out = append(out, inOrder(item))
		}
		slices.SortFunc(out, func(a, b any) int {
			x, _ := a.(map[string]any)
			y, _ := b.(map[string]any)
			return slices.Compare([]string{fmt.Sprint(x["name"])}, []string{fmt.Sprint(y["name"])})
		})
		return out
	default:
		return v
	}
}

// edits returns edits of an object at places of which none is within another.
func edits(t *rapid.T, text func() string) []op {
	var ops []op
	for range rapid.IntRange(1, 4).Draw(t, "edits") {
		at := places.Draw(t, "place")
		if slices.ContainsFunc(ops, func(o op) bool { n := min(len(o.at), len(at)); return slices.Equal(o.at[:n], at[:n]) }) {
			continue
		}
		o := op{at: at}
		whole := at[len(at)-1][0] == '#'
		switch rapid.IntRange(0, 3).Draw(t, "edit") {
		case 0: // removed
		case 1:
			if !whole {
				o.value = map[string]any{"f1": text(), "f2": text()}
				break
			}
			fallthrough
		default:
			if o.value = text(); whole {
				o.value = map[string]any{"name": at[len(at)-1][1:], "f1": text(), "f2": text()}
			}
		}
		ops = append(ops, o)
	}
	return ops
}

// TestPropertyApprovedIsWhatInitiatorsMade compares with an object in which the edits of
// initiators alone are made.
func TestPropertyApprovedIsWhatInitiatorsMade(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := 0
		text := func() string { n++; return fmt.Sprint("v", n) }
		made := func(fields map[string]any, ops []op) map[string]any {
			var v any = fields
			for _, o := range ops {
				v = apply(v, o.at, o.value)
			}
			out, _ := v.(map[string]any)
			return out
		}
		h := newHolder(t, made(map[string]any{"kind": "Thing"}, slices.Concat(edits(t, text), edits(t, text), edits(t, text))))
		model := h.object.Fields
		for range rapid.IntRange(1, 8).Draw(t, "requests") {
			ops := edits(t, text)
			next := made(h.object.Fields, ops)
			if rapid.Bool().Draw(t, "an initiator") {
				// An item that is there is changed, not replaced, and so is a map.
				for _, o := range ops {
					model = follow(model, h.object.Fields, next, o)
				}
				h.write(alice, next, always, nil)
			} else {
				h.write("mallory", next, never, nil)
			}
			want, _ := inOrder(content(model, nil)).(map[string]any)
			got, _ := inOrder(h.now().Content()).(map[string]any)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("Content() after %v (-want +got):\n%s", ops, diff)
			}
			if diff := cmp.Diff(change.Find(want, toMap(inOrder(h.object.Fields)), change.Options{}), change.Find(got, toMap(inOrder(h.object.Fields)), change.Options{})); diff != "" {
				t.Fatalf("withheld (-want +got):\n%s", diff)
			}
		}
	})
}

func toMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// valueAt returns what v holds at a place.
func valueAt(v any, at place) any {
	for _, part := range at {
		if part[0] != '#' {
			v = toMap(v)[part]
			continue
		}
		l, _ := v.([]any)
		i := item(l, part[1:])
		if i < 0 {
			return nil
		}
		v = l[i]
	}
	return v
}

// follow makes an edit that changed an object in a model: the fields that differ of a map,
// or all of what is no map.
func follow(model, before, after map[string]any, o op) map[string]any {
	var edit func(at place)
	edit = func(at place) {
		was, is, has := valueAt(before, at), valueAt(after, at), valueAt(model, at)
		if cmp.Equal(was, is) {
			return
		}
		_, wasMap := was.(map[string]any)
		_, isMap := is.(map[string]any)
		_, hasMap := has.(map[string]any)
		if isMap && (wasMap || was == nil && hasMap) {
			for _, name := range slices.Sorted(maps.Keys(toMap(joinedFields(was, is)))) {
				edit(append(slices.Clone(at), name))
			}
			return
		}
		model = toMap(apply(model, at, is))
	}
	edit(o.at)
	return model
}

func joinedFields(a, b any) map[string]any {
	out := map[string]any{}
	maps.Copy(out, toMap(a))
	maps.Copy(out, toMap(b))
	return out
}

func FuzzDecode(f *testing.F) {
	h := newHolder(f, object(f, abc))
	h.write("mallory", object(f, bbEvil), never, nil)
	for _, text := range []string{
		"", "v1:", "v1:AAAA", "v2:", h.text, `{}`, `null`, string(h.now().State().raw()), `{"content":{"spec":null,"a":[null,1e300,-0]},"unknown":true}`,
		`{"content":{"metadata":3,"spec":"kausality.io/sealed:x"},"metadata":["metadata","*","["],"generation":-1,"withheld":[{"path":"["},{"path":"spec[0]"},{}]}`,
		`{"content":{"spec":{"containers":[{"name":"a"},{"name":"a"},"kausality.io/sealed:"]}},"generation":1,"withheld":[{"path":"spec.containers[1]"}]}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, input string) {
		for _, text := range []string{input, packed(t, input)} {
			s, err := Decode(text)
			if text == "" {
				continue
			}
			if s == nil || err != nil && !s.Unknown {
				t.Fatalf("Decode() = %v, %v", s, err)
			}
			again, err := Decode(s.Encode(uid))
			if err != nil {
				t.Fatalf("what was read cannot be read again: %v", err)
			}
			if s.isShort() && !s.Same(again) {
				t.Fatalf("Decode() (-first +again):\n%s", cmp.Diff(s, again))
			}
			for _, fields := range []map[string]any{object(t, abc), {}} {
				use(t, s, fields)
			}
		}
	})
}

// use compares an object with a State, whatever that is, and approves what is there.
func use(t *testing.T, s *State, fields map[string]any) {
	t.Helper()
	h := newHolder(t, fields)
	h.object.Metadata = patterns(t, "metadata")
	h.store(Now(s, Pending{}, h.object).Approve(func(Difference) bool { return false }))
	h.write("mallory", object(t, bbEvil), never, nil)
	h.write(alice, object(t, bEvil), always, func(Difference) bool { return true })
	if h.text != "" {
		t.Fatalf("something is withheld after all is approved: %v", told(h.now()))
	}
}
