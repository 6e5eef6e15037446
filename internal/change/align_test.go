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

func TestIsReorder(t *testing.T) {
	item := func(name string, value any) any { return map[string]any{"name": name, "value": value} }
	tests := map[string]struct {
		before, after any
		want          bool
	}{
		"another order":           {[]any{item("a", "x"), item("b", "y")}, []any{item("b", "y"), item("a", "x")}, true},
		"another order, of equal": {[]any{"a", "a", "b"}, []any{"a", "b", "a"}, true},
		"the same":                {[]any{"a", "b"}, []any{"a", "b"}, false},
		"another value":           {[]any{item("a", "x"), item("b", "y")}, []any{item("b", "z"), item("a", "x")}, false},
		"one item more":           {[]any{"a", "b"}, []any{"b", "a", "c"}, false},
		"one of two equal gone":   {[]any{"a", "a", "b"}, []any{"b", "b", "a"}, false},
		"no lists":                {"a", "b", false},
		"a list no more":          {[]any{"a"}, nil, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := (Change{Verb: Mutate, Old: tt.before, New: tt.after}).IsReorder(); got != tt.want {
				t.Errorf("IsReorder() = %t, want %t", got, tt.want)
			}
		})
	}
}
