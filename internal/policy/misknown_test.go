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

package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/api/v1alpha1"
)

// TestMisknown says what a policy tells of a kind, and cannot be so.
func TestMisknown(t *testing.T) {
	spec := &v1alpha1.AllowancePolicySpec{
		For: v1alpha1.ParentKind{APIGroup: "apps", APIVersion: "v1", Kind: "Deployment"},
		Knowledge: &v1alpha1.Knowledge{
			Children: []v1alpha1.ChildKnowledge{
				{APIGroup: "apps", Kind: "ReplicaSet", Template: "spec.template"}, {APIGroup: "apps", Kind: "ReplicaSet", Template: "spec.replicas"}, {Kind: "Pod"},
			},
			OwnAnnotations: []string{"kausality.io/allowances", "replicaset.kausality.io/approve", "notkausality.io/revision", "deployment.kubernetes.io/revision"},
		},
	}
	want := []string{
		"spec.knowledge.children[1]: ReplicaSet.apps is there twice, and only one of the two counts",
		"spec.knowledge.children[1].template: in kind Deployment, spec.replicas is a number: a template has a metadata and a spec",
		"spec.knowledge.ownAnnotations[0]: kausality.io/allowances is Kausality's own, and no controller's",
		"spec.knowledge.ownAnnotations[1]: replicaset.kausality.io/approve is Kausality's own, and no controller's",
	}
	if diff := cmp.Diff(want, Misjudged(spec, typed{})); diff != "" {
		t.Errorf("Misjudged() (-want +got):\n%s", diff)
	}
}

// TestBeforeCreation says that what is created has no object before.
func TestBeforeCreation(t *testing.T) {
	entry := func(condition string, verbs ...string) v1alpha1.MaintainingEntry {
		return v1alpha1.MaintainingEntry{PolicyEntry: v1alpha1.PolicyEntry{Verbs: verbs}, Conditions: []string{condition}}
	}
	for name, tc := range map[string]struct {
		entry v1alpha1.MaintainingEntry
		want  []string
	}{
		"creations only": {entry: entry("oldObject.spec.x == 'a'", verbCreate), want: []string{
			"spec.maintaining.policies[0].conditions[0]: what is created was not there before, and has no oldObject: it is never true, and the entry lets nothing through"}},
		"where there is none":     {entry: entry("oldObject == null || oldObject.spec.x == 'a'", verbCreate)},
		"deletions as well":       {entry: entry("oldObject.spec.x == 'a'", verbCreate, "Delete")},
		"what there is afterward": {entry: entry("object.spec.x == 'a'", verbCreate)},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &v1alpha1.AllowancePolicySpec{Maintaining: &v1alpha1.MaintainingSection{Policies: []v1alpha1.MaintainingEntry{tc.entry}}}
			if diff := cmp.Diff(tc.want, Misjudged(spec, typed{})); diff != "" {
				t.Errorf("Misjudged() (-want +got):\n%s", diff)
			}
		})
	}
}
