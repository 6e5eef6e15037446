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

package policylog

import (
	"encoding/json"
	"testing"

	"kausality.io/operator/test/campaign/audit"
)

// When an allowance has been used up is told as the policy is written, also where that is not as it was meant.
func TestConsumed(t *testing.T) {
	const (
		strict  = "object.status.observedGeneration >= allowance.generation && object.status.updatedReplicas == object.spec.replicas"
		lenient = "object.status.observedGeneration >= allowance.generation && object.status.?updatedReplicas.orValue(0) == object.spec.replicas"
	)
	tests := map[string]struct {
		when, status string
		replicas     float64
		used, known  bool
	}{
		"nothing is said":     {status: `{"observedGeneration":2}`},
		"it cannot be read":   {when: "has(object.metadata.labels['a'])", status: `{}`},
		"it has settled":      {when: strict, status: `{"observedGeneration":2,"updatedReplicas":3}`, replicas: 3, used: true, known: true},
		"it has not":          {when: strict, status: `{"observedGeneration":2,"updatedReplicas":1}`, replicas: 3, known: true},
		"not of that version": {when: strict, status: `{"observedGeneration":1,"updatedReplicas":3}`, replicas: 3, known: true},
		"absent is not zero":  {when: strict, status: `{"observedGeneration":2}`, known: true},
		"unless it says so":   {when: lenient, status: `{"observedGeneration":2}`, used: true, known: true},
		"there is no status":  {when: strict, known: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := &Policy{}
			p.Consumption.When = tc.when
			o := &audit.Object{Content: &audit.Content{Fields: map[string]any{"spec": map[string]any{"replicas": tc.replicas}}}, RawStatus: json.RawMessage(tc.status)}
			if used, known := p.Consumed(o, 2); used != tc.used || known != tc.known {
				t.Errorf("Consumed() = %t, %t, want %t, %t", used, known, tc.used, tc.known)
			}
		})
	}
}
