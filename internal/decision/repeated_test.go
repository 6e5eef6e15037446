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
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
)

// TestRepeated shows what of a parent of a kind of which nobody knows how its children are made shows in
// a child after it was taken back.
func TestRepeated(t *testing.T) {
	const evil, short = "db.evil.2", "new"
	spec := func(name string, value any) map[string]any {
		return map[string]any{"spec": map[string]any{name: value}}
	}
	labeled := map[string]any{"metadata": map[string]any{"labels": map[string]any{"size": evil}}}
	for name, tc := range map[string]struct {
		operation Operation
		// parent is more of the parent.
		parent map[string]any
		// withheld was the value of spec.size of the parent. It is now is.
		withheld, is any
		// before and after are the child.
		before, after map[string]any
		want          bool
	}{
		"updated to it":                         {withheld: evil, is: "db.t3", before: spec("size", "db.t3"), after: spec("size", evil), want: true},
		"updated to it under another name":      {withheld: evil, is: "db.t3", before: spec("class", "db.t3"), after: spec("class", evil), want: true},
		"updated to it where nothing was":       {withheld: evil, is: "db.t3", after: spec("class", evil), want: true},
		"updated to it in a list":               {withheld: evil, is: "db.t3", before: spec("sizes", []any{"db.t3"}), after: spec("sizes", []any{"db.t3", evil}), want: true},
		"a map that has it":                     {withheld: map[string]any{"deep": evil}, is: nil, before: spec("a", "b"), after: spec("class", map[string]any{"x": evil}), want: true},
		"created with it":                       {operation: Create, withheld: evil, is: "db.t3", after: spec("class", evil), want: true},
		"updated to what there is":              {withheld: evil, is: "db.t3", before: spec("size", "db.t2"), after: spec("size", "db.t3")},
		"updated to it while the parent has it": {withheld: evil, is: evil, before: spec("size", "db.t3"), after: spec("size", evil)},
		"updated where it was":                  {withheld: evil, is: "db.t3", before: spec("size", evil), after: spec("class", evil)},
		"of which it was a part":                {withheld: evil, is: "db.t3", before: spec("size", "db.t3"), after: spec("size", evil+"x")},
		"a short text of the same name":         {withheld: short, is: "old", before: spec("size", "old"), after: spec("size", short), want: true},
		"a short text of another name":          {withheld: short, is: "old", before: spec("mode", "old"), after: spec("mode", short)},
		"a number":                              {withheld: int64(7), is: int64(3), before: spec("size", int64(3)), after: spec("size", int64(7))},
		"what a label of the parent has":        {parent: labeled, withheld: evil, is: "db.t3", before: spec("class", "db.t3"), after: spec("class", evil)},
		"deleted":                               {operation: Delete, withheld: evil, is: "db.t3", before: spec("size", evil)},
	} {
		t.Run(name, func(t *testing.T) {
			at := change.Path{}.Field("spec").Field("size")
			in := &Input{Operation: Update, ParentState: ParentFound, Child: Child{Old: tc.before, New: tc.after}}
			if tc.operation != "" {
				in.Operation = tc.operation
			}
			if in.Operation == Update {
				in.Changes = change.Find(tc.before, tc.after, change.Options{})
			}
			in.Parent.Fields = spec("size", tc.is)
			maps.Copy(in.Parent.Fields, tc.parent)
			in.Parent.TakenBack = []*approved.Standing{{
				Object:      approved.Object{Generation: 1, Fields: spec("size", tc.withheld)},
				Differences: []approved.Difference{{Change: change.Change{Path: at, Verb: change.Mutate, New: tc.withheld}, Counts: true}},
			}}
			var want []change.Path
			if tc.want {
				want = []change.Path{at}
			}
			if diff := cmp.Diff(want, in.takenBack()); diff != "" {
				t.Errorf("what is repeated (-want +got):\n%s", diff)
			}
		})
	}
}
