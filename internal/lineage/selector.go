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
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/knowledge"
	"kausality.io/operator/internal/selector"
)

// keeps reports whether the controllers of a kind let go of a child whose labels the
// selector does not match any more, and adopt what it matches.
func keeps(known *knowledge.Kind) bool { return known.Selector == v1alpha1.SelectorKeeps }

var labelsPattern = change.MustParsePattern(LabelsPath)

// LettingGo returns the changes of labels by which the parent's controller would let go
// of its child. They count like taking the owner off, since they come to the same:
// observed, a stranger's label on a ReplicaSet made the Deployment controller
// release it, after which it was nobody's, and could be deleted with all its Pods.
// known is what is known of the parent's kind.
func LettingGo(known *knowledge.Kind, parent, old, updated *unstructured.Unstructured) []change.Change {
	before, after := old.GetLabels(), updated.GetLabels()
	if maps.Equal(before, after) || !keeps(known) {
		return nil
	}
	selects, ok := selectorOf(parent)
	if !ok || !selects.Matches(labels.Set(before)) || selects.Matches(labels.Set(after)) {
		return nil
	}
	return selectedBy(selects, old, updated)
}

// WouldAdopt reports whether the parent's controller makes obj a child of its own as
// soon as it sees it: no controller owns obj, and the parent selects it.
func WouldAdopt(known *knowledge.Kind, parent, obj *unstructured.Unstructured) bool {
	if !keeps(known) || parent.GetNamespace() != obj.GetNamespace() ||
		parent.GetDeletionTimestamp() != nil || metav1.GetControllerOfNoCopy(obj) != nil {
		return false
	}
	selects, ok := selectorOf(parent)
	return ok && selects.Matches(labels.Set(obj.GetLabels()))
}

// Joining returns the changes of labels by which an object comes to be one that the
// parent's controller would adopt.
func Joining(known *knowledge.Kind, parent, old, updated *unstructured.Unstructured) []change.Change {
	if WouldAdopt(known, parent, old) || !WouldAdopt(known, parent, updated) {
		return nil
	}
	selects, _ := selectorOf(parent)
	return selectedBy(selects, old, updated)
}

// AdopterRef points to a parent that would adopt a child.
func AdopterRef(parent *unstructured.Unstructured) Ref {
	return Ref{
		GVK: parent.GroupVersionKind(), Namespace: parent.GetNamespace(), Name: parent.GetName(), UID: parent.GetUID(),
		Path: labelsPattern.String(),
	}
}

// Keeps reports whether the controller of a parent would not let go of a child that is as
// given: it selects it, and makes it its own again as soon as it is nobody's.
func Keeps(known *knowledge.Kind, parent, child *unstructured.Unstructured) bool {
	if !keeps(known) || parent.GetDeletionTimestamp() != nil || parent.GetNamespace() != child.GetNamespace() {
		return false
	}
	// Who numbers its children goes by their names, too.
	of, _ := known.Child(child.GroupVersionKind().GroupKind())
	if of.Ordinals != nil && !strings.HasPrefix(child.GetName(), parent.GetName()+"-") {
		return false
	}
	selects, ok := selectorOf(parent)
	return ok && selects.Matches(labels.Set(child.GetLabels()))
}

// Forsakes reports whether a child does not name a parent as its controller, or names it wrongly by any
// of its references, although the controller of that parent would keep it.
func Forsakes(known *knowledge.Kind, parent, child *unstructured.Unstructured) bool {
	return Keeps(known, parent, child) && (!names(child, parent, true) || misnames(child, parent))
}

// selectedBy returns the changes of the labels that a selector asks for.
func selectedBy(selects labels.Selector, old, updated *unstructured.Unstructured) []change.Change {
	requirements, _ := selects.Requirements()
	concerned := map[string]bool{}
	for _, r := range requirements {
		concerned[r.Key()] = true
	}
	return slices.DeleteFunc(change.Find(old.Object, updated.Object, change.Options{Metadata: []change.Pattern{labelsPattern}}),
		func(c change.Change) bool {
			key := len(labelsPattern)
			return !IsLabel(c.Path) || len(c.Path) > key && !concerned[c.Path[key].Field]
		})
}

func selectorOf(parent *unstructured.Unstructured) (labels.Selector, bool) {
	value, _, _ := unstructured.NestedFieldNoCopy(parent.Object, fieldSpec, "selector")
	return selector.Parse(value)
}

// IsLabel reports whether the path is that of a label.
func IsLabel(path change.Path) bool {
	return len(path) >= len(labelsPattern) && path.IsMetadata() && path[1].Field == "labels"
}
