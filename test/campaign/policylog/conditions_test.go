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
	"testing"

	"kausality.io/operator/test/campaign/audit"
)

// All conditions have to hold, of those that are read.
func TestRuleHolds(t *testing.T) {
	both := []string{"has(object.metadata.annotations['ticket'])", "has(object.metadata.annotations['reviewed'])"}
	tests := map[string]struct {
		conditions []string
		has        map[string]string
		want       bool
	}{
		"none":             {nil, nil, true},
		"both hold":        {both, map[string]string{"ticket": "1", "reviewed": ""}, true},
		"only the first":   {both, map[string]string{"ticket": "1"}, false},
		"only the second":  {both, map[string]string{"reviewed": "1"}, false},
		"neither":          {both, nil, false},
		"one of any other": {[]string{"object.spec.replicas > 3"}, nil, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := &Rule{Conditions: tc.conditions}
			if got := r.Holds(&audit.Object{Annotations: tc.has}); got != tc.want {
				t.Errorf("Holds() = %t, want %t", got, tc.want)
			}
		})
	}
}
