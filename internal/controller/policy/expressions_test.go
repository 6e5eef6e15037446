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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/controllertest"
)

// What an expression makes of the objects that there are is said where it is of no use for
// any of them.
func TestAskedExpressions(t *testing.T) {
	observed := func(value any) map[string]any { return map[string]any{"observedGeneration": value, "phase": "Ready"} }
	const settles = "object.status.observedGeneration >= allowance.generation"
	tests := map[string]struct {
		when     string
		statuses []map[string]any
		want     []string
		awaits   bool
	}{
		"numbers":        {when: settles, statuses: []map[string]any{observed(int64(1)), observed(int64(2))}},
		"no objects":     {when: settles},
		"no status yet":  {when: settles, statuses: []map[string]any{nil, {}}, awaits: true},
		"absent in some": {when: settles, statuses: []map[string]any{{"phase": "Ready"}, observed(int64(2))}},
		"absent in all": {when: settles, statuses: []map[string]any{{"phase": "Ready"}, {"phase": "Failed"}}, want: []string{
			"spec.consumption.when: it cannot be evaluated for any of the objects that there are, so that it does not hold: a field that it needs is absent or of another type",
		}},
		"strings": {when: settles, statuses: []map[string]any{observed("1"), observed("2")}, want: []string{
			"spec.consumption.when: it compares object.status.observedGeneration (a string) with allowance.generation (a number): " +
				"that cannot be evaluated, and does not hold; int() makes a number of a string",
		}},
		"in vain, and without an error": {when: "object.status.observedGeneration == allowance.generation", statuses: []map[string]any{observed("1")}, want: []string{
			"spec.consumption.when: it compares object.status.observedGeneration (a string) with allowance.generation (a number): " +
				"these are never equal; int() makes a number of a string",
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := controllertest.PolicyFor("Deployment")
			p.Spec.Consumption = &v1alpha1.Consumption{When: tt.when}
			policies := controllertest.Compiled(t, p)
			s := answers{}
			for _, status := range tt.statuses {
				obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"generation": int64(1)}}}
				if status != nil {
					obj.Object["status"] = status
				}
				s.ask(t.Context(), policies[0], policies, obj)
			}
			if diff := cmp.Diff(tt.want, s.misjudged()); diff != "" {
				t.Errorf("misjudged() (-want +got):\n%s", diff)
			}
			if got := s.awaited(); got != tt.awaits {
				t.Errorf("awaited() = %t, want %t", got, tt.awaits)
			}
		})
	}
}
