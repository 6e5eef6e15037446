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
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/clustertest"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// TestAround reads the records of cluster-scoped objects, which are in a namespace that only the operator
// knows, where what is above or below an object may be such.
func TestAround(t *testing.T) {
	group := schema.GroupVersion{Group: "example.org", Version: "v1"}
	claim, composite, shop, tenant := group.WithKind("Claim"), group.WithKind("Composite"), group.WithKind("Shop"), group.WithKind("Tenant")
	mapper := apimeta.NewDefaultRESTMapper([]schema.GroupVersion{group})
	mapper.Add(claim, apimeta.RESTScopeNamespace)
	mapper.Add(composite, apimeta.RESTScopeRoot)
	mapper.Add(shop, apimeta.RESTScopeNamespace)
	mapper.Add(tenant, apimeta.RESTScopeRoot)
	served := clustertest.Serving(group,
		metav1.APIResource{Name: "claims", Kind: "Claim", Namespaced: true, Categories: []string{lineage.CategoryClaim}},
		metav1.APIResource{Name: "composites", Kind: "Composite"}, metav1.APIResource{Name: "shops", Kind: "Shop", Namespaced: true},
		metav1.APIResource{Name: "tenants", Kind: "Tenant"})
	recordOf := func(kind schema.GroupVersionKind, in, namespace, name string, parent types.UID) client.Object {
		return &v1alpha1.AllowanceRecord{
			ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: name},
			Spec: v1alpha1.AllowanceRecordSpec{TargetRef: v1alpha1.TargetReference{
				Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Namespace: namespace, Name: name, UID: types.UID(name),
			}},
			Status: v1alpha1.AllowanceRecordStatus{ParentUID: &parent},
		}
	}
	objectOf := func(kind schema.GroupVersionKind, name string, owner *schema.GroupVersionKind) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(kind)
		obj.SetNamespace("shop")
		obj.SetName(name)
		obj.SetUID(types.UID(name))
		if owner != nil {
			obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: owner.GroupVersion().String(), Kind: owner.Kind, Name: "o", UID: "o", Controller: new(true)}})
		}
		return obj
	}
	records := []client.Object{
		recordOf(claim, "shop", "shop", "c1", "above"), recordOf(shop, "shop", "shop", "s1", ""), recordOf(shop, "shop", "shop", "above", ""),
		recordOf(composite, "kausality-system", "", "x1", "c1"),
	}
	own, all := []string{"above", "c1", "s1"}, []string{"above", "c1", "s1", "x1"}
	ofTenants, errs := policy.Compile(&v1alpha1.AllowancePolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "tenant"},
		Spec: v1alpha1.AllowancePolicySpec{
			For: v1alpha1.ParentKind{APIGroup: tenant.Group, APIVersion: tenant.Version, Kind: tenant.Kind},
			Rules: []v1alpha1.Rule{{Trigger: "spec.size", Policies: []v1alpha1.PolicyEntry{{
				Target:   v1alpha1.Target{APIGroup: &group.Group, APIVersion: group.Version, Resource: "shops"},
				Relation: v1alpha1.RelationControllerChild, Verbs: []string{"Create"},
			}}}},
		},
	}, func(schema.GroupVersionResource) (schema.GroupVersionKind, bool) { return shop, true })
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	tenants := cluster.Policies{Index: policy.NewIndex([]*policy.Policy{ofTenants})}
	for name, tc := range map[string]struct {
		policies  cluster.Policies
		of        schema.GroupVersionKind
		name      string
		obj       *unstructured.Unstructured
		served    discovery.DiscoveryInterface
		forbidden bool
		want      []string
	}{
		"a claim":                                              {of: claim, name: "c1", obj: objectOf(claim, "c1", nil), served: served, want: all},
		"a claim that cannot be read":                          {of: claim, name: "c1", served: served, want: all},
		"what a claim is below of":                             {of: shop, name: "above", obj: objectOf(shop, "above", nil), served: served, want: all},
		"the same, and it cannot be read":                      {of: shop, name: "above", served: served, want: all},
		"what has nothing elsewhere":                           {of: shop, name: "s1", obj: objectOf(shop, "s1", nil), served: served, want: own},
		"what a cluster-scoped object owns":                    {of: shop, name: "s1", obj: objectOf(shop, "s1", &tenant), served: served, want: all},
		"what an object of its namespace owns":                 {of: shop, name: "s1", obj: objectOf(shop, "s1", &shop), served: served, want: own},
		"those elsewhere may not be read":                      {of: claim, name: "c1", obj: objectOf(claim, "c1", nil), served: served, forbidden: true, want: own},
		"nobody says which kinds there are":                    {of: claim, name: "c1", obj: objectOf(claim, "c1", nil), want: own},
		"an object that is in no namespace":                    {of: composite, obj: objectOf(composite, "x1", nil), served: served, want: all},
		"one whose record nobody has made yet":                 {of: claim, name: "c2", obj: objectOf(claim, "c2", nil), served: served, want: all},
		"one of which there is nothing at all":                 {of: shop, name: "s2", served: served, want: own},
		"one that is gone, whose parent may be cluster-scoped": {policies: tenants, of: shop, name: "s2", served: served, want: all},
		"those elsewhere do not matter":                        {of: shop, name: "s1", obj: objectOf(shop, "s1", nil), served: served, forbidden: true, want: own},
	} {
		t.Run(name, func(t *testing.T) {
			target := cluster.Target{GVK: tc.of, Namespace: "shop", Name: tc.name}
			if tc.of == composite {
				target.Namespace = ""
			}
			may := func(_ client.ObjectList, namespace string) bool { return !tc.forbidden || namespace != "" }
			c := cluster.New(fake.NewClientBuilder().WithScheme(clustertest.Scheme(t)).WithRESTMapper(mapper).WithObjects(records...).
				WithInterceptorFuncs(clustertest.Listing(may)).Build(), "shop", tc.served)
			around, err := c.Around(t.Context(), tc.policies, target, tc.obj)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, rec := range around.Records {
				got = append(got, rec.Name)
			}
			slices.Sort(got)
			if diff := gocmp.Diff(tc.want, got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			if told, want := around.Elsewhere != nil, tc.forbidden && tc.of == claim; told != want {
				t.Errorf("that some could not be read: %v, want it told: %v", around.Elsewhere, want)
			}
		})
	}
}
