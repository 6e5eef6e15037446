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

// alignment says where the items of a list come from.
type alignment struct {
	// from is, for each item of the new list, its index in the old one.
	from []int
	// removed are the indices of the items that are in the old list only.
	removed []int
}

// nowhere is in place of an index for an item that is new.
const nowhere = -1

// align finds the items of one list in another by their keys. It fails where the
// keys do not identify them.
func align(oldList, newList []any, keys []string) (alignment, bool) {
	oldIndex, ok := indexByKey(oldList, keys)
	if !ok {
		return alignment{}, false
	}
	newIndex, ok := indexByKey(newList, keys)
	if !ok {
		return alignment{}, false
	}
	a := alignment{from: make([]int, len(newList))}
	for id, i := range newIndex {
		from, ok := oldIndex[id]
		if !ok {
			from = nowhere
		}
		a.from[i] = from
	}
	for id, i := range oldIndex {
		if _, ok := newIndex[id]; !ok {
			a.removed = append(a.removed, i)
		}
	}
	return a, true
}

// IsReorder reports whether nothing of a list was changed but the order of its items.
func (c Change) IsReorder() bool {
	before, ok := c.Old.([]any)
	after, alsoOK := c.New.([]any)
	if !ok || !alsoOK || len(before) != len(after) {
		return false
	}
	hashes := func(items []any) []string {
		out := make([]string, 0, len(items))
		for _, item := range items {
			out = append(out, StrictHash(item))
		}
		return out
	}
	was, is := hashes(before), hashes(after)
	if slices.Equal(was, is) {
		return false
	}
	slices.Sort(was)
	slices.Sort(is)
	return slices.Equal(was, is)
}

// reordered reports whether the items that both lists have stand in another order.
func (a alignment) reordered() bool {
	last := nowhere
	for _, from := range a.from {
		if from == nowhere {
			continue
		}
		if from < last {
			return true
		}
		last = from
	}
	return false
}

// samePositions reports whether the same items stand at the same indices, so that
// there is nothing to align. This is how nearly all lists are, and costs next to
// nothing.
func samePositions(oldList, newList []any, keys []string) bool {
	if len(oldList) != len(newList) {
		return false
	}
	for i := range oldList {
		o, oldIsMap := oldList[i].(map[string]any)
		n, newIsMap := newList[i].(map[string]any)
		if !oldIsMap || !newIsMap || !sameKeys(o, n, keys) {
			return false
		}
	}
	return true
}

func sameKeys(o, n map[string]any, keys []string) bool {
	for _, key := range keys {
		bothAbsent := o[key] == nil && n[key] == nil
		if !bothAbsent && !equalScalars(o[key], n[key]) {
			return false
		}
	}
	return true
}

// indexByKey tells the index of each item by its identity. It fails where an item
// has none or two have the same.
func indexByKey(list []any, keys []string) (map[string]int, bool) {
	index := make(map[string]int, len(list))
	for i, item := range list {
		id, ok := identity(item, keys)
		if !ok {
			return nil, false
		}
		if _, taken := index[id]; taken {
			return nil, false
		}
		index[id] = i
	}
	return index, true
}

// identity returns a text of the values that an item has for the keys. Some may be
// absent, as a protocol that is left to its default, but not all.
func identity(item any, keys []string) (string, bool) {
	fields, ok := item.(map[string]any)
	if !ok {
		return "", false
	}
	var (
		id    []byte
		found bool
	)
	for _, key := range keys {
		switch fields[key].(type) {
		case nil:
		case map[string]any, []any:
			return "", false
		default:
			found = true
		}
		id, _ = comparison{}.appendCanonical(id, place{}, fields[key])
		id = append(id, ',')
	}
	return string(id), found
}
