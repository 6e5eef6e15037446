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
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
)

// TestMistyped shows that a key that means nothing is named, and the one that is meant.
func TestMistyped(t *testing.T) {
	const (
		dropped = "kausality.io/dropped"
		keys    = "; to approve, or to break the glass, the keys are kausality.io/approve and kausality.io/break-glass"
		taken   = " means nothing to Kausality, and is taken off Deployment web"
	)
	labeled := func(key string) *unstructured.Unstructured {
		obj := deployment(3)
		obj.SetLabels(map[string]string{key: "fire"})
		return obj
	}
	templated := func(key string) *unstructured.Unstructured {
		obj := deployment(3)
		_ = unstructured.SetNestedStringMap(obj.Object, map[string]string{key: "fire"}, "spec", "template", "metadata", "annotations")
		return obj
	}
	tests := map[string]struct {
		user          string
		before, after *unstructured.Unstructured
		want          []string
	}{
		"approve": {
			after: annotate(deployment(3), dropped, "kausality.io/aprove"),
			want:  []string{"kausality: the annotation kausality.io/aprove" + taken + "; did you mean kausality.io/approve?"},
		},
		"break-glass, where nothing has taken it away yet": {
			after: annotate(deployment(3), "kausality.io/break_glass", "fire"),
			want:  []string{"kausality: the annotation kausality.io/break_glass" + taken + "; did you mean kausality.io/break-glass?"},
		},
		"orphan, on what has an owner": {
			before: replicaSet(3), after: annotate(replicaSet(3), "replicaset."+dropped, "kausality.io/orphaned"),
			want: []string{"kausality: the annotation kausality.io/orphaned means nothing to Kausality, and is taken off ReplicaSet web-1; did you mean kausality.io/orphan?"},
		},
		"approve, on what has an owner": {
			before: replicaSet(3), after: annotate(replicaSet(3), "replicaset."+dropped, "kausality.io/Approve"),
			want: []string{"kausality: the annotation kausality.io/Approve means nothing to Kausality, and is taken off ReplicaSet web-1; " +
				"did you mean replicaset.kausality.io/approve?"},
		},
		"what is Kausality's own": {
			after: annotate(deployment(3), dropped, "kausality.io/approved"),
			want: []string{"kausality: the annotation kausality.io/approved is Kausality's own to write, and stays as it was on Deployment web; " +
				"did you mean kausality.io/approve?"},
		},
		"nothing that is near": {
			after: annotate(deployment(3), dropped, "kausality.io/foo"),
			want:  []string{"kausality: the annotation kausality.io/foo" + taken + keys},
		},
		"many": {
			after: annotate(deployment(3), dropped, "kausality.io/a,kausality.io/b,kausality.io/c,kausality.io/d,kausality.io/e,kausality.io/f,kausality.io/g"),
			want: []string{
				"kausality: the annotation kausality.io/a" + taken + keys, "kausality: the annotation kausality.io/b" + taken + keys,
				"kausality: the annotation kausality.io/c" + taken + keys, "kausality: the annotation kausality.io/d" + taken + keys,
				"kausality: the annotation kausality.io/e" + taken + keys, "kausality: 2 more annotations of Deployment web below kausality.io/ mean nothing, and are taken off it",
			},
		},
		"what was there before": {
			before: annotate(deployment(3), dropped, "kausality.io/foo"), after: annotate(annotate(deployment(3), dropped, "kausality.io/foo"), "jira", "1"),
		},
		"what Kausality writes, in an old manifest": {after: annotate(deployment(3), "kausality.io/AllowancePolicyAffected", "deployment")},
		"the copy that a controller makes":          {user: deployer, after: annotate(deployment(3), "kausality.io/foo", "1")},
		"a label": {
			after: labeled("kausality.io/break-glass"),
			want:  []string{"kausality: the label kausality.io/break-glass of Deployment web asks for nothing; the annotation kausality.io/break-glass does"},
		},
		"a label that Kausality sets": {after: labeled(v1alpha1.LabelGeneratedBy)},
		"the template": {
			after: templated("kausality.io/break-glass"),
			want: []string{"kausality: kausality.io/break-glass in spec.template.metadata.annotations of Deployment web asks for nothing; " +
				"the annotation kausality.io/break-glass of Deployment web itself does"},
		},
		"the template, as it was": {before: templated("kausality.io/break-glass"), after: annotate(templated("kausality.io/break-glass"), "jira", "1")},
		"a reason that says nothing": {
			after: annotate(deployment(3), "kausality.io/break-glass", ""),
			want:  []string{"kausality: no glass of Deployment web is broken without a reason: say in the annotation why"},
		},
		"an approval that names nothing": {
			after: annotate(deployment(3), "kausality.io/approve", ""),
			want:  []string{"kausality: nothing of Deployment web is approved: kausality.io/approve names no fields, and not '*' either"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{
				cached: map[string]*unstructured.Unstructured{key("Deployment", "web"): deployment(3)}, live: map[string]*unstructured.Unstructured{key("Deployment", "web"): deployment(3)},
				records: map[types.UID]*v1alpha1.AllowanceRecord{},
			}
			mutator, _ := w.hooks(t, deploymentPolicy, replicaSetPolicy)
			before, user := tc.before, tc.user
			if before == nil {
				before = deployment(3)
			}
			if user == "" {
				user = "alice"
			}
			req := asking(t, user, platformTeam, before, tc.after)
			resp := mutator.Handle(t.Context(), req)
			if diff := cmp.Diff(tc.want, resp.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			left := applied(t, req, resp).GetAnnotations()
			for _, key := range []string{dropped, "kausality.io/break_glass"} {
				if _, there := left[key]; there && tc.before == nil {
					t.Errorf("%s stays", key)
				}
			}
		})
	}
}
