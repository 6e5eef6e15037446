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

package objectcache

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestStrip(t *testing.T) {
	tests := map[string]struct {
		metadata, want map[string]any
	}{
		"what nobody reads goes, the rest stays": {
			metadata: map[string]any{
				"name":          "web",
				"managedFields": []any{map[string]any{"manager": "kubectl"}},
				"annotations": map[string]any{
					"kubectl.kubernetes.io/last-applied-configuration": "{}",
					"kausality.io/allowances":                          "[]",
				},
			},
			want: map[string]any{"name": "web", "annotations": map[string]any{"kausality.io/allowances": "[]"}},
		},
		"no annotation is left": {
			metadata: map[string]any{"annotations": map[string]any{"kubectl.kubernetes.io/last-applied-configuration": "{}"}},
			want:     map[string]any{},
		},
		"nothing to drop": {
			metadata: map[string]any{"name": "web"},
			want:     map[string]any{"name": "web"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			obj := &unstructured.Unstructured{Object: map[string]any{"metadata": test.metadata, "data": "kept"}}
			strip(obj)
			want := &unstructured.Unstructured{Object: map[string]any{"metadata": test.want, "data": "kept"}}
			if diff := cmp.Diff(want, obj); diff != "" {
				t.Errorf("strip() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPackingKeepsWhatIsNoObject(t *testing.T) {
	if got, err := new(packing).transform("tombstone"); got != "tombstone" || err != nil {
		t.Errorf("transform() = %v, %v", got, err)
	}
}

func TestCompareVersions(t *testing.T) {
	kind := func(kind, version string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "example.com", Version: version, Kind: kind}
	}
	got := []schema.GroupVersionKind{kind("B", "v1"), kind("A", "v1beta1"), kind("A", "v2"), kind("A", "v1"), kind("A", "v2alpha1")}
	slices.SortFunc(got, compareVersions)
	want := []schema.GroupVersionKind{kind("A", "v2"), kind("A", "v1"), kind("A", "v1beta1"), kind("A", "v2alpha1"), kind("B", "v1")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the most stable version comes first (-want +got):\n%s", diff)
	}
}
