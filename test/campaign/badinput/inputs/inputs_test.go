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

package inputs

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/config/crd"
)

const schemaText = `
type: object
properties:
  name: {type: string}
  kind: {enum: [One, Two]}
  at: {type: string, format: date-time}
  ready: {type: boolean}
  labels: {type: object, additionalProperties: {type: string}}
  rules:
    type: array
    items:
      type: object
      properties:
        trigger: {type: string}
        count: {type: integer}
`

func schemaOf(t *testing.T, text string) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	schema := &apiextensionsv1.JSONSchemaProps{}
	if err := yaml.Unmarshal([]byte(text), schema); err != nil {
		t.Fatal(err)
	}
	return schema
}

func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func named(fields []Field) []string {
	var out []string
	for _, f := range fields {
		out = append(out, f.String())
	}
	return out
}

func TestFields(t *testing.T) {
	for name, tc := range map[string]struct {
		sample string
		want   []string
	}{
		"of nothing": {
			sample: "{}",
			want:   []string{"at", "kind", "labels", "labels.key", "name", "ready", "rules", "rules[0]", "rules[0].count", "rules[0].trigger"},
		},
		"in the first item that has them": {
			sample: "{labels: {app: web}, rules: [{trigger: a}, {trigger: b, count: 1}]}",
			want:   []string{"at", "kind", "labels", "labels.app", "name", "ready", "rules", "rules[0]", "rules[1].count", "rules[0].trigger"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := Fields(schemaOf(t, schemaText), decoded(t, tc.sample))
			if diff := cmp.Diff(tc.want, named(got)); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWith(t *testing.T) {
	for name, tc := range map[string]struct {
		object, want string
		field        Field
	}{
		"a field":                {object: "{a: 1}", field: Field{"a"}, want: "{a: bad}"},
		"one that is not there":  {object: "{}", field: Field{"a", 1, "b"}, want: "{a: [null, {b: bad}]}"},
		"one of an item":         {object: "{a: [{b: 1, c: 2}]}", field: Field{"a", 0, "b"}, want: "{a: [{b: bad, c: 2}]}"},
		"one in place of a text": {object: "{a: text}", field: Field{"a", "b"}, want: "{a: {b: bad}}"},
	} {
		t.Run(name, func(t *testing.T) {
			object := decoded(t, tc.object)
			if diff := cmp.Diff(decoded(t, tc.want), With(object, tc.field, "bad")); diff != "" {
				t.Errorf("the object (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(decoded(t, tc.object), object); diff != "" {
				t.Errorf("what it was made of has changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSample(t *testing.T) {
	want := map[string]any{
		"name": "Text", "kind": "One", "at": "2026-01-02T03:04:05Z", "ready": true,
		"labels": map[string]any{"key": "Text"},
		"rules":  []any{map[string]any{"trigger": "Text", "count": int64(1)}},
	}
	if diff := cmp.Diff(want, Sample(schemaOf(t, schemaText))); diff != "" {
		t.Errorf("the sample (-want +got):\n%s", diff)
	}
}

// All values are JSON, so that what refuses them looked at what they say.
func TestValues(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range Values(Many) {
		if !json.Valid(v.JSON) {
			t.Errorf("%s is no JSON", v.Name)
		}
		if seen[v.Name] {
			t.Errorf("there are two of %s", v.Name)
		}
		seen[v.Name] = true
	}
	for _, e := range expressions() {
		if len(e.text) > expressionLimit {
			t.Errorf("%s has %d characters: it is refused for its length", e.name, len(e.text))
		}
	}
}

func TestPlan(t *testing.T) {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(crd.AllowancePolicies, &definition); err != nil {
		t.Fatal(err)
	}
	fields := Fields(definition.Spec.Versions[0].Schema.OpenAPIV3Schema, nil)
	values := Values(3)[:5]
	pass := len(fields) * (len(values) + 1)
	planned := func(seed uint64, name string) (order string, turns, pairs map[string]int) {
		turns, pairs = map[string]int{}, map[string]int{}
		var all strings.Builder
		for n, c := range Plan(seed, name, fields, values) {
			if n == pass {
				break
			}
			if n < len(fields) {
				turns[c.Field.String()]++
			} else {
				pairs[c.String()]++
			}
			all.WriteString(c.String())
		}
		return all.String(), turns, pairs
	}
	order, turns, pairs := planned(7, "a policy")
	if len(turns) != len(fields) {
		t.Errorf("%d of %d fields have their turn at first", len(turns), len(fields))
	}
	if len(pairs) != len(fields)*len(values) {
		t.Errorf("%d pairs of %d fields and %d values", len(pairs), len(fields), len(values))
	}
	if again, _, _ := planned(7, "a policy"); again != order {
		t.Error("the same seed plans something else")
	}
	if other, _, _ := planned(8, "a policy"); other == order {
		t.Error("another seed plans the same")
	}
	if other, _, _ := planned(7, "a record"); other == order {
		t.Error("the plan of something else is the same")
	}
}
