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

// Package change says what differs between two versions of a Kubernetes object,
// and which policy paths name a difference (D7).
//
// Objects are JSON as unstructured objects hold it: map[string]any, []any,
// string, bool, int64, float64, json.Number and nil. Nothing but Path.Set
// changes an object; values in answers are those of the objects, not copies. The
// package recurses as deep as an object nests, which the API server's decoder
// bounds at 10,000 levels.
package change

import (
	"cmp"
	"slices"
)

// Verb says what happened to a field.
type Verb string

const (
	// Insert means that the field had no value before.
	Insert Verb = "Insert"
	// Delete means that the field has no value any more.
	Delete Verb = "Delete"
	// Mutate means that the field had a value before and has another one now.
	Mutate Verb = "Mutate"
)

// Change is one difference between two versions of an object.
type Change struct {
	// Path is where the objects differ. In a list it carries the index that the
	// item has in the new object, for a removed item the one it had in the old.
	Path Path
	// Verb is what happened there.
	Verb Verb
	// Old is the value before, nil for an Insert.
	Old any
	// New is the value now, nil for a Delete.
	New any
}

// Compare orders changes by their paths, and those of one place by their verbs.
func (c Change) Compare(d Change) int {
	return cmp.Or(c.Path.Compare(d.Path), cmp.Compare(c.Verb, d.Verb))
}

// Parts returns the changes of what is directly in a map that was added, removed or changed, or
// in a list that was added or removed, in order of their paths; none of anything else. A list that
// both versions have cannot be taken apart, as the change may be of its order, nor an item of one
// that comes or goes, which is one thing.
func (c Change) Parts() []Change {
	if c.Path.IsItem() && (c.Old == nil || c.New == nil) {
		return nil
	}
	var out []Change
	add := func(path Path, old, held any) {
		part := Change{Path: path, Verb: Mutate, Old: old, New: held}
		switch {
		case old == nil && held == nil, comparison{}.equal(placeOf(path), old, held):
			return
		case old == nil:
			part.Verb = Insert
		case held == nil:
			part.Verb = Delete
		}
		out = append(out, part)
	}
	if o, n, ok := hold[map[string]any](c); ok {
		for name, v := range pairs(o, n) {
			add(c.Path.Field(name), v.old, v.new)
		}
	}
	if o, n, ok := hold[[]any](c); ok && (o == nil || n == nil) {
		for i := range max(len(o), len(n)) {
			old, _ := step(o, indexSegment(i))
			held, _ := step(n, indexSegment(i))
			add(c.Path.Index(i), old, held)
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return a.Path.Compare(b.Path) })
	return out
}

// hold returns both versions of a change if one is of type T, and the other is too or is absent.
func hold[T map[string]any | []any](c Change) (old, held T, ok bool) {
	old, was := c.Old.(T)
	held, is := c.New.(T)
	return old, held, (was || is) && (was || c.Old == nil) && (is || c.New == nil)
}
