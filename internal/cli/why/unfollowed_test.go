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

package why

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestUnfollowed says in one line that Crossplane does not follow a composite resource for a while.
func TestUnfollowed(t *testing.T) {
	composite := func(responsive string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.org/v1", "kind": "XDatabase", "metadata": map[string]any{"name": "db"},
			"spec":   map[string]any{"crossplane": map[string]any{}},
			"status": map[string]any{"conditions": []any{map[string]any{"type": "Responsive", "status": responsive}}},
		}}
	}
	if got := unfollowed(composite("False")); len(got) != 1 || !strings.HasPrefix(got[0], "XDatabase/db waits: ") || !strings.Contains(got[0], "Responsive") {
		t.Errorf("it says %q", got)
	}
	for name, obj := range map[string]*unstructured.Unstructured{"of one that is followed": composite("True"), "of none": nil} {
		if got := unfollowed(obj); len(got) > 0 {
			t.Errorf("%s it says %q", name, got)
		}
	}
}
