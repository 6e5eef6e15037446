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
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/controllertest"
)

// Where the status of all objects leaves it to time when they have settled, that is said,
// unless somebody has said so already.
func TestSilence(t *testing.T) {
	ready := map[string]any{"observedGeneration": int64(1), "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}
	asText := map[string]any{"observedGeneration": "1", "phase": "Healthy"}
	phase := map[string]any{"phase": "Healthy"}
	tests := map[string]struct {
		consumption *v1alpha1.Consumption
		statuses    []map[string]any
		want        string
	}{
		"they tell":                {statuses: []map[string]any{ready}},
		"some tell":                {statuses: []map[string]any{phase, ready}},
		"no objects":               {},
		"no status yet":            {statuses: []map[string]any{nil}},
		"a phase":                  {statuses: []map[string]any{phase, phase}, want: "how their status shows it"},
		"a generation as a string": {statuses: []map[string]any{asText}, want: "int(object.status.observedGeneration) >= allowance.generation"},
		"the policy says when":     {statuses: []map[string]any{asText}, consumption: &v1alpha1.Consumption{When: "object.status.phase == 'Healthy'"}},
		"the policy says how long": {statuses: []map[string]any{asText}, consumption: &v1alpha1.Consumption{TTL: &metav1.Duration{Duration: time.Minute}}},
		"the policy says other things": {
			statuses: []map[string]any{phase}, consumption: &v1alpha1.Consumption{MaxOpen: &metav1.Duration{Duration: time.Hour}}, want: "10m0s after its creation",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := controllertest.PolicyFor("Widget")
			p.Spec.Consumption = tt.consumption
			policies := controllertest.Compiled(t, p)
			var s silence
			for _, status := range tt.statuses {
				obj := &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"generation": int64(1)},
				}}
				if status != nil {
					obj.Object["status"] = status
				}
				s.look(policies, obj, time.Now())
			}
			got := strings.Join(s.notes(policies[0]), " ")
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("notes() = %q, want something with %q", got, tt.want)
			}
		})
	}
}
