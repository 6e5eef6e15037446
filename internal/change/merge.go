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
// changes in except, which Find has reported between base and theirs, or Parts of these.
// It is how a third version of an object follows what happened to another one.
//
// A value that base had already and ours has not is never brought in by a change of
// something else: not by a list that is reordered or gets shorter, nor by an item of
// one that gets another key. Items of lists are told apart by the keys that Find aligns
// them by. Items that have none are told apart by what they hold, or, where some of the
// changes of their list are excepted, by their index. Deeper than Find tells changes
// apart, ours follows only where it holds the same as base.
//
// A map that theirs removed goes with all that ours has in it. At and below the paths in apart,
// only the fields that base had go.
//
// None of the arguments is modified. The result shares values with all three.
func Merge(ours, base, theirs map[string]any, schema Schema, except []Change, apart ...Path) map[string]any {
	m := merger{finder: newFinder(schema), except: slices.Clone(except), apart: apart}
	slices.SortFunc(m.except, func(a, b Change) int { return a.Path.Compare(b.Path) })
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
	// except are the changes that ours does not follow, in order of their paths.
	except []Change
	// apart are the places of maps of which only what base had is removed.
	apart []Path
}

// sameAs reports whether two versions hold the same at the present path.
func (m *merger) sameAs(a, b held) bool {
	return a.there == b.there && m.same(pair{a.value, b.value})
}

// isExcepted reports whether the change at the present path is one that ours does not
// follow. Of two items under one index, one removed and one new, removed says which.
func (m *merger) isExcepted(removed bool) bool {
	at, _ := slices.BinarySearchFunc(m.except, m.path, func(c Change, p Path) int { return c.Path.Compare(p) })
	for _, c := range m.except[at:] {
		if c.Path.Compare(m.path) != 0 {
			return false
		}
		if removed == (c.Path.IsItem() && c.Verb == Delete) {
			return true
		}
	}
	return false
}

// exceptsBelow reports whether a change below the present path is one that ours does
// not follow.
func (m *merger) exceptsBelow() bool {
	at, _ := slices.BinarySearchFunc(m.except, m.path, func(c Change, p Path) int {
		if c.Path.Compare(p) > 0 {
			return 1
		}
		return -1
	})
	return at < len(m.except) && len(m.except[at].Path) > len(m.path) && m.path.Overlaps(m.except[at].Path)
}

// merge returns what ours holds at the present path after it followed.
func (m *merger) merge(ours, base, theirs held) held {
	if base.there == theirs.there && (pair{base.value, theirs.value}).isShared() || m.isExcepted(false) {
		return ours
	}
	if m.sameAs(base, theirs) {
		return ours
	}
	if len(m.path) == maxSegments {
		if m.sameAs(ours, base) {
			return theirs
		}
		return ours
	}
	parts := m.exceptsBelow() || slices.ContainsFunc(m.apart, func(p Path) bool { return Pattern(p).Covers(m.path) })
	if b, t, ok := bothHold[map[string]any](ours, base, theirs); ok || m.isTold() || parts && isOf[map[string]any](base, theirs) {
		return unlessGone[map[string]any](m.fields(ours, b, t), theirs)
	}
	if b, t, ok := bothHold[[]any](ours, base, theirs); ok || parts && isOf[[]any](base, theirs) {
		return unlessGone[[]any](m.list(ours, b, t), theirs)
	}
	// What Find reports of it is at the present path.
	return theirs
}

// bothHold returns base and theirs where both hold maps, or lists. Base may have lost one that
// ours still has: theirs has not removed what is in it.
func bothHold[T map[string]any | []any](ours, base, theirs held) (b, t T, ok bool) {
	b, inBase := base.value.(T)
	t, inTheirs := theirs.value.(T)
	_, inOurs := ours.value.(T)
	return b, t, inTheirs && (inBase || inOurs && !base.there)
}

// unlessGone returns what was merged, or nothing if theirs removed it and none of it is left.
func unlessGone[T map[string]any | []any](merged, theirs held) held {
	if left, ok := merged.value.(T); ok && len(left) == 0 && !theirs.there {
		return held{}
	}
	return merged
}

// isOf reports whether one of two versions holds a map, or a list, and the other nothing else.
func isOf[T map[string]any | []any](base, theirs held) bool {
	_, inBase := base.value.(T)
	_, inTheirs := theirs.value.(T)
	return (inBase || !base.there) && (inTheirs || !theirs.there)
}

// isTold reports whether the present path is one of metadata whose fields Find tells
// apart also where all of them came or went.
func (m *merger) isTold() bool {
	return m.path.IsMetadata() && (len(m.path) == 1 || len(m.path) == 2 && (m.path[1] == fieldSegment("annotations") || m.path[1] == fieldSegment("labels")))
}

// fields merges maps. Anything else in the place of ours has no room for a change within.
func (m *merger) fields(ours held, base, theirs map[string]any) held {
	o, ok := ours.value.(map[string]any)
	if ours.there && !ok {
		return ours
	}
	merged := maps.Clone(o)
	for name := range pairs(base, theirs) {
		m.path = append(m.path, fieldSegment(name))
		next := m.merge(heldIn(o, name), heldIn(base, name), heldIn(theirs, name))
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
	return held{merged, len(merged) > 0 || ours.there && (theirs != nil || !m.isTold())}
}

// list merges lists.
func (m *merger) list(ours held, base, theirs []any) held {
	o, ok := ours.value.([]any)
	if ours.there && !ok {
		return ours
	}
	lists, keyed := m.keyed(o, base, theirs)
	switch {
	case keyed:
		m.rename(&lists)
	case !m.exceptsBelow():
		lists = byValue(o, base, theirs)
		lists.tellApart()
		lists.leaveOut()
		lists.replace()
	case len(o) == len(base) && !m.aligns(base, theirs):
		lists = byIndex(o, base, theirs)
		lists.leaveOut()
	default:
		return ours
	}
	return m.byIdentity(ours, lists)
}

// byIdentity merges lists whose items are told apart.
func (m *merger) byIdentity(ours held, l threeLists) held {
	merged := map[string]any{}
	for id := range l.ours.index {
		merged[id] = l.ours.item(id).value
	}
	for i, id := range l.theirs.ids {
		m.path = append(m.path, indexSegment(i))
		was := l.before(id)
		if next := m.merge(l.ours.item(was), l.base.item(was), l.theirs.item(id)); next.there {
			merged[id] = l.withKeys(next.value, l.theirs.items[i])
		} else {
			delete(merged, id)
		}
		m.path = m.path[:len(m.path)-1]
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
	out := make([]any, 0, len(merged))
	for _, id := range l.order() {
		if item, ok := merged[id]; ok {
			out = append(out, item)
		}
	}
	return held{out, ours.there || len(out) > 0}
}
