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
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/internal/change"
)

const (
	uid = "uid-1"
	// alice may initiate changes; others may not.
	alice = "alice"
)

// object reads a YAML object, with numbers as the API machinery has them.
func object(tb testing.TB, text string) map[string]any {
	tb.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	var obj map[string]any
	if err := utiljson.Unmarshal(raw, &obj); err != nil {
		tb.Fatal(err)
	}
	return obj
}

func path(tb testing.TB, text string) change.Path {
	tb.Helper()
	p, err := change.ParsePath(text)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func patterns(tb testing.TB, texts ...string) []change.Pattern {
	tb.Helper()
	var out []change.Pattern
	for _, text := range texts {
		p, err := change.ParsePattern(text)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// triggers reports whether one of the patterns is about a change.
func triggers(all []change.Pattern) func(change.Change) bool {
	return func(c change.Change) bool {
		for _, p := range all {
			if _, ok := p.Matches(c, nil); ok {
				return true
			}
		}
		return false
	}
}

// tester is what a test and a property have in common.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// holder is an object as it is stored, with its annotation.
type holder struct {
	t tester
	// object is compared with what is kept of it.
	object Object
	// text is the annotation.
	text string
}

// newHolder returns an object of which every field triggers.
func newHolder(t tester, fields map[string]any) *holder {
	return &holder{t: t, object: Object{
		UID: uid, Generation: 1, Fields: fields,
		Triggers: func(change.Change) bool { return true },
		Concerns: func(change.Path) bool { return true },
	}}
}

// now compares the object with its annotation.
func (h *holder) now() *Standing {
	h.t.Helper()
	s, err := Decode(h.text)
	if err != nil {
		h.t.Fatalf("Decode() = %v", err)
	}
	return Now(s, Pending{}, h.object)
}

// changes lists what differs between the object and what it is going to be.
func (h *holder) changes(to map[string]any) []change.Change {
	return change.Find(h.object.Fields, to, change.Options{Metadata: h.object.Metadata})
}

// write makes the object another one. Changes have a cause where caused is true of them.
func (h *holder) write(user string, to map[string]any, caused func(change.Change) bool, approves func(Difference) bool) *Standing {
	h.t.Helper()
	var uncaused []change.Change
	changes := h.changes(to)
	for _, c := range changes {
		if !caused(c) {
			uncaused = append(uncaused, c)
		}
	}
	next := h.object
	next.Fields = to
	if len(changes) > 0 && next.Generation > 0 {
		next.Generation++
	}
	after := h.now().After(Request{New: next, User: user, Uncaused: uncaused, Approves: approves})
	h.store(after)
	return after
}

// store stores an object, which has to compare then as it did before.
func (h *holder) store(st *Standing) {
	h.t.Helper()
	h.object, h.text = st.Object, st.State().Encode(uid)
	if (h.text == "") != (len(st.Differences) == 0) {
		h.t.Fatalf("%d differences are stored as %q", len(st.Differences), h.text)
	}
	if len(h.text) > MaxBytes {
		h.t.Fatalf("the text has %d bytes", len(h.text))
	}
	if again := st.State().Encode(uid); again != h.text {
		h.t.Fatalf("the text of a State differs from itself")
	}
	if diff := cmp.Diff(told(asStored(st)), told(h.now())); diff != "" {
		h.t.Fatalf("what was stored (-before +after):\n%s", diff)
	}
}

// asStored returns a standing with one author for each path, the latest: an item that was taken out of a list and
// one that was put there may have the same index.
func asStored(st *Standing) *Standing {
	latest := map[string]Author{}
	for _, d := range st.Differences {
		if known, ok := latest[d.Author.Path]; !ok || known.Generation <= d.Author.Generation {
			latest[d.Author.Path] = d.Author
		}
	}
	out := *st
	out.Differences = slices.Clone(st.Differences)
	for i := range out.Differences {
		out.Differences[i].Author = latest[out.Differences[i].Author.Path]
	}
	return &out
}

func always(change.Change) bool { return true }
func never(change.Change) bool  { return false }

// told returns the differences of a standing with their authors, those that wait in
// parentheses.
func told(st *Standing) []string {
	var out []string
	for _, d := range st.Differences {
		line := fmt.Sprintf("%s %s by %s", d.Verb, d.Path, d.Author.User)
		if d.Author.Path != d.Path.String() {
			line += " at " + d.Author.Path
		}
		if !d.Counts {
			line = "(" + line + ")"
		}
		out = append(out, line)
	}
	return out
}

// asJSON returns a text of a value.
func asJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// sameContent reports how the approved content differs from what it should be.
func sameContent(st *Standing, want map[string]any) string {
	found := change.Find(want, st.Content(), change.Options{Metadata: st.patterns})
	if len(found) == 0 {
		return ""
	}
	return cmp.Diff(want, st.Content()) + fmt.Sprint(found)
}

// with returns an object with another value at a path, where nil removes it.
func with(tb testing.TB, obj map[string]any, at string, value any) map[string]any {
	tb.Helper()
	out, _ := clone(obj).(map[string]any)
	if value == nil {
		path(tb, at).Remove(out)
		return out
	}
	if err := path(tb, at).Set(out, value); err != nil {
		tb.Fatal(err)
	}
	return out
}

// numbered returns a map with fields of a name and a number.
func numbered(name string, n int, value func(i int) any) map[string]any {
	out := map[string]any{}
	for i := range n {
		out[fmt.Sprintf("%s%05d", name, i)] = value(i)
	}
	return out
}

// noise returns a text of so many bytes that does not get shorter by packing.
func noise(seed string, n int) string {
	var out []byte
	for sum := sha256.Sum256([]byte(seed)); len(out) < n; sum = sha256.Sum256(sum[:]) {
		out = hex.AppendEncode(out, sum[:])
	}
	return string(out[:n])
}

// packed returns a text that is unpacked to another one.
func packed(tb testing.TB, text string) string {
	tb.Helper()
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestCompression)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return Format + base64.RawStdEncoding.EncodeToString(out.Bytes())
}
