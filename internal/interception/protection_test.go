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
	"context"
	"strconv"
	"testing"

	"github.com/google/cel-go/common/types/traits"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	admissioncel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	vap "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authorization/authorizer"
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

// TestToldOfWhatIsDropped shows of which keys the webhook hears that are taken away: of those that mean nothing, and not
// of those that old manifests bring.
func TestToldOfWhatIsDropped(t *testing.T) {
	owner := belowOwner("Rollout", "1f2e3d4c-0000-0000-0000-000000000000")
	told := func(equals string) matchconditions.Matcher {
		return protecting(t, "variables.told == "+equals)
	}
	for name, tc := range map[string]struct {
		object      runtime.Object
		user        string
		subresource string
		want        string
	}{
		"a mistyped command":                  {object: deployment(annotated("kausality.io/aprove", "*", "jira", "1")), want: `["kausality.io/aprove"]`},
		"a command":                           {object: deployment(annotated(approveKey, "*")), want: `[]`},
		"the ledger of an old manifest":       {object: deployment(annotated(ledgerKey, "[]")), want: `[]`},
		"the approved content of one":         {object: deployment(annotated("kausality.io/approved", "v1:abc")), want: `[]`},
		"what is meant to approve":            {object: deployment(annotated("kausality.io/approved", "*")), want: `["kausality.io/approved"]`},
		"that of a ReplicaSet":                {object: deployment(annotated(setsKey, "a")), want: `[]`},
		"a mistyped one on what has an owner": {object: replicaSet(owner, annotated("kausality.io/aprove", "*")), want: `["kausality.io/aprove"]`},
		"what a controller copies":            {object: deployment(annotated("kausality.io/aprove", "*")), user: "system:serviceaccount:argo:rollouts", want: `[]`},
		"a mistyped one in a status":          {object: deployment(annotated("kausality.io/aprove", "*")), subresource: "status", want: `[]`},
	} {
		t.Run(name, func(t *testing.T) {
			r := request{operation: admission.Update, object: tc.object, old: deployment(), user: tc.user, subresource: tc.subresource}
			if _, ok := tc.object.(*appsv1.ReplicaSet); ok {
				r.kind, r.old = replicaSets, replicaSet(owner)
			}
			got := told(tc.want).Match(t.Context(), r.attributes(t, false), nil, nil)
			if got.Error != nil || !got.Matches {
				t.Errorf("told of something else than %s: %v", tc.want, got.Error)
			}
		})
	}
}

// TestProtectionPatch evaluates the patch: one that does not compile would protect nothing, as its failures are ignored.
func TestProtectionPatch(t *testing.T) {
	compiler := protectionCompiler(t)
	options := admissioncel.OptionalVariableDeclarations{HasAuthorizer: true, HasPatchTypes: true}
	evaluator := compiler.CompileMutatingEvaluator(&patch.JSONPatchCondition{Expression: protectionPatch}, options, environment.StoredExpressions)
	if errs := evaluator.CompilationErrors(); len(errs) > 0 {
		t.Fatal(errs)
	}
	for name, tc := range map[string]struct {
		object runtime.Object
		want   int64
	}{
		"a mistyped key is taken away, and the webhook told": {object: deployment(annotated("kausality.io/aprove", "*", "jira", "1")), want: 2},
		"a ledger is taken away":                             {object: deployment(annotated(ledgerKey, "a")), want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			attributes := request{operation: admission.Create, object: tc.object}.attributes(t, false)
			asked := admissioncel.CreateAdmissionRequest(attributes.Attributes, metav1.GroupVersionResource(attributes.GetResource()), metav1.GroupVersionKind(attributes.VersionedKind))
			result, _, err := evaluator.ForInput(compiler.CreateContext(t.Context()), attributes, asked, admissioncel.OptionalVariableBindings{}, nil, celconfig.RuntimeCELCostBudget)
			if err != nil || result.Error != nil {
				t.Fatal(err, result.Error)
			}
			ops, ok := result.EvalResult.(traits.Sizer)
			if !ok || ops.Size().Value() != tc.want {
				t.Errorf("the patch is %v, want %d operations", result.EvalResult, tc.want)
			}
		})
	}
}

// protectionCompiler knows the variables of the protection.
func protectionCompiler(t *testing.T) *admissioncel.CompositedCompiler {
	t.Helper()
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
	return compiler
}

// protecting returns what matches where an expression of the variables of the protection is true.
func protecting(t *testing.T, expression string) matchconditions.Matcher {
	t.Helper()
	compiler, options := protectionCompiler(t), admissioncel.OptionalVariableDeclarations{HasAuthorizer: true}
	fail := admissionregistrationv1.Fail
	return inContext{compiler, matchconditions.NewMatcher(compiler.CompileCondition([]admissioncel.ExpressionAccessor{
		&matchconditions.MatchCondition{Name: "holds", Expression: expression},
	}, options, environment.NewExpressions), &fail, "policy", "test", "test")}
}

// inContext matches with the variables of a compiler.
type inContext struct {
	compiler *admissioncel.CompositedCompiler
	matchconditions.Matcher
}

// Match implements matchconditions.Matcher.
func (m inContext) Match(ctx context.Context, attributes *admission.VersionedAttributes, params runtime.Object, authz authorizer.UnconditionalAuthorizer) matchconditions.MatchResult {
	return m.Matcher.Match(m.compiler.CreateContext(ctx), attributes, params, authz)
}

// TestProtectionAppliesToWhatItChanges compares the condition with the patch.
func TestProtectionAppliesToWhatItChanges(t *testing.T) {
	patches := protecting(t, "size(variables.drop) + size(variables.blank) + size(variables.restore) > 0")

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
		want := patches.Match(t.Context(), attributes, nil, nil)
		if want.Error != nil {
			rt.Fatal(want.Error)
		}
		if got := called(t, protectionConditions(Input{OperatorUser: operatorUser}, nil), attributes); got != want.Matches {
			rt.Errorf("the policy applies: %v, and changes something: %v", got, want.Matches)
		}
	})
}
