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

// Package lineage finds the parent of an object: the one whose controller
// created and changes it (D5). Each system that says so in its own way has a
// file of its own.
package lineage

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Ref points from a child to its parent.
type Ref struct {
	// GVK of the parent, in the version that the child names.
	GVK schema.GroupVersionKind
	// Namespace of the parent. Owners are looked up in the child's namespace
	// where their kind is namespaced.
	Namespace string
	// Name of the parent.
	Name string
	// UID of the parent: an object of that name with another UID is not it.
	UID types.UID
	// Path of the field of the child that names the parent.
	Path string
}

// System finds parents in the way of one system.
type System interface {
	// Parent returns the parent of obj, and false where this system knows none.
	Parent(obj *unstructured.Unstructured) (Ref, bool)
}

// systems are asked in this order; the first answer counts.
var systems = []System{
	controllerOwner{},
	firstOwner{},
}

// Parent returns the parent of obj, and false where obj is a root.
func Parent(obj *unstructured.Unstructured) (Ref, bool) {
	for _, s := range systems {
		if ref, ok := s.Parent(obj); ok {
			return ref, true
		}
	}
	return Ref{}, false
}
