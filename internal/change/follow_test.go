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
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestFollow(t *testing.T) {
	const before = `spec: {containers: [{name: a, image: x}, {name: b, image: y, args: [p, q]}], paused: true}`
	tests := map[string]struct {
		after, path, want string
		gone              bool
	}{
		"nothing moved":       {after: before, path: "spec.containers[1].image", want: "spec.containers[1].image"},
		"an item in front":    {after: `spec: {containers: [{name: c}, {name: a}, {name: b}]}`, path: "spec.containers[1].image", want: "spec.containers[2].image"},
		"the one before gone": {after: `spec: {containers: [{name: b}]}`, path: "spec.containers[1]", want: "spec.containers[0]"},
		"another order":       {after: `spec: {containers: [{name: b}, {name: a}]}`, path: "spec.containers[0].image", want: "spec.containers[1].image"},
		"the item gone":       {after: `spec: {containers: [{name: a}]}`, path: "spec.containers[1].image", want: "spec.containers[1].image", gone: true},
		"the list gone":       {after: `spec: {}`, path: "spec.containers[1].image", want: "spec.containers[1].image"},
		"no such item":        {after: `spec: {containers: [{name: b}]}`, path: "spec.containers[7].image", want: "spec.containers[7].image"},
		"no such field":       {after: `spec: {containers: [{name: b}]}`, path: "spec.containers[1].tty", want: "spec.containers[0].tty"},
		"no list":             {after: before, path: "spec.paused[1]", want: "spec.paused[1]"},
		"items without keys":  {after: `spec: {containers: [{name: b, args: [q]}]}`, path: "spec.containers[1].args[1]", want: "spec.containers[0].args[1]"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			path, err := ParsePath(tc.path)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := Follow(path, object(t, before), object(t, tc.after), nil)
			if diff := cmp.Diff(tc.want, got.String()); diff != "" || ok == tc.gone {
				t.Errorf("Follow() = %t (-want +got):\n%s", ok, diff)
			}
		})
	}
}

func TestPropertyWhatDidNotChangeIsFoundWhereItMoved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := versions.Draw(t, "versions")
		paths := Pattern{fieldSegment("spec"), wildcard, wildcard, wildcard}.Expand(v[0])
		if len(paths) == 0 {
			return
		}
		path := rapid.SampledFrom(paths).Draw(t, "path")
		moved, ok := Follow(path, v[0], v[1], nil)
		if !ok {
			return
		}
		changes := Find(v[0], v[1], Options{})
		for _, c := range changes {
			if Pattern(c.Path).Touches(moved) || Pattern(c.Path).Touches(path) {
				return
			}
		}
		before, _ := path.Value(v[0])
		after, _ := moved.Value(v[1])
		if !(comparison{}).equal(placeOf(path), before, after) {
			t.Fatalf("nothing changed at %s, and what it held is not at %s", path, moved)
		}
	})
}
