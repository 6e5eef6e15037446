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

package kro

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	krorevisions "github.com/kubernetes-sigs/kro/api/internal.kro.run/v1alpha1"
	krov1alpha1 "github.com/kubernetes-sigs/kro/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"kausality.io/operator/api/v1alpha1"
)

// madeOf returns a graph that makes objects of core kinds.
func madeOf(kinds ...string) *krov1alpha1.ResourceGraphDefinition {
	out := &krov1alpha1.ResourceGraphDefinition{ObjectMeta: metav1.ObjectMeta{Name: "webapp"}}
	out.Spec.Schema = &krov1alpha1.Schema{Group: "example.com", APIVersion: "v1", Kind: "WebApp"}
	for _, kind := range kinds {
		out.Spec.Resources = append(out.Spec.Resources, &krov1alpha1.Resource{
			ID: "r" + kind, Template: runtime.RawExtension{Raw: fmt.Appendf(nil, `{"apiVersion":"v1","kind":%q}`, kind)},
		})
	}
	return out
}

// TestFormer has kinds stay bounded that other revisions of the graph have, or of which there are children.
func TestFormer(t *testing.T) {
	mapper := apimeta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{"ConfigMap", "Secret", "Service", "ServiceAccount"} {
		mapper.Add(corev1.SchemeGroupVersion.WithKind(kind), apimeta.RESTScopeNamespace)
	}
	revision := func(graph string, number int64, kinds ...string) krorevisions.GraphRevision {
		var out krorevisions.GraphRevision
		out.Spec.Revision, out.Spec.Snapshot.Name, out.Spec.Snapshot.Spec = number, graph, madeOf(kinds...).Spec
		return out
	}
	named := &v1alpha1.AllowancePolicy{}
	for _, resource := range []string{"configmaps", "services", "serviceaccounts", "gadgets"} {
		named.Spec.Rules = append(named.Spec.Rules, v1alpha1.Rule{Trigger: "spec", Policies: []v1alpha1.PolicyEntry{{Target: v1alpha1.Target{APIVersion: "v1", Resource: resource}}}})
	}
	child := func(group string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "web", Labels: map[string]string{labelInstanceGroup: group, labelInstanceKind: "WebApp"},
		}}
	}
	for name, tc := range map[string]struct {
		revisions []krorevisions.GraphRevision
		there     *v1alpha1.AllowancePolicy
		objects   []client.Object
		fails     error
		want      []string
		wantErr   bool
	}{
		"nothing before":             {},
		"what the graph still has":   {revisions: []krorevisions.GraphRevision{revision("webapp", 1, "ConfigMap")}},
		"of another revision":        {revisions: []krorevisions.GraphRevision{revision("webapp", 1, "Secret", "ConfigMap", "Gadget"), revision("webapp", 2, "Service")}, want: []string{"services", "secrets"}},
		"of another graph":           {revisions: []krorevisions.GraphRevision{revision("other", 1, "Secret")}},
		"of which there is a child":  {there: named, objects: []client.Object{child("example.com")}, want: []string{"services"}},
		"of which another graph has": {there: named, objects: []client.Object{child("example.org")}},
		"of which there is none":     {there: named},
		"of both":                    {there: named, objects: []client.Object{child("example.com")}, revisions: []krorevisions.GraphRevision{revision("webapp", 1, "Service")}, want: []string{"services"}},
		"which may not be read":      {there: named, fails: apierrors.NewForbidden(schema.GroupResource{}, "", nil), want: []string{"services", "serviceaccounts"}},
		"which cannot be read":       {there: named, fails: errors.New("away"), wantErr: true},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := corev1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			live := fake.NewClientBuilder().WithScheme(scheme).WithObjects(tc.objects...).WithInterceptorFuncs(interceptor.Funcs{
				List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
					if tc.fails != nil {
						return tc.fails
					}
					return c.List(ctx, list, opts...)
				},
			}).Build()
			r := &Reconciler{Live: live, Mapper: mapper}
			resources, err := r.former(t.Context(), madeOf("ConfigMap"), tc.revisions, tc.there)
			if (err != nil) != tc.wantErr {
				t.Fatalf("former() fails with %v", err)
			}
			var got []string
			for _, resource := range resources {
				got = append(got, resource.Resource)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("former() (-want +got):\n%s", diff)
			}
		})
	}
}
