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

// ID identifies an object, in whatever version, or a request about it. Its JSON is part of the annotation
// of generated objects.
type ID struct {
	// Group of the kind, empty for the core group.
	Group string `json:"group,omitempty"`
	// Kind of the object.
	Kind string `json:"kind"`
	// Namespace is empty where the kind has none.
	Namespace string `json:"namespace,omitempty"`
	// Name of the object.
	Name string `json:"name"`
	// Request is what was asked of the object, where that request is the trigger and not the object
	// itself: the operation, and the sub-resource if there is one, such as DELETE or CREATE eviction.
	Request string `json:"request,omitempty"`
}

// Of returns the object that a request is about; of an object it is that itself.
func (i ID) Of() ID {
	i.Request = ""
	return i
}

// GroupKind returns the kind of the object.
func (i ID) GroupKind() schema.GroupKind { return schema.GroupKind{Group: i.Group, Kind: i.Kind} }

// String returns the object as messages name it.
func (i ID) String() string {
	name := i.Name
	if i.Namespace != "" {
		name = i.Namespace + "/" + name
	}
	if i.Request != "" {
		return fmt.Sprintf("%s of %s %s", i.Request, i.GroupKind(), name)
	}
	return fmt.Sprintf("%s %s", i.GroupKind(), name)
}

// Compare orders objects by kind, namespace, name and request.
func (i ID) Compare(other ID) int {
	return cmp.Or(cmp.Compare(i.Group, other.Group), cmp.Compare(i.Kind, other.Kind),
		cmp.Compare(i.Namespace, other.Namespace), cmp.Compare(i.Name, other.Name), cmp.Compare(i.Request, other.Request))
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
