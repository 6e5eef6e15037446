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

package change

import (
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
)

// Follow returns where newObj has what oldObj has at path: an item of a list moves when
// others are inserted or removed before it. The answer is false where an item on
// the way is gone. What oldObj does not have either stays where it is.
func Follow(path Path, oldObj, newObj map[string]any, schema Schema) (Path, bool) {
	f := newFinder(schema)
	at := pair{oldObj, newObj}
	for i, s := range path {
		if s.Type == fieldpath.SegmentIndex {
			moved, ok := f.follow(s, at)
			if !ok {
				return path, false
			}
			s = moved
		}
		f.path = append(f.path, s)
		held, ok := step(at.old, path[i])
		if !ok {
			return slices.Concat(f.path, path[i+1:]), true
		}
		at.old = held
		at.new, _ = step(at.new, s)
	}
	return f.path, true
}

// follow returns where the new one of two lists has an item of the old one.
func (f *finder) follow(s Segment, lists pair) (Segment, bool) {
	o, oldIsList := lists.old.([]any)
	n, newIsList := lists.new.([]any)
	if !oldIsList || !newIsList || s.Index >= uint(len(o)) {
		return s, true
	}
	a, aligned := f.alignment(o, n)
	if !aligned {
		return s, true
	}
	i := slices.Index(a.from, int(s.Index))
	if i < 0 {
		return s, false
	}
	return indexSegment(i), true
}

// Counterpart returns the index at which the list b has the item of the list a with an index,
// by the keys that Find aligns them by, else at the same index where both are equally
// long. path is where both lists are in their objects.
func Counterpart(a, b []any, i int, schema Schema, path Path) (int, bool) {
	f := newFinder(schema)
	f.path = append(f.path, path...)
	if aligned, ok := f.alignment(a, b); ok {
		at := slices.Index(aligned.from, i)
		return at, at >= 0
	}
	return i, len(a) == len(b)
}

// Unkeyed returns the first list on the way to a path whose items an object does not tell apart by the keys that Find
// aligns them by, and false where there is none.
func Unkeyed(path Path, obj map[string]any, schema Schema) (Path, bool) {
	f := newFinder(schema)
	var at any = obj
	for i, s := range path {
		if s.Type == fieldpath.SegmentIndex {
			items, _ := at.([]any)
			keys := f.keysFor(items, items)
			if _, ok := indexByKey(items, keys); keys == nil || !ok {
				return path[:i], true
			}
		}
		at, _ = step(at, s)
		f.path = append(f.path, s)
	}
	return nil, false
}
