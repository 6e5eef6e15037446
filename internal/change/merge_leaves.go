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

// leaveOut takes out of the items of theirs what is not theirs: a value that an item of
// base held that theirs has no more as it was, and that no item of ours has. Where items
// have no keys, nobody can tell whether an item that is new is one of those, changed. An
// item that was there is followed as a whole or not at all.
func (l *threeLists) leaveOut() {
	foreign := l.foreign()
	if len(foreign) == 0 {
		return
	}
	l.theirs.items = slices.Clone(l.theirs.items)
	for i, id := range l.theirs.ids {
		item, own := l.theirs.items[i], map[string]bool{}
		was := l.base.item(id)
		if was.there {
			leaves(was.value, nil, func(leaf string) { own[leaf] = true })
		}
		left := false
		rest, some := strip(item, nil, func(leaf string) bool {
			drop := !own[leaf] && foreign.hasOther(leaf, id)
			left = left || drop
			return drop
		})
		switch {
		case !left:
		case was.there:
			l.theirs.items[i] = was.value
		case !some:
			delete(l.theirs.index, id)
		default:
			l.theirs.items[i] = rest
		}
	}
}

// leafOwners are the identities of the items that hold each leaf: the first two.
type leafOwners map[string][]string

// hasOther reports whether an item with another identity holds a leaf.
func (o leafOwners) hasOther(leaf, id string) bool {
	return slices.ContainsFunc(o[leaf], func(owner string) bool { return owner != id })
}

// foreign returns the leaves of the items of base that theirs has no more as they were,
// those left out that ours has in the same item, or in any where the item is not ours: what many items
// hold, as the effect of tolerations, is nobody's.
func (l *threeLists) foreign() leafOwners {
	out, common := leafOwners{}, l.leavesOfOurs()
	for i, id := range l.base.ids {
		after := l.theirs.item(id)
		if after.there && textOf(after.value) == textOf(l.base.items[i]) || !l.isTouched(id) {
			continue
		}
		approved := common
		if o := l.ours.item(id); o.there {
			approved = map[string]bool{}
			leaves(o.value, nil, func(leaf string) { approved[leaf] = true })
		}
		leaves(l.base.items[i], nil, func(leaf string) {
			if owners := out[leaf]; !approved[leaf] && len(owners) < 2 && !slices.Contains(owners, id) {
				out[leaf] = append(owners, id)
			}
		})
	}
	return out
}

// leavesOfOurs returns what the items of ours hold.
func (l *threeLists) leavesOfOurs() map[string]bool {
	out := map[string]bool{}
	for _, item := range l.ours.items {
		leaves(item, nil, func(leaf string) { out[leaf] = true })
	}
	return out
}

// tellApart takes no item of theirs for one of base that ours has not, and that is gone, where they have nothing in
// common but what items of ours hold as well: it is another one, and as theirs has it.
func (l *threeLists) tellApart() {
	var common map[string]bool
	for i, id := range l.theirs.ids {
		was, item := l.base.item(id), l.theirs.items[i]
		if !was.there || l.ours.item(id).there || isScalar(item) || textOf(was.value) == textOf(item) {
			continue
		}
		if common == nil {
			common = l.leavesOfOurs()
		}
		held := map[string]bool{}
		leaves(was.value, nil, func(leaf string) { held[leaf] = !common[leaf] })
		isOne := false
		leaves(item, nil, func(leaf string) { isOne = isOne || held[leaf] })
		if !isOne {
			delete(l.theirs.index, id)
			l.theirs.ids[i] = "theirs " + strconv.Itoa(i)
			l.theirs.index[l.theirs.ids[i]] = i
		}
	}
}

// leaves visits all that a value holds and that holds nothing itself: a text of what it
// is and of where it is, without the indices of lists.
func leaves(v any, at []byte, visit func(leaf string)) {
	switch held := v.(type) {
	case map[string]any:
		for name, below := range held {
			leaves(below, appendField(at, name), visit)
		}
		if len(held) > 0 {
			return
		}
	case []any:
		for _, item := range held {
			leaves(item, appendItem(at), visit)
		}
		if len(held) > 0 {
			return
		}
	case nil:
		return
	}
	visit(leafText(v, at))
}

// strip returns a value without some of its leaves. The answer is false where none is left.
func strip(v any, at []byte, drop func(leaf string) bool) (rest any, some bool) {
	switch held := v.(type) {
	case map[string]any:
		if len(held) == 0 {
			break
		}
		out := maps.Clone(held)
		for name, below := range held {
			if out[name], some = strip(below, appendField(at, name), drop); !some {
				delete(out, name)
			}
		}
		return out, len(out) > 0
	case []any:
		if len(held) == 0 {
			break
		}
		out := make([]any, 0, len(held))
		for _, item := range held {
			if rest, some = strip(item, appendItem(at), drop); some {
				out = append(out, rest)
			}
		}
		return out, len(out) > 0
	case nil:
		return nil, true
	}
	return v, !drop(leafText(v, at))
}

func appendField(at []byte, name string) []byte {
	return append(strconv.AppendQuote(at, name), '.')
}

func appendItem(at []byte) []byte { return append(at, "[]."...) }

func leafText(v any, at []byte) string {
	text, _ := comparison{}.appendCanonical(at, place{}, v)
	return string(text)
}
