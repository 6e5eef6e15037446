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

package generate

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ID identifies an object, in whatever version. Its JSON is part of the annotation of generated objects.
type ID struct {
	// Group of the kind, empty for the core group.
	Group string `json:"group,omitempty"`
	// Kind of the object.
	Kind string `json:"kind"`
	// Namespace is empty where the kind has none.
	Namespace string `json:"namespace,omitempty"`
	// Name of the object.
	Name string `json:"name"`
}

// GroupKind returns the kind of the object.
func (i ID) GroupKind() schema.GroupKind { return schema.GroupKind{Group: i.Group, Kind: i.Kind} }

// String returns the object as messages name it.
func (i ID) String() string {
	if i.Namespace == "" {
		return fmt.Sprintf("%s %s", i.GroupKind(), i.Name)
	}
	return fmt.Sprintf("%s %s/%s", i.GroupKind(), i.Namespace, i.Name)
}

// Compare orders objects by kind, namespace and name.
func (i ID) Compare(other ID) int {
	return cmp.Or(cmp.Compare(i.Group, other.Group), cmp.Compare(i.Kind, other.Kind),
		cmp.Compare(i.Namespace, other.Namespace), cmp.Compare(i.Name, other.Name))
}

// IDOf returns which object this is.
func IDOf(object map[string]any) ID {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	metadata, _ := object["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	name, _ := metadata["name"].(string)
	return ID{Group: schema.FromAPIVersionAndKind(apiVersion, kind).Group, Kind: kind, Namespace: namespace, Name: name}
}
