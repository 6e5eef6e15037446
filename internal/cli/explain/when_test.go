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

package explain

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// Of each allowance that a policy's condition ends it is told whether that holds.
func TestWhen(t *testing.T) {
	scaled := v1alpha1.Allowance{Kind: "ReplicaSet", Mutation: "spec.replicas", Generation: 3}
	created := scaled
	created.Trace = []v1alpha1.TraceHop{{Kind: "Deployment", Name: "web", Field: v1alpha1.FieldCreated}}
	later := scaled
	later.Generation = 4
	tests := map[string]struct {
		settled, initializing string
		of                    v1alpha1.Allowance
		want                  string
	}{
		"none":           {of: scaled},
		"one that holds": {of: scaled, settled: "object.status.observedGeneration >= allowance.generation", want: "spec.consumption.when of AllowancePolicy p holds: it is about to end"},
		"one that does not": {
			of: scaled, settled: "object.status.observedGeneration > allowance.generation", want: "until spec.consumption.when of AllowancePolicy p holds; it does not",
		},
		"for another generation": {of: later, settled: "true"},
		"one that compares in vain": {
			of: scaled, settled: "object.status.observedGeneration == '3'",
			want: "spec.consumption.when of AllowancePolicy p does not hold: it compares object.status.observedGeneration (a number) with a string: " +
				"these are never equal; int() makes a number of a string",
		},
		"one that cannot be evaluated": {
			of: scaled, settled: "object.status.at > 1",
			want: `spec.consumption.when of AllowancePolicy p does not hold: condition "object.status.at > 1" fails for this object: ` +
				"a field that it needs is absent or of another type",
		},
		"while it is initializing": {
			of: created, initializing: "true", want: "until spec.initializing.when of AllowancePolicy p does not hold any more; it holds",
		},
		"no longer initializing": {
			of: created, initializing: "false", settled: "true", want: "spec.initializing.when of AllowancePolicy p does not hold any more: it is about to end",
		},
		"initializing has nothing to do with the rest": {of: scaled, initializing: "true"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.AllowancePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
			p.Spec.For = v1alpha1.ParentKind{APIGroup: "apps", APIVersion: "v1", Kind: "Deployment"}
			p.Spec.Consumption = &v1alpha1.Consumption{When: tt.settled}
			p.Spec.Initializing = &v1alpha1.InitializingSection{When: tt.initializing}
			compiled, errs := policy.Compile(p, func(schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
				return schema.GroupVersionKind{}, false
			})
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			at := object(t, &appsv1.Deployment{Status: appsv1.DeploymentStatus{ObservedGeneration: 3}}, "")
			h := &holder{standing: at, Parent: decision.Parent{Generation: 3, Policies: []*policy.Policy{compiled}}}
			got := ""
			if w := h.when(ledger.NewEntry(tt.of)); w != nil {
				got = w.told().Text
			}
			if got != tt.want {
				t.Errorf("when() = %q, want %q", got, tt.want)
			}
		})
	}
}
