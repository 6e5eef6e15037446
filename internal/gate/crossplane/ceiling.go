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

package crossplane

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate"
)

// ComposedManager begins the name of the field manager by which Crossplane applies
// what it composes. Anybody may call himself so: it tells apart what Crossplane writes,
// and not who does.
const ComposedManager = "apiextensions.crossplane.io/composed/"

// ceilingAfter returns the ceiling after a write: what the object's author says about the
// management policies, in a creation or where the author applies the object. Who
// changes the field in any other way says nothing: providers and others write back
// what they have read.
func ceilingAfter(w gate.Write, before gate.State) []string {
	if w.Again {
		return gate.ReadState(w.New.GetAnnotations()).Ceiling
	}
	if refused, ok := refusedBefore(w); ok {
		return asCeiling(refused)
	}
	policies, found := policiesOf(w.New)
	switch {
	case w.Old == nil:
		return asCeilingIf(found, policies)
	case isAuthor(w):
		return asCeilingIf(found && owns(w.New, w.FieldManager), policies)
	default:
		return before.Ceiling
	}
}

// refusedBefore returns the policies that the admission policy inside the API server
// noted when it put back those that there were: in this request, or in one while the
// webhook was down.
func refusedBefore(w gate.Write) ([]string, bool) {
	text, ok := w.New.GetAnnotations()[v1alpha1.AnnotationGateRequested]
	if !ok || w.Old == nil || !isAuthor(w) && w.Old.GetAnnotations()[v1alpha1.AnnotationGateRequested] != text {
		return nil, false
	}
	var policies []string
	if err := json.Unmarshal([]byte(text), &policies); err != nil {
		return nil, false
	}
	return policies, true
}

// isAuthor reports whether the request applies the object as its author wants it.
func isAuthor(w gate.Write) bool {
	if !w.ByAuthor {
		return false
	}
	if metav1.GetControllerOf(w.New) != nil {
		return strings.HasPrefix(w.FieldManager, ComposedManager)
	}
	return slices.ContainsFunc(w.New.GetManagedFields(), appliedBy(w.FieldManager))
}

// owns reports whether what a manager applies has the field.
func owns(obj *unstructured.Unstructured, manager string) bool {
	applied := appliedBy(manager)
	return slices.ContainsFunc(obj.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		if !applied(e) || e.FieldsV1 == nil {
			return false
		}
		var fields map[string]map[string]json.RawMessage
		if err := json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields); err != nil {
			return false
		}
		_, ok := fields["f:"+specField]["f:"+SwitchField]
		return ok
	})
}

func appliedBy(manager string) func(metav1.ManagedFieldsEntry) bool {
	return func(e metav1.ManagedFieldsEntry) bool {
		return manager != "" && e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
	}
}

func asCeilingIf(said bool, policies []string) []string {
	if !said {
		return nil
	}
	return asCeiling(policies)
}

// asCeiling returns a list of policies as a ceiling, nil where it limits nothing. One that
// is empty pauses the object: it lets nothing through.
func asCeiling(policies []string) []string {
	if slices.Contains(policies, actionAll) {
		return nil
	}
	return append([]string{}, policies...)
}
