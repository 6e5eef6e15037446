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

package draw

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const document = `{"components":{"schemas":{
	"Thing":{"type":"object","x-kubernetes-group-version-kind":[{"group":"g","version":"v1","kind":"Thing"}],"properties":{
		"kind":{"type":"string"},
		"metadata":{"allOf":[{"$ref":"#/components/schemas/Meta"}]},
		"spec":{"$ref":"#/components/schemas/Spec"},
		"status":{"type":"object","properties":{"phase":{"type":"string"}}}}},
	"Meta":{"type":"object","properties":{"name":{"type":"string"},"labels":{"type":"object","additionalProperties":{"type":"string"}}}},
	"Spec":{"type":"object","properties":{
		"replicas":{"type":"integer"},"seconds":{"type":"integer"},"mode":{"type":"string","enum":["a","b"]},
		"size":{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"},
		"items":{"type":"array","items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"image":{"type":"string"}}}}}},
	"io.k8s.apimachinery.pkg.api.resource.Quantity":{"oneOf":[{"type":"string"},{"type":"number"}]}
}}}`

func schemas(t *testing.T) (Schemas, *Node) {
	t.Helper()
	s := Schemas{}
	if err := s.Add([]byte(document)); err != nil {
		t.Fatal(err)
	}
	root, err := s.Of(schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Thing"})
	if err != nil {
		t.Fatal(err)
	}
	return s, root
}

// Each field is drawn at some time, but those that nobody may write, and a seed draws the same
// again.
func TestField(t *testing.T) {
	s, root := schemas(t)
	object := map[string]any{"spec": map[string]any{"items": []any{map[string]any{"name": "first"}}}}
	drawn := map[string]bool{}
	for seed := range uint64(2000) {
		draw := func() ([]string, any) {
			return s.Field(rand.New(rand.NewPCG(seed, 1)), root, object, seed%10 == 0, 17)
		}
		path, value := draw()
		again, same := draw()
		if diff := cmp.Diff(path, again); diff != "" || !cmp.Equal(value, same) {
			t.Fatalf("the seed %d draws %v and %v", seed, path, again)
		}
		drawn[strings.ReplaceAll(strings.Join(path, "."), Mark(17).Text(), "MARK")] = true
		raw, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		marked := strings.Contains(string(raw), Mark(17).Text()) || strings.Contains(string(raw), "7000017")
		last := path[len(path)-1]
		if !marked && last != "replicas" && last != "mode" {
			t.Errorf("%v has %s, which bears no mark", path, raw)
		}
	}
	for _, want := range []string{
		"metadata.labels.MARK", "spec.replicas", "spec.seconds", "spec.mode", "spec.size", "spec.items.0.name", "spec.items.0.image",
		"spec.items.1", "status.phase",
	} {
		if !drawn[want] {
			t.Errorf("%s was not drawn", want)
		}
	}
	for _, never := range []string{"kind", "metadata.name"} {
		if drawn[never] {
			t.Errorf("%s was drawn", never)
		}
	}
}

func TestSchemaOf(t *testing.T) {
	s, _ := schemas(t)
	if _, err := s.Of(schema.GroupVersionKind{Kind: "Other"}); err == nil {
		t.Error("a kind that nobody serves has a schema")
	}
	if err := s.Add([]byte("{")); err == nil {
		t.Error("a broken document was read")
	}
}

func TestSet(t *testing.T) {
	tests := map[string]struct {
		object, want string
		path         string
		drop         bool
		refused      bool
	}{
		"a field":                  {object: `{"a":1}`, path: "a", want: `{"a":"x"}`},
		"below what is missing":    {object: `{}`, path: "a.b.c", want: `{"a":{"b":{"c":"x"}}}`},
		"in a list":                {object: `{"a":[{"b":1}]}`, path: "a.0.b", want: `{"a":[{"b":"x"}]}`},
		"at the end of a list":     {object: `{"a":[1]}`, path: "a.1", want: `{"a":[1,"x"]}`},
		"in a list that is none":   {object: `{}`, path: "a.0", want: `{"a":["x"]}`},
		"behind the end":           {object: `{"a":[1]}`, path: "a.3", refused: true, want: `{"a":[1]}`},
		"below a value":            {object: `{"a":1}`, path: "a.b", refused: true, want: `{"a":1}`},
		"taking away":              {object: `{"a":{"b":1,"c":2}}`, path: "a.b", drop: true, want: `{"a":{"c":2}}`},
		"taking away from a list":  {object: `{"a":[1,2,3]}`, path: "a.1", drop: true, want: `{"a":[1,3]}`},
		"taking away in a list":    {object: `{"a":[{"b":1}]}`, path: "a.0.b", drop: true, want: `{"a":[{}]}`},
		"taking away what is none": {object: `{"a":1}`, path: "b", drop: true, refused: true, want: `{"a":1}`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var object map[string]any
			if err := json.Unmarshal([]byte(tc.object), &object); err != nil {
				t.Fatal(err)
			}
			do := func() bool { return Set(object, Path(tc.path), "x") }
			if tc.drop {
				do = func() bool { return Drop(object, Path(tc.path)) }
			}
			done := do()
			raw, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(raw)); diff != "" || done == tc.refused {
				t.Errorf("done = %t (-want +got):\n%s", done, diff)
			}
		})
	}
}
