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

package knowledge

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/change"
)

// Scales says what an object has its controller scale: one of its own namespace, which it
// names.
type Scales struct {
	// Resource is that of the objects which have others scaled, in the version by which they
	// are asked for: one that has all fields.
	Resource schema.GroupVersionResource
	// Reference is the field with the apiVersion, the kind and the name of what is scaled.
	Reference change.Path
	// Otherwise is the kind that a reference means which says none.
	Otherwise schema.GroupKind
	// Annotations are those that say more of the objects than their spec does.
	Annotations []string
}

// Target returns the kind and the name of what an object scales, and false where it names
// nothing. The version does not matter: controllers look for the kind in any.
func (s *Scales) Target(object map[string]any) (kind schema.GroupKind, name string, ok bool) {
	value, _ := s.Reference.Value(object)
	reference, _ := value.(map[string]any)
	name, _, _ = unstructured.NestedString(reference, "name")
	if name == "" {
		return schema.GroupKind{}, "", false
	}
	apiVersion, hasVersion, _ := unstructured.NestedString(reference, "apiVersion")
	kind.Kind, _, _ = unstructured.NestedString(reference, "kind")
	if kind.Kind == "" {
		kind.Kind = s.Otherwise.Kind
	}
	kind.Group = s.Otherwise.Group
	if hasVersion && apiVersion != "" {
		gv, err := schema.ParseGroupVersion(apiVersion)
		if err != nil {
			return schema.GroupKind{}, "", false // Its controller cannot read it either.
		}
		kind.Group = gv.Group
	}
	return kind, name, true
}
