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

package offline

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/internal/generate"
)

// Snapshot is what GeneratingPolicies may read of a World: everything.
type Snapshot struct{ *World }

var _ generate.Snapshot = Snapshot{}

// KindOf implements generate.Snapshot.
func (s Snapshot) KindOf(resource schema.GroupVersionResource) (schema.GroupVersionKind, bool, error) {
	kind, known := s.Kinds.KindFor(resource)
	return kind, known, nil
}

// IsNamespaced implements generate.Snapshot.
func (s Snapshot) IsNamespaced(kind schema.GroupVersionKind) (namespaced, served bool, err error) {
	_, served = s.Kinds.ResourceFor(kind)
	return s.Kinds.Namespaced(kind), served, nil
}

// Get implements generate.Snapshot.
func (s Snapshot) Get(resource schema.GroupVersionResource, namespace, name string) (map[string]any, error) {
	kind, known := s.Kinds.KindFor(resource)
	if !known {
		return nil, nil
	}
	if obj := s.Find(kind.GroupKind(), types.NamespacedName{Namespace: namespace, Name: name}); obj != nil {
		return withNamespaceLabel(obj).Object, nil
	}
	return nil, nil
}

// List implements generate.Snapshot.
func (s Snapshot) List(resource schema.GroupVersionResource, namespace string, selector labels.Selector) ([]map[string]any, error) {
	kind, known := s.Kinds.KindFor(resource)
	if !known {
		return nil, nil
	}
	var out []map[string]any
	for _, obj := range s.Objects {
		obj = withNamespaceLabel(obj)
		if obj.GroupVersionKind().GroupKind() == kind.GroupKind() && (namespace == "" || obj.GetNamespace() == namespace) &&
			selector.Matches(labels.Set(obj.GetLabels())) {
			out = append(out, obj.Object)
		}
	}
	return out, nil
}

var namespaceKind = schema.GroupKind{Kind: "Namespace"}

// withNamespaceLabel returns an object as the API server has it: to Namespaces it gives a label.
func withNamespaceLabel(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if obj == nil || obj.GroupVersionKind().GroupKind() != namespaceKind {
		return obj
	}
	out := obj.DeepCopy()
	held := out.GetLabels()
	if held == nil {
		held = map[string]string{}
	}
	held[corev1.LabelMetadataName] = out.GetName()
	out.SetLabels(held)
	return out
}

// Trigger returns an object as GeneratingPolicies see it.
func (w *World) Trigger(obj *unstructured.Unstructured) (*generate.Trigger, error) {
	obj = withNamespaceLabel(obj)
	resource, known := w.Kinds.ResourceFor(obj.GroupVersionKind())
	if !known {
		return nil, fmt.Errorf("%s in %s is not known: give its CustomResourceDefinition", obj.GetKind(), obj.GetAPIVersion())
	}
	out := &generate.Trigger{Resource: resource, Object: obj.Object}
	for _, other := range w.Kinds.versionsOf(obj.GroupVersionKind().GroupKind()) {
		if other != resource {
			out.Equivalent = append(out.Equivalent, other)
		}
	}
	if namespace := obj.GetNamespace(); namespace != "" {
		found := w.Find(namespaceKind, types.NamespacedName{Name: namespace})
		if found == nil {
			found = &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": namespaceKind.Kind, "metadata": map[string]any{"name": namespace},
			}}
		}
		out.Namespace = withNamespaceLabel(found).Object
	}
	return out, nil
}
