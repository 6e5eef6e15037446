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
	"slices"

	"kausality.io/operator/internal/change"
)

// Of a difference that no rule in effect is about, somebody may change the place again: the rule is gone for a
// while, or its policy only warns. What is there then is approved by that no more than it was before.

// DiffersAt reports whether something differs from the approved content at the place of a change, above it or
// below. The change is one of a request that makes the fields of the object next.
//
// What moves in a list is followed. An item that comes into one in which something waits counts as well: it may be
// that under another name.
func (st *Standing) DiffersAt(c change.Change, next map[string]any) bool {
	return slices.ContainsFunc(st.Differences, func(d Difference) bool { return st.isAt(d, c, next) })
}

func (st *Standing) isAt(d Difference, c change.Change, next map[string]any) bool {
	schema, fields := st.Object.Schema, next
	leaves := c.Verb == change.Delete && c.Path.IsItem()
	if leaves {
		fields = st.Object.Fields // It has the index of before the request.
	}
	if !d.Counts && c.Verb == change.Insert && c.Path.IsItem() && d.Path.Overlaps(c.Path[:len(c.Path)-1]) {
		return true
	}
	switch {
	case d.Verb == change.Delete && d.Path.IsItem():
		at, there := change.Follow(c.Path, fields, st.content, schema)
		return there && at.Overlaps(d.Path)
	case leaves:
		return c.Path.Overlaps(d.Path)
	default:
		at, there := change.Follow(d.Path, st.Object.Fields, next, schema)
		return there && at.Overlaps(c.Path)
	}
}

// Waiting returns, as Summary does, the differences that wait for a rule: no rule in effect is about anything at
// their places, above or below.
func (st *Standing) Waiting() []Shown {
	var waiting []Difference
	for _, d := range st.Differences {
		if !d.Counts && (st.Object.Concerns == nil || !st.Object.Concerns(d.Path)) {
			waiting = append(waiting, d)
		}
	}
	return st.summary(waiting, st.Differences)
}

// WaitsAt reports whether something waits for a rule at a path, above it or below.
func (st *Standing) WaitsAt(path change.Path) bool {
	return st != nil && slices.ContainsFunc(st.Differences, func(d Difference) bool {
		return !d.Counts && d.Path.Overlaps(path) && (st.Object.Concerns == nil || !st.Object.Concerns(d.Path))
	})
}

// hasWaiting reports whether a path is in a list in which something waits for a rule, by its claims. Of a change
// that nobody has seen it is not known which items have moved.
func (o *Object) hasWaiting(claims []claim, path change.Path) bool {
	return slices.ContainsFunc(claims, func(c claim) bool {
		return (o.Concerns == nil || !o.Concerns(c.path)) && outsideLists(c.path).Overlaps(path)
	})
}
