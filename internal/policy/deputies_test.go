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

package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestDeputyTarget(t *testing.T) {
	type target struct {
		Kind schema.GroupKind
		Name string
	}
	deployment := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	tests := map[string]struct {
		kind      schema.GroupKind
		reference any
		want      *target
	}{
		"an autoscaler": {
			kind:      deputies[0].Kind,
			reference: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
			want:      &target{deployment, "web"},
		},
		"an autoscaler, by a version that is served no more": {
			kind:      deputies[0].Kind,
			reference: map[string]any{"apiVersion": "apps/v1beta1", "kind": "Deployment", "name": "web"},
			want:      &target{deployment, "web"},
		},
		"an autoscaler that leaves the version out: of the core group": {
			kind:      deputies[0].Kind,
			reference: map[string]any{"kind": "ReplicationController", "name": "web"},
			want:      &target{schema.GroupKind{Kind: "ReplicationController"}, "web"},
		},
		"a ScaledObject that has nothing but a name": {
			kind: deputies[1].Kind, reference: map[string]any{"name": "web"}, want: &target{deployment, "web"},
		},
		"a ScaledObject of another kind": {
			kind:      deputies[1].Kind,
			reference: map[string]any{"apiVersion": "example.org/v1", "kind": "Thing", "name": "web"},
			want:      &target{schema.GroupKind{Group: "example.org", Kind: "Thing"}, "web"},
		},
		"no name":                            {kind: deputies[0].Kind, reference: map[string]any{"kind": "Deployment"}},
		"a version that is none":             {kind: deputies[0].Kind, reference: map[string]any{"apiVersion": "a/b/c", "kind": "Deployment", "name": "web"}},
		"a reference that is no object":      {kind: deputies[0].Kind, reference: "web"},
		"no reference":                       {kind: deputies[0].Kind},
		"a kind that is a number, of no use": {kind: deputies[0].Kind, reference: map[string]any{"kind": int64(1), "name": "web"}, want: &target{schema.GroupKind{}, "web"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d, ok := DeputyOf(tc.kind)
			if !ok {
				t.Fatalf("%s is no deputy", tc.kind)
			}
			object := map[string]any{"spec": map[string]any{}}
			if tc.reference != nil {
				object["spec"] = map[string]any{"scaleTargetRef": tc.reference}
			}
			var got *target
			if kind, name, ok := d.Target(object); ok {
				got = &target{kind, name}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("what it scales (-want +got):\n%s", diff)
			}
		})
	}
	if _, ok := DeputyOf(deployment); ok {
		t.Error("a Deployment scales nothing")
	}
}

func TestDeputyMetadata(t *testing.T) {
	tests := map[string]struct {
		deputy  Deputy
		version string
		want    []string
	}{
		"an autoscaler":                      {deputy: deputies[0], version: "v2"},
		"an autoscaler, by an older version": {deputy: deputies[0], version: "v1", want: []string{"metadata.annotations[autoscaling.alpha.kubernetes.io/behavior]", "metadata.annotations[autoscaling.alpha.kubernetes.io/metrics]"}},
		"a ScaledObject":                     {deputy: deputies[1], version: "v1alpha1", want: []string{"metadata.annotations[autoscaling.keda.sh/paused]", "metadata.annotations[autoscaling.keda.sh/paused-replicas]"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range tc.deputy.Metadata(tc.version) {
				got = append(got, p.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("what counts (-want +got):\n%s", diff)
			}
		})
	}
}
