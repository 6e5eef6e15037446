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

package cluster_test

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/clustertest"
)

// TestIdlePolicies leaves out the policies that the operator leaves out, and says why.
func TestIdlePolicies(t *testing.T) {
	group := schema.GroupVersion{Group: "example.org", Version: "v1"}
	shop := group.WithKind("Shop")
	mapper := apimeta.NewDefaultRESTMapper([]schema.GroupVersion{group})
	mapper.Add(shop, apimeta.RESTScopeNamespace)
	served := clustertest.Serving(group, metav1.APIResource{Name: "shops", Kind: "Shop", Namespaced: true})
	said := func(conditionType string, status metav1.ConditionStatus, reason, message string, generation int64) metav1.Condition {
		return metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message, ObservedGeneration: generation}
	}
	enforced := func(reason string, generation int64) metav1.Condition {
		return said(v1alpha1.ConditionEnforced, metav1.ConditionFalse, reason, "So it is.", generation)
	}
	const unserved = "the API server does not serve kind Shop in example.org/v1beta1"

	for name, tc := range map[string]struct {
		version    string
		conditions []metav1.Condition
		adopted    int64
		wantWhy    string
	}{
		"one of which nothing is said":         {version: "v1"},
		"one of a version that is not served":  {version: "v1beta1", wantWhy: unserved},
		"one that cannot work in part":         {version: "v1", conditions: []metav1.Condition{said(v1alpha1.ConditionAccepted, "False", v1alpha1.ReasonInvalid, "", 2)}},
		"one whose kind was not served before": {version: "v1", conditions: []metav1.Condition{said(v1alpha1.ConditionAccepted, "False", v1alpha1.ReasonTargetNotFound, "", 1)}},
		"one whose kind is not served": {
			version: "v1", conditions: []metav1.Condition{said(v1alpha1.ConditionAccepted, "False", v1alpha1.ReasonTargetNotFound, "", 2)},
			wantWhy: "the API server does not serve kind Shop in example.org/v1",
		},
		"one that lacks rights":                {version: "v1", conditions: []metav1.Condition{enforced(v1alpha1.ReasonForbidden, 2)}, adopted: 2, wantWhy: "So it is"},
		"one that nobody asks about":           {version: "v1", conditions: []metav1.Condition{enforced(v1alpha1.ReasonNotIntercepted, 2)}, adopted: 2, wantWhy: "So it is"},
		"one that lacked rights":               {version: "v1", conditions: []metav1.Condition{enforced(v1alpha1.ReasonForbidden, 1)}},
		"one that is about to take effect":     {version: "v1", conditions: []metav1.Condition{enforced(v1alpha1.ReasonPending, 2)}, wantWhy: "So it is"},
		"one that was changed":                 {version: "v1", conditions: []metav1.Condition{enforced(v1alpha1.ReasonPending, 2)}, adopted: 1},
		"one that an older one makes needless": {version: "v1", conditions: []metav1.Condition{enforced(v1alpha1.ReasonOverridden, 2)}, adopted: 2},
	} {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.AllowancePolicy{
				ObjectMeta: metav1.ObjectMeta{Name: "shops", Generation: 2},
				Spec:       v1alpha1.AllowancePolicySpec{For: v1alpha1.ParentKind{APIGroup: group.Group, APIVersion: tc.version, Kind: shop.Kind}},
				Status:     v1alpha1.AllowancePolicyStatus{Conditions: tc.conditions, AdoptedGeneration: tc.adopted},
			}
			c := cluster.New(fake.NewClientBuilder().WithScheme(clustertest.Scheme(t)).WithRESTMapper(mapper).WithObjects(p).Build(), "shop", served)
			policies, err := c.Policies(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			why := ""
			for _, idle := range policies.IdleFor(shop.GroupKind()) {
				why = idle.Why
			}
			if diff := gocmp.Diff(tc.wantWhy, why); diff != "" {
				t.Errorf("why it is left out (-want +got):\n%s", diff)
			}
			if inEffect := len(policies.For(shop.GroupKind())) > 0; inEffect != (tc.wantWhy == "") {
				t.Errorf("it is among those that count: %t", inEffect)
			}
		})
	}
}
