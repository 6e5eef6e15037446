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

package interception

import (
	"strconv"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	admissioncel "k8s.io/apiserver/pkg/admission/plugin/cel"
	vap "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"
	"pgregory.net/rapid"
)

const (
	ledgerKey  = "kausality.io/allowances"
	approveKey = "kausality.io/approve"
	setsKey    = "replicaset.kausality.io/allowances"
)

// An API server refuses what the policy applies to while it does not know the schema
// of a kind: the policy applies to nothing that it would not change.
func TestProtectionConditions(t *testing.T) {
	const controller = "system:serviceaccount:argo:rollouts"
	composer := "system:serviceaccount:crossplane-system:crossplane"
	owner := belowOwner("Rollout", "1f2e3d4c-0000-0000-0000-000000000000")
	nested := belowOwner("ReplicaSet", "1f2e3d4c-0000-0000-0000-000000000000")
	const nestedKey = "replicaset-1f2e3d4c.kausality.io/allowances"
	cases := map[string]struct {
		object, old runtime.Object
		user        string
		want        bool
	}{
		"approving":                                {object: deployment(annotated(ledgerKey, "a", approveKey, "*")), old: deployment(annotated(ledgerKey, "a"))},
		"taking an approval back":                  {object: deployment(annotated(ledgerKey, "a")), old: deployment(annotated(ledgerKey, "a", approveKey, "*"))},
		"another annotation":                       {object: deployment(annotated(ledgerKey, "a", "jira", "1")), old: deployment(annotated(ledgerKey, "a"))},
		"created with a request":                   {object: deployment(annotated(approveKey, "*"))},
		"created with a ledger":                    {object: deployment(annotated(ledgerKey, "a")), want: true},
		"created with that of a ReplicaSet":        {object: deployment(annotated(setsKey, "a")), want: true},
		"undoing a rollout":                        {object: deployment(annotated(setsKey, "a")), old: deployment(annotated(setsKey, "b")), want: true},
		"what was there stays":                     {object: deployment(annotated(setsKey, "a", "jira", "1")), old: deployment(annotated(setsKey, "a"))},
		"a controller copies that of a ReplicaSet": {object: deployment(annotated(setsKey, "a")), old: deployment(), user: controller},
		"forging":                         {object: deployment(annotated(ledgerKey, "b")), old: deployment(annotated(ledgerKey, "a")), want: true},
		"dropping":                        {object: deployment(), old: deployment(annotated(ledgerKey, "a")), want: true},
		"the operator":                    {object: deployment(annotated(ledgerKey, "b")), old: deployment(), user: operatorUser},
		"what says nothing is dropped":    {object: deployment(), old: deployment(annotated(ledgerKey, ""))},
		"a controller brings a ledger":    {object: deployment(annotated(ledgerKey, "a")), old: deployment(), user: controller, want: true},
		"a controller brings a blank one": {object: deployment(annotated(ledgerKey, "")), old: deployment(), user: controller},
		"somebody brings a blank one":     {object: deployment(annotated(ledgerKey, "")), old: deployment(), want: true},
		"Crossplane brings a blank one":   {object: deployment(annotated(ledgerKey, "")), old: deployment(), user: composer, want: true},

		"copying onto a child":                     {object: replicaSet(owner, annotated(ledgerKey, "b")), old: replicaSet(owner, annotated(ledgerKey, "a")), user: controller},
		"forging that of a child":                  {object: replicaSet(owner, annotated(setsKey, "b")), old: replicaSet(owner), want: true},
		"dropping that of a child":                 {object: replicaSet(owner), old: replicaSet(owner, annotated(setsKey, "a")), want: true},
		"a child with a copy that gets an owner":   {object: replicaSet(owner, annotated(setsKey, "b")), old: replicaSet(annotated(setsKey, "b")), want: true},
		"a child with a copy that loses its owner": {object: replicaSet(annotated(ledgerKey, "b")), old: replicaSet(owner, annotated(ledgerKey, "b")), want: true},
		"a child that loses its owner":             {object: replicaSet(annotated(setsKey, "a")), old: replicaSet(owner, annotated(setsKey, "a")), want: true},
		"copying from an owner of its own kind":    {object: replicaSet(nested, annotated(setsKey, "b")), old: replicaSet(nested), user: controller},
		"forging below an owner of its own kind":   {object: replicaSet(nested, annotated(nestedKey, "b")), old: replicaSet(nested), want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := request{operation: admission.Create, object: tc.object, user: tc.user}
			if _, ok := tc.object.(*appsv1.ReplicaSet); ok {
				r.kind = replicaSets
			}
			if tc.old != nil {
				r.operation, r.old = admission.Update, tc.old
			}
			for _, converted := range []bool{false, true} {
				got := called(t, protectionConditions(Input{OperatorUser: operatorUser, Composers: []string{composer}}, nil), r.attributes(t, converted))
				if got != tc.want {
					t.Errorf("the policy applies: %v, want %v (converted: %v)", got, tc.want, converted)
				}
			}
		})
	}
}

// TestProtectionAppliesToWhatItChanges compares the condition with the patch.
func TestProtectionAppliesToWhatItChanges(t *testing.T) {
	compiler, err := admissioncel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		t.Fatal(err)
	}
	options := admissioncel.OptionalVariableDeclarations{HasAuthorizer: true}
	for _, v := range protectionVariables(Input{OperatorUser: operatorUser}) {
		named := vap.Variable{Name: v.Name, Expression: v.Expression}
		if result := compiler.CompileAndStoreVariable(&named, options, environment.NewExpressions); result.Error != nil {
			t.Fatal(result.Error)
		}
	}
	fail := admissionregistrationv1.Fail
	patches := matchconditions.NewMatcher(compiler.CompileCondition([]admissioncel.ExpressionAccessor{
		&matchconditions.MatchCondition{Name: "patches", Expression: "size(variables.drop) + size(variables.blank) + size(variables.restore) > 0"},
	}, options, environment.NewExpressions), &fail, "policy", "test", "test")

	annotations := rapid.OneOf(
		rapid.Just(map[string]any(nil)),
		rapid.MapOfN(
			rapid.SampledFrom([]string{ledgerKey, approveKey, setsKey, "replicaset.kausality.io/approve", "kausality.io/other", "jira"}),
			rapid.Map(rapid.SampledFrom([]string{"a", "b", ""}), func(v string) any { return v }), 0, 4),
		// More than are looked at, one by one.
		rapid.Map(rapid.SampledFrom([]string{ledgerKey, setsKey, "kausality.io/other"}), func(key string) map[string]any {
			m := map[string]any{key: "a"}
			for i := range many + 1 {
				m["kausality.io/"+strconv.Itoa(i)] = "x"
			}
			return m
		}),
	)
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string) runtime.Object {
			metadata := map[string]any{"name": "name"}
			if found := annotations.Draw(rt, name); found != nil {
				metadata["annotations"] = found
			}
			if kind := rapid.SampledFrom([]string{"", "Deployment", "ReplicaSet"}).Draw(rt, name+" owner"); kind != "" {
				metadata["ownerReferences"] = []any{map[string]any{
					"apiVersion": "apps/v1", "kind": kind, "name": "d", "uid": "0123456789", "controller": true,
				}}
			}
			object := custom(map[string]any{"metadata": metadata})
			object.SetGroupVersionKind(replicaSets)
			return object
		}
		r := request{
			operation: admission.Create, kind: replicaSets, object: draw("object"),
			user: rapid.SampledFrom([]string{"jane", "system:serviceaccount:argo:rollouts"}).Draw(rt, "user"),
		}
		if rapid.Bool().Draw(rt, "update") {
			r.operation, r.old = admission.Update, draw("old")
		}
		attributes := r.attributes(t, false)
		ctx := compiler.CreateContext(t.Context())
		want := patches.Match(ctx, attributes, nil, nil)
		if want.Error != nil {
			rt.Fatal(want.Error)
		}
		if got := called(t, protectionConditions(Input{OperatorUser: operatorUser}, nil), attributes); got != want.Matches {
			rt.Errorf("the policy applies: %v, and changes something: %v", got, want.Matches)
		}
	})
}
