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

package trace

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/policy"
)

// TestOneKindOfTwoGroups has a Tree of one group with a Leaf of each of two groups below it.
func TestOneKindOfTwoGroups(t *testing.T) {
	source := &v1alpha1.AllowancePolicy{}
	if err := yaml.UnmarshalStrict([]byte(`
metadata: {name: trees}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Tree}
  rules:
  - trigger: spec.size
    policies:
    - {target: {apiGroup: one, apiVersion: v1, resource: leaves}, relation: ControllerChild, mutations: [{jsonPath: spec.size}]}
    - {target: {apiGroup: two, apiVersion: v1, resource: leaves}, relation: ControllerChild, mutations: [{jsonPath: spec.size}]}
`), source); err != nil {
		t.Fatal(err)
	}
	p, errs := policy.Compile(source, func(gvr schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		return gvr.GroupVersion().WithKind("Leaf"), true
	})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	leaf := func(group string) *unstructured.Unstructured {
		obj := tree("of-"+group, "parent")
		obj.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Leaf"})
		obj.SetUID(types.UID(group))
		return obj
	}
	parent, missing := tree("parent", ""), &Node{Kind: "Leaf", Name: "of-nothing"}
	for name, tc := range map[string]struct {
		unreadable string
		below      []string
		// missing says whether a Leaf that is not there is known to be gone.
		missing bool
	}{
		"both are read":    {below: []string{"of-one", "of-two"}, missing: true},
		"one can't be":     {unreadable: "one", below: []string{"of-two"}},
		"another can't be": {unreadable: "two", below: []string{"of-one"}},
	} {
		t.Run(name, func(t *testing.T) {
			objects := fake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithObjects(parent, leaf("one"), leaf("two")).
				WithInterceptorFuncs(interceptor.Funcs{
					List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
						if list.GetObjectKind().GroupVersionKind().Group == tc.unreadable {
							return errors.New("not now")
						}
						return c.List(ctx, list, opts...)
					},
				}).Build()
			s := &sight{target: target("apps", "Tree", "parent"), object: parent, uid: parent.GetUID()}
			s.listBelow(t.Context(), &cluster.Cluster{Client: objects}, cluster.Policies{Index: policy.NewIndex([]*policy.Policy{p})}, parent)
			var below []string
			for _, child := range s.below {
				below = append(below, child.Name)
			}
			slices.Sort(below)
			if diff := cmp.Diff(tc.below, below, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("below: -want, +got:\n%s", diff)
			}
			if got := s.isMissing(missing); got != tc.missing {
				t.Errorf("what is not there is gone: %t, want %t", got, tc.missing)
			}
		})
	}
}
