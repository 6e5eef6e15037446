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
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/policy"
)

// A status counts up no generation, whatever the webhook writes into the annotations along with it.
func TestGenerationOfAStatus(t *testing.T) {
	for subresource, want := range map[string]int64{"": 5, subresourceStatus: 4} {
		r := &request{operation: decision.Update, subresource: subresource, old: deployment(3), new: deployment(3)}
		if got := r.generation(nil, nil); got != want {
			t.Errorf("generation %d through %q, want %d", got, subresource, want)
		}
	}
}

func TestBeyondGenerations(t *testing.T) {
	size, err := change.ParsePath("spec.size")
	if err != nil {
		t.Fatal(err)
	}
	tier, err := change.ParsePath("metadata.labels[tier]")
	if err != nil {
		t.Fatal(err)
	}
	// bucket is one at generation 4 whose status is about another one, or not.
	bucket := func(observed int64) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.org/v1", "kind": "Bucket", "metadata": map[string]any{"name": "b", "generation": int64(4)},
			"status": map[string]any{
				"observedGeneration": observed, "conditions": []any{map[string]any{"type": "Ready", "status": "True"}},
			},
		}}
	}
	settled, behind := bucket(4), bucket(3)
	// silent is a kind without conditions, of which only a policy knows when it has settled.
	silent := bucket(4)
	unstructured.RemoveNestedField(silent.Object, "status", "conditions")
	when := func(expression string) []*policy.Policy {
		p, errs := policy.Compile(&v1alpha1.AllowancePolicy{Spec: v1alpha1.AllowancePolicySpec{
			For: v1alpha1.ParentKind{APIGroup: "example.org", APIVersion: "v1", Kind: "Bucket"}, Consumption: &v1alpha1.Consumption{When: expression},
		}}, func(schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
			return schema.GroupVersionKind{}, false
		})
		if len(errs) > 0 {
			t.Fatal(errs.ToAggregate())
		}
		return []*policy.Policy{p}
	}
	observed := when("object.status.observedGeneration >= allowance.generation")

	tests := map[string]struct {
		old               *unstructured.Unstructured
		next              int64
		changed, approved []change.Change
		policies          []*policy.Policy
		want              bool
	}{
		"metadata of what has settled":     {old: settled, next: 4, changed: []change.Change{{Path: tier}}, want: true},
		"metadata of what is on its way":   {old: behind, next: 4, changed: []change.Change{{Path: tier}}, want: true},
		"metadata, together with the spec": {old: settled, next: 5, changed: []change.Change{{Path: tier}, {Path: size}}},
		"nothing that triggers":            {old: settled, next: 4},
		"approved, though it has settled":  {old: settled, next: 4, approved: []change.Change{{Path: size}}, want: true},
		"approved, and it waits for that":  {old: behind, next: 4, approved: []change.Change{{Path: size}}},
		"approved, though its policy says that it has settled": {
			old: silent, next: 4, approved: []change.Change{{Path: size}}, policies: observed, want: true,
		},
		"approved, and no policy says when it settles":         {old: silent, next: 4, approved: []change.Change{{Path: size}}},
		"approved, and its policy says that it waits for that": {old: settled, next: 4, approved: []change.Change{{Path: size}}, policies: when("false")},
		"approved, together with the spec":                     {old: settled, next: 5, approved: []change.Change{{Path: size}}},
		"metadata of a kind without generation":                {old: &unstructured.Unstructured{Object: map[string]any{}}, changed: []change.Change{{Path: tier}}},
		"a creation":                                           {next: 1, changed: []change.Change{{Path: tier}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := &facts{Input: decision.Input{
				Child: decision.Child{Generation: tt.next}, OwnChanges: tt.changed, Approved: tt.approved, OwnPolicies: tt.policies,
			}}
			r := &request{old: tt.old, new: &unstructured.Unstructured{}}
			if got := r.beyondGenerations(t.Context(), f); got != tt.want {
				t.Errorf("beyondGenerations() = %t, want %t", got, tt.want)
			}
		})
	}
}
