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

// Package inputs makes bad input: for every field of a schema every value that
// somebody careless, or somebody evil, could put there. It talks to nobody, and the same
// seed makes the same.
package inputs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Field is where a value is in an object: names of fields, and indices of lists.
type Field []any

// String writes the field as people do.
func (f Field) String() string {
	var out strings.Builder
	for i, step := range f {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&out, "[%d]", step)
		default:
			if i > 0 {
				out.WriteByte('.')
			}
			fmt.Fprint(&out, step)
		}
	}
	return out.String()
}

// Name returns the last name in it.
func (f Field) Name() string {
	for _, step := range slices.Backward(f) {
		if name, ok := step.(string); ok {
			return name
		}
	}
	return ""
}

// anyKey is a key of maps that take any.
const anyKey = "key"

// Fields returns all fields below a schema, itself left out. Where the sample has lists, a
// field is in the first item that has it.
func Fields(schema *apiextensionsv1.JSONSchemaProps, sample any) []Field {
	found := map[string]place{}
	walk(schema, sample, nil, "", found)
	out := make([]Field, 0, len(found))
	for _, shape := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[shape].field)
	}
	return out
}

// place is where a field is, and whether the sample has it.
type place struct {
	field   Field
	present bool
}

func walk(schema *apiextensionsv1.JSONSchemaProps, sample any, at Field, shape string, found map[string]place) {
	if len(at) > 0 {
		if earlier, known := found[shape]; !known || !earlier.present && sample != nil {
			found[shape] = place{field: slices.Clone(at), present: sample != nil}
		}
	}
	below, _ := sample.(map[string]any)
	for name, property := range schema.Properties {
		walk(&property, below[name], append(at, name), shape+"."+name, found)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		key := anyKey
		if len(below) > 0 {
			key = slices.Min(slices.Collect(maps.Keys(below)))
		}
		walk(schema.AdditionalProperties.Schema, below[key], append(at, key), shape+".*", found)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		items, _ := sample.([]any)
		for i := range max(len(items), 1) {
			var item any
			if i < len(items) {
				item = items[i]
			}
			walk(schema.Items.Schema, item, append(at, i), shape+"[]", found)
		}
	}
}

// With returns a copy of an object that has the value in the field. What is missing above it is
// made.
func With(object map[string]any, field Field, value any) map[string]any {
	out, _ := with(runtime.DeepCopyJSON(object), field, value).(map[string]any)
	return out
}

func with(into any, field Field, value any) any {
	if len(field) == 0 {
		return value
	}
	switch step := field[0].(type) {
	case int:
		items, _ := into.([]any)
		for len(items) <= step {
			items = append(items, nil)
		}
		items[step] = with(items[step], field[1:], value)
		return items
	default:
		below, ok := into.(map[string]any)
		if !ok {
			below = map[string]any{}
		}
		name := fmt.Sprint(step)
		below[name] = with(below[name], field[1:], value)
		return below
	}
}

// Sample returns an object with every field of a schema, each with a value that is none of the
// bad ones.
func Sample(schema *apiextensionsv1.JSONSchemaProps) any {
	if len(schema.Enum) > 0 {
		return strings.Trim(string(schema.Enum[0].Raw), `"`)
	}
	switch schema.Type {
	case "object":
		out := map[string]any{}
		for name, property := range schema.Properties {
			out[name] = Sample(&property)
		}
		if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
			out[anyKey] = Sample(schema.AdditionalProperties.Schema)
		}
		return out
	case "array":
		return []any{Sample(schema.Items.Schema)}
	case "integer", "number":
		return int64(1)
	case "boolean":
		return true
	default:
		if schema.Format == "date-time" {
			return "2026-01-02T03:04:05Z"
		}
		return "Text"
	}
}
