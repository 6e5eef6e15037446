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

package cluster

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// What a GeneratingPolicy made names its triggers without the version of their kind.
func TestObjectOfNoVersion(t *testing.T) {
	blob := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Blob"}
	mapper := apimeta.NewDefaultRESTMapper([]schema.GroupVersion{blob.GroupVersion()})
	mapper.Add(blob, apimeta.RESTScopeNamespace)
	b1 := &unstructured.Unstructured{}
	b1.SetGroupVersionKind(blob)
	b1.SetNamespace("shop")
	b1.SetName("b1")
	c := &Cluster{Client: fake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithRESTMapper(mapper).WithObjects(b1).Build(), mapper: mapper}
	for name, tc := range map[string]struct {
		gvk  schema.GroupVersionKind
		name string
		want func(error) bool
	}{
		"with its version":    {blob, "b1", func(err error) bool { return err == nil }},
		"without":             {blob.GroupKind().WithVersion(""), "b1", func(err error) bool { return err == nil }},
		"one that is gone":    {blob.GroupKind().WithVersion(""), "b2", apierrors.IsNotFound},
		"of a kind that went": {schema.GroupVersionKind{Group: "example.org", Kind: "Gone"}, "b1", apimeta.IsNoMatchError},
	} {
		t.Run(name, func(t *testing.T) {
			obj, err := c.Object(t.Context(), tc.gvk, types.NamespacedName{Namespace: "shop", Name: tc.name})
			if !tc.want(err) {
				t.Fatalf("Object: %v", err)
			}
			if err == nil && obj.GroupVersionKind() != blob {
				t.Errorf("it is a %s, want %s", obj.GroupVersionKind(), blob)
			}
		})
	}
}
