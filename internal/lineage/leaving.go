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

package lineage

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/change"
)

// Leaves reports whether a change of a reference takes a child away from the parent that the
// reference leads to by its UID. updated is the child after it. One that names the parent
// otherwise does as much as one that goes: the garbage collector looks owners up by all that the
// reference says, and deletes what it does not find the owner of.
func Leaves(c change.Change, parent, updated *unstructured.Unstructured) bool {
	uid, ok := IsOwner(c)
	switch {
	case !ok || uid != string(parent.GetUID()):
		return false
	case c.Verb == change.Insert:
		return misnames(updated, parent)
	case c.Verb == change.Delete || IsLabel(c.Path):
		return true
	case c.Path[1].Field != ownerReferences:
		return false // It says how the child is treated, and not whose it is.
	default:
		return !names(updated, parent, c.Path[len(c.Path)-1].Field == "controller")
	}
}

// misnames reports whether one of the references to a parent, by its UID, names it otherwise: the garbage collector
// takes all of them away then.
func misnames(child, parent *unstructured.Unstructured) bool {
	return slices.ContainsFunc(child.GetOwnerReferences(), func(o metav1.OwnerReference) bool {
		return o.UID == parent.GetUID() && !isNamed(o, parent)
	})
}

// isNamed reports whether a reference has the group, the kind and the name of a parent.
func isNamed(o metav1.OwnerReference, parent *unstructured.Unstructured) bool {
	group, err := schema.ParseGroupVersion(o.APIVersion)
	return err == nil && o.Name == parent.GetName() && group.WithKind(o.Kind).GroupKind() == parent.GroupVersionKind().GroupKind()
}

// names reports whether a child has a parent as an owner, by all that the reference says, and, where that
// is asked for, as its controller.
func names(child, parent *unstructured.Unstructured, controlled bool) bool {
	return slices.ContainsFunc(child.GetOwnerReferences(), func(o metav1.OwnerReference) bool {
		return o.UID == parent.GetUID() && (!controlled || o.Controller != nil && *o.Controller) && isNamed(o, parent)
	})
}
