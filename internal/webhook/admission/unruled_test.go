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

// TestApprovalThatDoesNothing says why: no rule is about the field any more, or there is no such field.
func TestApprovalThatDoesNothing(t *testing.T) {
	const unruled = "kausality: the change of spec.template of Deployment web is not approved: no rule of a policy in effect that denies is about it, so that nothing " +
		"holds back what follows from it; put back what was there, change it, or approve it once such a rule is back"
	waiting := func() *unstructured.Unstructured {
		obj := unsettled(deployment(3, held("spec.template", "")))
		_ = unstructured.SetNestedField(obj.Object, "evil", "spec", "template", "image")
		return obj
	}
	steady := func() *unstructured.Unstructured { return deployment(3) }
	for name, tc := range map[string]struct {
		before func() *unstructured.Unstructured
		text   string
		want   []string
	}{
		"everything, while a change waits for a rule":    {before: waiting, text: "*", want: []string{unruled}},
		"what waits for a rule":                          {before: waiting, text: "spec.template", want: []string{unruled}},
		"the same, as it was looked at":                  {before: waiting, text: "spec.template@0123456789ab", want: []string{unruled}},
		"something else, as it was before":               {before: waiting, text: "spec.replicas"},
		"a field by patterns that is not there":          {before: steady, text: "spec.template.spec.containers[*].image", want: []string{"kausality: Deployment web has no field spec.template.spec.containers[*].image, and nothing is withheld there: there is nothing to approve"}},
		"a field that is not there, below a rule":        {before: steady, text: "spec.replicas.none", want: []string{"kausality: Deployment web has no field spec.replicas.none, and nothing is withheld there: there is nothing to approve"}},
		"a field that no rule is about":                  {before: steady, text: "spec.replica", want: []string{"kausality: nothing of Deployment web was approved: no rule that alice may initiate is about it"}},
		"a field that is there and that a rule is about": {before: steady, text: "spec.replicas"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{
				cached: map[string]*unstructured.Unstructured{key("Deployment", "web"): tc.before()}, live: map[string]*unstructured.Unstructured{key("Deployment", "web"): tc.before()},
				records: map[types.UID]*v1alpha1.AllowanceRecord{},
			}
			mutator, _ := w.hooks(t, deploymentPolicy)
			resp := mutator.Handle(t.Context(), asking(t, "alice", platformTeam, tc.before(), annotate(tc.before(), v1alpha1.AnnotationApprove, tc.text)))
			if diff := cmp.Diff(tc.want, resp.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
