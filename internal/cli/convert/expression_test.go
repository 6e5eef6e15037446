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

package convert

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/internal/cli/source"
)

func TestRewritten(t *testing.T) {
	tests := map[string]struct {
		expression, namespace, want string
		lost, notes                 int
	}{
		"apply of the cluster":            {expression: `generator.apply(x, [y])`, want: `generator.apply(x, [y])`},
		"apply of a namespace":            {namespace: "n", expression: `generator.Apply([y])`, want: `generator.Apply("n", [y])`},
		"apply in lists":                  {namespace: "n", expression: `l.all(x, generator.apply([x]))`, want: `l.all(x, generator.apply("n", [x]))`},
		"apply elsewhere":                 {namespace: "n", expression: `generator.apply("m", [y])`, want: `generator.apply("m", [y])`, lost: 1},
		"get":                             {namespace: "n", expression: `resource.Get("v1", "secrets", "a")`, want: `resource.Get("v1", "secrets", "n", "a")`},
		"get elsewhere":                   {namespace: "n", expression: `resource.get("v1", "secrets", "m", "a")`, want: `resource.get("v1", "secrets", "m", "a")`, lost: 1},
		"list":                            {namespace: "n", expression: `resource.list("v1", "secrets").items`, want: `resource.list("v1", "secrets", "n").items`},
		"list by labels":                  {namespace: "n", expression: `resource.list("v1", "secrets", {"a": "b"})`, want: `resource.list("v1", "secrets", "n", {"a": "b"})`},
		"list elsewhere":                  {namespace: "n", expression: `resource.list("v1", "secrets", "m", {"a": "b"})`, want: `resource.list("v1", "secrets", "m", {"a": "b"})`, lost: 1},
		"one in another":                  {namespace: "n", expression: `generator.apply([resource.get("v1", "a", resource.get("v1", "b", "c").x)])`, want: `generator.apply("n", [resource.get("v1", "a", "n", resource.get("v1", "b", "n", "c").x)])`},
		"commas in arguments":             {namespace: "n", expression: `resource.get(f("a", [1, 2]), {"x": 1, "y": (2)}["x"], ("a, b"))`, want: `resource.get(f("a", [1, 2]), {"x": 1, "y": (2)}["x"], "n", ("a, b"))`},
		"commas in strings":               {namespace: "n", expression: `resource.get(',\',(', r',\', """a", (""")`, want: `resource.get(',\',(', r',\', "n", """a", (""")`},
		"comments":                        {namespace: "n", expression: "resource.get( // one, (two\n\"v1\", // three\n\"secrets\", \"a\")", want: "resource.get( // one, (two\n\"v1\", // three\n\"secrets\", \"n\", \"a\")"},
		"what is no ASCII":                {namespace: "n", expression: `'ä€𝄞' + resource.get("v1", "é", "a").x`, want: `'ä€𝄞' + resource.get("v1", "é", "n", "a").x`},
		"another's get":                   {namespace: "n", expression: `other.get("a", "b", "c")`, want: `other.get("a", "b", "c")`},
		"what does not parse":             {expression: `a +`, want: `a +`},
		"orValue of what is optional":     {expression: `object.?a.b.orValue(1) + x[?"a"].orValue(2)`, want: `object.?a.b.orValue(1) + x[?"a"].orValue(2)`},
		"orValue of a field":              {expression: `object.a.b.orValue(1)`, want: `object.a.?b.orValue(1)`},
		"orValue of an item":              {expression: `object.a["b"].orValue([])`, want: `object.a[?"b"].orValue([])`},
		"orValue of an item of an option": {expression: `object.?a["b"].orValue([])`, want: `object.?a["b"].orValue([])`},
		"orValue of a variable":           {expression: `variables.a.orValue(1)`, want: `variables.a.orValue(1)`, notes: 1},
		"orValue of a name":               {expression: `x.orValue(1)`, want: `x.orValue(1)`, notes: 1},
		"orValue of a function":           {expression: `optional.of(x).orValue(1) + l.first().orValue(2)`, want: `optional.of(x).orValue(1) + l.first().orValue(2)`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			doc, err := source.Of(map[string]any{})
			if err != nil {
				t.Fatal(err)
			}
			c := &converter{doc: doc, namespace: tc.namespace, unusable: map[string]bool{}}
			spec := map[string]any{"generate": []any{map[string]any{"expression": tc.expression}}}
			c.expressions(spec)
			want := map[string]any{"generate": []any{map[string]any{"expression": tc.want}}}
			if diff := cmp.Diff(want, spec); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(c.Lost) != tc.lost || len(c.Notes) != tc.notes {
				t.Errorf("%d lost and %d notes, want %d and %d: %v %v", len(c.Lost), len(c.Notes), tc.lost, tc.notes, c.Lost, c.Notes)
			}
		})
	}
}

func TestSegments(t *testing.T) {
	tests := map[string]struct {
		text string
		want []segment
		err  bool
	}{
		"none":                {text: "a (b)", want: []segment{{text: "a (b)"}}},
		"one":                 {text: "(( a ))", want: []segment{{"a", true}}},
		"several":             {text: "x-((a))-((b))", want: []segment{{text: "x-"}, {"a", true}, {text: "-"}, {"b", true}}},
		"parentheses in it":   {text: "((f(g(a))))z", want: []segment{{"f(g(a))", true}, {text: "z"}}},
		"strings in it":       {text: `(( "))" + ')' ))`, want: []segment{{`"))" + ')'`, true}}},
		"escaped":             {text: `\((a))`, want: []segment{{text: "((a))"}}},
		"escaped in the text": {text: `ä\((((b))`, want: []segment{{text: "ä(("}, {"b", true}}},
		"never closed":        {text: "(( a", err: true},
		"half closed":         {text: "(( a )", err: true},
		"closed apart":        {text: "(( a ) )", err: true},
		"empty":               {text: "((  ))", err: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := segmentsOf(tc.text)
			if (err != nil) != tc.err {
				t.Fatalf("error %v, want one: %t", err, tc.err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(segment{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
