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
)

func TestPathIsItem(t *testing.T) {
	for text, want := range map[string]bool{"spec.args[0]": true, "spec.args[0][1]": true, "spec.args": false, "spec.args[0].x": false, "data['0']": false} {
		if got := mustPath(t, text).IsItem(); got != want {
			t.Errorf("%s is an item: %t", text, got)
		}
	}
	if (Path{}).IsItem() {
		t.Error("no path is an item")
	}
}

func TestPathRemove(t *testing.T) {
	const before = `{spec: {a: x, b: null, l: [1, {c: y}, [2, 3]]}}`
	tests := map[string]struct{ path, want string }{
		"a field":                {"spec.a", `{spec: {b: null, l: [1, {c: y}, [2, 3]]}}`},
		"a null":                 {"spec.b", `{spec: {a: x, l: [1, {c: y}, [2, 3]]}}`},
		"an item":                {"spec.l[0]", `{spec: {a: x, b: null, l: [{c: y}, [2, 3]]}}`},
		"an item of an item":     {"spec.l[2][0]", `{spec: {a: x, b: null, l: [1, {c: y}, [3]]}}`},
		"a field of an item":     {"spec.l[1].c", `{spec: {a: x, b: null, l: [1, {}, [2, 3]]}}`},
		"a list":                 {"spec.l", `{spec: {a: x, b: null}}`},
		"everything":             {"spec", `{}`},
		"what is not there":      {"spec.z.z", before},
		"no such item":           {"spec.l[3]", before},
		"an item of a map":       {"spec[0]", before},
		"a field of a list":      {"spec.l.c", before},
		"a field of a scalar":    {"spec.a.c", before},
		"an item of a scalar":    {"spec.a[0]", before},
		"an item of what is not": {"z[0]", before},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			obj := object(t, before)
			mustPath(t, tc.path).Remove(obj)
			if diff := cmp.Diff(object(t, tc.want), obj); diff != "" {
				t.Errorf("Remove(%s) (-want +got):\n%s", tc.path, diff)
			}
		})
	}
	obj := object(t, before)
	(Path{}).Remove(obj)
	path(0).Remove(obj)
	if diff := cmp.Diff(object(t, before), obj); diff != "" {
		t.Errorf("Remove() of nothing (-want +got):\n%s", diff)
	}
}

func TestCounterpart(t *testing.T) {
	tests := map[string]struct {
		a, b  string
		i     int
		want  int
		found bool
	}{
		"by name":                   {a: `l: [{name: a}, {name: b}]`, b: `l: [{name: b}, {name: c}, {name: a}]`, i: 0, want: 2, found: true},
		"gone":                      {a: `l: [{name: a}, {name: b}]`, b: `l: [{name: b}]`, i: 0, want: nowhere},
		"without keys, as many":     {a: `l: [a, b]`, b: `l: [c, d]`, i: 1, want: 1, found: true},
		"without keys, not as many": {a: `l: [a, b]`, b: `l: [c]`, i: 1, want: 1},
		"in nothing":                {a: `l: [{name: a}]`, b: `l: []`, i: 0, want: 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			a, _ := object(t, tc.a)["l"].([]any)
			b, _ := object(t, tc.b)["l"].([]any)
			got, found := Counterpart(a, b, tc.i, nil, path("l"))
			if found != tc.found || found && got != tc.want {
				t.Errorf("Counterpart() = %d, %t; want %d, %t", got, found, tc.want, tc.found)
			}
		})
	}
}

func TestCounted(t *testing.T) {
	obj := object(t, `{apiVersion: v1, kind: A, metadata: {name: a}, spec: {a: x}, data: {}, status: {b: y}}`)
	if diff := cmp.Diff(object(t, `{spec: {a: x}, data: {}}`), Counted(obj)); diff != "" {
		t.Errorf("Counted() (-want +got):\n%s", diff)
	}
	if len(obj) != 6 {
		t.Errorf("the object was modified: %v", obj)
	}
}

func TestNamedMetadata(t *testing.T) {
	const obj = `{spec: {a: x}, metadata: {name: n, uid: u, labels: {a: x, b: y, kausality.io/x: z}, annotations: {c: null}, finalizers: [f]}}`
	tests := map[string]struct {
		obj      string
		patterns []string
		want     string
	}{
		"no pattern":                  {obj: obj},
		"a label":                     {obj: obj, patterns: []string{"metadata.labels[b]"}, want: `labels: {b: y}`},
		"all labels":                  {obj: obj, patterns: []string{"metadata.labels"}, want: `labels: {a: x, b: y}`},
		"what is not there":           {obj: obj, patterns: []string{"metadata.annotations"}},
		"patterns of something else":  {obj: obj, patterns: []string{"*", "spec"}},
		"all of it":                   {obj: obj, patterns: []string{"metadata"}, want: `{name: n, labels: {a: x, b: y}, finalizers: [f]}`},
		"an item":                     {obj: obj, patterns: []string{"metadata.finalizers[0]"}, want: `finalizers: [f]`},
		"no metadata":                 {obj: `{}`, patterns: []string{"metadata"}},
		"metadata that is none":       {obj: `metadata: 3`, patterns: []string{"metadata"}},
		"labels that are none":        {obj: `metadata: {labels: [a], annotations: x}`, patterns: []string{"metadata"}},
		"several patterns of a label": {obj: obj, patterns: []string{"metadata.labels[b]", "metadata.labels[*]"}, want: `labels: {a: x, b: y}`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var patterns []Pattern
			for _, text := range tc.patterns {
				patterns = append(patterns, mustPattern(t, text))
			}
			obj := object(t, tc.obj)
			got := NamedMetadata(obj, patterns)
			var want map[string]any
			if tc.want != "" {
				want = object(t, tc.want)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("NamedMetadata() (-want +got):\n%s", diff)
			}
			// Nothing differs of what was taken.
			if got != nil {
				obj = map[string]any{"metadata": got, "spec": obj["spec"]}
			}
			if diff := Find(object(t, tc.obj), obj, Options{Metadata: patterns}); len(diff) > 0 {
				t.Errorf("Find() = %v", diff)
			}
		})
	}
}

func TestAnyCovers(t *testing.T) {
	patterns := []Pattern{mustPattern(t, "spec.a"), mustPattern(t, "data[*]")}
	for text, want := range map[string]bool{"spec.a": true, "spec.a.b": true, "data[x]": true, "spec": false, "data": false, "spec.b": false} {
		if got := AnyCovers(patterns, mustPath(t, text)); got != want {
			t.Errorf("AnyCovers(%s) = %t", text, got)
		}
	}
	if AnyCovers(nil, mustPath(t, "spec")) {
		t.Error("no pattern covers something")
	}
}
