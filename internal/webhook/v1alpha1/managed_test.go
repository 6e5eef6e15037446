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

package v1alpha1

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
)

// TestManagedSaysOneOfTwo warns of an annotation about whose a policy is that says nothing, once.
func TestManagedSaysOneOfTwo(t *testing.T) {
	with := func(value string) *v1alpha1.AllowancePolicy {
		return &v1alpha1.AllowancePolicy{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationManaged: value}}}
	}
	for name, tt := range map[string]struct {
		before, after *v1alpha1.AllowancePolicy
		want          int
	}{
		"true":             {after: with("true")},
		"false":            {after: with("false")},
		"False":            {after: with("False"), want: 1},
		"as it was":        {before: with("no"), after: with("no")},
		"changed":          {before: with("false"), after: with("no"), want: 1},
		"without anything": {after: &v1alpha1.AllowancePolicy{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := unclearManaged(tt.before, tt.after); len(got) != tt.want {
				t.Errorf("warned %q", got)
			}
		})
	}
}
