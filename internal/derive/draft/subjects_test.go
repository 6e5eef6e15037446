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

package draft

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/api/v1alpha1"
)

func TestParseInitiators(t *testing.T) {
	tests := map[string]struct {
		texts []string
		want  []v1alpha1.Subject
		fails bool
	}{
		"nobody": {},
		"one of each": {
			texts: []string{"user:alice", " Group:platform:eu", "serviceaccount:ci/deployer"},
			want: []v1alpha1.Subject{
				{Kind: v1alpha1.SubjectUser, Name: "alice"}, {Kind: v1alpha1.SubjectGroup, Name: "platform:eu"},
				{Kind: v1alpha1.SubjectServiceAccount, Namespace: "ci", Name: "deployer"},
			},
		},
		"no kind":                   {texts: []string{"alice"}, fails: true},
		"no name":                   {texts: []string{"user:"}, fails: true},
		"another kind":              {texts: []string{"robot:x"}, fails: true},
		"half of a service account": {texts: []string{"serviceaccount:deployer"}, fails: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseInitiators(tc.texts)
			if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.fails {
				t.Errorf("ParseInitiators() = %v (-want +got):\n%s", err, diff)
			}
		})
	}
}
