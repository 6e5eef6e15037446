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

package knowledge

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestBookkeeping(t *testing.T) {
	child := func(apiVersion, kind string, fields map[string]any) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		maps.Copy(obj.Object, fields)
		obj.SetAPIVersion(apiVersion)
		obj.SetKind(kind)
		return obj
	}
	replicaSet := func(spec, status map[string]any) *unstructured.Unstructured {
		return child("apps/v1", "ReplicaSet", map[string]any{"spec": spec, "status": status})
	}
	none, some := map[string]any{"replicas": int64(0)}, map[string]any{"replicas": int64(2)}
	revision := child("apps/v1", "ControllerRevision", nil)

	tests := map[string]struct {
		operation string
		child     *unstructured.Unstructured
		want      bool
	}{
		"a revision is made":                         {"CREATE", revision, true},
		"a revision is numbered anew":                {"UPDATE", revision, true},
		"a revision is dropped":                      {"DELETE", revision, true},
		"a kind of that name in another group":       {"CREATE", child("example.org/v1", "ControllerRevision", nil), false},
		"a ReplicaSet without Pods is dropped":       {"DELETE", replicaSet(none, nil), true},
		"a ReplicaSet without Pods is changed":       {"UPDATE", replicaSet(none, nil), false},
		"a ReplicaSet without Pods is made":          {"CREATE", replicaSet(none, nil), false},
		"a ReplicaSet that has Pods is dropped":      {"DELETE", replicaSet(some, some), false},
		"a ReplicaSet that still has Pods":           {"DELETE", replicaSet(none, some), false},
		"a ReplicaSet with the API's default number": {"DELETE", replicaSet(map[string]any{}, nil), false},
		"a ReplicaSet that cannot be read":           {"DELETE", replicaSet(map[string]any{"replicas": "none"}, nil), false},
		"a Pod":                                      {"DELETE", child("v1", "Pod", nil), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := BuiltIn(tt.child.GroupVersionKind().GroupKind()).IsBookkeeping(tt.operation, tt.child.Object); got != tt.want {
				t.Errorf("IsBookkeeping(%s) = %t, want %t", tt.operation, got, tt.want)
			}
		})
	}
}

func TestWithoutOwnAnnotations(t *testing.T) {
	const revision = "deployment.kubernetes.io/revision"
	with := func(annotations map[string]any) map[string]any {
		metadata := map[string]any{"name": "web"}
		if annotations != nil {
			metadata["annotations"] = annotations
		}
		return map[string]any{"metadata": metadata}
	}
	tests := map[string]struct{ given, want map[string]any }{
		"none":           {map[string]any{}, map[string]any{}},
		"no annotations": {with(nil), with(nil)},
		"others":         {with(map[string]any{"a": "b"}), with(map[string]any{"a": "b"})},
		"alone":          {with(map[string]any{revision: "1"}), with(nil)},
		"among others":   {with(map[string]any{revision: "1", "a": "b"}), with(map[string]any{"a": "b"})},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			before := runtime.DeepCopyJSON(tt.given)
			got := BuiltIn(schema.GroupKind{Group: "apps", Kind: "Deployment"}).WithoutOwnAnnotations(tt.given)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("without (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tt.given); diff != "" {
				t.Errorf("it changed what it was given (-want +got):\n%s", diff)
			}
		})
	}
}
