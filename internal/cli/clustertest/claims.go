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

// Package clustertest has fake clusters for tests of commands that read them: ones that serve claims, and
// refuse some lists.
package clustertest

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/lineage"
)

// Claims is the kind of claims that WithClaims serves.
var Claims = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Claim"}

// MakeClaim returns claim c1 in namespace shop.
func MakeClaim(annotations map[string]string) *unstructured.Unstructured {
	claim := &unstructured.Unstructured{}
	claim.SetGroupVersionKind(Claims)
	claim.SetNamespace("shop")
	claim.SetName("c1")
	claim.SetUID("c1")
	claim.SetAnnotations(annotations)
	return claim
}

// Scheme returns the kinds of Kausality and those that add adds.
func Scheme(tb testing.TB, add ...func(*runtime.Scheme) error) *runtime.Scheme {
	tb.Helper()
	scheme := runtime.NewScheme()
	for _, each := range append(add, v1alpha1.AddToScheme) {
		if err := each(scheme); err != nil {
			tb.Fatal(err)
		}
	}
	return scheme
}

// Serving says that a cluster serves resources of a version.
func Serving(version schema.GroupVersion, resources ...metav1.APIResource) *fakediscovery.FakeDiscovery {
	return &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{Resources: []*metav1.APIResourceList{{
		GroupVersion: version.String(), APIResources: resources,
	}}}}
}

// Listing refuses the lists that may does not allow. A namespace is empty for all.
func Listing(may func(list client.ObjectList, namespace string) bool) interceptor.Funcs {
	return interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if !may(list, (&client.ListOptions{}).ApplyOptions(opts).Namespace) {
				return apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("allowancerecords").GroupResource(), "", errors.New("no"))
			}
			return c.List(ctx, list, opts...)
		},
	}
}

// IsRecords reports whether a list is one of AllowanceRecords, and IsPolicies whether it is one of
// AllowancePolicies.
func IsRecords(list client.ObjectList) bool {
	_, is := list.(*v1alpha1.AllowanceRecordList)
	return is
}

// IsPolicies is like IsRecords.
func IsPolicies(list client.ObjectList) bool {
	_, is := list.(*v1alpha1.AllowancePolicyList)
	return is
}

// WithClaims returns a cluster that serves claims, which has the objects, and refuses the lists that may does
// not allow.
func WithClaims(tb testing.TB, may func(list client.ObjectList, namespace string) bool, objects ...client.Object) *cluster.Cluster {
	tb.Helper()
	mapper := apimeta.NewDefaultRESTMapper([]schema.GroupVersion{Claims.GroupVersion(), corev1.SchemeGroupVersion})
	mapper.Add(Claims, apimeta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), apimeta.RESTScopeRoot)
	c := fake.NewClientBuilder().WithScheme(Scheme(tb, corev1.AddToScheme)).WithRESTMapper(mapper).WithObjects(objects...).
		WithInterceptorFuncs(Listing(may)).
		WithIndex(&v1alpha1.AllowanceRecord{}, "spec.targetRef.kind", func(o client.Object) []string { return []string{targetRef(o).Kind} }).
		WithIndex(&v1alpha1.AllowanceRecord{}, "spec.targetRef.name", func(o client.Object) []string { return []string{targetRef(o).Name} }).
		Build()
	return cluster.New(c, "shop", Serving(Claims.GroupVersion(),
		metav1.APIResource{Name: "claims", Kind: Claims.Kind, Namespaced: true, Categories: []string{lineage.CategoryClaim}}))
}

// targetRef returns what a record is about, and nothing of what is none.
func targetRef(o client.Object) v1alpha1.TargetReference {
	if rec, ok := o.(*v1alpha1.AllowanceRecord); ok {
		return rec.Spec.TargetRef
	}
	return v1alpha1.TargetReference{}
}
