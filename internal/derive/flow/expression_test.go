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

package flow

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	krocel "github.com/kubernetes-sigs/kro/pkg/cel"
)

// TestFollow says what the value of an expression depends on.
func TestFollow(t *testing.T) {
	env, err := krocel.DefaultEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	names := Scope{"schema": {Is: []Ref{{Root: "schema"}}}, "web": {Is: []Ref{{Root: "web"}}}}
	for name, tc := range map[string]struct {
		expression, want string
		gone, solid      bool
	}{
		"a field":                        {expression: `schema.spec.a`, want: "schema.spec.a"},
		"another resource":               {expression: `web.status.ip`, want: "web.status.ip"},
		"a constant":                     {expression: `1 + 2`},
		"a text":                         {expression: `"x" + schema.spec.a`, want: "schema.spec.a", solid: true},
		"an empty text":                  {expression: `"" + schema.spec.a`, want: "schema.spec.a"},
		"null":                           {expression: `null`, gone: true},
		"a key":                          {expression: `schema.spec.m["a.b"].c`, want: "schema.spec.m[a.b].c"},
		"an index":                       {expression: `schema.spec.l[2].c`, want: "schema.spec.l[2].c"},
		"a computed key":                 {expression: `schema.spec.m[schema.spec.k].c`, want: "schema.spec.k schema.spec.m[*].c"},
		"an optional":                    {expression: `schema.spec.?a.b`, want: "schema.spec.a.b", gone: true},
		"an optional with a default":     {expression: `schema.spec.?a.?b.orValue(schema.spec.c)`, want: "schema.spec.a.b schema.spec.c"},
		"an optional of an index":        {expression: `schema.spec.l[?0].value()`, want: "schema.spec.l[0]"},
		"an optional that is mapped":     {expression: `schema.spec.?a.optMap(x, x.b)`, want: "schema.spec.a schema.spec.a.b", gone: true},
		"presence":                       {expression: `has(schema.spec.a.b)`, want: "schema.spec.a.b"},
		"a condition":                    {expression: `schema.spec.on ? schema.spec.a : schema.spec.b`, want: "schema.spec.a schema.spec.b schema.spec.on"},
		"a field of a condition":         {expression: `(schema.spec.on ? schema.spec.a : schema.spec.b).c`, want: "schema.spec.a.c schema.spec.b.c schema.spec.on"},
		"omit":                           {expression: `schema.spec.on ? schema.spec.a : omit()`, want: "schema.spec.a schema.spec.on", gone: true},
		"a function":                     {expression: `schema.spec.a.lowerAscii()`, want: "schema.spec.a"},
		"a function with a first part":   {expression: `random.seededString(4, schema.spec.a)`, want: "schema.spec.a"},
		"a length":                       {expression: `size(schema.spec.l)`, want: "#schema.spec.l"},
		"a length as a method":           {expression: `schema.spec.l.size()`, want: "#schema.spec.l"},
		"a map that is written out":      {expression: `{"a": schema.spec.a, "b": schema.spec.b}.a`, want: "schema.spec.a"},
		"a map in a map":                 {expression: `{"a": {"b": schema.spec.a, "c": schema.spec.b}}["a"].c`, want: "schema.spec.b"},
		"maps that are merged":           {expression: `{"a": schema.spec.a}.merge({"b": schema.spec.b}).b`, want: "schema.spec.b"},
		"a list that is mapped":          {expression: `schema.spec.l.map(x, x.a)`, want: "schema.spec.l[*].a"},
		"a list mapped to a constant":    {expression: `schema.spec.l.map(x, 1)`, want: "#schema.spec.l"},
		"a list that is filtered":        {expression: `schema.spec.l.filter(x, x.on).map(x, x.a)`, want: "schema.spec.l[*].a schema.spec.l[*].on"},
		"a list in a list":               {expression: `schema.spec.l.map(x, x.m.map(y, y.a + schema.spec.b))`, want: "schema.spec.b schema.spec.l[*].m[*].a"},
		"whether there is one":           {expression: `schema.spec.l.exists(x, x.a == schema.spec.b)`, want: "schema.spec.b schema.spec.l[*].a"},
		"two variables":                  {expression: `schema.spec.m.transformMap(k, v, v.a)`, want: "#schema.spec.m schema.spec.m[*].a"},
		"a name for something":           {expression: `cel.bind(x, schema.spec.a, x.b + x.c)`, want: "schema.spec.a.b schema.spec.a.c"},
		"a name that hides another":      {expression: `schema.spec.l.map(schema, schema.a)`, want: "schema.spec.l[*].a"},
		"a list of two lists":            {expression: `(schema.spec.a + schema.spec.b)`, want: "schema.spec.a schema.spec.b"},
		"a list with more":               {expression: `(schema.spec.l + [schema.spec.a]).map(x, x.b)`, want: "schema.spec.a.b schema.spec.l[*].b"},
		"a type":                         {expression: `type(schema.spec.a) == string`, want: "schema.spec.a"},
		"a quoted brace in a text":       {expression: `"${" + schema.spec.a + "}"`, want: "schema.spec.a", solid: true},
		"an ordinary text of one letter": {expression: `"a"`, solid: true},
	} {
		t.Run(name, func(t *testing.T) {
			parsed, issues := env.Parse(tc.expression)
			if issues.Err() != nil {
				t.Fatal(issues.Err())
			}
			v, err := Follow(parsed.NativeRep().Expr(), names, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range v.All() {
				text := r.Root + "." + r.Path.String()
				if r.Length {
					text = "#" + text
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(strings.Fields(tc.want), got, cmp.Transformer("sort", sortedTexts)); diff != "" {
				t.Errorf("it depends on (-want +got):\n%s", diff)
			}
			if v.Gone != tc.gone || v.Solid != tc.solid {
				t.Errorf("gone %t, solid %t", v.Gone, v.Solid)
			}
		})
	}
}

// sortedTexts makes a set of texts.
func sortedTexts(texts []string) map[string]bool {
	out := map[string]bool{}
	for _, text := range texts {
		out[text] = true
	}
	return out
}

// TestUnder says what decides on whether a function is called.
func TestUnder(t *testing.T) {
	env, err := krocel.DefaultEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	names := Scope{"a": {Is: []Ref{{Root: "a"}}}, "b": {Is: []Ref{{Root: "b"}}}}
	for name, tc := range map[string]struct{ expression, want string }{
		"nothing":             {"string(a.x)", ""},
		"a condition":         {"a.on ? string(b) : 'none'", "a/on"},
		"an and":              {"a.on && string(b) == 'x'", "a/on"},
		"an or":               {"a.on || string(b) == 'x'", "a/on"},
		"how many there are":  {"a.list.map(x, string(b))", "a#list"},
		"items one by one":    {"[a.x, a.y].map(x, string(x))", ""},
		"which there are":     {"a.list.filter(x, x.on).map(x, string(b))", "a/list[*] a/list[*].on"},
		"what goes before it": {"a.list.exists(x, x.on && string(b) == 'x')", "a#list a/list[*].on b/"},
	} {
		t.Run(name, func(t *testing.T) {
			parsed, issues := env.Parse(tc.expression)
			if issues.Err() != nil {
				t.Fatal(issues.Err())
			}
			got := map[string]bool{}
			_, err := Follow(parsed.NativeRep().Expr(), names, func(c *Call) (*Value, bool) {
				for _, r := range c.Under {
					got[r.Key()] = c.FunctionName() == "string" || got[r.Key()]
				}
				return nil, false
			})
			if err != nil {
				t.Fatal(err)
			}
			maps.DeleteFunc(got, func(_ string, called bool) bool { return !called })
			if diff := cmp.Diff(tc.want, strings.Join(slices.Sorted(maps.Keys(got)), " ")); diff != "" {
				t.Errorf("it is called or not as these have it (-want +got):\n%s", diff)
			}
		})
	}
}
