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
)

// maxWithheld is how many withheld changes of an object are told apart. The mark of
// one must never be lost, so what the ledger has no room for becomes the change of
// a field further up.
const maxWithheld = 16

// summarize puts changes together until there are no more than a number of them, or
// each is one of a top-level field.
func (in *Input) summarize(changes []change.Change, most int) []change.Change {
	depth := 0
	for _, c := range changes {
		depth = max(depth, len(c.Path))
	}
	for depth--; depth > 0 && len(changes) > most; depth-- {
		changes = in.cut(changes, depth)
	}
	return changes
}

// cut puts changes together that lie deeper than depth, by the field that they have
// in common. An item of a list has another index in the old object, so that lists
// are taken as a whole.
func (in *Input) cut(changes []change.Change, depth int) []change.Change {
	out := make([]change.Change, 0, len(changes))
	for _, c := range changes {
		if len(c.Path) > depth {
			c.Path = c.Path[:depth]
			if i := slices.IndexFunc(c.Path, func(s change.Segment) bool { return s.Type == fieldpath.SegmentIndex }); i > 0 {
				c.Path = c.Path[:i]
			}
			c.Verb = change.Mutate
			c.Old, _ = c.Path.Value(in.Child.Old)
			c.New, _ = c.Path.Value(in.Child.New)
		}
		out = append(out, c)
	}
	// Changes come in order of their paths, so those of one field stand together.
	return slices.CompactFunc(out, func(a, b change.Change) bool { return slices.Equal(a.Path, b.Path) })
}
