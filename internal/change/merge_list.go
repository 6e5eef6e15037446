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
	"strconv"
)

// identified is a list whose items are told apart.
type identified struct {
	items []any
	// ids are the identities of the items, in order, and index where each of them is.
	ids   []string
	index map[string]int
}

func newIdentified(items []any, ids []string) identified {
	index := make(map[string]int, len(ids))
	for i, id := range ids {
		index[id] = i
	}
	return identified{items, ids, index}
}

// item returns the item with an identity. It is there even where it is null.
func (l identified) item(id string) held {
	i, ok := l.index[id]
	if !ok {
		return held{}
	}
	return held{l.items[i], true}
}

// threeLists are the versions of a list.
type threeLists struct {
	// keys of the items, nil where they have none.
	keys               []string
	ours, base, theirs identified
	// renamed are the identities in base of items that got other keys in theirs, by
	// those that they have there.
	renamed map[string]string
	// held has the leaves of the items of ours once somebody has asked for one.
	held map[string]bool
}

// before returns the identity that an item of theirs has in base and in ours.
func (l *threeLists) before(id string) string {
	if was, ok := l.renamed[id]; ok {
		return was
	}
	return id
}

// keyed finds the identities of the items of three lists. It fails where the items of
// any of them have none by the keys by which Find would align base and theirs.
func (m *merger) keyed(ours, base, theirs []any) (threeLists, bool) {
	a, b := base, theirs
	switch {
	case len(base) == 0 && len(theirs) == 0:
		return threeLists{}, false
	case len(base) == 0:
		a = theirs
	case len(theirs) == 0:
		b = base
	}
	out := threeLists{keys: m.keysFor(a, b)}
	if out.keys == nil {
		return threeLists{}, false
	}
	lists := [][]any{ours, base, theirs}
	for i, into := range []*identified{&out.ours, &out.base, &out.theirs} {
		index, ok := indexByKey(lists[i], out.keys)
		if !ok {
			return threeLists{}, false
		}
		ids := make([]string, len(index))
		for id, at := range index {
			ids[at] = id
		}
		*into = identified{lists[i], ids, index}
	}
	return out, true
}

// aligns reports whether Find aligns the items of two lists by keys.
func (m *merger) aligns(base, theirs []any) bool {
	_, ok := m.keyed(base, base, theirs)
	return ok
}

// rename finds items that got other keys and nothing else: what else they hold is not new,
// so that it is not theirs where ours has it otherwise.
func (m *merger) rename(l *threeLists) {
	if m.exceptsBelow() {
		return
	}
	gone := map[string]string{}
	for i, id := range l.base.ids {
		if _, stays := l.theirs.index[id]; !stays {
			gone[withoutKeys(l.base.items[i], l.keys)] = id
		}
	}
	if len(gone) == 0 {
		return
	}
	l.renamed = map[string]string{}
	for i, id := range l.theirs.ids {
		if l.base.item(id).there || l.ours.item(id).there {
			continue
		}
		if was, ok := gone[withoutKeys(l.theirs.items[i], l.keys)]; ok {
			l.renamed[id] = was
		}
	}
}

// isTouched reports whether ours has an item of base not as base has it.
func (l *threeLists) isTouched(id string) bool {
	o, b := l.ours.item(id), l.base.item(id)
	return b.there && (!o.there || !comparison{}.equal(place{}, o.value, b.value))
}

// withoutKeys returns a text of what an item holds besides its keys.
func withoutKeys(item any, keys []string) string {
	fields, _ := item.(map[string]any)
	fields = maps.Clone(fields)
	for _, key := range keys {
		delete(fields, key)
	}
	return textOf(fields)
}

// textOf returns a text that is the same for items that are equal.
func textOf(item any) string {
	text, _ := comparison{}.appendCanonical(nil, place{}, item)
	return string(text)
}

// withKeys returns an item that can be told from others: one of which ours only has what was
// changed of it lacks its keys.
func (l *threeLists) withKeys(item, from any) any {
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

// byIndex tells the items of lists apart by their index alone.
func byIndex(ours, base, theirs []any) threeLists {
	return threeLists{
		ours:   newIdentified(ours, numbered("", len(ours))),
		base:   newIdentified(base, numbered("", len(base))),
		theirs: newIdentified(theirs, numbered("", len(theirs))),
	}
}

// byValue tells the items of lists apart by what they hold: those of base that ours and
// theirs have as well are the same, and those are that are left over of two lists, where
// they are equally many.
func byValue(ours, base, theirs []any) threeLists {
	ids := numbered("", len(base))
	named := func(list []any, prefix string) identified {
		out := numbered(prefix, len(list))
		for i, from := range matches(list, base) {
			if from != nowhere {
				out[i] = ids[from]
			}
		}
		return newIdentified(list, out)
	}
	return threeLists{ours: named(ours, "ours "), base: newIdentified(base, ids), theirs: named(theirs, "theirs ")}
}

func numbered(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = prefix + strconv.Itoa(i)
	}
	return out
}

// matches are, for each item of a list, the index of the item of another one that it is.
func matches(list, in []any) []int {
	a, b := texts(list), texts(in)
	start, end := 0, 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	for end < min(len(a), len(b))-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	left := map[string][]int{}
	for j := start; j < len(b)-end; j++ {
		left[b[j]] = append(left[b[j]], j)
	}
	out := make([]int, len(a))
	taken := make([]bool, len(b))
	for i := range a {
		switch same := left[a[i]]; {
		case i < start:
			out[i] = i
		case i >= len(a)-end:
			out[i] = i - len(a) + len(b)
		case len(same) > 0:
			out[i], left[a[i]] = same[0], same[1:]
		default:
			out[i] = nowhere
			continue
		}
		taken[out[i]] = true
	}
	pairLeft(out, taken)
	return out
}

// pairLeft matches the items that are left over of two lists, where they are equally
// many.
func pairLeft(from []int, taken []bool) {
	var missing, free []int
	for i, at := range from {
		if at == nowhere {
			missing = append(missing, i)
		}
	}
	for j, is := range taken {
		if !is {
			free = append(free, j)
		}
	}
	if len(missing) != len(free) {
		return
	}
	for n, i := range missing {
		from[i] = free[n]
	}
}

func texts(list []any) []string {
	out := make([]string, len(list))
	for i, item := range list {
		out[i] = textOf(item)
	}
	return out
}

// replace lets go of what only ours has, where theirs has nothing left of base: the list
// is another one.
func (l *threeLists) replace() {
	for i, id := range l.theirs.ids {
		was := l.base.item(id)
		if was.there && (!isScalar(was.value) || textOf(was.value) == textOf(l.theirs.items[i])) {
			return
		}
	}
	l.ours = identified{}
}

func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	default:
		return true
	}
}

// order returns the order of the items of ours and theirs: of theirs where it differs from that of
// base.
func (l *threeLists) order() []string {
	if reordered(l.base, l.theirs) {
		return weave(l.theirs.ids, l.ours.ids)
	}
	return weave(l.ours.ids, l.theirs.ids)
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
// only the second has behind the one that it follows there, else in front, or at the end
// where they have none in common.
func weave(first, second []string) []string {
	known := make(map[string]bool, len(first))
	for _, id := range first {
		known[id] = true
	}
	var start []string
	behind := map[string][]string{}
	last, found := "", false
	for _, id := range second {
		switch {
		case known[id]:
			last, found = id, true
		case found:
			behind[last] = append(behind[last], id)
		default:
			start = append(start, id)
		}
	}
	if !found {
		return slices.Concat(first, start)
	}
	order := start
	for _, id := range first {
		order = append(append(order, id), behind[id]...)
	}
	return order
}
