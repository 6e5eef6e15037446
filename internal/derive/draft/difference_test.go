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

func TestDifferences(t *testing.T) {
	one := &v1alpha1.AllowancePolicy{}
	one.Spec.Rules = []v1alpha1.Rule{{Trigger: "spec.a", Policies: []v1alpha1.PolicyEntry{{
		Target: v1alpha1.Target{APIVersion: "v1", Resource: "pods"}, Mutations: []v1alpha1.FieldMutation{{JSONPath: "spec.x"}},
	}}}}
	other := one.DeepCopy()
	other.Spec.Rules[0].Policies[0].Mutations[0].JSONPath = "spec.y"
	other.Spec.Subjects = []v1alpha1.PolicySubject{{Subject: v1alpha1.Subject{Kind: v1alpha1.SubjectUser, Name: "alice"}}}
	if got := Differences(one, one); len(got) > 0 {
		t.Errorf("a policy differs from itself: %q", got)
	}
	want := []string{"+ spec.a: Update pods spec.x", "- spec.a: Update pods spec.y"}
	if diff := cmp.Diff(want, Differences(one, other)); diff != "" {
		t.Errorf("Differences() (-want +got):\n%s", diff)
	}
}
