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

package cluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/internal/generate"
)

// Snapshot reads the cluster for GeneratingPolicies, with the rights of the user, and with one object as
// it would be after a change. It reads nothing twice.
type Snapshot struct {
	ctx     context.Context //nolint:containedctx // it answers one command, which has that context
	cluster *Cluster
	// changed is the object as it would be.
	changed *unstructured.Unstructured
	got     map[key]*unstructured.Unstructured
	listed  map[key][]unstructured.Unstructured
}

// key is of what was read: an object, or those that a selector selects.
type key struct {
	kind                      schema.GroupVersionKind
	namespace, name, selector string
}

var _ generate.Snapshot = &Snapshot{}

// SnapshotWith returns the cluster as it would be with changed in place of the object of that name.
func (c *Cluster) SnapshotWith(ctx context.Context, changed *unstructured.Unstructured) *Snapshot {
	return &Snapshot{
		ctx: ctx, cluster: c, changed: changed,
		got: map[key]*unstructured.Unstructured{}, listed: map[key][]unstructured.Unstructured{},
	}
}

// KindOf implements generate.Snapshot.
func (s *Snapshot) KindOf(of schema.GroupVersionResource) (schema.GroupVersionKind, bool, error) {
	kind, err := s.cluster.mapper.KindFor(of)
	if apimeta.IsNoMatchError(err) {
		return schema.GroupVersionKind{}, false, nil
	}
	if err != nil {
		return schema.GroupVersionKind{}, false, fmt.Errorf("asking the cluster for %s: %w", of.GroupResource(), err)
	}
	return kind, kind.Version == of.Version, nil
}

// IsNamespaced implements generate.Snapshot.
func (s *Snapshot) IsNamespaced(kind schema.GroupVersionKind) (namespaced, served bool, err error) {
	mapping, err := s.cluster.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if apimeta.IsNoMatchError(err) {
		return false, false, nil
	}
	if err != nil {
		return false, false, fmt.Errorf("asking the cluster for kind %s: %w", kind.GroupKind(), err)
	}
	return mapping.Scope.Name() == apimeta.RESTScopeNameNamespace, true, nil
}

// Get implements generate.Snapshot.
func (s *Snapshot) Get(of schema.GroupVersionResource, namespace, name string) (map[string]any, error) {
	kind, err := s.kind(of)
	if err != nil {
		return nil, err
	}
	found, err := s.Object(kind, namespace, name)
	if err != nil || found == nil {
		return nil, err
	}
	return found.Object, nil
}

// Object returns an object as it would be, nil where it is not there.
func (s *Snapshot) Object(kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	if s.changed.GroupVersionKind().GroupKind() == kind.GroupKind() && s.changed.GetNamespace() == namespace && s.changed.GetName() == name {
		if has := s.changed.GroupVersionKind().Version; has != kind.Version {
			return nil, fmt.Errorf("%s %s is read in version %s, and what it would be like is known in %s: give it in that version", kind.Kind, name, kind.Version, has)
		}
		return s.changed, nil
	}
	read := key{kind: kind, namespace: namespace, name: name}
	if known, ok := s.got[read]; ok {
		return known, nil
	}
	found, err := s.cluster.Object(s.ctx, kind, types.NamespacedName{Namespace: namespace, Name: name})
	if apierrors.IsNotFound(err) {
		found, err = nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", kind.Kind, name, err)
	}
	s.got[read] = found
	return found, nil
}

// List implements generate.Snapshot.
func (s *Snapshot) List(of schema.GroupVersionResource, namespace string, selector labels.Selector) ([]map[string]any, error) {
	kind, err := s.kind(of)
	if err != nil {
		return nil, err
	}
	found, err := s.Objects(kind, namespace, selector)
	if err != nil {
		return nil, err
	}
	out := make([]map[string]any, 0, len(found))
	for i := range found {
		out = append(out, found[i].Object)
	}
	return out, nil
}

// Objects returns the objects of a kind that a selector selects, as they would be; of all namespaces
// where the namespace is empty.
func (s *Snapshot) Objects(kind schema.GroupVersionKind, namespace string, selector labels.Selector) ([]unstructured.Unstructured, error) {
	read := key{kind: kind, namespace: namespace, selector: selector.String()}
	if known, ok := s.listed[read]; ok {
		return known, nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := s.cluster.List(s.ctx, list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, fmt.Errorf("listing objects of kind %s: %w", kind.GroupKind(), err)
	}
	out := list.Items
	if s.changed.GroupVersionKind() == kind && (namespace == "" || s.changed.GetNamespace() == namespace) {
		out = s.withChanged(out, selector)
	}
	s.listed[read] = out
	return out, nil
}

// withChanged returns what a list would be.
func (s *Snapshot) withChanged(list []unstructured.Unstructured, selector labels.Selector) []unstructured.Unstructured {
	out := make([]unstructured.Unstructured, 0, len(list)+1)
	for i := range list {
		if list[i].GetNamespace() != s.changed.GetNamespace() || list[i].GetName() != s.changed.GetName() {
			out = append(out, list[i])
		}
	}
	if selector.Matches(labels.Set(s.changed.GetLabels())) {
		out = append(out, *s.changed)
	}
	return out
}

func (s *Snapshot) kind(of schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	kind, served, err := s.KindOf(of)
	if err == nil && !served {
		err = fmt.Errorf("the cluster serves no %s in version %s", of.GroupResource(), of.GroupVersion())
	}
	return kind, err
}

// Resources returns what objects of a kind are served as: in that version, and otherwise.
func (c *Cluster) Resources(kind schema.GroupVersionKind) (is schema.GroupVersionResource, others []schema.GroupVersionResource, err error) {
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return is, nil, fmt.Errorf("finding the resource of kind %s: %w", kind.GroupKind(), err)
	}
	all, err := c.mapper.ResourcesFor(mapping.Resource.GroupResource().WithVersion(""))
	if err != nil {
		return is, nil, fmt.Errorf("finding the versions of kind %s: %w", kind.GroupKind(), err)
	}
	for _, other := range all {
		if other.Group == kind.Group && other != mapping.Resource {
			others = append(others, other)
		}
	}
	return mapping.Resource, others, nil
}
