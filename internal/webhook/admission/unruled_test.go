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
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
)

// allOfPlatform is allRules for the initiators of deploymentPolicy.
var allOfPlatform = strings.Replace(allRules, "name: ops", "name: platform-team", 1)

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
	const noTypo = "kausality: Deployment web has no field spec.typo, and nothing is withheld there: there is nothing to approve"
	scaled := func() *unstructured.Unstructured { return unsettled(deployment(3, held("spec.replicas", "2"))) }
	for name, tc := range map[string]struct {
		before func() *unstructured.Unstructured
		text   string
		want   []string
		// grants is true where the ledger gets an allowance.
		grants bool
		// policies are there besides.
		policies []string
	}{
		"everything, while a change waits for a rule":    {before: waiting, text: "*", want: []string{unruled}, grants: true},
		"what waits for a rule":                          {before: waiting, text: "spec.template", want: []string{unruled}},
		"the same, as it was looked at":                  {before: waiting, text: "spec.template@0123456789ab", want: []string{unruled}},
		"something else, as it was before":               {before: waiting, text: "spec.replicas", grants: true},
		"a field by patterns that is not there":          {before: steady, text: "spec.template.spec.containers[*].image", want: []string{"kausality: Deployment web has no field spec.template.spec.containers[*].image, and nothing is withheld there: there is nothing to approve"}},
		"a field that is not there, below a rule":        {before: steady, text: "spec.replicas.none", want: []string{"kausality: Deployment web has no field spec.replicas.none, and nothing is withheld there: there is nothing to approve"}},
		"a field that no rule is about":                  {before: steady, text: "metadata.name", want: []string{"kausality: nothing of Deployment web was approved: no rule that alice may initiate is about it"}},
		"a field that is there and that a rule is about": {before: steady, text: "spec.replicas", grants: true},
		"a field that is not there, of a rule about all": {before: steady, policies: []string{allOfPlatform}, text: "spec.typo", want: []string{noTypo}},
		"with a digest of nothing that was looked at": {before: steady, policies: []string{allOfPlatform}, text: "spec.typo@0123456789ab", want: []string{
			"kausality: nothing is withheld of Deployment web any more at spec.typo, and there is nothing to approve: it is approved already, or what was there before is back"}},
		"an item whose key is not there":             {before: steady, policies: []string{allOfPlatform}, text: "spec.template.spec.containers[zz].image", want: []string{"kausality: Deployment web has no field spec.template.spec.containers[zz].image, and nothing is withheld there: there is nothing to approve"}},
		"an item beyond the end":                     {before: steady, policies: []string{allOfPlatform}, text: "spec.template.spec.containers[7]", want: []string{"kausality: Deployment web has no field spec.template.spec.containers[7], and nothing is withheld there: there is nothing to approve"}},
		"a label that is not there":                  {before: steady, text: "metadata.labels[none]", want: []string{"kausality: Deployment web has no field metadata.labels[none], and nothing is withheld there: there is nothing to approve"}},
		"one of two":                                 {before: steady, policies: []string{allOfPlatform}, text: "spec.replicas,spec.typo", want: []string{noTypo}, grants: true},
		"one of two, the other of which is withheld": {before: scaled, policies: []string{allOfPlatform}, text: "spec.typo,spec.replicas", want: []string{noTypo}, grants: true},
		"everything":                                 {before: steady, text: "*", grants: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{
				cached: map[string]*unstructured.Unstructured{key("Deployment", "web"): tc.before()}, live: map[string]*unstructured.Unstructured{key("Deployment", "web"): tc.before()},
				records: map[types.UID]*v1alpha1.AllowanceRecord{},
			}
			// By what is about all of the spec anything there would be a cause.
			mutator, _ := w.hooks(t, append([]string{deploymentPolicy}, tc.policies...)...)
			after := annotate(tc.before(), v1alpha1.AnnotationApprove, tc.text)
			resp := mutator.Handle(t.Context(), asking(t, "alice", platformTeam, tc.before(), after))
			if diff := cmp.Diff(tc.want, resp.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			entries, err := ledger.Decode(patched(t, after, resp)[ledgerKey])
			if err != nil {
				t.Fatal(err)
			}
			granted := slices.ContainsFunc(entries, func(e ledger.Entry) bool { return !e.IsWithheld() })
			if granted != tc.grants {
				t.Errorf("the ledger is %v, want an allowance in it: %t", entries, tc.grants)
			}
		})
	}
}
