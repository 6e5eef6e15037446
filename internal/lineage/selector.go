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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/change"
)

// selecting are the kinds whose controllers let go of a child whose labels their
// selector does not match any more.
var selecting = map[schema.GroupKind]bool{
	replicaSetKind:                          true,
	{Group: appsGroup, Kind: "Deployment"}:  true,
	{Group: appsGroup, Kind: "StatefulSet"}: true,
	{Group: appsGroup, Kind: "DaemonSet"}:   true,
	{Group: "batch", Kind: "Job"}:           true,
}

// AdoptsBySelector reports whether the controller of a kind adopts whatever its selector
// matches and that has no other controller, without having been asked for it by name.
func AdoptsBySelector(kind schema.GroupKind) bool {
	return selecting[kind] || kind == replicationControllerKind
}

// replicationControllerKind has a map of labels for a selector.
var replicationControllerKind = schema.GroupKind{Kind: "ReplicationController"}

var labelsPattern = mustParse("metadata.labels")

func mustParse(text string) change.Pattern {
	pattern, err := change.ParsePattern(text)
	if err != nil {
		panic("lineage: a pattern of its own that does not parse: " + text)
	}
	return pattern
}

// LettingGo are the changes of labels by which the parent's controller would let go
// of its child. They count like taking the owner off, since they come to the same:
// observed, a stranger's label on a ReplicaSet made the Deployment controller
// release it, after which it was nobody's, and could be deleted with all its Pods.
func LettingGo(parent, old, updated *unstructured.Unstructured) []change.Change {
	before, after := old.GetLabels(), updated.GetLabels()
	if maps.Equal(before, after) || !selecting[parent.GroupVersionKind().GroupKind()] {
		return nil
	}
	selector, ok := selectorOf(parent)
	if !ok || !selector.Matches(labels.Set(before)) || selector.Matches(labels.Set(after)) {
		return nil
	}
	return selectedBy(selector, old, updated)
}

// WouldAdopt reports whether the parent's controller makes obj a child of its own as
// soon as it sees it: no controller owns obj, and the parent selects it.
func WouldAdopt(parent, obj *unstructured.Unstructured) bool {
	if !selecting[parent.GroupVersionKind().GroupKind()] || parent.GetNamespace() != obj.GetNamespace() ||
		parent.GetDeletionTimestamp() != nil || metav1.GetControllerOfNoCopy(obj) != nil {
		return false
	}
	selector, ok := selectorOf(parent)
	return ok && selector.Matches(labels.Set(obj.GetLabels()))
}

// Joining are the changes of labels by which an object comes to be one that the
// parent's controller would adopt.
func Joining(parent, old, updated *unstructured.Unstructured) []change.Change {
	if WouldAdopt(parent, old) || !WouldAdopt(parent, updated) {
		return nil
	}
	selector, _ := selectorOf(parent)
	return selectedBy(selector, old, updated)
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
func Keeps(parent, child *unstructured.Unstructured) bool {
	kind := parent.GroupVersionKind().GroupKind()
	if !selecting[kind] || parent.GetDeletionTimestamp() != nil || parent.GetNamespace() != child.GetNamespace() {
		return false
	}
	// A StatefulSet goes by the names of its Pods, too.
	if child.GetKind() == "Pod" && kind.Kind == "StatefulSet" && !strings.HasPrefix(child.GetName(), parent.GetName()+"-") {
		return false
	}
	selector, ok := selectorOf(parent)
	return ok && selector.Matches(labels.Set(child.GetLabels()))
}

// Forsakes reports whether a child does not name a parent as its controller, or not rightly,
// although the controller of that parent would keep it.
func Forsakes(parent, child *unstructured.Unstructured) bool {
	return Keeps(parent, child) && !slices.ContainsFunc(child.GetOwnerReferences(), func(o metav1.OwnerReference) bool {
		group, err := schema.ParseGroupVersion(o.APIVersion)
		return err == nil && o.UID == parent.GetUID() && o.Controller != nil && *o.Controller &&
			o.Name == parent.GetName() && group.WithKind(o.Kind).GroupKind() == parent.GroupVersionKind().GroupKind()
	})
}

// selectedBy are the changes of the labels that a selector asks for.
func selectedBy(selector labels.Selector, old, updated *unstructured.Unstructured) []change.Change {
	requirements, _ := selector.Requirements()
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
	raw, found, err := unstructured.NestedMap(parent.Object, "spec", "selector")
	if !found || err != nil {
		return nil, false
	}
	var selector metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &selector); err != nil {
		return nil, false
	}
	compiled, err := metav1.LabelSelectorAsSelector(&selector)
	return compiled, err == nil
}

// IsLabel tells whether the path is that of a label.
func IsLabel(path change.Path) bool {
	return len(path) >= len(labelsPattern) && path.IsMetadata() && path[1].Field == "labels"
}
