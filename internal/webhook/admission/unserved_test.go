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
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
)

// noSuchGroup serves everything but one group.
type noSuchGroup string

func (g noSuchGroup) Lacks(_ context.Context, gvk schema.GroupVersionKind) bool {
	return gvk.Group == string(g)
}

func TestUnservedOwners(t *testing.T) {
	const warning = "kausality: ReplicaSet free names the owner Nope x, which does not exist, as Nope in nogroup.x/v1 is not served; it bounds nothing"
	owned := func(apiVersion, kind string, uid types.UID) *unstructured.Unstructured {
		obj := replicaSet(1)
		obj.SetName("free")
		obj.SetUID("uid-free")
		obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "x", UID: uid, Controller: new(true)}})
		return obj
	}
	free := replicaSet(1)
	free.SetName("free")
	free.SetUID("uid-free")
	free.SetOwnerReferences(nil)
	unserved := owned("nogroup.x/v1", "Nope", "uid-nope")
	for name, tc := range map[string]struct {
		before, after *unstructured.Unstructured
		want          []string
	}{
		"made for one":                      {after: unserved, want: []string{warning}},
		"given to one":                      {before: free, after: unserved, want: []string{warning}},
		"as it was":                         {before: unserved, after: annotate(unserved.DeepCopy(), "tool", "again")},
		"of a kind that is served":          {after: owned("example.org/v1", "Other", "uid-other")},
		"a parent that is called otherwise": {after: owned("nogroup.x/v1", "Nope", deployment(3).GetUID())},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{
				cached: map[string]*unstructured.Unstructured{key("Deployment", "web"): deployment(3)}, live: map[string]*unstructured.Unstructured{key("Deployment", "web"): deployment(3)},
				records: map[types.UID]*v1alpha1.AllowanceRecord{},
			}
			_, validator := w.hooks(t, deploymentPolicy, replicaSetPolicy)
			validator.Unserved = noSuchGroup("nogroup.x")
			resp := validator.Handle(t.Context(), asking(t, deployer, nil, tc.before, tc.after))
			if diff := cmp.Diff(tc.want, resp.Warnings); diff != "" {
				t.Errorf("warnings (-want +got), allowed %t, %v:\n%s", resp.Allowed, resp.Result, diff)
			}
		})
	}
}
