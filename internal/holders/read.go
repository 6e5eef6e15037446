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

package holders

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// Get returns a holder from the cache. It never calls the API server: an object
// of a kind that is not watched, or not synced yet, is not found. The group and
// kind of gvk count; the object comes in the version that is watched.
//
// The result is shared and must not be modified.
func (c *Cache) Get(ctx context.Context, gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	w, ok := (*c.kinds.Load())[gvk.GroupKind()]
	if !ok || !w.ready() {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.Name)
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(w.gvk)
	if err := c.cache.Get(ctx, key, obj); err != nil {
		return nil, err
	}
	return obj, nil
}

// Live reads an object of any kind from the API server, in one GET.
func (c *Cache) Live(ctx context.Context, gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	if w, ok := (*c.kinds.Load())[gvk.GroupKind()]; ok {
		gvk = w.gvk
	}
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if apimeta.IsNoMatchError(err) {
		// What once was known in a version that is not served any more.
		mapping, err = c.mapper.RESTMapping(gvk.GroupKind())
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s %s: %w", gvk.Kind, key, err)
	}
	var reader dynamic.ResourceInterface = c.live.Resource(mapping.Resource)
	if mapping.Scope.Name() == apimeta.RESTScopeNameNamespace {
		reader = c.live.Resource(mapping.Resource).Namespace(key.Namespace)
	}
	obj, err := reader.Get(ctx, key.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot read %s %s: %w", gvk.Kind, key, err)
	}
	return obj, nil
}

// List returns all cached holders of a kind; none where the kind is not watched.
// The objects are shared and must not be modified.
func (c *Cache) List(ctx context.Context, gvk schema.GroupVersionKind) ([]*unstructured.Unstructured, error) {
	w, ok := (*c.kinds.Load())[gvk.GroupKind()]
	if !ok || !w.ready() {
		return nil, nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(w.gvk.GroupVersion().WithKind(w.gvk.Kind + "List"))
	if err := c.cache.List(ctx, list); err != nil {
		return nil, fmt.Errorf("cannot list %s in the cache: %w", gvk.Kind, err)
	}
	objects := make([]*unstructured.Unstructured, 0, len(list.Items))
	for i := range list.Items {
		objects = append(objects, &list.Items[i])
	}
	return objects, nil
}

// Kinds are the kinds whose holders can be read, in a stable order.
func (c *Cache) Kinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, w := range *c.kinds.Load() {
		if w.ready() {
			kinds = append(kinds, w.gvk)
		}
	}
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int {
		return strings.Compare(a.String(), b.String())
	})
	return kinds
}

// Watches tells whether the holders of a kind can be read: where it is false,
// that Get does not find an object says nothing about it.
func (c *Cache) Watches(kind schema.GroupKind) bool {
	w, ok := (*c.kinds.Load())[kind]
	return ok && w.ready()
}
