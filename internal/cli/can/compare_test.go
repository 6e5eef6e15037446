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
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
)

func TestCompare(t *testing.T) {
	holding := func(allowances ...v1alpha1.Allowance) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"}}
		obj.SetAnnotations(map[string]string{v1alpha1.AnnotationAllowances: ledger.Ledger{}.Merge(allowances...).Encode()})
		return obj
	}
	held := v1alpha1.Allowance{Relation: v1alpha1.RelationWithheld, Mutation: "spec.template", Generation: 2, Initiator: "mallory"}
	fresh := v1alpha1.Allowance{Relation: v1alpha1.RelationWithheld, Mutation: "spec.replicas", Generation: 3, Initiator: "mallory"}
	granted := v1alpha1.Allowance{APIGroup: "apps", Kind: "ReplicaSet", Mutation: "spec.replicas", Generation: 3, Initiator: "alice"}
	for name, tc := range map[string]struct {
		before, after *unstructured.Unstructured
		want          Outcome
		held          int
	}{
		"it allows something":                            {before: holding(), after: holding(granted), want: Initiates},
		"it waits for what was withheld before":          {before: holding(held), after: holding(held, granted), want: Waits, held: 1},
		"it is withheld, and something else is":          {before: holding(held), after: holding(held, fresh), want: Withheld, held: 1},
		"it takes back what was withheld, and allows":    {before: holding(held), after: holding(granted), want: Initiates},
		"it allows nothing, while something is withheld": {before: holding(held), after: holding(held), want: Passes, held: 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Report{Paths: []string{"spec.replicas"}}
			if err := r.compare(tc.before, tc.after); err != nil {
				t.Fatal(err)
			}
			if r.Outcome != tc.want || len(r.Held) != tc.held {
				t.Errorf("%s with %d held, want %s with %d: %s", r.Outcome, len(r.Held), tc.want, tc.held, cmp.Diff(nil, r))
			}
		})
	}
}
