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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
)

// TestWrongWith has only what is wrong with a policy keep something from being allowed.
func TestWrongWith(t *testing.T) {
	for name, tc := range map[string]struct {
		condition string
		status    metav1.ConditionStatus
		want      []string
	}{
		"accepted":     {v1alpha1.ConditionAccepted, metav1.ConditionTrue, nil},
		"not enforced": {v1alpha1.ConditionEnforced, metav1.ConditionFalse, []string{"Not Enforced"}},
		"derived":      {v1alpha1.ConditionDerived, metav1.ConditionTrue, nil},
		"not derived":  {v1alpha1.ConditionDerived, metav1.ConditionFalse, []string{"Not Derived"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.AllowancePolicy{}
			p.Status.Conditions = []metav1.Condition{{Type: tc.condition, Status: tc.status}}
			var got []string
			for _, o := range wrongWith(p) {
				got = append(got, o.What)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("what is wrong (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTogether says of what a GeneratingPolicy made that one parent is enough.
func TestTogether(t *testing.T) {
	for name, tc := range map[string]struct {
		annotations map[string]string
		want        string
	}{
		"owned":     {nil, "what is allowed there has to cover a change, too"},
		"generated": {map[string]string{v1alpha1.AnnotationGeneratedFrom: "x"}, "a change passes where either allows it, or both together do"},
	} {
		t.Run(name, func(t *testing.T) {
			obj := &unstructured.Unstructured{Object: map[string]any{}}
			obj.SetAnnotations(tc.annotations)
			s := &sight{}
			s.obj.obj = obj
			if got := s.together(); got != tc.want {
				t.Errorf("together = %q, want %q", got, tc.want)
			}
		})
	}
}
