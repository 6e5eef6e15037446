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
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// TestFinalizerOfClaims checks that the validating hook is asked about the finalizer of a claim that is being deleted, unless
// it is Crossplane that takes it off.
func TestFinalizerOfClaims(t *testing.T) {
	const composer = "system:serviceaccount:crossplane-system:crossplane"
	object := func(deleting bool, finalizers ...any) *unstructured.Unstructured {
		metadata := map[string]any{"name": "name", "namespace": "ns"}
		if deleting {
			metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
		}
		if len(finalizers) > 0 {
			metadata["finalizers"] = finalizers
		}
		return custom(map[string]any{"metadata": metadata})
	}
	for name, tc := range map[string]struct {
		old, object *unstructured.Unstructured
		user        string
		categories  []string
		want        bool
	}{
		"it is taken off":                 {old: object(true, lineage.ClaimFinalizer), object: object(true), categories: []string{lineage.CategoryClaim}, want: true},
		"it alone is":                     {old: object(true, "x", lineage.ClaimFinalizer), object: object(true, "x"), categories: []string{lineage.CategoryClaim}, want: true},
		"it stays":                        {old: object(true, "x", lineage.ClaimFinalizer), object: object(true, lineage.ClaimFinalizer), categories: []string{lineage.CategoryClaim}},
		"Crossplane takes it off":         {old: object(true, lineage.ClaimFinalizer), object: object(true), user: composer, categories: []string{lineage.CategoryClaim}},
		"of one that is not deleted":      {old: object(false, lineage.ClaimFinalizer), object: object(false), categories: []string{lineage.CategoryClaim}},
		"of what is no claim":             {old: object(true, lineage.ClaimFinalizer), object: object(true)},
		"of what has no finalizer at all": {old: object(true), object: object(true), categories: []string{lineage.CategoryClaim}},
	} {
		t.Run(name, func(t *testing.T) {
			p := policyNaming(t, "metadata.annotations[jira]")
			p.Categorize(func(schema.GroupKind) []string { return tc.categories })
			in := Input{OperatorUser: operatorUser, Composers: []string{composer}, Policies: []*policy.Policy{p}, Holder: withStatus}
			attributes := request{operation: admission.Update, kind: thing, old: tc.old, object: tc.object, user: tc.user}.attributes(t, false)
			if got := called(t, verdictConditions(in), attributes); got != tc.want {
				t.Errorf("the validating hook is called: %v, want %v", got, tc.want)
			}
		})
	}
}
