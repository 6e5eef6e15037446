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
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// object reads a YAML object.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var obj map[string]any
	if err := yaml.Unmarshal([]byte(text), &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// lines writes changes for comparison, values as JSON.
func lines(t *testing.T, changes []Change) []string {
	t.Helper()
	text := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	var all []string
	for _, c := range changes {
		line := string(c.Verb) + " " + c.Path.String()
		switch c.Verb {
		case Insert:
			line += " " + text(c.New)
		case Delete:
			line += " " + text(c.Old)
		case Mutate:
			line += " " + text(c.Old) + " -> " + text(c.New)
		}
		all = append(all, line)
	}
	return all
}

func TestFind(t *testing.T) {
	tests := map[string]struct {
		old, new string
		want     []string
	}{
		"nothing": {
			old: `spec: {replicas: 3, paused: false}`,
			new: `spec: {paused: false, replicas: 3}`,
		},
		"a mutated field": {
			old:  `spec: {replicas: 3}`,
			new:  `spec: {replicas: 4}`,
			want: []string{"Mutate spec.replicas 3 -> 4"},
		},
		"an inserted and a deleted field": {
			old:  `spec: {a: x, b: x}`,
			new:  `spec: {b: x, c: x}`,
			want: []string{`Delete spec.a "x"`, `Insert spec.c "x"`},
		},
		"an inserted subtree is one change": {
			old:  `spec: {a: x}`,
			new:  `spec: {a: x, strategy: {type: w, more: {z: 1, w: [1, 2]}}}`,
			want: []string{`Insert spec.strategy {"more":{"w":[1,2],"z":1},"type":"w"}`},
		},
		"a deleted subtree is one change": {
			old:  `spec: {a: x, strategy: {type: w, list: [1]}}`,
			new:  `spec: {a: x}`,
			want: []string{`Delete spec.strategy {"list":[1],"type":"w"}`},
		},
		"the first value of an object": {
			old:  `kind: ConfigMap`,
			new:  `{kind: ConfigMap, data: {a: x}}`,
			want: []string{`Insert data {"a":"x"}`},
		},
		"a map that is filled": {
			old:  `spec: {a: x, labels: {b: {}}}`,
			new:  `spec: {a: x, labels: {b: {c: w}, d: null}}`,
			want: []string{`Insert spec.labels[b].c "w"`},
		},
		"a map that is emptied": {
			old:  `spec: {a: x, labels: {b: {c: w}}}`,
			new:  `spec: {a: x, labels: {b: {c: null}}}`,
			want: []string{`Delete spec.labels[b].c "w"`},
		},
		"an empty map where nothing was": {
			old:  `spec: {a: x}`,
			new:  `spec: {a: x, b: {}}`,
			want: []string{`Insert spec.b {}`},
		},
		"an empty map that is taken away": {
			old:  `spec: {a: x, b: {}}`,
			new:  `spec: {a: x}`,
			want: []string{`Delete spec.b {}`},
		},
		"an empty map that gets its first field": {
			old:  `spec: {b: {}}`,
			new:  `spec: {b: {a: 1}}`,
			want: []string{`Insert spec.b.a 1`},
		},
		"an empty map that stays of one": {
			old:  `spec: {b: {a: 1}}`,
			new:  `spec: {b: {}}`,
			want: []string{`Delete spec.b.a 1`},
		},
		"an empty list where nothing was": {
			old:  `spec: {a: x}`,
			new:  `spec: {a: x, b: []}`,
			want: []string{`Insert spec.b []`},
		},
		"an empty list that is taken away": {
			old:  `spec: {a: x, b: []}`,
			new:  `spec: {a: x, b: null}`,
			want: []string{`Delete spec.b []`},
		},
		"an empty list in place of an empty map": {
			old:  `spec: {b: {}}`,
			new:  `spec: {b: []}`,
			want: []string{`Mutate spec.b {} -> []`},
		},
		"null where nothing was": {
			old: `spec: {a: x, b: null}`,
			new: `{spec: {a: x, c: null}, rules: null}`,
		},
		"null in place of an empty map": {
			old:  `spec: {a: x, b: {}}`,
			new:  `spec: {a: x, b: null}`,
			want: []string{`Delete spec.b {}`},
		},
		"a map of null is an empty one": {
			old: `spec: {a: x, b: {c: null}}`,
			new: `spec: {a: x, b: {d: null}}`,
		},
		"nested empty maps where nothing was": {
			old:  `spec: {x: 1}`,
			new:  `spec: {x: 1, a: {b: {c: []}}}`,
			want: []string{`Insert spec.a {"b":{"c":[]}}`},
		},
		"an empty map in an empty map": {
			old:  `spec: {a: {}}`,
			new:  `spec: {a: {b: {}}}`,
			want: []string{`Insert spec.a.b {}`},
		},
		"an empty map out of another": {
			old:  `spec: {a: {b: {c: {}}}}`,
			new:  `spec: {a: {b: {}}}`,
			want: []string{`Delete spec.a.b.c {}`},
		},
		"an empty object": {
			old:  `kind: ConfigMap`,
			new:  `{kind: ConfigMap, data: {}}`,
			want: []string{`Insert data {}`},
		},
		"an empty namespaceSelector in a NetworkPolicy": {
			old:  `spec: {podSelector: {}, ingress: [{from: [{podSelector: {matchLabels: {app: web}}}]}]}`,
			new:  `spec: {podSelector: {}, ingress: [{from: [{podSelector: {matchLabels: {app: web}}, namespaceSelector: {}}]}]}`,
			want: []string{`Insert spec.ingress[0].from[0].namespaceSelector {}`},
		},
		"an empty securityContext in a template": {
			old:  `spec: {template: {spec: {containers: [{name: app, image: x}]}}}`,
			new:  `spec: {template: {spec: {securityContext: {}, containers: [{name: app, image: x, securityContext: {}}]}}}`,
			want: []string{`Insert spec.template.spec.containers[0].securityContext {}`, `Insert spec.template.spec.securityContext {}`},
		},
		"an explicit zero value is a value": {
			old:  `spec: {x: 1}`,
			new:  `spec: {x: 1, a: "", b: 0, c: false}`,
			want: []string{`Insert spec.a ""`, `Insert spec.b 0`, `Insert spec.c false`},
		},
		"a zero value that is taken away": {
			old:  `spec: {x: 1, replicas: 0}`,
			new:  `spec: {x: 1}`,
			want: []string{"Delete spec.replicas 0"},
		},
		"what never counts": {
			old: `{apiVersion: v1, kind: A, metadata: {name: a, labels: {x: w}}, status: {ready: true}}`,
			new: `{apiVersion: v2, kind: B, metadata: {name: b, annotations: {x: w}}, status: {ready: false}}`,
		},
		"kinds without spec": {
			old:  `{data: {a: x}, rules: [{verbs: [get]}]}`,
			new:  `{data: {a: w}, rules: [{verbs: [get, list]}]}`,
			want: []string{`Mutate data[a] "x" -> "w"`, `Insert rules[0].verbs[1] "list"`},
		},
		"a map that became a scalar": {
			old:  `spec: {a: {b: x}}`,
			new:  `spec: {a: x}`,
			want: []string{`Mutate spec.a {"b":"x"} -> "x"`},
		},
		"a map that became a list": {
			old:  `spec: {a: {b: x}}`,
			new:  `spec: {a: [x]}`,
			want: []string{`Mutate spec.a {"b":"x"} -> ["x"]`},
		},
		"an empty map that became a scalar": {
			old:  `spec: {x: 1, a: {b: {}}}`,
			new:  `spec: {x: 1, a: x}`,
			want: []string{`Mutate spec.a {"b":{}} -> "x"`},
		},
		"a string that looks like a number": {
			old:  `spec: {port: 80}`,
			new:  `spec: {port: "80"}`,
			want: []string{`Mutate spec.port 80 -> "80"`},
		},
		"in order of paths": {
			old:  `spec: {b: 1, a: 1, l: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]}`,
			new:  `spec: {b: 2, a: 2, l: [1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 2]}`,
			want: []string{"Mutate spec.a 1 -> 2", "Mutate spec.b 1 -> 2", "Mutate spec.l[1] 1 -> 2", "Mutate spec.l[10] 1 -> 2"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := lines(t, Find(object(t, tc.old), object(t, tc.new), Options{}))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Find() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFindToleratesEmpty(t *testing.T) {
	tests := map[string]struct {
		old, new string
		want     []string
	}{
		"empty values are absent": {
			old: `spec: {a: x, b: null, c: {}, d: [], e: {f: {g: []}}}`,
			new: `{spec: {a: x, c: [], h: {i: null}}, rules: []}`,
		},
		"a map that is filled is inserted as a whole": {
			old:  `spec: {a: x, labels: {b: {}}}`,
			new:  `spec: {a: x, labels: {b: {c: w}, d: null}}`,
			want: []string{`Insert spec.labels {"b":{"c":"w"},"d":null}`},
		},
		"a map that is emptied is deleted as a whole": {
			old:  `spec: {a: x, labels: {b: {c: w}}}`,
			new:  `spec: {a: x, labels: {b: {c: null}}}`,
			want: []string{`Delete spec.labels {"b":{"c":"w"}}`},
		},
		"an empty map that became a scalar": {
			old:  `spec: {x: 1, a: {b: {}}}`,
			new:  `spec: {x: 1, a: x}`,
			want: []string{`Insert spec.a "x"`},
		},
		"the first item": {
			old:  `spec: {a: x, containers: []}`,
			new:  `spec: {a: x, containers: [{name: a}]}`,
			want: []string{`Insert spec.containers [{"name":"a"}]`},
		},
		"an item that gets an empty field": {
			old: `spec: {containers: [{name: a}]}`,
			new: `spec: {containers: [{name: a, resources: {}}]}`,
		},
		"an empty item is an item": {
			old:  `spec: {a: x, ingress: []}`,
			new:  `spec: {a: x, ingress: [{}]}`,
			want: []string{`Insert spec.ingress [{}]`},
		},
		"empty items of all sorts": {
			old: `spec: {ingress: [null, {}, []]}`,
			new: `spec: {ingress: [[], {a: null}, {}]}`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := lines(t, Find(object(t, tc.old), object(t, tc.new), Options{TolerateEmpty: true}))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Find() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIsBlank(t *testing.T) {
	tests := map[string]struct {
		old, new string
		want     bool
	}{
		"a struct that nobody has filled in":  {`spec: {a: x}`, `spec: {a: x, b: {c: {name: ""}, d: [], e: null}}`, true},
		"one that is taken away":              {`spec: {a: x, b: {c: {name: ""}}}`, `spec: {a: x}`, true},
		"one with a value":                    {`spec: {a: x}`, `spec: {a: x, b: {c: {name: y}}}`, false},
		"one with a number":                   {`spec: {a: x}`, `spec: {a: x, b: {replicas: 0}}`, false},
		"one with a decision":                 {`spec: {a: x}`, `spec: {a: x, b: {paused: false}}`, false},
		"one with an item":                    {`spec: {a: x}`, `spec: {a: x, b: {rules: [{name: ""}]}}`, false},
		"a text alone":                        {`spec: {a: x}`, `spec: {a: x, b: ""}`, false},
		"a text that comes to be empty":       {`spec: {a: x}`, `spec: {a: ""}`, false},
		"a struct that comes to be a text":    {`spec: {a: {b: x}}`, `spec: {a: ""}`, false},
		"a struct that loses what is in it":   {`spec: {a: {b: x, c: y}}`, `spec: {a: {b: x, c: ""}}`, false},
		"a text in a struct that was there":   {`spec: {a: {b: x}}`, `spec: {a: {b: x, c: ""}}`, false},
		"an item of a list, with nothing set": {`spec: {a: [{name: x}]}`, `spec: {a: [{name: x}, {name: ""}]}`, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			changes := Find(object(t, tc.old), object(t, tc.new), Options{TolerateEmpty: true})
			if len(changes) != 1 || changes[0].IsBlank() != tc.want {
				t.Errorf("%v, want one that is blank: %v", changes, tc.want)
			}
		})
	}
}

func TestFindNothingInNothing(t *testing.T) {
	if got := Find(nil, nil, Options{}); got != nil {
		t.Errorf("Find(nil, nil) = %v", got)
	}
	want := []string{`Insert spec {"a":"x"}`}
	got := lines(t, Find(nil, object(t, `spec: {a: x}`), Options{}))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Find() (-want +got):\n%s", diff)
	}
}

func TestFindComparesNumbersByValue(t *testing.T) {
	tests := map[string]struct {
		old, new any
		same     bool
	}{
		"an integer as float":            {int64(3), float64(3), true},
		"an integer as text":             {int64(3), json.Number("3"), true},
		"a text with an exponent":        {float64(300), json.Number("3e2"), true},
		"a text with a fraction":         {json.Number("2.50"), 2.5, true},
		"zero and minus zero":            {json.Number("-0.0"), int64(0), true},
		"Go's own integers":              {int32(7), 7, true},
		"beyond what a float holds":      {int64(1<<53 + 1), float64(1 << 53), false},
		"beyond what an integer holds":   {float64(1 << 63), int64(1<<63 - 1), false},
		"huge and equal":                 {1e300, json.Number("1e300"), true},
		"beyond what anything holds":     {json.Number("1e999"), json.Number("1e998"), false},
		"a fraction":                     {0.1, int64(0), false},
		"a number and a boolean":         {int64(1), true, false},
		"values that JSON does not have": {[]string{"a"}, []string{"b"}, false},
		"equal ones":                     {[]string{"a"}, []string{"a"}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			inObj := func(v any) map[string]any { return map[string]any{"spec": map[string]any{"n": v}} }
			if got := len(Find(inObj(tc.old), inObj(tc.new), Options{})) == 0; got != tc.same {
				t.Errorf("Find says equal: %v, want %v", got, tc.same)
			}
			if got := CanonicalHash(tc.old) == CanonicalHash(tc.new); got != tc.same {
				t.Errorf("CanonicalHash says equal: %v, want %v", got, tc.same)
			}
		})
	}
}

func TestFindMetadata(t *testing.T) {
	const (
		before = `metadata: {name: a, generation: 1, finalizers: [x], labels: {app: a}}`
		after  = `metadata: {name: a, generation: 2, finalizers: [x, w], labels: {app: b},
			annotations: {jira: A-1, other: z, kausality.io/allowances: e, replicaset.kausality.io/allowances: e}}`
	)
	tests := map[string]struct {
		old, new string
		patterns []string
		want     []string
	}{
		"none is named": {
			old: before, new: after,
		},
		"anything does not name metadata": {
			old: before, new: after, patterns: []string{"*", "*.labels", "spec"},
		},
		"one annotation": {
			old: before, new: after, patterns: []string{"metadata.annotations[jira]"},
			want: []string{`Insert metadata.annotations[jira] "A-1"`},
		},
		"an annotation that did not change": {
			old: before, new: after, patterns: []string{"metadata.annotations[ticket]"},
		},
		"all annotations, but our own": {
			old: before, new: after, patterns: []string{"metadata.annotations"},
			want: []string{`Insert metadata.annotations[jira] "A-1"`, `Insert metadata.annotations[other] "z"`},
		},
		"each label": {
			old: after, new: before, patterns: []string{"metadata.labels[*]"},
			want: []string{`Mutate metadata.labels[app] "b" -> "a"`},
		},
		"a list": {
			old: before, new: after, patterns: []string{"metadata.finalizers", "metadata.labels[app]"},
			want: []string{`Insert metadata.finalizers[1] "w"`, `Mutate metadata.labels[app] "a" -> "b"`},
		},
		"all of it, but what the server writes": {
			old: before, new: after, patterns: []string{"metadata"},
			want: []string{
				`Insert metadata.annotations[jira] "A-1"`,
				`Insert metadata.annotations[other] "z"`,
				`Insert metadata.finalizers[1] "w"`,
				`Mutate metadata.labels[app] "a" -> "b"`,
			},
		},
		"owners are aligned by UID": {
			old:      `metadata: {ownerReferences: [{uid: a, name: x}, {uid: b, name: x, controller: true}]}`,
			new:      `metadata: {ownerReferences: [{uid: b, name: x}]}`,
			patterns: []string{"metadata.ownerReferences"},
			want: []string{
				`Delete metadata.ownerReferences[0] {"name":"x","uid":"a"}`,
				`Delete metadata.ownerReferences[0].controller true`,
			},
		},
		"labels that are empty and none": {
			old: `metadata: {name: a}`, new: `metadata: {name: a, labels: {}, annotations: {}}`,
			patterns: []string{"metadata.labels", "metadata.annotations", "metadata"},
		},
		"a field of each owner": {
			old:      `metadata: {}`,
			new:      `metadata: {ownerReferences: [{uid: b, name: x}]}`,
			patterns: []string{"metadata.ownerReferences[*].uid"},
			want:     []string{`Insert metadata.ownerReferences [{"name":"x","uid":"b"}]`},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var opts Options
			for _, p := range tc.patterns {
				opts.Metadata = append(opts.Metadata, mustPattern(t, p))
			}
			got := lines(t, Find(object(t, tc.old), object(t, tc.new), opts))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Find() (-want +got):\n%s", diff)
			}
		})
	}
}

// nested puts a value into as many maps, or maps and lists by turns, as a decoder
// of the API server reads.
func nested(leaf any, lists bool) any {
	v := leaf
	for i := range 10_000 {
		if lists && i%2 == 0 {
			v = []any{v}
		} else {
			v = map[string]any{"a": v}
		}
	}
	return v
}

func TestFindInDeepObjects(t *testing.T) {
	tests := map[string]struct {
		old, new any
		want     Verb
		segments int
	}{
		"equal maps":                     {old: nested("x", false), new: nested("x", false)},
		"equal lists":                    {old: nested("x", true), new: nested("x", true)},
		"a leaf below maps":              {nested("x", false), nested("y", false), Mutate, maxSegments},
		"a leaf below lists":             {nested("x", true), nested("y", true), Mutate, maxSegments},
		"all of it inserted":             {nil, nested("x", false), Insert, 1},
		"an empty map inserted":          {nil, map[string]any{}, Insert, 1},
		"all of it inserted into itself": {nested(nil, false), nested("x", false), Mutate, maxSegments},
		"all of it deleted":              {nested("x", false), nil, Delete, 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before, after := map[string]any{"spec": tc.old}, map[string]any{"spec": tc.new}
			got := Find(before, after, Options{})
			if same := StrictHash(before) == StrictHash(after); same != (len(got) == 0) {
				t.Errorf("hashes are equal: %v, with %d changes", same, len(got))
			}
			if tc.want == "" {
				if len(got) > 0 {
					t.Errorf("Find = %d changes, want none", len(got))
				}
				return
			}
			if len(got) != 1 || got[0].Verb != tc.want || len(got[0].Path) != tc.segments {
				t.Errorf("Find = %d changes, want one %s at %d segments", len(got), tc.want, tc.segments)
			}
		})
	}
}

func TestFindBoundsChanges(t *testing.T) {
	wide := func(n int, value string) map[string]any {
		m := map[string]any{"same": "x"}
		for i := range n {
			m[fmt.Sprint("k", i)] = value
		}
		return m
	}
	long := func(n int, value string) []any {
		l := make([]any, n)
		for i := range l {
			l[i] = map[string]any{"name": strconv.Itoa(i), "value": value}
		}
		return l
	}
	tests := map[string]struct {
		old, new any
		want     int
		first    string
	}{
		"a map with as many as are told apart": {wide(maxChanges, "x"), wide(maxChanges, "y"), maxChanges, "Mutate spec.v.k0"},
		"a map with more":                      {wide(maxChanges+1, "x"), wide(maxChanges+1, "y"), 1, "Mutate spec.v"},
		"a list with more":                     {long(maxChanges+1, "x"), long(maxChanges+1, "y"), 1, "Mutate spec.v"},
		"a list that grows by more":            {long(1, "x"), long(maxChanges+2, "x"), 1, "Mutate spec.v"},
		"a list that shrinks by more":          {long(maxChanges+2, "x"), long(1, "x"), 1, "Mutate spec.v"},
		"a map that had nothing":               {map[string]any{"k": nil}, wide(maxChanges+1, "y"), 1, "Mutate spec.v"},
		"a map that was not there":             {nil, wide(maxChanges+1, "y"), 1, "Insert spec.v"},
		"a list that has nothing":              {long(maxChanges+1, "y"), []any{}, 1, "Mutate spec.v"},
		"a list that is gone":                  {long(maxChanges+1, "y"), nil, 1, "Delete spec.v"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := Find(
				map[string]any{"spec": map[string]any{"x": "y", "v": tc.old}},
				map[string]any{"spec": map[string]any{"x": "y", "v": tc.new}},
				Options{})
			if len(got) != tc.want || !strings.HasPrefix(string(got[0].Verb)+" "+got[0].Path.String(), tc.first) {
				t.Errorf("Find = %d changes, first %s %s, want %d, %s", len(got), got[0].Verb, got[0].Path, tc.want, tc.first)
			}
		})
	}
}

func TestParts(t *testing.T) {
	tests := map[string]struct {
		old, new string
		// want are the parts of the only change.
		want []string
	}{
		"of a map that is added":            {old: `spec: {}`, new: `spec: {m: {b: {c: x}, a: x}}`, want: []string{`Insert spec.m.a "x"`, `Insert spec.m.b {"c":"x"}`}},
		"of a map that is removed":          {old: `spec: {m: {a: x}}`, new: `spec: {}`, want: []string{`Delete spec.m.a "x"`}},
		"of a list":                         {old: `spec: {}`, new: `spec: {l: [x, z]}`, want: []string{`Insert spec.l[0] "x"`, `Insert spec.l[1] "z"`}},
		"of an empty map":                   {old: `spec: {}`, new: `spec: {m: {}}`},
		"of a scalar":                       {old: `spec: {a: x}`, new: `spec: {a: y}`},
		"of an item of a list":              {old: `spec: {containers: [{name: a}]}`, new: `spec: {containers: [{name: a}, {name: b, image: x}]}`},
		"of the order of a list":            {old: `spec: {containers: [{name: a}, {name: b}]}`, new: `spec: {containers: [{name: b}, {name: a}]}`},
		"of a map in the place of a scalar": {old: `spec: {a: x}`, new: `spec: {a: {b: x}}`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			changes := Find(object(t, tc.old), object(t, tc.new), Options{})
			if len(changes) != 1 {
				t.Fatalf("%d changes", len(changes))
			}
			if diff := cmp.Diff(tc.want, lines(t, changes[0].Parts())); diff != "" {
				t.Errorf("Parts() (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("of two versions of a map", func(t *testing.T) {
		whole := Change{Verb: Mutate, Old: object(t, `{a: x, b: x, c: x}`), New: object(t, `{b: x, c: z, d: x}`)}
		if diff := cmp.Diff([]string{`Delete a "x"`, `Mutate c "x" -> "z"`, `Insert d "x"`}, lines(t, whole.Parts())); diff != "" {
			t.Errorf("Parts() (-want +got):\n%s", diff)
		}
	})
}
