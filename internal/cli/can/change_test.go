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

package can

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/policy"
)

func thing() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing",
		"metadata": map[string]any{"name": "t", "uid": "1", "labels": map[string]any{"a": "1"}},
		"spec":     map[string]any{"size": int64(1), "parts": []any{map[string]any{"id": "x"}}},
		"extra":    "gone when it is replaced",
		"status":   map[string]any{"size": int64(1)},
	}}
}

func TestSet(t *testing.T) {
	tests := map[string]struct {
		fields, values []string
		want           []string
		err            string
	}{
		"a number":           {fields: []string{"spec.size"}, values: []string{"2"}, want: []string{"spec.size"}},
		"of an item":         {fields: []string{"spec.parts[0].id"}, values: []string{"y"}, want: []string{"spec.parts[0].id"}},
		"a label":            {fields: []string{"metadata.labels[team]"}, values: []string{`"1"`}, want: []string{"metadata.labels[team]"}},
		"what it is already": {fields: []string{"spec.size"}, values: []string{"1"}, want: []string{}},
		"a map, and another": {
			fields: []string{"spec.limits", "spec.size"}, values: []string{"{cpu: 2}", "3"}, want: []string{"spec.limits", "spec.size"},
		},
		"another name":      {fields: []string{"metadata.name"}, values: []string{"x"}, err: "--field: nobody can change metadata.name of Thing t"},
		"another namespace": {fields: []string{"metadata.namespace"}, values: []string{"x"}, err: "--field: nobody can change metadata.namespace"},
		"another kind":      {fields: []string{"kind"}, values: []string{"x"}, err: "--field: nobody can change kind of Thing t"},
		"the API server's":  {fields: []string{"metadata.uid"}, values: []string{"x"}, err: "--field: nobody can change metadata.uid"},
		"a finalizer":       {fields: []string{"metadata.finalizers"}, values: []string{"[a/b]"}, want: []string{}},
		"no path":           {fields: []string{"spec["}, values: []string{"1"}, err: "--field: path"},
		"no value":          {fields: []string{"spec.size"}, values: []string{"{"}, err: "--set of spec.size is neither"},
		"no such place":     {fields: []string{"spec.size.unit"}, values: []string{"1"}, err: "--field: path"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			e := edit{fields: tc.fields, values: tc.values}
			after := thing()
			err := e.set(after)
			if tc.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tc.err) {
					t.Errorf("got %v, want %s…", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, paths(policy.NewIndex(nil), thing(), after)); diff != "" {
				t.Errorf("paths differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReplace(t *testing.T) {
	after := thing()
	replace(after, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing",
		"metadata": map[string]any{"name": "t", "labels": map[string]any{"b": "2"}, "annotations": map[string]any{"c": "3"}},
		"spec":     map[string]any{"size": int64(2)},
		"status":   map[string]any{"size": int64(9)},
	}})
	want := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing",
		"metadata": map[string]any{
			"name": "t", "uid": "1", "labels": map[string]any{"a": "1", "b": "2"}, "annotations": map[string]any{"c": "3"},
		},
		"spec":   map[string]any{"size": int64(2)},
		"status": map[string]any{"size": int64(1)},
	}}
	if diff := cmp.Diff(want, after); diff != "" {
		t.Errorf("the object differs (-want +got):\n%s", diff)
	}
}

func TestObjectOfFile(t *testing.T) {
	tests := map[string]struct{ text, err string }{
		"one":     {text: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}"},
		"two":     {text: "{apiVersion: v1, kind: ConfigMap}\n---\n{apiVersion: v1, kind: ConfigMap}", err: "there are 2 objects in"},
		"none":    {text: "# nothing", err: "there are 0 objects in"},
		"no YAML": {text: "a: [", err: "it is no YAML"},
		"no name": {text: "{apiVersion: v1, kind: ConfigMap}", err: "needs its apiVersion, kind and metadata.name"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "object.yaml")
			if err := os.WriteFile(file, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := (&edit{file: file}).object(nil)
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("got %v, want %q", err, tc.err)
			}
		})
	}
}

func TestMerged(t *testing.T) {
	pattern := func(text string) change.Pattern {
		p, err := change.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	size := permission{fields: []change.Pattern{pattern("spec.size")}, what: []string{"change spec.size"}}
	conditional := size
	conditional.conditions = []string{"c"}
	got := merged([]permission{size, {create: true}, size, {external: "a gate"}, conditional, {delete: true}})
	want := []permission{
		{create: true, delete: true, fields: size.fields, what: size.what},
		conditional,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(permission{})); diff != "" {
		t.Errorf("permissions differ (-want +got):\n%s", diff)
	}
}
