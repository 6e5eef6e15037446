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

package why

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

// cronJobPolicy lets the controller, and who may initiate, make Jobs at any time.
const cronJobPolicy = `
metadata: {name: cronjob}
spec:
  for: {apiGroup: batch, apiVersion: v1, kind: CronJob}
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, name: cronjob-controller, namespace: kube-system}
  maintaining:
    policies:
    - {target: {apiGroup: batch, apiVersion: v1, resource: jobs}, relation: ControllerChild, verbs: [Create]SUBJECTS}
    - target: {apiGroup: batch, apiVersion: v1, resource: jobs}
      relation: ControllerChild
      mutations: [{jsonPath: spec.suspend}]
      subjects: [{kind: Group, name: on-call}]
      conditions: [has(object.metadata.annotations.incident)]
  rules:
  - trigger: spec
    policies:
    - {target: {apiGroup: batch, apiVersion: v1, resource: jobs}, relation: ControllerChild, verbs: [Create, Delete]}
`

func TestRemedies(t *testing.T) {
	const subjects = `, subjects: [{kind: User, name: nightly}]`
	bySpec := Remedy{Policy: "cronjob", Trigger: "spec", Initiators: []string{"Group platform-team"}}
	letGo := Remedy{LetGo: true, Initiators: []string{"Group platform-team", "ServiceAccount kube-system/cronjob-controller"}}
	tests := map[string]struct {
		subjects, path, told string
		lettingGo, ofChild   []string
		want                 []Remedy
	}{
		"what goes on by itself, and what a rule allows": {path: v1alpha1.MutationCreateObject, want: []Remedy{
			bySpec, {Policy: "cronjob", Initiators: []string{"Group platform-team", "ServiceAccount kube-system/cronjob-controller"}},
		}},
		"what somebody else does": {subjects: subjects, path: v1alpha1.MutationCreateObject, want: []Remedy{
			bySpec, {Policy: "cronjob", Initiators: []string{"User nightly"}},
		}},
		"what only a rule allows": {path: v1alpha1.MutationDeleteObject, want: []Remedy{bySpec}},
		"the owner of the child, which takes no rule": {
			path: "metadata.ownerReferences[uid=1]", lettingGo: []string{"metadata.ownerReferences[uid=1]"}, want: []Remedy{letGo},
		},
		"the owner of a child that its controller takes back, or another one": {path: "metadata.ownerReferences[uid=1]", want: []Remedy{{}}},
		"a part beside letting go of it": {
			path: "spec.parallelism", lettingGo: []string{"metadata.ownerReferences[uid=1]"}, want: []Remedy{{}},
		},
		"what somebody may do under a condition": {path: "spec.suspend", want: []Remedy{
			{Policy: "cronjob", Initiators: []string{"Group on-call"}, Conditions: []string{"has(object.metadata.annotations.incident)"}},
		}},
		"what the initiators of the child may do": {path: "spec.parallelism", ofChild: []string{"Group job-team"}, want: []Remedy{
			{OfChild: true, Initiators: []string{"Group job-team"}}, {},
		}},
		"a label of it, by which it is let go of": {
			path: "metadata.labels[app]", told: "It is for these to let go of it, or to adopt it.",
			want: []Remedy{{LetGo: true, Initiators: []string{"Group platform-team"}}},
		},
		"a label of it":       {path: "metadata.labels[app]", want: []Remedy{{}}},
		"what nothing allows": {path: "spec.parallelism", want: []Remedy{{}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.AllowancePolicy{}
			if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(cronJobPolicy, "SUBJECTS", tt.subjects)), p); err != nil {
				t.Fatal(err)
			}
			compiled, errs := policy.Compile(p, func(gvr schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
				return gvr.GroupVersion().WithKind("Job"), true
			})
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			for i := range tt.want {
				tt.want[i].Paths = []string{tt.path}
			}
			got := remedies([]*policy.Policy{compiled}, beyond{}, v1alpha1.HistoryEntry{
				Operation: "Update", Kind: "Job", Paths: []string{tt.path}, Message: tt.told, LettingGo: tt.lettingGo, ChildInitiators: tt.ofChild,
			})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("remedies (-want +got):\n%s", diff)
			}
		})
	}
}
