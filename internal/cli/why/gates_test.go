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
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/policy"
)

// TestWaitingGates tells of what is not outside the cluster, of deletions that are held back, and of gates that
// were kept without a parent, of the object and of its children.
func TestWaitingGates(t *testing.T) {
	declared := &v1alpha1.AllowancePolicy{}
	if err := yaml.UnmarshalStrict([]byte(`
metadata: {name: shop}
spec:
  for: {apiGroup: example.com, apiVersion: v1, kind: Shop}
  rules:
  - trigger: spec.size
    policies:
    - {target: {apiGroup: cloud.example.com, apiVersion: v1, resource: buckets}, relation: ControllerChild, mutations: [{jsonPath: spec}]}
    - {target: {external: {kind: Bucket}}, relation: External, verbs: [Update]}
`), declared); err != nil {
		t.Fatal(err)
	}
	p, errs := policy.Compile(declared, func(gvr schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		return gvr.GroupVersion().WithKind("Bucket"), true
	})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	policies := cluster.Policies{Index: policy.NewIndex([]*policy.Policy{p})}
	object := func(apiVersion, kind, name, message string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name},
			"status": map[string]any{"conditions": []any{map[string]any{"type": v1alpha1.ConditionGate, "message": message}}},
		}}
		return obj
	}
	waiting := "Crossplane observes. " + gate.NotOutside + ", and so on."
	shop := object("example.com/v1", "Shop", "web", "")
	waits, rests := object("cloud.example.com/v1", "Bucket", "a", waiting), object("cloud.example.com/v1", "Bucket", "b", "Crossplane observes.")
	list := func(_ context.Context, _ cluster.Policies, kind schema.GroupKind, parent *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
		if kind.Kind != "Bucket" || parent.GetKind() != "Shop" {
			return nil, fmt.Errorf("asked for %s of %s", kind.Kind, parent.GetKind())
		}
		return []*unstructured.Unstructured{waits, rests}, nil
	}
	want := []string{"The gate of Bucket/a waits. " + waiting}
	held, lost := object("cloud.example.com/v1", "Bucket", "c", ""), object("cloud.example.com/v1", "Bucket", "d", "Crossplane observes. "+gate.Lost+", and keeps its gate.")
	behind := object("cloud.example.com/v1", "Bucket", "e", "")
	if err := unstructured.SetNestedSlice(behind.Object, []any{map[string]any{
		"type": v1alpha1.ConditionGate, "reason": v1alpha1.ReasonGateClosed, "message": "What alice allowed (spec.size)" + gate.Waits + "approve that.",
	}}, "status", "conditions"); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedSlice(held.Object, []any{map[string]any{
		"type": v1alpha1.ConditionGate, "reason": v1alpha1.ReasonGateHeld, "message": "The deletion by mallory is held back.",
	}}, "status", "conditions"); err != nil {
		t.Fatal(err)
	}
	refused := object("cloud.example.com/v1", "Bucket", "f", "")
	refused.SetAnnotations(map[string]string{v1alpha1.AnnotationGateHeld: `{"user":"bob","allowed":true}`})
	inUse := refused.DeepCopy()
	inUse.SetLabels(map[string]string{"crossplane.io/in-use": "true"})
	for name, tt := range map[string]struct {
		obj  *unstructured.Unstructured
		want []string
	}{
		"what something else keeps from being deleted": {refused, []string{"The deletion of Bucket/f has not come. " + gate.Undeleted}},
		"what a Usage protects": {inUse, []string{"The deletion of Bucket/f has not come. " + gate.Undeleted +
			" Its label crossplane.io/in-use says that a Usage or ClusterUsage of Crossplane protects it: while that is there, Crossplane's own webhook refuses the deletion."}},
		"what composes it": {shop, want}, "itself": {waits, want}, "what waits for nothing": {obj: rests},
		"what is being deleted":                          {held, []string{"The deletion of Bucket/c waits. The deletion by mallory is held back."}},
		"what waits behind a change that nobody allowed": {behind, []string{"The gate of Bucket/e waits. What alice allowed (spec.size) waits: approve that."}},
		"what has lost its parent":                       {lost, []string{"The gate of Bucket/d waits. Crossplane observes. " + gate.Lost + ", and keeps its gate."}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, waitingGates(t.Context(), list, policies, tt.obj)); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}
