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
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzParsePattern(f *testing.F) {
	for _, seed := range []string{
		"", "*", "**", "[*]", "*.a", "spec", "spec..x", ".a", "a.", "a[", "a[]", "a]", "a[0]b", "a[-1]", "a[0].b[*].c",
		"spec.template.spec.containers[*].image", "metadata.annotations[jira]", "metadata.labels['app.kubernetes.io/name']",
		`data["0"]`, `data['\x5b']`, `data[\]`, "a[\xff]", "a[99999999999999999999]", "größe.b", "a['']", "''",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePattern(text)
		if err != nil {
			return
		}
		if len(p) == 0 {
			t.Fatalf("ParsePattern(%q) is a pattern that names nothing", text)
		}
		again, err := ParsePattern(p.String())
		if err != nil {
			t.Fatalf("ParsePattern(%q) = %s, which is no pattern: %v", text, p, err)
		}
		if diff := cmp.Diff(p, again); diff != "" {
			t.Fatalf("ParsePattern(%q) = %s, which is another pattern:\n%s", text, p, diff)
		}
	})
}

func FuzzParsePath(f *testing.F) {
	for _, seed := range []string{
		"", "*", "spec", "spec.replicas", "spec.containers[0].image", "metadata.annotations[jira]", "data['0']", "data[0]",
		`data['a\x5b0\x5d']`, `data['\xff']`, "[x-y].a", "a[0][1][2]", "a[*]", "a[4294967295]", "a[4294967296]", "a['b'c']",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePath(text)
		if err != nil {
			return
		}
		again, err := ParsePath(p.String())
		if err != nil {
			t.Fatalf("ParsePath(%q) = %s, which is no path: %v", text, p, err)
		}
		if diff := cmp.Diff(p, again); diff != "" {
			t.Fatalf("ParsePath(%q) = %s, which is another path:\n%s", text, p, diff)
		}
		pattern, err := ParsePattern(p.String())
		if err != nil || !pattern.Covers(p) {
			t.Fatalf("the path %s as a pattern does not cover itself: %v", p, err)
		}
	})
}

func FuzzSplitPaths(f *testing.F) {
	for _, seed := range []string{
		"", ",", "spec.replicas,spec.paused", "spec.a['x, y']@0123456789ab,*", "data[,],[a,b]", "data['a,b", "a],b[", "a[[,]],b", "\xff[,\xff]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		split := SplitPaths(text)
		if diff := cmp.Diff(split, SplitPaths(JoinPaths(split))); diff != "" {
			t.Fatalf("%q is split otherwise again (-first +second):\n%s", text, diff)
		}
		// What is one path is not taken apart, but for quotes without brackets around them.
		p, err := ParsePath(text)
		if canonical := p.String(); err == nil && !cmp.Equal([]string{canonical}, SplitPaths(canonical)) {
			t.Fatalf("the path %s is split into %q", canonical, SplitPaths(canonical))
		}
	})
}

func FuzzFind(f *testing.F) {
	for _, seed := range [][2]string{
		{`{}`, `{}`},
		{`{"spec":null}`, `{"spec":{"a":[{}]}}`},
		{`{"spec":{"replicas":3}}`, `{"spec":{"replicas":3.0}}`},
		{`{"spec":{"containers":[{"name":"a","image":"x"}]}}`, `{"spec":{"containers":[{"name":"b"},{"name":"a","image":"y"}]}}`},
		{`{"spec":{"containers":[{"name":"a"},{"name":"b"}]}}`, `{"spec":{"containers":[{"name":"b"},{"name":"a"}]}}`},
		{`{"spec":{"ports":[{"containerPort":1},{"containerPort":2}]}}`, `{"spec":{"ports":[{"containerPort":2}]}}`},
		{`{"spec":{"limits":{"cpu":"0.5"}}}`, `{"spec":{"limits":{"cpu":"500m"}}}`},
		{`{"spec":{"a":{"b":1}}}`, `{"spec":{"a":"b"}}`},
		{`{"spec":{"a":1}}`, `{"spec":{"a":1,"selector":{}}}`},
		{`{"spec":{"a":{}}}`, `{"spec":{"a":{"b":{"c":[]}}}}`},
		{`{"spec":{"a":[],"b":null}}`, `{"spec":{"b":{}}}`},
		{`{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":[{"name":"a","securityContext":{}}]}}`},
		{`{"spec":[[1],[null],[]]}`, `{"spec":[[],[{}],[1e999]]}`},
		{`{"metadata":{"labels":{"a":"b"}}}`, `{"metadata":{"annotations":{"a":"b"},"labels":[]}}`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	metadata, err := ParsePattern("metadata")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var before, after map[string]any
		if json.Unmarshal(a, &before) != nil || json.Unmarshal(b, &after) != nil {
			return
		}
		changes := Find(before, after, Options{Metadata: []Pattern{metadata}})
		if diff := cmp.Diff(changes, Find(before, after, Options{Metadata: []Pattern{metadata}})); diff != "" {
			t.Fatalf("Find() (-first +second):\n%s", diff)
		}
		for _, c := range changes {
			if got, err := ParsePath(c.Path.String()); err != nil || !cmp.Equal(got, c.Path) {
				t.Fatalf("ParsePath(%s) = %s, %v", c.Path, got, err)
			}
		}

		for _, opts := range []Options{{}, {TolerateEmpty: true}} {
			counting := Find(before, after, opts)
			if same := hashOf(before, opts) == hashOf(after, opts); same != (len(counting) == 0) {
				t.Fatalf("hashes are equal: %v, changes: %v", same, counting)
			}
			applied := apply(before, counting)
			if rest := Find(applied, after, opts); len(rest) > 0 {
				t.Fatalf("changes that are left after all were applied: %v", rest)
			}
			if same := Find(before, before, opts); len(same) > 0 {
				t.Fatalf("an object differs from itself: %v", same)
			}
		}
	})
}
