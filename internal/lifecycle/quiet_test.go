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

package lifecycle

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestTells knows which statuses say that they are about the generation that there is.
func TestTells(t *testing.T) {
	for name, tt := range map[string]struct {
		status string
		want   bool
	}{
		"nothing":                             {status: "{}"},
		"its generation":                      {status: "{observedGeneration: 4}", want: true},
		"the one before":                      {status: "{observedGeneration: 3, conditions: [{type: Ready, status: 'True', observedGeneration: 4}]}"},
		"a condition":                         {status: "{conditions: [{type: Synced, status: 'True', observedGeneration: 4}]}", want: true},
		"a condition that is not fulfilled":   {status: "{conditions: [{type: Synced, status: 'False', observedGeneration: 4}]}", want: true},
		"a condition of the one before":       {status: "{conditions: [{type: Synced, status: 'True', observedGeneration: 3}]}"},
		"a condition that says none":          {status: "{conditions: [{type: Synced, status: 'True'}]}"},
		"a condition of Crossplane's breaker": {status: "{conditions: [{type: Responsive, status: 'True', observedGeneration: 4}]}"},
		"a condition of Kausality":            {status: "{conditions: [{type: kausality.io/Blocked, status: 'True', observedGeneration: 4}]}"},
	} {
		t.Run(name, func(t *testing.T) {
			obj := &unstructured.Unstructured{}
			text := "{apiVersion: example.com/v1, kind: XDatabase, metadata: {name: db, generation: 4}, spec: {crossplane: {}}, status: " + tt.status + "}"
			if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
				t.Fatal(err)
			}
			obj.SetGeneration(4)
			if status, ok := obj.Object["status"].(map[string]any); ok {
				integers(status)
			}
			if got := Tells(obj, nil); got != tt.want {
				t.Errorf("Tells() = %t, want %t", got, tt.want)
			}
		})
	}
}

// integers makes numbers what they are in objects of an API server.
func integers(fields map[string]any) {
	for name, value := range fields {
		switch value := value.(type) {
		case float64:
			fields[name] = int64(value)
		case map[string]any:
			integers(value)
		case []any:
			for _, item := range value {
				if item, ok := item.(map[string]any); ok {
					integers(item)
				}
			}
		}
	}
}
