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

import "slices"

// firstDifference finds the first place that a pattern names below the present path,
// and where the two versions differ. Items of lists are held against each other as Find
// does it. In another order both count: which item is at an index, and what the items
// themselves have. Who has two items trade places and values changes both of them, though
// the same values are at the same indices.
func (f *finder) firstDifference(v pair, rest Pattern) (Path, bool) {
	if len(rest) == 0 {
		return Path(nil).below(f.path...), !f.same(v)
	}
	o, wasList := v.old.([]any)
	n, isList := v.new.([]any)
	if !wasList || !isList {
		return f.firstInPlace(v, rest)
	}
	a, aligned := f.alignment(o, n)
	if !aligned || a.reordered() {
		if path, ok := f.firstInPlace(v, rest); ok || !aligned {
			return path, ok
		}
	}
	return f.firstOfItems(o, n, a, rest)
}

// firstInPlace is firstDifference for fields of the same name and items at the same index.
func (f *finder) firstInPlace(v pair, rest Pattern) (Path, bool) {
	for _, s := range rest.heads(v.old, v.new) {
		oldHeld, inOld := step(v.old, s)
		newHeld, inNew := step(v.new, s)
		if !inOld && !inNew {
			continue
		}
		if path, ok := f.firstBelow(s, pair{oldHeld, newHeld}, rest); ok {
			return path, true
		}
	}
	return nil, false
}

// firstOfItems is firstDifference for the items that an alignment has found for each other.
func (f *finder) firstOfItems(oldList, newList []any, a alignment, rest Pattern) (Path, bool) {
	for i, n := range newList {
		v := pair{nil, n}
		if from := a.from[i]; from != nowhere {
			v.old = oldList[from]
		}
		if path, ok := f.firstBelow(indexSegment(i), v, rest); ok {
			return path, true
		}
	}
	for _, i := range slices.Sorted(slices.Values(a.removed)) {
		if path, ok := f.firstBelow(indexSegment(i), pair{oldList[i], nil}, rest); ok {
			return path, true
		}
	}
	return nil, false
}

// firstBelow is firstDifference for what both versions hold under a segment, if the
// pattern names it.
func (f *finder) firstBelow(s Segment, v pair, rest Pattern) (Path, bool) {
	if rest[0] != wildcard && rest[0] != s {
		return nil, false
	}
	f.path = append(f.path, s)
	path, ok := f.firstDifference(v, rest[1:])
	f.path = f.path[:len(f.path)-1]
	return path, ok
}
