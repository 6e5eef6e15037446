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
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	endpoints "k8s.io/apiserver/pkg/endpoints/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/clustertest"
	"kausality.io/operator/internal/kubectl"
)

// Commands go by the version in which objects are stored, which kubectl may not prefer.
func TestStoredVersion(t *testing.T) {
	const group, kind = "example.org", "Thing"
	type seen struct{ Target, Patched, Command string }
	for name, tc := range map[string]struct {
		stored, named string
		want          seen
	}{
		"another one is preferred":          {"v1", "thing", seen{"v1", "v1", "kubectl delete -n shop thing.v1.example.org a"}},
		"another one is named":              {"v1", "things.v2.example.org", seen{"v2", "v1", "kubectl delete -n shop thing.v1.example.org a"}},
		"the preferred one":                 {"v2", "thing", seen{"v2", "v2", "kubectl delete -n shop thing.example.org a"}},
		"the preferred one, and not named":  {"v2", "things.v1.example.org", seen{"v1", "v2", "kubectl delete -n shop thing.example.org a"}},
		"one that is not served, or hashed": {"v3", "thing", seen{"v2", "v2", "kubectl delete -n shop thing.example.org a"}},
	} {
		t.Run(name, func(t *testing.T) {
			v1, v2 := schema.GroupVersion{Group: group, Version: "v1"}, schema.GroupVersion{Group: group, Version: "v2"}
			mapper := apimeta.NewDefaultRESTMapper([]schema.GroupVersion{v2, v1})
			served := clustertest.Serving(v2)
			served.Resources = nil
			for _, gv := range []schema.GroupVersion{v2, v1} {
				mapper.Add(gv.WithKind(kind), apimeta.RESTScopeNamespace)
				served.Resources = append(served.Resources, &metav1.APIResourceList{GroupVersion: gv.String(), APIResources: []metav1.APIResource{{
					Name: "things", Kind: kind, Namespaced: true, StorageVersionHash: endpoints.StorageVersionHash(group, tc.stored, kind),
				}}})
			}
			preferring := apimeta.PriorityRESTMapper{
				Delegate:         mapper,
				ResourcePriority: []schema.GroupVersionResource{v2.WithResource(apimeta.AnyResource)},
				KindPriority:     []schema.GroupVersionKind{v2.WithKind(apimeta.AnyKind)},
			}
			var got seen
			c := cluster.New(fake.NewClientBuilder().WithScheme(clustertest.Scheme(t)).WithRESTMapper(preferring).WithInterceptorFuncs(interceptor.Funcs{
				Patch: func(_ context.Context, _ client.WithWatch, obj client.Object, _ client.Patch, _ ...client.PatchOption) error {
					got.Patched = obj.GetObjectKind().GroupVersionKind().Version
					return nil
				},
			}).Build(), "shop", served)
			target, err := c.Target([]string{tc.named, "a"})
			if err != nil {
				t.Fatal(err)
			}
			got.Target = target.GVK.Version
			obj := &unstructured.Unstructured{}
			obj.SetGroupVersionKind(target.GVK)
			if err := c.Patch(t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(`{}`))); err != nil {
				t.Fatal(err)
			}
			got.Command = kubectl.Delete(c.Objects(v1alpha1.TargetReference{Group: group, Version: target.GVK.Version, Kind: kind, Namespace: "shop", Name: "a"}))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("versions (-want +got):\n%s", diff)
			}
		})
	}
}
