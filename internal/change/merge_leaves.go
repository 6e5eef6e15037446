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
// but for those that ours has in the same item, or in any item where ours has not this one: what many
// items hold, as the effect of tolerations, is nobody's.
func (l *threeLists) foreign() leafOwners {
	out := leafOwners{}
	for i, id := range l.base.ids {
		after := l.theirs.item(id)
		if after.there && textOf(after.value) == textOf(l.base.items[i]) || !l.isTouched(id) {
			continue
		}
		isApproved := l.isHeld
		if o := l.ours.item(id); o.there {
			own := map[string]bool{}
			leaves(o.value, nil, func(leaf string) { own[leaf] = true })
			isApproved = func(leaf string) bool { return own[leaf] }
		}
		leaves(l.base.items[i], nil, func(leaf string) {
			if owners := out[leaf]; !isApproved(leaf) && len(owners) < 2 && !slices.Contains(owners, id) {
				out[leaf] = append(owners, id)
			}
		})
	}
	return out
}

// isHeld reports whether any item of ours has a leaf.
func (l *threeLists) isHeld(leaf string) bool {
	if l.held == nil {
		l.held = map[string]bool{}
		for _, item := range l.ours.items {
			leaves(item, nil, func(leaf string) { l.held[leaf] = true })
		}
	}
	return l.held[leaf]
}

// tellApart finds the items of theirs that were taken for an item of base which ours has not, and that have nothing in
// common with it but what items of ours hold as well. They are other items, and new.
func (l *threeLists) tellApart() {
	for i, id := range l.theirs.ids {
		was, item := l.base.item(id), l.theirs.items[i]
		if !was.there || l.ours.item(id).there || isScalar(item) || textOf(was.value) == textOf(item) {
			continue
		}
		own := map[string]bool{}
		leaves(was.value, nil, func(leaf string) { own[leaf] = !l.isHeld(leaf) })
		isOne := false
		leaves(item, nil, func(leaf string) { isOne = isOne || own[leaf] })
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
