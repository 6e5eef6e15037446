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

import "testing"

func TestCanonicalHash(t *testing.T) {
	tests := map[string]struct {
		a, b any
		same bool
	}{
		"order of a map":                 {map[string]any{"a": "x", "b": "y"}, map[string]any{"b": "y", "a": "x"}, true},
		"order of a list":                {[]any{"a", "b"}, []any{"b", "a"}, false},
		"empty values":                   {map[string]any{"a": "x", "b": nil, "c": map[string]any{"d": []any{}}}, map[string]any{"a": "x"}, true},
		"nothing":                        {map[string]any{}, nil, true},
		"an empty item":                  {[]any{map[string]any{}}, []any{}, false},
		"empty items of all sorts":       {[]any{map[string]any{}}, []any{nil}, true},
		"an empty string":                {"", nil, false},
		"false":                          {false, nil, false},
		"a number and its text":          {int64(1), "1", false},
		"a boolean and its text":         {true, "true", false},
		"null and its text":              {nil, "null", false},
		"text with a quote":              {[]any{`a","b`}, []any{"a", "b"}, false},
		"a key with a colon":             {map[string]any{`a":"x","b`: "y"}, map[string]any{"a": "x", "b": "y"}, false},
		"nesting":                        {[]any{[]any{"a"}, "b"}, []any{[]any{"a", "b"}}, false},
		"a quantity at a known place":    {map[string]any{"requests": map[string]any{"cpu": "1"}}, map[string]any{"requests": map[string]any{"cpu": "1000m"}}, true},
		"a quantity at an unknown place": {"1", "1000m", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := CanonicalHash(tc.a) == CanonicalHash(tc.b); got != tc.same {
				t.Errorf("hashes are equal: %v, want %v", got, tc.same)
			}
		})
	}
}

func TestStrictHash(t *testing.T) {
	tests := map[string]struct {
		a, b any
		same bool
	}{
		"null in a map":             {map[string]any{"a": "x", "b": nil}, map[string]any{"a": "x"}, true},
		"a map of null":             {map[string]any{"b": nil}, map[string]any{}, true},
		"an empty map":              {map[string]any{"a": "x", "b": map[string]any{}}, map[string]any{"a": "x"}, false},
		"an empty list":             {map[string]any{"a": "x", "b": []any{}}, map[string]any{"a": "x"}, false},
		"an empty map and a list":   {map[string]any{}, []any{}, false},
		"an empty map and nothing":  {map[string]any{}, nil, false},
		"an empty item and null":    {[]any{map[string]any{}}, []any{nil}, false},
		"null and its text":         {nil, "null", false},
		"an empty map and its text": {map[string]any{}, "{}", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := StrictHash(tc.a) == StrictHash(tc.b); got != tc.same {
				t.Errorf("hashes are equal: %v, want %v", got, tc.same)
			}
		})
	}
}

// Ledgers and records hold hashes, so they must be the same in every version.
func TestCanonicalHashIsStable(t *testing.T) {
	const want = "988fdac9def0a50d3cf028cbb156eeca"
	v := map[string]any{"image": "app:1", "replicas": int64(3), "share": 0.5, "args": []any{"a", true, nil}}
	if got := CanonicalHash(v); got != want {
		t.Errorf("CanonicalHash() = %s, want %s", got, want)
	}
	if got := StrictHash(v); got != want {
		t.Errorf("StrictHash() = %s, want %s", got, want)
	}
}

func TestHashOfCounted(t *testing.T) {
	base := `{apiVersion: v1, kind: A, metadata: {name: a}, status: {n: 1}, spec: {a: x}}`
	tests := map[string]struct {
		obj  string
		same bool
	}{
		"what does not count": {`{apiVersion: v2, kind: B, metadata: {name: b}, status: {n: 2}, spec: {a: x}}`, true},
		"what is empty":       {`{spec: {a: x, b: {}}, data: {}}`, true},
		"spec":                {`{spec: {a: w}}`, false},
		"data":                {`{spec: {a: x}, data: {b: w}}`, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := HashOfCounted(object(t, base)) == HashOfCounted(object(t, tc.obj)); got != tc.same {
				t.Errorf("hashes are equal: %v, want %v", got, tc.same)
			}
		})
	}
}

func TestHashOfCountedLeavesTheObject(t *testing.T) {
	obj := map[string]any{"metadata": "m", "spec": "s"}
	HashOfCounted(obj)
	if len(obj) != 2 {
		t.Errorf("the object is now %v", obj)
	}
}
