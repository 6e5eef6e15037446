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
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate"
)

// continuingPolicy gates what a composite resource is composed of, and is in effect only as long as its claim is there.
var continuingPolicy = strings.NewReplacer("name: shop", "name: composite", "kind: Shop", "kind: XDatabase",
	"  - {kind: Group, name: platform-team, mayInitiate: true}\n", "").Replace(shopPolicy)

// TestGateOfWhatHasNoClaim checks that a denial names the policy by which a gate stays whose policies are not in effect
// any more, and says why they are not, and what to do.
func TestGateOfWhatHasNoClaim(t *testing.T) {
	kept := with(v1alpha1.AnnotationGateParent, gate.State{Parent: &gate.Parent{UID: "uid-of-db-x7", Kinds: []string{"XDatabase.example.com"}}}.Annotations()[v1alpha1.AnnotationGateParent])
	composed := func(obj *unstructured.Unstructured) {
		owner := obj.GetOwnerReferences()[0]
		owner.Kind, owner.Name, owner.UID = "XDatabase", "db-x7", "uid-of-db-x7"
		obj.SetOwnerReferences(append(obj.GetOwnerReferences()[:0], owner))
	}
	evil := func(obj *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(obj.Object, "evil", "spec", "providerConfigRef", "name"); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		claim *unstructured.Unstructured
		says  []string
	}{
		"it is there": {
			claim: database(t, pointsAtXR), says: []string{"is not allowed by its parent XDatabase db-x7 (Steady, AllowancePolicy composite), "},
		},
		"it is gone": {says: []string{
			"is not allowed by its parent XDatabase db-x7 (Steady, AllowancePolicy composite), for which no policy is in effect, as its own parent Database db does not exist. ",
			"Group platform-team may create Database db again in namespace default, with spec.resourceRef naming XDatabase db-x7; or delete what is not needed any more: " +
				"kubectl delete xdatabase.example.com db-x7.",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			cached := map[string]*unstructured.Unstructured{"XDatabase/db-x7": xdatabase(t, pointsAtClaim)}
			if tt.claim != nil {
				cached["Database/db"] = tt.claim
			}
			_, validator := (&world{cached: cached, live: cached}).hooks(t, claimPolicy, continuingPolicy)
			before := bucket(t, "size: 1", gateClosed, composed, kept, under(t, "size: 1"))
			resp := validator.Handle(t.Context(), asking(t, "mallory", nil, before, bucket(t, "size: 1", gateClosed, composed, kept, under(t, "size: 1"), evil)))
			if resp.Allowed || resp.AuditAnnotations[auditPolicies] != "composite" {
				t.Errorf("allowed = %t, by policies %q", resp.Allowed, resp.AuditAnnotations[auditPolicies])
			}
			for _, text := range tt.says {
				if !strings.Contains(resp.Result.Message, text) {
					t.Errorf("%q does not say %q", resp.Result.Message, text)
				}
			}
		})
	}
}
