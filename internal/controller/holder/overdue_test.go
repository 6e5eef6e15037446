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

package holder

import (
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/gate/crossplane"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// What opens an object's own gate is overdue when the policies that gate it say so,
// which are about its parent, and not about itself.
func TestOverdueGates(t *testing.T) {
	source := &v1alpha1.AllowancePolicy{Spec: v1alpha1.AllowancePolicySpec{
		For:         v1alpha1.ParentKind{APIGroup: "example.com", APIVersion: "v1", Kind: "XBucket"},
		Consumption: &v1alpha1.Consumption{MaxOpen: &metav1.Duration{Duration: time.Minute}},
	}}
	patient, errs := policy.Compile(source, func(schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		return schema.GroupVersionKind{}, false
	})
	if len(errs) > 0 {
		t.Fatalf("the policy does not compile: %v", errs)
	}
	const size = "spec.forProvider.size"
	for name, test := range map[string]struct {
		bucket  *unstructured.Unstructured
		gating  []*policy.Policy
		seen    time.Duration
		overdue string
		next    time.Duration
	}{
		"not yet": {
			bucket: gatedBucket(opening(size)), gating: []*policy.Policy{patient},
			seen: 20 * time.Second, next: 40 * time.Second,
		},
		"longer than the policy wants": {
			bucket: gatedBucket(opening(size)), gating: []*policy.Policy{patient}, seen: time.Minute,
			overdue: "Its gate is open for longer than 1m0s: Update outside the cluster (generation 4, by alice). " +
				"It closes when that has arrived: see the condition kausality.io/Gate.",
		},
		"no policy says how long": {
			bucket: gatedBucket(opening(size)), seen: time.Minute, next: policy.DefaultMaxOpen - time.Minute,
		},
		"an allowance for something else": {
			bucket: gatedBucket(grantOf("spec.size", 4)), gating: []*policy.Policy{patient},
			seen: time.Minute, next: policy.DefaultTTL - time.Minute, // a kind that says no generation
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := look(test.bucket, nil, controllertest.Noon)
			v.gating = test.gating
			status := &v1alpha1.AllowanceRecordStatus{}
			for _, e := range v.stored {
				status.FirstSeen = append(status.FirstSeen, v1alpha1.SeenAllowance{ID: e.ID(), Time: controllertest.Before(test.seen)})
			}
			p := v.advance(t.Context(), status)
			var message string
			if c := apimeta.FindStatusCondition(status.Conditions, v1alpha1.ConditionOverdue); c != nil {
				message = c.Message
			}
			if message != test.overdue {
				t.Errorf("Overdue: %q, want %q", message, test.overdue)
			}
			var next time.Duration
			if !p.next.IsZero() {
				next = p.next.Sub(controllertest.Noon)
			}
			if next != test.next {
				t.Errorf("next look in %s, want %s", next, test.next)
			}
		})
	}
}

// opening returns an entry that opens a gate for an update.
func opening(field string) v1alpha1.Allowance {
	return v1alpha1.Allowance{
		Relation: v1alpha1.RelationExternal, Mutations: []string{"Update"}, Generation: 4, Initiator: "alice",
		Trace: []v1alpha1.TraceHop{{Kind: "Bucket", Name: "b", Generation: 4, Field: field}},
	}
}

// gatedBucket returns a managed resource at generation 4 that is under its gate, with a ledger,
// as admission has it.
func gatedBucket(allowances ...v1alpha1.Allowance) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "s3.example.com/v1", "kind": "Bucket",
		"metadata": map[string]any{"name": "b", "uid": "uid-b", "generation": int64(4)},
		"spec":     map[string]any{"forProvider": map[string]any{"size": int64(20)}, "managementPolicies": []any{"*"}},
	}}
	l := ledger.Ledger(nil).Merge(allowances...)
	kind := gate.Kind{GVK: obj.GroupVersionKind(), Resource: "buckets"}
	setting := crossplane.Driver{}.Compute(gate.Write{Old: obj, New: obj, Kind: kind, Ledger: l, Brings: true})
	setting.State.Ceiling = nil
	crossplane.Driver{}.Set(obj, setting)
	annotations := obj.GetAnnotations()
	annotations[v1alpha1.AnnotationAllowances] = l.Encode()
	obj.SetAnnotations(annotations)
	return obj
}
