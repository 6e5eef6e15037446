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

// Package selector reads the label selectors that objects have, whatever their kind. It is
// pure.
package selector

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// Parse reads a selector from the value of a field, and returns false where it is none, so
// that it selects nothing. One without operators, as those of Services are, is a map of
// labels; an empty one selects everything. What else there is beside its operators is
// ignored, as controllers do, whose types do not have it.
func Parse(value any) (labels.Selector, bool) {
	declared, ok := value.(map[string]any)
	if !ok {
		return nil, false
	}
	if plain, _, err := unstructured.NestedStringMap(declared); err == nil {
		return labels.SelectorFromSet(plain), true
	}
	if !hasOperators(declared) {
		return nil, false
	}
	operators := &metav1.LabelSelector{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(declared, operators); err != nil {
		return nil, false
	}
	compiled, err := metav1.LabelSelectorAsSelector(operators)
	return compiled, err == nil
}

// hasOperators reports whether a selector has what only one with operators has.
func hasOperators(declared map[string]any) bool {
	_, byLabels := declared["matchLabels"]
	_, byExpressions := declared["matchExpressions"]
	return byLabels || byExpressions
}
