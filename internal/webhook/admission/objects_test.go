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

package admission

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
)

func rawOf(text string) runtime.RawExtension { return runtime.RawExtension{Raw: []byte(text)} }

// apart decodes an object by itself, as the API machinery does.
func apart(t require, raw runtime.RawExtension, withManagedFields bool) *unstructured.Unstructured {
	t.Helper()
	if len(raw.Raw) == 0 {
		return nil
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(raw.Raw); err != nil {
		t.Fatal(err)
	}
	if !withManagedFields {
		if metadata, ok := obj.Object["metadata"].(map[string]any); ok {
			delete(metadata, "managedFields")
		}
	}
	return obj
}

// require is what tests and properties have in common.
type require interface {
	Helper()
	Fatal(args ...any)
	Errorf(format string, args ...any)
}

func decodesAsApart(t require, before, after runtime.RawExtension) {
	t.Helper()
	for _, with := range []bool{false, true} {
		was, is, err := decoder{withManagedFields: with}.objects(before, after)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(apart(t, before, with), was); diff != "" {
			t.Errorf("the object as it was, managed fields %t (-apart +together):\n%s", with, diff)
		}
		if diff := cmp.Diff(apart(t, after, with), is); diff != "" {
			t.Errorf("the object as it will be, managed fields %t (-apart +together):\n%s", with, diff)
		}
	}
}

func TestObjects(t *testing.T) {
	managed := `{"kind":"A","metadata":{"name":"x","managedFields":[{"manager":"m"}]},"managedFields":[1]}`
	for name, tc := range map[string][2]string{
		"equal":                    {managed, managed},
		"created":                  {"", managed},
		"deleted":                  {managed, ""},
		"numbers":                  {`{"kind":"A","a":1,"b":1.5,"c":[1,2.0]}`, `{"kind":"A","a":1.0,"b":1e3,"c":[1,2.0]}`},
		"added and removed":        {`{"kind":"A","a":{"b":1,"c":2}}`, `{"kind":"A","a":{"c":2,"d":3}}`},
		"another order":            {`{"kind":"A","a":{"b":1,"c":2}}`, ` { "a" : {"c":2,  "b":1} , "kind":"A" } `},
		"another type":             {`{"kind":"A","a":{"b":1},"c":[],"d":null}`, `{"kind":"A","a":[1],"c":{},"d":"e"}`},
		"the same name twice":      {`{"kind":"A","a":1,"a":2}`, `{"kind":"A","a":2,"a":3}`},
		"escapes":                  {`{"kind":"A","a\u00e9\"":"\ud83d\ude00","\ud800":"b"}`, `{"kind":"A","aé\"":"\\","\ud800":"c"}`},
		"deep":                     {`{"kind":"A","a":{"b":{"c":{"d":{"e":{"f":{"g":1}}}}}}}`, `{"kind":"A","a":{"b":{"c":{"d":{"e":{"f":{"g":2}}}}}}}`},
		"managed fields elsewhere": {`{"kind":"A","spec":{"metadata":{"managedFields":1}}}`, `{"kind":"A","spec":{"metadata":{"managedFields":2}}}`},
		"metadata that is none":    {`{"kind":"A","metadata":null}`, `{"kind":"A","metadata":{"managedFields":null}}`},
	} {
		t.Run(name, func(t *testing.T) { decodesAsApart(t, rawOf(tc[0]), rawOf(tc[1])) })
	}
}

func TestObjectsRefuse(t *testing.T) {
	const object = `{"kind":"A"}`
	for name, tc := range map[string][2]string{
		"no kind":          {object, `{"a":1}`},
		"no kind before":   {`{"a":1}`, object},
		"a list":           {object, `[]`},
		"null":             {"null", object},
		"a number as kind": {object, `{"kind":1}`},
		"no value":         {object, `{"kind":"A","a":1..2}`},
	} {
		t.Run(name, func(t *testing.T) {
			if was, is, err := (decoder{}).objects(rawOf(tc[0]), rawOf(tc[1])); err == nil {
				t.Errorf("objects() = %v, %v, want an error", was, is)
			}
		})
	}
}

// TestObjectsShare shows what is shared: what is the same in both, next to what is not.
func TestObjectsShare(t *testing.T) {
	was, is, err := decoder{}.objects(
		rawOf(`{"kind":"A","spec":{"replicas":1,"template":{"a":"b"}}}`), rawOf(`{"kind":"A","spec":{"replicas":2,"template":{"a":"b"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedField(was.Object, "c", "spec", "template", "a"); err != nil {
		t.Fatal(err)
	}
	if a, _, _ := unstructured.NestedString(is.Object, "spec", "template", "a"); a != "c" {
		t.Error("the template is decoded twice")
	}
}

// TestObjectsProperty decodes any two objects together and apart.
func TestObjectsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		decodesAsApart(t, encode(t, anyObject().Draw(t, "before")), encode(t, anyObject().Draw(t, "after")))
	})
}

func encode(t *rapid.T, obj map[string]any) runtime.RawExtension {
	raw, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return runtime.RawExtension{Raw: raw}
}

// anyObject has few names and values, so that two of them are often alike.
func anyObject() *rapid.Generator[map[string]any] {
	return rapid.Custom(func(t *rapid.T) map[string]any {
		obj := anyFields(4).Draw(t, "fields")
		obj["kind"] = "A"
		return obj
	})
}

func anyFields(depth int) *rapid.Generator[map[string]any] {
	values := []*rapid.Generator[any]{
		rapid.SampledFrom([]any{nil, true, 0, 1, 1.5, "", "a", []any{}, []any{"a", map[string]any{"b": 1}}}),
	}
	if depth > 0 {
		values = append(values, anyFields(depth-1).AsAny())
	}
	names := rapid.SampledFrom([]string{"a", "é\"", "metadata", "managedFields"})
	return rapid.MapOfN(names, rapid.OneOf(values...), 0, 4)
}

// TestHandlersModifyNothing has the objects that the handlers decode, which share
// parts, compared with what they were after each request.
func TestHandlersModifyNothing(t *testing.T) {
	for name, req := range map[string]admission.Request{
		"grant":   asking(t, "alice", platformTeam, deployment(3), deployment(5)),
		"hold":    asking(t, "mallory", nil, deployment(3), deployment(5)),
		"approve": asking(t, "alice", platformTeam, deployment(5, held("spec.replicas", "3")), annotate(deployment(5), "kausality.io/approve", "spec.replicas")),
		"covered": asking(t, deployer, nil, replicaSet(3), replicaSet(5)),
		"denied":  asking(t, "mallory", nil, replicaSet(3), replicaSet(5)),
	} {
		t.Run(name, func(t *testing.T) {
			parent := map[string]*unstructured.Unstructured{key("Deployment", "web"): deployment(5, mayScale("alice", 4))}
			w := &world{cached: parent, live: parent, records: map[types.UID]*v1alpha1.AllowanceRecord{}}
			mutator, validator := w.hooks(t, deploymentPolicy, replicaSetPolicy)
			for _, validating := range []bool{false, true} {
				r, err := mutator.decode(t.Context(), req, validating)
				if err != nil {
					t.Fatal(err)
				}
				f, err := mutator.decide(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				if !validating {
					_, _ = r.patches(f)
				}
				for raw, obj := range map[*runtime.RawExtension]*unstructured.Unstructured{&req.OldObject: r.old, &req.Object: r.new} {
					if diff := cmp.Diff(apart(t, *raw, false), obj); diff != "" {
						t.Errorf("validating %t (-before +after):\n%s", validating, diff)
					}
				}
			}
			if resp := validator.Handle(t.Context(), req); resp.Allowed == (name == "denied") {
				t.Errorf("allowed = %t: %v", resp.Allowed, resp.Result)
			}
		})
	}
}
