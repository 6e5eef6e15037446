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
	"maps"
	"slices"
)

// Merge returns ours with everything that theirs changed of base, except for the
// changes in except, which Find has reported between base and theirs. It is how a
// third version of an object follows what happened to another one.
//
// Lists follow by the keys that Find aligns them by. A list whose items cannot be
// told apart follows item by item while all three versions are equally long; else it
// follows as a whole, or, where that would bring an item that ours never had and
// base had already, not at all.
//
// None of the arguments is modified. The result shares values with all three.
func Merge(ours, base, theirs map[string]any, schema Schema, except []Change) map[string]any {
	m := merger{finder: newFinder(schema), except: except}
	merged := m.fields(held{ours, ours != nil}, base, theirs)
	fields, _ := merged.value.(map[string]any)
	return fields
}

// held is what a version holds at one place; null is as good as nothing.
type held struct {
	value any
	there bool
}

func heldIn(m map[string]any, name string) held {
	v := m[name]
	return held{v, v != nil}
}

type merger struct {
	finder
	// except are the changes that ours does not follow.
	except []Change
}

// isExcepted reports whether the change at the present path is one that ours does not
// follow. Of two items under one index, one removed and one new, removed says which.
func (m *merger) isExcepted(removed bool) bool {
	return slices.ContainsFunc(m.except, func(c Change) bool {
		return len(c.Path) == len(m.path) && slices.Equal(c.Path, m.path) && removed == (c.Path.IsItem() && c.Verb == Delete)
	})
}

// exceptsBelow reports whether a change below the present path is one that ours does
// not follow.
func (m *merger) exceptsBelow() bool {
	return slices.ContainsFunc(m.except, func(c Change) bool {
		return len(c.Path) > len(m.path) && slices.Equal(c.Path[:len(m.path)], m.path)
	})
}

// merge is what ours holds at the present path after it followed.
func (m *merger) merge(ours, base, theirs held) held {
	if base.there == theirs.there && m.same(pair{base.value, theirs.value}) {
		return ours
	}
	if m.isExcepted(false) {
		return ours
	}
	b, baseIsMap := base.value.(map[string]any)
	t, theirsIsMap := theirs.value.(map[string]any)
	below := m.exceptsBelow()
	switch {
	case baseIsMap && theirsIsMap,
		// Labels and annotations are told apart also where all of them came or went.
		below && (baseIsMap && !theirs.there || theirsIsMap && !base.there):
		return m.fields(ours, b, t)
	}
	bl, baseIsList := base.value.([]any)
	tl, theirsIsList := theirs.value.([]any)
	if baseIsList && theirsIsList {
		return m.list(ours, bl, tl)
	}
	if below {
		return ours
	}
	return theirs
}

// fields merges maps. A scalar in the place of ours has no room for a change within.
func (m *merger) fields(ours held, base, theirs map[string]any) held {
	o, ok := ours.value.(map[string]any)
	if ours.there && !ok {
		return ours
	}
	merged := maps.Clone(o)
	for name := range pairs(base, theirs) {
		m.path = append(m.path, fieldSegment(name))
		before, after := heldIn(base, name), heldIn(theirs, name)
		next := m.merge(heldIn(o, name), before, after)
		m.path = m.path[:len(m.path)-1]
		switch {
		case !next.there:
			delete(merged, name)
		case merged == nil:
			merged = map[string]any{name: next.value}
		default:
			merged[name] = next.value
		}
	}
	return held{merged, ours.there || len(merged) > 0}
}

// list merges lists.
func (m *merger) list(ours held, base, theirs []any) held {
	o, ok := ours.value.([]any)
	if ours.there && !ok {
		return ours
	}
	if lists, ok := m.keyed(o, base, theirs); ok {
		return m.byIdentity(ours, lists)
	}
	_, aligned := m.keyed(base, base, theirs)
	below := m.exceptsBelow()
	switch {
	case ours.there && !aligned && len(o) == len(base) && len(base) == len(theirs):
		return m.byPosition(o, base, theirs)
	case below:
		return ours
	case ours.there && m.same(pair{o, base}), !bringsForeign(o, base, theirs):
		return held{theirs, true}
	default:
		return ours
	}
}

// byPosition merges lists whose items are told apart by their index alone.
func (m *merger) byPosition(ours, base, theirs []any) held {
	merged := slices.Clone(ours)
	for i := range merged {
		m.path = append(m.path, indexSegment(i))
		if next := m.merge(held{ours[i], true}, held{base[i], true}, held{theirs[i], true}); next.there {
			merged[i] = next.value
		}
		m.path = m.path[:len(m.path)-1]
	}
	return held{merged, true}
}

// bringsForeign reports whether theirs has an item that base had and ours has not:
// nobody who changed theirs has made it.
func bringsForeign(ours, base, theirs []any) bool {
	known := func(list []any, item any) bool {
		return slices.ContainsFunc(list, func(other any) bool { return comparison{}.equal(place{}, other, item) })
	}
	return slices.ContainsFunc(theirs, func(item any) bool { return known(base, item) && !known(ours, item) })
}

// identified is a list whose items are told apart by keys.
type identified struct {
	items []any
	// ids are the identities of the items, in order, and index where each of them is.
	ids   []string
	index map[string]int
}

func (l identified) item(id string) held {
	i, ok := l.index[id]
	if !ok {
		return held{}
	}
	return held{l.items[i], true}
}

// threeLists are the versions of a list.
type threeLists struct {
	keys               []string
	ours, base, theirs identified
}

// keyed finds the identities of the items of three lists. It fails where the items of
// any of them have none, and where Find would compare two of them by index.
func (m *merger) keyed(ours, base, theirs []any) (threeLists, bool) {
	lists := [][]any{ours, base, theirs}
	first := slices.IndexFunc(lists, func(l []any) bool { return len(l) > 0 })
	if first < 0 {
		return threeLists{}, false
	}
	keys := m.keysFor(lists[first], lists[first])
	if keys == nil {
		return threeLists{}, false
	}
	out := threeLists{keys: keys}
	for i, into := range []*identified{&out.ours, &out.base, &out.theirs} {
		index, ok := indexByKey(lists[i], keys)
		if !ok {
			return threeLists{}, false
		}
		*into = identified{items: lists[i], ids: make([]string, len(lists[i])), index: index}
		for id, at := range index {
			into.ids[at] = id
		}
	}
	return out, true
}

// byIdentity merges lists whose items are told apart by keys.
func (m *merger) byIdentity(ours held, l threeLists) held {
	merged := map[string]any{}
	for id := range l.ours.index {
		merged[id] = l.ours.item(id).value
	}
	for i, id := range l.theirs.ids {
		before, after := l.base.item(id), l.theirs.item(id)
		m.path = append(m.path, indexSegment(i))
		next := m.merge(l.ours.item(id), before, after)
		m.path = m.path[:len(m.path)-1]
		if next.there {
			merged[id] = l.withKeys(next.value, after.value)
		} else {
			delete(merged, id)
		}
	}
	for i, id := range l.base.ids {
		if l.theirs.item(id).there {
			continue
		}
		m.path = append(m.path, indexSegment(i))
		if !m.isExcepted(true) {
			delete(merged, id)
		}
		m.path = m.path[:len(m.path)-1]
	}
	order := weave(l.ours.ids, l.theirs.ids)
	if reordered(l.base, l.theirs) {
		order = weave(l.theirs.ids, l.ours.ids)
	}
	out := make([]any, 0, len(merged))
	for _, id := range order {
		if item, ok := merged[id]; ok {
			out = append(out, item)
		}
	}
	return held{out, ours.there || len(out) > 0}
}

// withKeys is an item that can be told from others: one of which ours only has what was
// changed of it lacks its keys.
func (l threeLists) withKeys(item, from any) any {
	fields, ok := item.(map[string]any)
	source, isMap := from.(map[string]any)
	if !ok || !isMap {
		return item
	}
	for _, key := range l.keys {
		if _, has := fields[key]; has || source[key] == nil {
			continue
		}
		fields = maps.Clone(fields)
		fields[key] = source[key]
	}
	return fields
}

// reordered reports whether the items that both lists have stand in another order.
func reordered(a, b identified) bool {
	last := nowhere
	for _, id := range b.ids {
		at, ok := a.index[id]
		if !ok {
			continue
		}
		if at < last {
			return true
		}
		last = at
	}
	return false
}

// weave orders the items of two lists: those of the first as they stand, and each that
// only the second has behind the one that it follows there.
func weave(first, second []string) []string {
	order := slices.Clone(first)
	at := 0
	for _, id := range second {
		if i := slices.Index(order, id); i >= 0 {
			at = i + 1
			continue
		}
		order = slices.Insert(order, at, id)
		at++
	}
	return order
}
