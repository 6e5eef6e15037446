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
		// was is what it was before that, where it was taken out.
		was any
		// before and after are the child.
		before, after map[string]any
		// counted is true of a ReplicaSet and its Deployment, beside of what else that might make.
		counted, beside bool
		want            bool
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
		"updated to a text in which it is":      {withheld: evil, is: "db.t3", before: spec("size", "db.t3"), after: spec("name", "a-"+evil+"-x"), want: true},
		"a short text in a longer one":          {withheld: short, is: "old", before: spec("name", "a"), after: spec("name", "newer")},
		"a short text of the same name":         {withheld: short, is: "old", before: spec("size", "old"), after: spec("size", short), want: true},
		"a short text of another name":          {withheld: short, is: "old", before: spec("mode", "old"), after: spec("mode", short), want: true},
		"a text of one letter":                  {withheld: "x", is: "m", before: spec("class", "m"), after: spec("class", "x"), want: true},
		"a number":                              {withheld: int64(7), is: int64(3), before: spec("size", int64(3)), after: spec("size", int64(7)), want: true},
		"a number of another name":              {withheld: int64(7), is: int64(3), before: spec("storage", int64(3)), after: spec("storage", int64(7)), want: true},
		"a number as a text":                    {withheld: int64(7), is: int64(3), before: spec("storage", "3"), after: spec("storage", "7"), want: true},
		"a number that the child has elsewhere": {withheld: int64(7), is: int64(3), before: map[string]any{"spec": map[string]any{"port": int64(7), "size": int64(3)}}, after: map[string]any{"spec": map[string]any{"port": int64(7), "size": int64(7)}}, want: true},
		"a number that the parent has":          {parent: map[string]any{"more": int64(7)}, withheld: int64(7), is: int64(3), before: spec("storage", int64(3)), after: spec("storage", int64(7))},
		"zero under its name":                   {withheld: int64(0), is: int64(3), before: spec("size", int64(3)), after: spec("size", int64(0)), want: true},
		"zero":                                  {withheld: int64(0), is: int64(3), before: spec("zone", int64(3)), after: spec("zone", int64(0))},
		"a truth value under its name":          {withheld: true, is: false, before: spec("size", false), after: spec("size", true), want: true},
		"a truth value":                         {withheld: true, is: false, before: spec("public", false), after: spec("public", true)},
		"what was taken out, and is back":       {withheld: nil, was: evil, is: evil, before: spec("class", evil), after: map[string]any{"spec": map[string]any{}}, want: true},
		"what was taken out, and is another":    {withheld: nil, was: evil, is: "db.t3", before: spec("class", evil), after: map[string]any{"spec": map[string]any{}}},
		"something else goes":                   {withheld: nil, was: evil, is: evil, before: spec("class", "other"), after: map[string]any{"spec": map[string]any{}}},
		"a number of what is counted":           {counted: true, withheld: int64(7), is: int64(9), before: spec("size", int64(3)), after: spec("size", int64(7))},
		"a number of what is made beside":       {counted: true, beside: true, operation: Create, withheld: int64(7), is: int64(9), after: spec("revision", int64(7))},
		"a short text of what is counted":       {counted: true, withheld: short, is: "old", before: spec("mode", "old"), after: spec("mode", short)},
		"a text of what is counted":             {counted: true, withheld: evil, is: "old", before: spec("mode", "old"), after: spec("mode", evil), want: true},
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
			if tc.counted {
				in.Parent.GVK, in.Child.GVK = deploymentGVK, replicaSetGVK
			}
			if tc.beside {
				in.Child.GVK.Kind = "ControllerRevision"
			}
			in.Parent.Fields = spec("size", tc.is)
			maps.Copy(in.Parent.Fields, tc.parent)
			in.Parent.TakenBack = []*approved.Standing{{
				Object:      approved.Object{Generation: 1, Fields: spec("size", tc.withheld)},
				Differences: []approved.Difference{{Change: change.Change{Path: at, Verb: change.Mutate, Old: tc.was, New: tc.withheld}, Counts: true}},
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
