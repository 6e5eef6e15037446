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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mustPattern reads a pattern that the test knows to be one.
func mustPattern(t *testing.T, s string) Pattern {
	t.Helper()
	p, err := ParsePattern(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParsePattern(t *testing.T) {
	tests := map[string]struct {
		text string
		want string
	}{
		"anything":               {"*", "*"},
		"a field":                {"spec", "spec"},
		"each item":              {"spec.template.spec.containers[*].image", "spec.template.spec.containers[*].image"},
		"an annotation":          {"metadata.annotations[jira]", "metadata.annotations[jira]"},
		"each annotation":        {"metadata.annotations[*]", "metadata.annotations[*]"},
		"a wildcard with a dot":  {"spec.containers.*.image", "spec.containers[*].image"},
		"a wildcard in brackets": {"[*]", "*"},
		"a leading wildcard":     {"*.replicas", "*.replicas"},
		"a key that is a star":   {`data[\x2a]`, `data['\x2a']`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := mustPattern(t, tc.text)
			if got := p.String(); got != tc.want {
				t.Errorf("String() = %s, want %s", got, tc.want)
			}
			if diff := cmp.Diff(p, mustPattern(t, p.String())); diff != "" {
				t.Errorf("ParsePattern(String()) (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParsePatternErrors(t *testing.T) {
	tests := map[string]struct {
		text string
		want string
	}{
		"empty":               {"", `path "": it is empty`},
		"two dots":            {"spec..x", `path "spec..x": unexpected '.' at position 5`},
		"a leading dot":       {".spec", `path ".spec": unexpected '.' at position 0`},
		"a trailing dot":      {"spec.", `path "spec.": unexpected '.' at position 4`},
		"an open bracket":     {"a[", `path "a[": unterminated '[' at position 1`},
		"empty brackets":      {"a[]", `path "a[]": unexpected ']' at position 2`},
		"brackets in another": {"a[b[0]]", `path "a[b[0]]": unexpected '[' at position 3`},
		"no dot after one":    {"a[0]b", `path "a[0]b": '.' or '[' expected at position 4`},
		"a negative index":    {"a[-1]", `path "a[-1]": no list index at position 2: they range from 0 to 4294967295; a key that is a number must be quoted`},
		"a huge index":        {"a[4294967296]", `path "a[4294967296]": no list index at position 2: they range from 0 to 4294967295; a key that is a number must be quoted`},
		"two stars":           {"**", `path "**": segment 1, "**": "*" stands for a whole name, not for a part of one; the character itself is written \x2a`},
		"a part of a name":    {"spec.image-*", `path "spec.image-*": segment 2, "image-*": "*" stands for a whole name, not for a part of one; the character itself is written \x2a`},
		"a stray blank":       {"spec.replicas ", `path "spec.replicas ": segment 2, "replicas ": a name must not begin or end with a blank`},
		"a stray backslash":   {`data[a\b\q]`, `path "data[a\\b\\q]": segment 2, "a\\b\\q": a backslash must begin an escape sequence, such as \x5b for "["`},
		"an index first":      {"[0].a", `path "[0].a": it begins with an index, but an object is not a list`},
		"too deep":            {"a" + strings.Repeat(".a", 100), `path "a` + strings.Repeat(".a", 100) + `": it has 101 segments, at most 100 are supported`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := ParsePattern(tc.text)
			if err == nil {
				t.Fatalf("ParsePattern(%q) = %v, want an error", tc.text, p)
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPatternCovers(t *testing.T) {
	tests := map[string]struct {
		pattern, path   string
		covers, touches bool
	}{
		"anything covers a field":        {"*", "spec.replicas", true, true},
		"anything covers an annotation":  {"*", "metadata.annotations[jira]", true, true},
		"itself":                         {"spec.replicas", "spec.replicas", true, true},
		"below":                          {"spec", "spec.template.spec", true, true},
		"above":                          {"spec.replicas", "spec", false, true},
		"beside":                         {"spec.replicas", "spec.paused", false, false},
		"a name that begins alike":       {"spec.replica", "spec.replicas", false, false},
		"any index":                      {"spec.containers[*].image", "spec.containers[7].image", true, true},
		"any key":                        {"metadata.labels[*]", "metadata.labels[app]", true, true},
		"an index is not a key":          {"data[0]", "data['0']", false, false},
		"one index":                      {"spec.containers[0].image", "spec.containers[1].image", false, false},
		"the item of an image":           {"spec.containers[*].image", "spec.containers[0]", false, true},
		"a wildcard needs something":     {"spec.containers[*]", "spec.containers", false, true},
		"a key that is a star":           {`data[\x2a]`, "data[a]", false, false},
		"another field above a wildcard": {"spec.containers[*]", "spec.volumes", false, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pattern, at := mustPattern(t, tc.pattern), mustPath(t, tc.path)
			if got := pattern.Covers(at); got != tc.covers {
				t.Errorf("Covers() = %v, want %v", got, tc.covers)
			}
			if got := pattern.Touches(at); got != tc.touches {
				t.Errorf("Touches() = %v, want %v", got, tc.touches)
			}
		})
	}
}

func TestZeroPatternNamesNothing(t *testing.T) {
	var zero Pattern
	at := path("spec")
	if zero.Covers(at) || zero.Touches(at) {
		t.Error("the zero pattern covers something")
	}
	if p, ok := zero.Matches(Change{Path: at, Verb: Insert, New: "x"}, nil); ok {
		t.Errorf("the zero pattern matches at %s", p)
	}
	if got := zero.Expand(map[string]any{"spec": "x"}); got != nil {
		t.Errorf("the zero pattern expands to %v", got)
	}
}

func TestPatternOverlaps(t *testing.T) {
	tests := map[string]struct {
		p, q string
		want bool
	}{
		"the same":                {p: "spec.replicas", q: "spec.replicas", want: true},
		"one above":               {p: "spec", q: "spec.replicas", want: true},
		"one beside":              {p: "spec.replicas", q: "spec.paused"},
		"anything":                {p: "*", q: "spec.replicas", want: true},
		"wildcards in both":       {p: "spec.items[*].name", q: "spec.items[0].*", want: true},
		"apart behind a wildcard": {p: "spec.items[*].name", q: "spec.items[0].size"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p, q := mustPattern(t, tc.p), mustPattern(t, tc.q)
			if p.Overlaps(q) != tc.want || q.Overlaps(p) != tc.want {
				t.Errorf("%s and %s: got %t and %t, want %t", tc.p, tc.q, p.Overlaps(q), q.Overlaps(p), tc.want)
			}
		})
	}
	if (Pattern{}).Overlaps(mustPattern(t, "spec")) {
		t.Error("a pattern that names nothing overlaps")
	}
}

func TestPatternMatches(t *testing.T) {
	named := func(name, image string) any { return map[string]any{"name": name, "image": image} }
	container := func(image string) any { return map[string]any{"name": "app", "image": image} }
	tests := map[string]struct {
		pattern string
		change  Change
		schema  Schema
		want    string
	}{
		"at the pattern": {
			pattern: "spec.containers[*].image",
			change:  Change{Path: path("spec", "containers", 1, "image"), Verb: Mutate, Old: "a", New: "b"},
			want:    "spec.containers[1].image",
		},
		"below the pattern": {
			pattern: "spec",
			change:  Change{Path: path("spec", "containers", 1, "image"), Verb: Mutate, Old: "a", New: "b"},
			want:    "spec.containers[1].image",
		},
		"beside the pattern": {
			pattern: "spec.replicas",
			change:  Change{Path: path("spec", "paused"), Verb: Insert, New: true},
		},
		"an item that was inserted": {
			pattern: "spec.containers[*].image",
			change:  Change{Path: path("spec", "containers", 1), Verb: Insert, New: container("b")},
			want:    "spec.containers[1].image",
		},
		"an item that was removed": {
			pattern: "spec.containers[*].image",
			change:  Change{Path: path("spec", "containers", 0), Verb: Delete, Old: container("a")},
			want:    "spec.containers[0].image",
		},
		"a list that was inserted": {
			pattern: "spec.containers[*].image",
			change:  Change{Path: path("spec"), Verb: Insert, New: map[string]any{"containers": []any{map[string]any{}, container("b")}}},
			want:    "spec.containers[1].image",
		},
		"a map that was inserted without the field": {
			pattern: "spec.strategy.type",
			change:  Change{Path: path("spec", "strategy"), Verb: Insert, New: map[string]any{"rollingUpdate": "x"}},
		},
		"an empty value that was inserted": {
			pattern: "spec.strategy.rollingUpdate",
			change:  Change{Path: path("spec", "strategy"), Verb: Insert, New: map[string]any{"type": "x", "rollingUpdate": map[string]any{}}},
			want:    "spec.strategy.rollingUpdate",
		},
		"an empty value at the pattern": {
			pattern: "spec.strategy",
			change:  Change{Path: path("spec", "strategy"), Verb: Insert, New: map[string]any{}},
			want:    "spec.strategy",
		},
		"an empty value below the pattern": {
			pattern: "spec",
			change:  Change{Path: path("spec", "strategy"), Verb: Insert, New: map[string]any{}},
			want:    "spec.strategy",
		},
		"an empty value above the pattern": {
			pattern: "spec.strategy.rollingUpdate",
			change:  Change{Path: path("spec", "strategy"), Verb: Insert, New: map[string]any{}},
		},
		"an empty value that was removed with its map": {
			pattern: "spec.strategy.rollingUpdate",
			change:  Change{Path: path("spec", "strategy"), Verb: Delete, Old: map[string]any{"rollingUpdate": map[string]any{}}},
			want:    "spec.strategy.rollingUpdate",
		},
		"null that was inserted": {
			pattern: "spec.strategy.rollingUpdate",
			change:  Change{Path: path("spec", "strategy"), Verb: Insert, New: map[string]any{"rollingUpdate": nil}},
		},
		"a list in another order": {
			pattern: "spec.containers[*].image",
			change:  Change{Path: path("spec", "containers"), Verb: Mutate, Old: []any{container("a"), container("b")}, New: []any{container("b"), container("a")}},
			want:    "spec.containers[0].image",
		},
		"a list in another order with equal values there": {
			pattern: "spec.containers[*].image",
			change:  Change{Path: path("spec", "containers"), Verb: Mutate, Old: []any{container("a"), container("a")}, New: []any{container("a"), container("a")}},
		},
		"a list in another order with values that moved with the indices": {
			pattern: "spec.containers[*].image",
			change: Change{
				Path: path("spec", "containers"), Verb: Mutate,
				Old: []any{named("a", "x"), named("b", "y")},
				New: []any{named("b", "x"), named("a", "y")},
			},
			want: "spec.containers[0].image",
		},
		"the index of a list in another order": {
			pattern: "spec.containers[1].image",
			change: Change{
				Path: path("spec", "containers"), Verb: Mutate,
				Old: []any{named("a", "x"), named("b", "y")},
				New: []any{named("b", "x"), named("a", "y")},
			},
			want: "spec.containers[1].image",
		},
		"a list in another order with keys of a schema": {
			pattern: "spec.rules[*].to",
			change: Change{
				Path: path("spec", "rules"), Verb: Mutate,
				Old: []any{map[string]any{"id": "a", "to": "x"}, map[string]any{"id": "b", "to": "y"}},
				New: []any{map[string]any{"id": "b", "to": "x"}, map[string]any{"id": "a", "to": "y"}},
			},
			schema: &declared{keys: map[string][]string{"spec.rules": {"id"}}},
			want:   "spec.rules[0].to",
		},
		"a list in another order with an item in place of another": {
			pattern: "spec.containers[*].image",
			change: Change{
				Path: path("spec", "containers"), Verb: Mutate,
				Old: []any{named("a", "x"), named("b", "x"), named("c", "x")},
				New: []any{named("b", "x"), named("a", "x"), named("d", "x")},
			},
			want: "spec.containers[2].image",
		},
		"a list in another order with a list in which values moved with the indices": {
			pattern: "spec.containers[*].env[*].value",
			change: Change{
				Path: path("spec", "containers"), Verb: Mutate,
				Old: []any{
					map[string]any{"name": "a", "env": []any{map[string]any{"name": "A", "value": "1"}, map[string]any{"name": "B", "value": "2"}}},
					map[string]any{"name": "b"},
					map[string]any{"name": "c"},
				},
				New: []any{
					map[string]any{"name": "a", "env": []any{map[string]any{"name": "B", "value": "1"}, map[string]any{"name": "A", "value": "2"}}},
					map[string]any{"name": "c"},
					map[string]any{"name": "b"},
				},
			},
			want: "spec.containers[0].env[0].value",
		},
		"a list in another order with a quantity that was written anew": {
			pattern: "spec.disks[*].size",
			change: Change{
				Path: path("spec", "disks"), Verb: Mutate,
				Old: []any{map[string]any{"name": "a", "size": "1Gi"}, map[string]any{"name": "b", "size": "1Gi"}},
				New: []any{map[string]any{"name": "b", "size": "1024Mi"}, map[string]any{"name": "a", "size": "1Gi"}},
			},
			schema: &declared{quantities: []string{"spec.disks[0].size"}},
		},
		"a list that became a map": {
			pattern: "spec.things[*].a",
			change:  Change{Path: path("spec", "things"), Verb: Mutate, Old: []any{map[string]any{"a": "x"}}, New: map[string]any{"k": map[string]any{"a": "x"}}},
			want:    "spec.things.k.a",
		},
		"a map that became a scalar": {
			pattern: "spec.strategy.type",
			change:  Change{Path: path("spec", "strategy"), Verb: Mutate, Old: map[string]any{"type": "x"}, New: "x"},
			want:    "spec.strategy.type",
		},
		"a quantity that was written anew": {
			pattern: "spec.resources.requests.cpu",
			change: Change{
				Path: path("spec", "resources"), Verb: Mutate,
				Old: map[string]any{"requests": map[string]any{"cpu": "0.5"}},
				New: map[string]any{"requests": map[string]any{"cpu": "500m"}},
			},
		},
		"a path without values": {
			pattern: "spec.replicas",
			change:  Change{Path: path("spec"), Verb: Mutate},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := mustPattern(t, tc.pattern).Matches(tc.change, tc.schema)
			if ok != (tc.want != "") || got.String() != tc.want {
				t.Errorf("Matches() = %q, %v, want %q", got, ok, tc.want)
			}
		})
	}
}

func TestPatternExpand(t *testing.T) {
	obj := map[string]any{
		"apiVersion": "v1",
		"kind":       "Thing",
		"metadata":   map[string]any{"annotations": map[string]any{"jira": "A-1", "b": "x"}},
		"status":     map[string]any{"ready": true},
		"data":       map[string]any{"k": "v"},
		"spec": map[string]any{
			"replicas": int64(0),
			"selector": map[string]any{},
			"nothing":  nil,
			"containers": []any{
				map[string]any{"name": "a", "image": "x"},
				map[string]any{"name": "b"},
				map[string]any{"name": "c", "image": "z"},
			},
		},
	}
	tests := map[string]struct {
		pattern string
		want    []string
	}{
		"anything is what counts":    {"*", []string{"data", "spec"}},
		"a leading wildcard":         {"*.replicas", []string{"spec.replicas"}},
		"one field":                  {"spec.replicas", []string{"spec.replicas"}},
		"each item that has it":      {"spec.containers[*].image", []string{"spec.containers[0].image", "spec.containers[2].image"}},
		"each key":                   {"metadata.annotations[*]", []string{"metadata.annotations[b]", "metadata.annotations[jira]"}},
		"each field and item":        {"spec[*][*].name", []string{"spec.containers[0].name", "spec.containers[1].name", "spec.containers[2].name"}},
		"an empty value":             {"spec.selector", []string{"spec.selector"}},
		"null is no value":           {"spec.nothing", nil},
		"a field that is not there":  {"spec.paused", nil},
		"an index that is not there": {"spec.containers[3]", nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range mustPattern(t, tc.pattern).Expand(obj) {
				got = append(got, p.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Expand(%s) (-want +got):\n%s", tc.pattern, diff)
			}
		})
	}
}
