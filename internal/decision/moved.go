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

// placed is an entry of a withheld change, with what became of its place.
type placed struct {
	ledger.Entry
	// before is the place that the entry names.
	before change.Path
	// after is the entry under the name of that place after the request.
	after ledger.Entry
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
		p := placed{Entry: e, before: path, after: e}
		// The item whose removal is withheld is nowhere; what has its index now is
		// another one.
		if !isItem(path) || e.Replaced == "" {
			after, ok := change.Follow(path, in.Child.Old, in.Child.New, in.Child.Schema)
			p.gone = !ok
			if text := after.String(); text != e.Mutation {
				moved := e.Allowance
				moved.Mutation = text
				p.after = ledger.NewEntry(moved)
			}
		}
		out = append(out, p)
	}
	return out
}

// isItem tells whether a path is that of an item of a list.
func isItem(path change.Path) bool {
	return len(path) > 0 && path[len(path)-1].Type == fieldpath.SegmentIndex
}

// moved tells whether the place has another name after the request.
func (p placed) moved() bool {
	return p.after.Mutation != p.Mutation
}

// isBack tells whether the request leaves the place as it was before the withheld
// change.
func (in *Input) isBack(p placed) bool {
	if p.gone {
		return p.Replaced == "" // What was added is gone again.
	}
	return in.restored(p.after)
}

// within tells whether the place is where the change is, or below it. The removal
// of an item is at the index that it had; a new item holds nothing that was there
// before.
func (p placed) within(c change.Change) bool {
	switch {
	case isItem(c.Path) && c.Verb == change.Delete:
		return change.Pattern(c.Path).Covers(p.before)
	case isItem(c.Path) && c.Verb == change.Insert:
		return false
	}
	after, err := change.ParsePath(p.after.Mutation)
	return err == nil && !p.gone && change.Pattern(c.Path).Covers(after)
}

// putsBack tells whether the change returns a withheld field to what it was.
func (in *Input) putsBack(withheld []placed, c change.Change) bool {
	text := c.Path.String()
	return slices.ContainsFunc(withheld, func(p placed) bool {
		same := p.after.Mutation == text
		if isItem(c.Path) && c.Verb == change.Delete {
			same = p.Mutation == text
		}
		return same && in.isBack(p)
	})
}

// settleWithheld ends what was put back, and lets the rest follow its place.
func (in *Input) settleWithheld(withheld []placed, grant *Grant) {
	for _, p := range withheld {
		switch {
		case slices.Contains(grant.Cleared, p.Mutation):
		case in.isBack(p):
			grant.Cleared = append(grant.Cleared, p.Mutation)
		case p.moved():
			grant.Cleared = append(grant.Cleared, p.Mutation)
			grant.Moved = append(grant.Moved, p.after.Allowance)
		}
	}
	slices.Sort(grant.Cleared)
	grant.Cleared = slices.Compact(grant.Cleared)
}
