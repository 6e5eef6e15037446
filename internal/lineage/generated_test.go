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

package lineage

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func generatedObject(marks string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "made", "namespace": "shop", "annotations": map[string]any{"kausality.io/generated-from": marks}},
	}}
}

// TestGeneratedParents shows which parents an object has by what it says of how it was made.
func TestGeneratedParents(t *testing.T) {
	const (
		itself = `"object": {"kind": "ConfigMap", "namespace": "shop", "name": "made"}`
		one    = `{"kind": "Namespace", "name": "shop"}`
		other  = `{"group": "apps", "kind": "Deployment", "namespace": "shop", "name": "web"}`
		policy = `"policy": {"name": "p"}`
	)
	for name, tc := range map[string]struct {
		marks string
		want  []string
	}{
		"of a trigger":                  {`{` + policy + `, ` + itself + `, "triggers": [` + one + `]}`, []string{"Namespace//shop", "GeneratingPolicy.kausality.io//p"}},
		"of two, and a source":          {`{` + policy + `, ` + itself + `, "triggers": [` + other + `, ` + one + `], "source": {"kind": "Secret", "namespace": "tools", "name": "s"}}`, []string{"Deployment.apps/shop/web", "Namespace//shop", "GeneratingPolicy.kausality.io//p", "Secret/tools/s"}},
		"of one that is the source too": {`{` + policy + `, ` + itself + `, "triggers": [` + other + `], "source": ` + other + `}`, []string{"Deployment.apps/shop/web", "GeneratingPolicy.kausality.io//p"}},
		"of another object":             {`{` + policy + `, "object": ` + one + `, "triggers": [` + one + `]}`, nil},
		"of no policy":                  {`{` + itself + `, "triggers": [` + one + `]}`, nil},
		"of nothing legible":            {`{`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, ref := range Parents(noKinds, generatedObject(tc.marks)) {
				if got = append(got, ref.ID()); ref.Generator != "p" {
					t.Errorf("%s is there because of GeneratingPolicy %q, want p", ref.ID(), ref.Generator)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("parents (-want +got):\n%s", diff)
			}
		})
	}
}
