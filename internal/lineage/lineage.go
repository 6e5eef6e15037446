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
	"slices"

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
	// UID of the parent: an object of that name with another UID is not it. It is
	// empty where the system names parents without.
	UID types.UID
	// Path of the field of the child that names the parent.
	Path string
	// Controller is true where the parent is said to manage the child.
	Controller bool
	// Mutual is true where the parent has to point back at the child: until it does,
	// it bounds the child and covers nothing (D5, "Leaving").
	Mutual bool
	// Category that the kind of the parent has to say it belongs to, empty where any will do.
	Category string
	// Generator is the GeneratingPolicy that made the child because of the parent, empty where none
	// did. Of the parents with one it is enough that one lets something pass, and they cover nobody
	// but its account (D21).
	Generator string
}

// Names reports whether obj, which was found under the name that the Ref says, is the
// parent: an owner is known by its UID alone, a parent that has to point back, or because of
// which a GeneratingPolicy made the child, by its name.
func (r Ref) Names(obj *unstructured.Unstructured) bool {
	if !r.IsByName() {
		return obj.GetUID() == r.UID
	}
	return obj.GroupVersionKind().GroupKind() == r.GVK.GroupKind() && obj.GetNamespace() == r.Namespace && obj.GetName() == r.Name
}

// IsByName reports whether the parent is known by its name, and not by its UID.
func (r Ref) IsByName() bool { return r.Mutual || r.Generator != "" }

// ID identifies the parent among those of an object, whatever the object calls it: by its
// UID, or, where it is known by its name, by its coordinates.
func (r Ref) ID() string {
	if !r.IsByName() {
		return string(r.UID)
	}
	return r.GVK.GroupKind().String() + "/" + r.Namespace + "/" + r.Name
}

// IsOf reports whether a parent may be of a kind: one that is named by labels has to be of one
// that is the system's own.
func (r Ref) IsOf(kinds Kinds, kind schema.GroupKind) bool {
	return r.Category == "" || kinds.HasCategory(kind, r.Category)
}

// SameParent reports whether two Refs name the same object in the same way, however they call
// it.
func (r Ref) SameParent(other Ref) bool {
	return r.Mutual == other.Mutual && r.Category == other.Category && r.Generator == other.Generator && r.ID() == other.ID()
}

// Kinds tells what the definitions of kinds say about them: a system is known by what
// it says of its kinds, never by what they are called.
type Kinds interface {
	// HasCategory reports whether a kind says that it belongs to a category.
	HasCategory(kind schema.GroupKind, category string) bool
}

// System finds parents in the way of one system.
type System interface {
	// Parents returns the parents of obj that this system knows, in order.
	Parents(kinds Kinds, obj *unstructured.Unstructured) []Ref
}

// systems are asked in this order: what comes first matters more.
var systems = []System{
	controllerOwner{},
	boundClaim{},
	labeled{},
	generated{},
	otherOwners{},
}

// Parents returns all that obj names as a parent: its controller, its claim, whom its
// labels name, because of whom a GeneratingPolicy made it, then its other owners.
func Parents(kinds Kinds, obj *unstructured.Unstructured) []Ref {
	refs := make([]Ref, 0, 1)
	for _, s := range systems {
		refs = append(refs, s.Parents(kinds, obj)...)
	}
	return refs
}

// IsChildOf reports whether obj names the object with a UID as one of its parents.
func IsChildOf(kinds Kinds, obj *unstructured.Unstructured, parent types.UID) bool {
	return slices.ContainsFunc(Parents(kinds, obj), func(ref Ref) bool { return ref.UID == parent })
}

// Parent returns the first of the parents of obj, and false where obj is a root.
func Parent(kinds Kinds, obj *unstructured.Unstructured) (Ref, bool) {
	for _, s := range systems {
		if refs := s.Parents(kinds, obj); len(refs) > 0 {
			return refs[0], true
		}
	}
	return Ref{}, false
}
