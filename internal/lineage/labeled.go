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
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/knowledge"
)

// labeled knows parents that are named by labels, as kro does it: with the UID, and whatever
// the namespaces are. Of which labels, and of which kinds, package knowledge tells.
//
// An object with a controller, or a claim, is a child of that: controllers copy the labels of
// what they manage to what they make, such as the Prometheus operator to its StatefulSets.
type labeled struct{}

func (labeled) Parents(kinds Kinds, obj *unstructured.Unstructured) []Ref {
	var refs []Ref
	for _, naming := range knowledge.Namings() {
		uid, kind, namespace, name, ok := naming.Parent(obj)
		if !ok || !kinds.HasCategory(kind.GroupKind(), naming.Category) {
			continue // One of a kind that is not the system's is nobody's.
		}
		refs = append(refs, Ref{
			GVK: kind, Namespace: namespace, Name: name, UID: types.UID(uid),
			Path: knowledge.Label(naming.UID).String(), Category: naming.Category,
		})
	}
	if len(refs) > 0 && (metav1.GetControllerOfNoCopy(obj) != nil || len(boundClaim{}.Parents(kinds, obj)) > 0) {
		return nil
	}
	return refs
}

// relabeled returns the changes of all else by which a parent that is named by labels, and its
// controller, know their child.
func (r Ref) relabeled(old, updated *unstructured.Unstructured) []change.Change {
	naming := knowledge.NamingOf(r.Category)
	if naming == nil {
		return nil
	}
	var changes []change.Change
	for _, path := range naming.Identity() {
		if verb, ok := changeAt(path, old, updated); ok {
			changes = append(changes, refChange(r, path.String(), verb))
		}
	}
	return changes
}

// changeAt returns how the text at a path changes, and whether it does.
func changeAt(path change.Path, old, updated *unstructured.Unstructured) (verb change.Verb, changes bool) {
	before, had := path.Value(old.Object)
	after, has := path.Value(updated.Object)
	switch {
	case had == has && before == after:
		return "", false
	case !had:
		return change.Insert, true
	case !has:
		return change.Delete, true
	default:
		return change.Mutate, true
	}
}

// ownerReferences is the field of metadata that has the owners.
const ownerReferences = "ownerReferences"

const (
	// OwnersPath is the path of an object's owners. Who approves it approves the parent that the object has.
	OwnersPath = "metadata." + ownerReferences
	// LabelsPath is that of the labels, by which controllers find what they adopt.
	LabelsPath = "metadata.labels"
)

// IsReference reports whether the path is one that says who the parent is, or by which the
// parent's controller finds the child, other than by its selector.
func IsReference(path change.Path) bool {
	if len(path) < 2 || !path.IsMetadata() {
		return false
	}
	return path[1].Field == ownerReferences || IsMark(path) || slices.ContainsFunc(knowledge.Namings(), func(n *knowledge.Naming) bool {
		return slices.ContainsFunc(n.Identity(), func(p change.Path) bool { return p.String() == path.String() })
	})
}
