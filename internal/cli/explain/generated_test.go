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

package explain

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/plan"
)

func TestGenerated(t *testing.T) {
	const kept = "GeneratingPolicy/quota made it, and puts it back where it is changed or deleted. From what: kubectl kausality trace -n shop resourcequota/team"
	const once = "GeneratingPolicy/quota made it once: it may be changed, and is not made again."
	team := generate.ID{Kind: "ResourceQuota", Namespace: "shop", Name: "team"}
	copied := team
	copied.Name = "copied"
	for name, tc := range map[string]struct {
		marks *plan.Marks
		of    generate.ID
		want  string
	}{
		"kept so":           {&plan.Marks{Policy: plan.PolicyRef{Name: "quota"}, Synchronized: true}, team, kept},
		"made once":         {&plan.Marks{Policy: plan.PolicyRef{Name: "quota"}}, team, once},
		"a copy of another": {&plan.Marks{Policy: plan.PolicyRef{Name: "quota"}}, copied, ""},
		"nobody's":          {},
	} {
		t.Run(name, func(t *testing.T) {
			content := map[string]any{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": map[string]any{"namespace": "shop", "name": "team"}}
			if tc.marks != nil {
				var err error
				if content, err = plan.Marked(plan.Step{ID: tc.of, Content: content, Marks: tc.marks}, nil, nil); err != nil {
					t.Fatal(err)
				}
			}
			got := ""
			if g := generated(&unstructured.Unstructured{Object: content}); g != nil {
				got = g.text(v1alpha1.TargetReference{Version: "v1", Kind: "ResourceQuota", Namespace: "shop", Name: "team"})
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("generated: -want, +got:\n%s", diff)
			}
		})
	}
}
