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

package decision

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/policy"
)

const chosenSpec = `
for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
validationActions: [Deny]
subjects:
- {kind: Group, name: platform-team, mayInitiate: true}
- {kind: ServiceAccount, name: crossplane, namespace: crossplane-system}
rules:
- trigger: spec
  policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: ["*"]}]
`

// TestFollowing shows that what a system fills in is withheld where it comes of something withheld, and
// is approved where it does not.
func TestFollowing(t *testing.T) {
	const ours = "crossplane: {compositionRef: {name: a}, compositionRevisionRef: {name: a-1}"
	const ref, revision = "spec.crossplane.compositionRef", "spec.crossplane.compositionRevisionRef"
	tests := map[string]struct {
		approved, before, after string
		late                    bool
		left                    []string
	}{
		"a composition, where somebody took one away": {
			approved: ours + "}", before: "crossplane: {compositionSelector: {x: y}, compositionRevisionRef: {name: a-1}}",
			after: "crossplane: {compositionSelector: {x: y}, compositionRef: {name: evil}, compositionRevisionRef: {name: a-1}}",
			left:  []string{ref + ".name was a", "spec.crossplane.compositionSelector was <nil>"},
		},
		"and its revision": {
			approved: ours + "}", before: "crossplane: {compositionRevisionRef: {name: a-1}}",
			after: "crossplane: {compositionRef: {name: evil}, compositionRevisionRef: {name: evil-1}}",
			left:  []string{ref + ".name was a", revision + ".name was a-1"},
		},
		"the composition that was approved": {
			approved: ours + "}", before: "crossplane: {compositionRevisionRef: {name: a-1}}", after: ours + "}",
		},
		"a revision of what was approved, after another one": {
			approved: ours + "}", before: "crossplane: {compositionRef: {name: a}, compositionRevisionRef: {name: evil-1}}",
			after: "crossplane: {compositionRef: {name: a}, compositionRevisionRef: {name: a-2}}",
		},
		"a revision, where somebody took away that at which it stays": {
			approved: ours + ", compositionUpdatePolicy: Manual}", before: "crossplane: {compositionRef: {name: a}, compositionUpdatePolicy: Manual}",
			after: "crossplane: {compositionRef: {name: a}, compositionUpdatePolicy: Manual, compositionRevisionRef: {name: a-2}}",
			left:  []string{revision + ".name was a-1"},
		},
		"what it composes, while another field is withheld": {
			approved: "size: 1, " + ours + "}", before: "size: 2, " + ours + "}", after: "size: 2, " + ours + ", resourceRefs: [{name: x}]}",
			left: []string{"spec.size was 1"},
		},
		"a revision, while another field is withheld": {
			approved: "size: 1, " + ours + "}", before: "size: 2, " + ours + "}", after: "size: 2, crossplane: {compositionRef: {name: a}, compositionRevisionRef: {name: a-2}}",
			left: []string{"spec.size was 1"},
		},
		"what is outside, where somebody took it away": {
			late: true, approved: "zone: a, size: 1", before: "size: 1", after: "zone: b, size: 1",
			left: []string{"spec.zone was a"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			chosen := compile(t, "chosen", chosenSpec)
			in := &aRequest(policy.Requester{Username: "system:serviceaccount:crossplane-system:crossplane"}, Update, deploymentGVK, "db").
				governed(chosen).replacing(withSpec(t, tc.before), withSpec(t, tc.after)).Input
			in.Child.Standing = standing(in.Child.UID, in.OwnPolicies, withSpec(t, tc.approved), in.Child.Old)
			if in.LateInitialization, in.Bookkeeping = tc.late, !tc.late; !tc.late {
				in.Books, in.OwnChanges = in.OwnChanges, nil
			}
			got := Grants(t.Context(), in, Decide(t.Context(), in))
			if diff := cmp.Diff(tc.left, left(got)); diff != "" {
				t.Errorf("withheld after the request (-want +got):\n%s", diff)
			}
			for _, d := range got.Standing.Differences {
				if was := in.Child.Standing; !slices.ContainsFunc(was.Differences, func(b approved.Difference) bool { return b.Path.Overlaps(d.Path) }) && d.Author.User != in.Requester.Username {
					t.Errorf("%s is said to be by %q", d.Path, d.Author.User)
				}
			}
		})
	}
}

func withSpec(t *testing.T, fields string) map[string]any {
	t.Helper()
	obj := map[string]any{}
	if err := yaml.Unmarshal([]byte("{spec: {"+fields+"}}"), &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}
