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
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/internal/knowledge"
)

// declared judges kinds of which it is declared what their status has to say. All of it has
// to be of the current generation: a condition may say so by itself, a field cannot.
func declared(obj *unstructured.Unstructured, generation int64, observes bool, known knowledge.Settled) (Progress, bool) {
	if len(known.Fields) > 0 && !observes {
		return timed(whyNoGeneration)
	}
	list := conditionsOf(obj)
	fulfilled := !slices.ContainsFunc(known.Fields, func(f knowledge.Field) bool { return !f.Holds(obj.Object) })
	for _, required := range known.Conditions {
		condition := list.find(required.Type)
		if condition == nil {
			fulfilled = false
			continue
		}
		about, says := condition["observedGeneration"].(int64)
		if !says && !observes {
			return timed(whyNoGeneration)
		}
		fulfilled = fulfilled && (!says || about == generation) && text(condition, "status") == required.Status
	}
	switch {
	case list.isTrue(conditionStalled):
		return working(whyFailed)
	case list.isTrue(conditionReconciling):
		return working(whyWorking)
	case !fulfilled:
		return working(whyUndeclared)
	}
	return settled(whyDeclared, true)
}
