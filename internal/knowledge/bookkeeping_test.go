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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
