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
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
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
	timeless := v1alpha1.Allowance{
		Kind: "ReplicaSet", Mutation: "spec.replicas", Initiator: "alice", Trace: []v1alpha1.TraceHop{{Kind: "ConfigMap", Name: "src", Field: "spec"}},
	}
	others, elsewhere := timeless, timeless
	others.Initiator = "bob"
	elsewhere.Trace = []v1alpha1.TraceHop{{Kind: "ConfigMap", Name: "src", Field: "data"}}
	for name, tc := range map[string]struct {
		before, after *unstructured.Unstructured
		want          Outcome
		held          int
	}{
		"it allows something":                                     {before: holding(), after: holding(granted), want: Initiates},
		"it waits for what was withheld before":                   {before: holding(held), after: holding(held, granted), want: Waits, held: 1},
		"it is withheld, and something else is":                   {before: holding(held), after: holding(held, fresh), want: Withheld, held: 1},
		"it takes back what was withheld, and allows":             {before: holding(held), after: holding(granted), want: Initiates},
		"it allows the same again, of a kind without generations": {before: holding(timeless), after: holding(timeless), want: Initiates},
		"it allows nothing, and others did":                       {before: holding(others), after: holding(others), want: Passes},
		"it allows nothing, and another field did":                {before: holding(elsewhere), after: holding(elsewhere), want: Passes},
		"it allows nothing, and an older generation did":          {before: holding(granted), after: holding(granted), want: Passes},
		"it allows nothing, while something is withheld":          {before: holding(held), after: holding(held), want: Passes, held: 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Report{User: "alice", Paths: []string{"spec.replicas"}}
			if err := r.compare(tc.before, tc.after); err != nil {
				t.Fatal(err)
			}
			if r.Outcome != tc.want || len(r.Held) != tc.held {
				t.Errorf("%s with %d held, want %s with %d: %s", r.Outcome, len(r.Held), tc.want, tc.held, cmp.Diff(nil, r))
			}
		})
	}
}

// TestThrough tells what may happen to the children of what reads an object.
func TestThrough(t *testing.T) {
	f := &follower{}
	h := holder{kind: schema.GroupKind{Kind: "ConfigMap"}}
	nodes := f.follow(t.Context(), h, f.granted(h, []v1alpha1.Allowance{{APIGroup: "example.com", Kind: "Kid", Mutation: "spec.config", Through: "Wid.example.com"}}), false, 0)
	rule := &policy.Rule{Through: []policy.ThroughEntry{{
		Entry: policy.Entry{Kind: schema.GroupKind{Group: "example.com", Kind: "Kid"}, Delete: true}, Readers: policy.Through{Kind: schema.GroupKind{Group: "example.com", Kind: "Wid"}},
	}}}
	nodes = append(nodes, f.follow(t.Context(), h, f.ofRule(h, rule, nil), true, 1)...)
	want := []*Node{
		{Kind: "ConfigMap", Readers: true, What: []string{"change spec.config of Kid of each Wid that reads it"}},
		{Kind: "ConfigMap", Readers: true, What: []string{"delete of Kid of each Wid that reads it"}, Possible: true},
	}
	if diff := cmp.Diff(want, nodes); diff != "" {
		t.Errorf("what follows (-want +got):\n%s", diff)
	}
}
