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

package generate

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"kausality.io/operator/internal/change"
)

// anyValue draws what JSON has, nulls included.
func anyValue(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int64().AsAny(), rapid.StringMatching("[a-z]{0,3}").AsAny(),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	return rapid.OneOf(append(scalars, anyFields(depth-1).AsAny(), rapid.SliceOfN(anyValue(depth-1), 0, 3).AsAny())...)
}

// anyFields draws the content of an object.
func anyFields(depth int) *rapid.Generator[map[string]any] {
	return rapid.MapOfN(rapid.SampledFrom([]string{"metadata", "spec", "status", "labels", "annotations", "name", "uid", "kausality.io/x", "items"}), anyValue(depth), 0, 4)
}

// hasNull reports whether there is a null somewhere.
func hasNull(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), hasNull)
	case []any:
		return slices.ContainsFunc(v, hasNull)
	}
	return false
}

// A value of CEL is what it was, without nulls, however it is held.
func TestNativeProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := anyFields(3).Draw(t, "content")
		before := runtime.DeepCopyJSON(content)
		got, err := native(types.DefaultTypeAdapter.NativeToValue(content))
		if err != nil {
			t.Fatal(err)
		}
		if hasNull(got) {
			t.Fatalf("there is a null in %v", got)
		}
		again, err := native(types.DefaultTypeAdapter.NativeToValue(got))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, again); diff != "" {
			t.Fatalf("twice is not once (-once +twice):\n%s", diff)
		}
		scribble(got)
		if diff := cmp.Diff(before, content); diff != "" {
			t.Fatalf("the value has changed (-before +after):\n%s", diff)
		}
	})
}

// setField sets what it says, and changes neither what is beside it nor the object.
func TestSetFieldProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := anyFields(3).Draw(t, "content")
		before := runtime.DeepCopyJSON(content)
		text := rapid.SampledFrom([]string{"a", "metadata.name", "spec.a.b", "metadata.labels[kausality.io/x]", "spec.items[1]", "spec.items[0].name"}).Draw(t, "path")
		value := rapid.StringMatching("[a-z]{1,4}").Draw(t, "value")
		path, err := change.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := replaced(content, path, value)
		if diff := cmp.Diff(before, content); diff != "" {
			t.Fatalf("the object has changed (-before +after):\n%s", diff)
		}
		if err != nil {
			return
		}
		fields, _ := got.(map[string]any)
		if held, ok := path.Value(fields); !ok || held != value {
			t.Fatalf("%s is %v, want %v", text, held, value)
		}
		for name, held := range content {
			if name != path[0].Field && !cmp.Equal(held, fields[name]) {
				t.Fatalf("%s is %v, and was %v", name, fields[name], held)
			}
		}
		gone, err := replaced(got, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		fields, _ = gone.(map[string]any)
		if held, ok := path.Value(fields); ok && held == value && !path.IsItem() {
			t.Fatalf("%s is still there", text)
		}
	})
}

// What was read is cleaned once: a second time changes nothing, and what is left was there.
func TestCleanedProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := anyFields(3).Draw(t, "content")
		before := runtime.DeepCopyJSON(content)
		got := cleaned(content)
		if diff := cmp.Diff(got, cleaned(maps.Clone(got))); diff != "" {
			t.Fatalf("twice is not once (-once +twice):\n%s", diff)
		}
		if _, ok := got["status"]; ok {
			t.Fatal("the status is still there")
		}
		for name, held := range got {
			if name != "metadata" && !cmp.Equal(held, content[name]) {
				t.Fatalf("%s is %v, and was %v", name, held, content[name])
			}
		}
		if diff := cmp.Diff(before, content); diff != "" {
			t.Fatalf("what was read has changed (-before +after):\n%s", diff)
		}
	})
}
