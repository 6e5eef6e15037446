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
	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/internal/change"
)

// IsLateInitialization implements gate.Driver: of the spec a provider fills in what was
// absent. That is what the cloud chose, and, anywhere in the spec, what its own types
// and the defaults of the definition make of a field that nobody set: a provider writes
// the object as it knows it. Such types add empty structs and drop them as well: empty
// values count for nothing here, as they do for the Content. An item that a list gets is
// not late initialization: the list was there.
func (d Driver) IsLateInitialization(old, updated *unstructured.Unstructured) bool {
	for _, c := range change.Find(specOf(old), specOf(updated), change.Options{TolerateEmpty: true}) {
		if c.Verb != change.Insert || c.Path[len(c.Path)-1].Type == fieldpath.SegmentIndex {
			return false
		}
	}
	return true
}

func specOf(obj *unstructured.Unstructured) map[string]any {
	spec, ok := obj.Object[specField].(map[string]any)
	if !ok {
		return map[string]any{}
	}
	return map[string]any{specField: withoutPolicies(spec)}
}
