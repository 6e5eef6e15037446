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
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/policy"
)

// TestOwnAnnotations has the revision that a controller counts be no change of a Deployment, and
// a stranger's write of it be one.
func TestOwnAnnotations(t *testing.T) {
	const revision = "deployment.kubernetes.io/revision"
	pattern, err := change.ParsePattern("metadata.annotations")
	if err != nil {
		t.Fatal(err)
	}
	with := func(annotations map[string]string) *unstructured.Unstructured {
		d := deployment(3)
		d.SetAnnotations(annotations)
		return d
	}
	kind := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	tests := map[string]struct {
		user     string
		kind     schema.GroupVersionKind
		old, new map[string]string
		want     []string
	}{
		"the first one":                 {user: deployer, new: map[string]string{revision: "1"}},
		"the next one":                  {user: deployer, old: map[string]string{revision: "1"}, new: map[string]string{revision: "2"}},
		"one along with others":         {user: deployer, old: map[string]string{"a": "b"}, new: map[string]string{"a": "b", revision: "1"}},
		"one along with another change": {user: deployer, new: map[string]string{"a": "b", revision: "1"}, want: []string{"metadata.annotations[a]"}},
		"all controllers as one":        {user: "system:kube-controller-manager", new: map[string]string{revision: "1"}},
		"a stranger's":                  {user: "mallory", new: map[string]string{revision: "1"}, want: []string{"metadata.annotations[" + revision + "]"}},
		"of a kind that has none": {
			user: deployer, kind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"},
			new: map[string]string{revision: "1"}, want: []string{"metadata.annotations[" + revision + "]"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.kind.Empty() {
				tt.kind = kind
			}
			f := &facts{Input: decision.Input{Requester: policy.Requester{Username: tt.user}}}
			f.OwnChanges = change.Find(with(tt.old).Object, with(tt.new).Object, change.Options{Metadata: []change.Pattern{pattern}})
			f.Changes = slices.Clone(f.OwnChanges)
			f.setOwnAnnotationsAside(&request{gvk: tt.kind})
			for what, changes := range map[string][]change.Change{"own": f.OwnChanges, "as a child": f.Changes} {
				var got []string
				for _, c := range changes {
					got = append(got, c.Path.String())
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("changes, %s (-want +got):\n%s", what, diff)
				}
			}
		})
	}
}

// TestMarksOfAParent has the controller of a Deployment keep its books in the annotations of its
// ReplicaSets, along with what it scales and alone, without a read of anything, and nobody else.
func TestMarksOfAParent(t *testing.T) {
	const desired, highest, revision = "deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas", "deployment.kubernetes.io/revision"
	with := func(n int64, annotations map[string]string) *unstructured.Unstructured {
		rs := replicaSet(n)
		rs.SetAnnotations(annotations)
		return rs
	}
	books := map[string]string{desired: "5", highest: "7", revision: "2"}
	tests := map[string]struct {
		user   string
		groups []string
		new    *unstructured.Unstructured
		// withoutOwn leaves the policy for ReplicaSets away.
		withoutOwn bool
		want       string
	}{
		"its controller, alone":                            {user: deployer, new: with(3, books)},
		"its controller, where ReplicaSets have no policy": {user: deployer, new: with(3, books), withoutOwn: true},
		"its controller, along with a scale":               {user: deployer, new: with(5, books)},
		"its controller takes one away":                    {user: deployer, new: with(3, map[string]string{highest: "4"})},
		"all controllers as one":                           {user: "system:kube-controller-manager", new: with(3, books)},
		"another controller":                               {user: "system:serviceaccount:shop:other", new: with(3, books), want: desired},
		"another controller, where ReplicaSets have no policy": {
			user: "system:serviceaccount:shop:other", new: with(3, books), withoutOwn: true, want: desired,
		},
		"a stranger":             {user: "mallory", new: with(3, books), want: desired},
		"a stranger takes it":    {user: "mallory", new: with(3, map[string]string{highest: "4"}), want: desired},
		"a stranger's own notes": {user: "mallory", new: with(3, map[string]string{desired: "3", highest: "4", "example.org/note": "mine"})},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			parent := unsettled(deployment(5, mayScale("alice", 4)))
			w := &world{
				cached: map[string]*unstructured.Unstructured{key("Deployment", "web"): parent},
				live:   map[string]*unstructured.Unstructured{key("Deployment", "web"): parent},
			}
			policies := []string{deploymentPolicy, replicaSetPolicy}
			if tt.withoutOwn {
				policies = policies[:1]
			}
			_, validator := w.hooks(t, policies...)
			old := with(3, map[string]string{desired: "3", highest: "4"})
			resp := validator.Handle(t.Context(), asking(t, tt.user, tt.groups, old, counted(tt.new)))
			if resp.Allowed != (tt.want == "") || tt.want != "" && !strings.Contains(resp.Result.Message, tt.want) {
				t.Errorf("allowed %t: %s", resp.Allowed, resp.Result.Message)
			}
			if reads := w.liveReads.Load(); resp.Allowed && reads != 0 {
				t.Errorf("%d reads from the API server", reads)
			}
		})
	}
}
