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

package phrase_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/phrase"
)

func TestAllowance(t *testing.T) {
	tests := map[string]struct {
		allowance v1alpha1.Allowance
		want      string
	}{
		"creation":      {v1alpha1.Allowance{Kind: "Pod", Mutation: "create"}, "create Pod"},
		"deletion":      {v1alpha1.Allowance{Kind: "Pod", Mutation: "delete"}, "delete Pod"},
		"field":         {v1alpha1.Allowance{Kind: "ReplicaSet", Mutation: "spec.replicas"}, "change spec.replicas of ReplicaSet"},
		"narrowed":      {v1alpha1.Allowance{Kind: "Pod", Mutation: "spec", Verbs: []v1alpha1.MutationVerb{"Insert"}}, "change spec of Pod (Insert)"},
		"any field":     {v1alpha1.Allowance{Kind: "Pod", Mutation: "*", Verbs: []v1alpha1.MutationVerb{"Delete", "Insert", "Mutate"}}, "change any field of Pod"},
		"anything":      {v1alpha1.Allowance{Kind: "*", Mutation: "*"}, "anything to any child"},
		"withheld":      {v1alpha1.Allowance{Relation: v1alpha1.RelationWithheld, Mutation: "spec.x"}, "withheld: spec.x"},
		"external":      {v1alpha1.Allowance{Relation: v1alpha1.RelationExternal, External: map[string]string{"provider": "sql", "kind": "DB"}, Mutations: []string{"Update"}}, "Update of kind DB, provider sql"},
		"several verbs": {v1alpha1.Allowance{Kind: "Pod", Mutation: "spec", Verbs: []v1alpha1.MutationVerb{"Delete", "Insert"}}, "change spec of Pod (Delete, Insert)"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, phrase.Allowance(tc.allowance)); diff != "" {
				t.Errorf("Allowance: -want, +got:\n%s", diff)
			}
		})
	}
}

func TestCommand(t *testing.T) {
	ref := v1alpha1.TargetReference{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	crossplane := v1alpha1.TargetReference{Group: "db.example.org", Kind: "Database", Name: "main"}
	odd := v1alpha1.TargetReference{Kind: "Role", Name: "--all"}
	for want, got := range map[string]string{
		"kubectl kausality why -n shop deployment/web":                         phrase.Command("why", ref),
		"kubectl kausality approve -n shop deployment/web --path 'spec.a,b.c'": phrase.Command("approve", ref, "spec.a", "b.c"),
		"kubectl kausality trace database.db.example.org/main":                 phrase.Command("trace", crossplane),
		`kubectl kausality approve role/--all --path 'a['\''$(b), c'\'']'`:     phrase.Command("approve", odd, "a['$(b), c']"),
		`kubectl kausality why 'role/it'\''s; x'`:                              phrase.Command("why", v1alpha1.TargetReference{Kind: "Role", Name: "it's; x"}),
		"kubectl kausality upgrade suggest kube-system/kro":                    phrase.Suggest("system:serviceaccount:kube-system:kro"),
		`kubectl kausality upgrade suggest '$(x)'`:                             phrase.Suggest("$(x)"),
		"kubectl kausality upgrade suggest -- '--server=x'":                    phrase.Suggest("--server=x"),
	} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Command: -want, +got:\n%s", diff)
		}
	}
}

func TestTrace(t *testing.T) {
	got := phrase.Trace("alice", []v1alpha1.TraceHop{
		{Kind: "Deployment", Name: "web", Field: "spec.replicas", Generation: 2},
		{Kind: "ReplicaSet", Field: "(created)"},
	})
	if diff := cmp.Diff("alice → Deployment/web spec.replicas → a ReplicaSet (created)", got); diff != "" {
		t.Errorf("Trace: -want, +got:\n%s", diff)
	}
}
