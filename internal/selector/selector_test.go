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

package selector

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

func TestParse(t *testing.T) {
	tests := map[string]struct {
		value string
		// want is whether it is a selector, and matches an object of team x.
		ok, want bool
	}{
		"labels":                        {"{matchLabels: {team: x}}", true, true},
		"other labels":                  {"{matchLabels: {team: z}}", true, false},
		"an expression":                 {"{matchExpressions: [{key: team, operator: Exists}]}", true, true},
		"both":                          {"{matchLabels: {team: x}, matchExpressions: [{key: team, operator: DoesNotExist}]}", true, false},
		"a map of labels":               {"{team: x}", true, true},
		"a map of other labels":         {"{team: z}", true, false},
		"empty":                         {"{}", true, true},
		"no labels":                     {"{matchLabels: {}}", true, true},
		"labels that are null":          {"{matchLabels: null}", true, true},
		"something else beside labels":  {"{matchLabels: {team: x}, near: a}", true, true},
		"something else beside no team": {"{matchLabels: {team: z}, near: a}", true, false},
		"a label called as an operator": {"{matchLabels: x}", true, false},
		"something else":                {"{any: true}", false, false},
		"an operator that is none":      {"{matchExpressions: [{key: team, operator: Near}]}", false, false},
		"labels that are none":          {"{matchLabels: [team]}", false, false},
		"null":                          {"null", false, false},
		"text":                          {"team", false, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var value any
			if err := yaml.Unmarshal([]byte(tc.value), &value); err != nil {
				t.Fatal(err)
			}
			got, ok := Parse(value)
			if ok != tc.ok || ok && got.Matches(labels.Set{"team": "x"}) != tc.want {
				t.Errorf("Parse(%s) = %v, %v, want a selector: %v, and a match: %v", tc.value, got, ok, tc.ok, tc.want)
			}
		})
	}
}
