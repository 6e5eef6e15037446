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

package decision

import (
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/ledger"
)

// A withheld change is known by its path. In a list that has an index, which is
// another one when items are inserted or removed before it: else whoever removes
// the first container would end what is withheld of the second.

// placed is an entry of a withheld change, with what becomes of its place.
type placed struct {
	ledger.Entry
	// before is the place that the entry names, and after what that is called after
	// the request.
	before, after change.Path
	// gone is true where the request removes the item of a list that the place is,
	// or lies in.
	gone bool
}

// place finds out what becomes of the place of each withheld change.
func (in *Input) place() []placed {
	var out []placed
	for _, e := range in.Child.Ledger {
		if !e.IsWithheld() {
			continue
		}
		path, err := change.ParsePath(e.Mutation)
		if err != nil {
			continue // It names nothing that could be put back or approved.
		}
		p := placed{Entry: e, before: path, after: path}
		// The item whose removal is withheld is nowhere; what has its index now is
		// another one.
		if !isItem(path) || e.Replaced == "" {
			var found bool
			p.after, found = change.Follow(path, in.Child.Old, in.Child.New, in.Child.Schema)
			p.gone = !found
		}
		out = append(out, p)
	}
	return out
}

// isItem tells whether a path is that of an item of a list.
func isItem(path change.Path) bool {
	return len(path) > 0 && path[len(path)-1].Type == fieldpath.SegmentIndex
}

// removesItem tells whether a change takes an item out of a list: its path has the
// index that the item had.
func removesItem(c change.Change) bool {
	return isItem(c.Path) && c.Verb == change.Delete
}

// moved is the entry under the path that its place has after the request.
func (p placed) moved() ledger.Entry {
	text := p.after.String()
	if text == p.Mutation {
		return p.Entry
	}
	moved := p.Allowance
	moved.Mutation = text
	return ledger.NewEntry(moved)
}

// isBack tells whether the request leaves the place as it was before the withheld
// change.
func (in *Input) isBack(p placed) bool {
	if p.gone {
		return p.Replaced == "" // What was added is gone again.
	}
	return in.restored(p.moved())
}

// within tells whether the place is where the change is, or below it. A new item
// holds nothing that was there before.
func (p placed) within(c change.Change) bool {
	switch {
	case removesItem(c):
		return change.Pattern(c.Path).Covers(p.before)
	case isItem(c.Path) && c.Verb == change.Insert:
		return false
	default:
		return !p.gone && change.Pattern(c.Path).Covers(p.after)
	}
}

// putsBack tells whether the change is part of returning a withheld field to what
// it was.
func (in *Input) putsBack(withheld []placed, c change.Change) bool {
	return slices.ContainsFunc(withheld, func(p placed) bool {
		at := p.after
		if removesItem(c) {
			at = p.before
		}
		return change.Pattern(at).Covers(c.Path) && in.isBack(p)
	})
}

// settleWithheld ends what was put back, and lets the rest follow its place.
func (in *Input) settleWithheld(withheld []placed, grant *Grant) {
	for _, p := range withheld {
		switch {
		case slices.Contains(grant.Cleared, p.Mutation):
		case in.isBack(p):
			grant.Cleared = append(grant.Cleared, p.Mutation)
		case p.moved().Mutation != p.Mutation:
			grant.Cleared = append(grant.Cleared, p.Mutation)
			grant.Moved = append(grant.Moved, p.moved().Allowance)
		}
	}
	slices.Sort(grant.Cleared)
	grant.Cleared = slices.Compact(grant.Cleared)
}
