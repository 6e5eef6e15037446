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

package interception

import (
	"fmt"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
)

// BenchmarkConditions measures what the conditions cost the API server at each request for an
// object of 2 KiB with a ledger.
func BenchmarkConditions(b *testing.B) {
	thingWith := func(generation, replicas int64, note string) map[string]any {
		items := make([]any, 32)
		for i := range items {
			items[i] = map[string]any{"name": fmt.Sprintf("item-%06d", i), "value": fmt.Sprintf("value of item %06d", i)}
		}
		return map[string]any{
			"metadata": map[string]any{
				"name": "n", "namespace": "ns", "uid": "u", "resourceVersion": note, "generation": generation,
				"annotations": map[string]any{"example.org/is": "here", "kausality.io/allowances": note},
				"labels":      map[string]any{"app": "x"},
				"ownerReferences": []any{map[string]any{
					"apiVersion": "a/v1", "kind": "K", "name": "n", "uid": "u", "controller": true,
				}},
			},
			"spec":   map[string]any{"replicas": replicas, "image": "v0", "items": items},
			"status": map[string]any{"seen": replicas},
		}
	}
	in := Input{OperatorUser: operatorUser, Holder: withStatus}
	old := custom(thingWith(1, 1, "a"))
	objects := map[string]map[string]any{
		"a change":  thingWith(1, 2, "a"),
		"a grant":   thingWith(2, 2, "b"),
		"no change": thingWith(1, 1, "a"),
	}
	hooks := map[string][]admissionregistrationv1.MatchCondition{
		"grant": grantConditions(in), "verdict": verdictConditions(in), "protection": protectionConditions(in, nil),
	}
	for hook, conditions := range hooks {
		fail := admissionregistrationv1.Fail
		matcher := matchconditions.NewMatcher(evaluator(b, conditions), &fail, "webhook", "test", "test")
		for name, object := range objects {
			attributes := request{operation: admission.Update, kind: thing, object: custom(object), old: old}.attributes(b, false)
			b.Run("hook="+hook+"/request="+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if result := matcher.Match(b.Context(), attributes, nil, nil); result.Error != nil {
						b.Fatal(result.Error)
					}
				}
			})
		}
	}
}
