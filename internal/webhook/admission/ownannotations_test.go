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
