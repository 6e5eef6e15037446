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
	if len(Deputies()) != 2 {
		t.Fatalf("built in are %v", Deputies())
	}
	autoscaler, scaledObject := Deputies()[0], Deputies()[1]
	tests := map[string]struct {
		kind      schema.GroupKind
		reference any
		want      *target
	}{
		"an autoscaler": {
			kind:      autoscaler.Kind,
			reference: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
			want:      &target{deployment, "web"},
		},
		"an autoscaler, by a version that is served no more": {
			kind:      autoscaler.Kind,
			reference: map[string]any{"apiVersion": "apps/v1beta1", "kind": "Deployment", "name": "web"},
			want:      &target{deployment, "web"},
		},
		"an autoscaler that leaves the version out: of the core group": {
			kind:      autoscaler.Kind,
			reference: map[string]any{"kind": "ReplicationController", "name": "web"},
			want:      &target{schema.GroupKind{Kind: "ReplicationController"}, "web"},
		},
		"a ScaledObject that has nothing but a name": {
			kind: scaledObject.Kind, reference: map[string]any{"name": "web"}, want: &target{deployment, "web"},
		},
		"a ScaledObject of another kind": {
			kind:      scaledObject.Kind,
			reference: map[string]any{"apiVersion": "example.org/v1", "kind": "Thing", "name": "web"},
			want:      &target{schema.GroupKind{Group: "example.org", Kind: "Thing"}, "web"},
		},
		"no name":                            {kind: autoscaler.Kind, reference: map[string]any{"kind": "Deployment"}},
		"a version that is none":             {kind: autoscaler.Kind, reference: map[string]any{"apiVersion": "a/b/c", "kind": "Deployment", "name": "web"}},
		"a reference that is no object":      {kind: autoscaler.Kind, reference: "web"},
		"no reference":                       {kind: autoscaler.Kind},
		"a kind that is a number, of no use": {kind: autoscaler.Kind, reference: map[string]any{"kind": int64(1), "name": "web"}, want: &target{schema.GroupKind{}, "web"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d, ok := (*Index)(nil).DeputyOf(tc.kind)
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
	if _, ok := (*Index)(nil).DeputyOf(deployment); ok {
		t.Error("a Deployment scales nothing")
	}
}

// TestDeclaredDeputy shows what a policy says of its own kind.
func TestDeclaredDeputy(t *testing.T) {
	declared := compile(t, `
metadata: {name: resizers}
spec:
  for: {apiGroup: example.org, apiVersion: v1, kind: Resizer}
  subjects: [{kind: User, name: alice, mayInitiate: true}]
  knowledge:
    scales:
      target: {apiGroup: example.org, apiVersion: v1, resource: resizers}
      reference: spec.of
      kind: Thing
      annotations: ["example.org/paused]"]
`)
	d, ok := NewIndex([]*Policy{declared}).DeputyOf(declared.For.GroupKind())
	if !ok {
		t.Fatal("it is no deputy")
	}
	kind, name, ok := d.Target(map[string]any{"spec": map[string]any{"of": map[string]any{"name": "web"}}})
	if want := (schema.GroupKind{Kind: "Thing"}); kind != want || name != "web" || !ok {
		t.Errorf("it scales %s %q, %v", kind, name, ok)
	}
	if got := d.Metadata("v1"); len(got) != 1 {
		t.Errorf("of its metadata count %v", got)
	}
	if _, ok := NewIndex(nil).DeputyOf(declared.For.GroupKind()); ok {
		t.Error("it is one without the policy")
	}
}

func TestDeputyMetadata(t *testing.T) {
	autoscaler, scaledObject := Deputies()[0], Deputies()[1]
	tests := map[string]struct {
		deputy  Deputy
		version string
		want    []string
	}{
		"an autoscaler":                      {deputy: autoscaler, version: "v2"},
		"an autoscaler, by an older version": {deputy: autoscaler, version: "v1", want: []string{"metadata.annotations[autoscaling.alpha.kubernetes.io/behavior]", "metadata.annotations[autoscaling.alpha.kubernetes.io/metrics]"}},
		"a ScaledObject":                     {deputy: scaledObject, version: "v1alpha1", want: []string{"metadata.annotations[autoscaling.keda.sh/paused]", "metadata.annotations[autoscaling.keda.sh/paused-replicas]"}},
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

func TestCalled(t *testing.T) {
	index := NewIndex([]*Policy{compile(t, forKind("Deployment", podsInRules))})
	deployment := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	tests := map[string]struct {
		kind schema.GroupKind
		want schema.GroupVersionKind
	}{
		"as it is written":    {kind: deployment.GroupKind(), want: deployment},
		"in lower case":       {kind: schema.GroupKind{Group: "apps", Kind: "deployment"}, want: deployment},
		"a child":             {kind: pods, want: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}},
		"of another group":    {kind: schema.GroupKind{Kind: "Deployment"}},
		"that nobody names":   {kind: configMaps},
		"the plural, is none": {kind: schema.GroupKind{Group: "apps", Kind: "deployments"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, named := index.Called(tc.kind)
			if diff := cmp.Diff(tc.want, got); diff != "" || named != !tc.want.Empty() {
				t.Errorf("named %t (-want +got):\n%s", named, diff)
			}
		})
	}
}
