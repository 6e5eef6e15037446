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

package objectcache

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	toolscache "k8s.io/client-go/tools/cache"

	"kausality.io/operator/internal/objectcache/compressed"
)

// Get returns a holder from the cache. It never calls the API server: an object
// of a kind that is not watched, or not synced yet, is not found. The group and
// kind of gvk count; the object comes in the version that is watched.
//
// The result is shared and must not be modified.
func (c *Cache) Get(_ context.Context, gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	w, ok := (*c.kinds.Load())[gvk.GroupKind()]
	if !ok || !w.ready() {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.Name)
	}
	if w.scope == apimeta.RESTScopeNameRoot {
		key.Namespace = ""
	}
	item, _, err := w.objects.GetByKey(toolscache.ObjectName(key).String())
	if err != nil {
		return nil, fmt.Errorf("cannot read %s %s in the cache: %w", gvk.Kind, key, err)
	}
	packed, ok := item.(*packedHolder)
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.Name)
	}
	return packed.Unpack()
}

// ByUID returns the holder of any kind with a UID from the cache, and a NotFound error
// where the cache has none. What refers to it may know it by another name or kind.
//
// The result is shared and must not be modified.
func (c *Cache) ByUID(_ context.Context, uid types.UID) (*unstructured.Unstructured, error) {
	for _, w := range *c.kinds.Load() {
		if !w.ready() {
			continue
		}
		for _, item := range compressed.WithUID[unstructured.Unstructured](w.objects, uid) {
			obj, err := item.Unpack()
			if err != nil {
				return nil, err
			}
			if obj.GetUID() == uid {
				return obj, nil
			}
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "objects with the UID"}, string(uid))
}

// Behind reports whether the cached holders of a kind may be older than what others see,
// because their watch is broken, or was until a moment ago. How far they are behind
// while it is not is only a matter of speed.
func (c *Cache) Behind(gvk schema.GroupVersionKind) bool {
	w, ok := (*c.kinds.Load())[gvk.GroupKind()]
	return ok && w.state.Behind()
}

// Failing reports whether the holders of a kind are not known, as the last try to read them was refused.
func (c *Cache) Failing(kind schema.GroupKind) bool {
	w, ok := (*c.kinds.Load())[kind]
	return ok && !w.ready() && w.state.Failing()
}

// Reading reports whether holders of some kind are not known yet, although nothing has gone
// wrong with reading them.
func (c *Cache) Reading() bool {
	for _, w := range *c.kinds.Load() {
		if !w.ready() && !w.state.Failing() {
			return true
		}
	}
	return false
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
	return c.get(ctx, mapping, key)
}

// LiveIn reads an object from the API server in the very version of the kind.
func (c *Cache) LiveIn(ctx context.Context, gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s %s: %w", gvk.Kind, key, err)
	}
	return c.get(ctx, mapping, key)
}

// get reads an object of a mapped kind.
func (c *Cache) get(ctx context.Context, mapping *apimeta.RESTMapping, key types.NamespacedName) (*unstructured.Unstructured, error) {
	var reader dynamic.ResourceInterface = c.live.Resource(mapping.Resource)
	if mapping.Scope.Name() == apimeta.RESTScopeNameNamespace {
		reader = c.live.Resource(mapping.Resource).Namespace(key.Namespace)
	}
	obj, err := reader.Get(ctx, key.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot read %s %s: %w", mapping.GroupVersionKind.Kind, key, err)
	}
	return obj, nil
}

// ListLive reads the objects of any kind from the API server, those of all namespaces where
// none is given.
func (c *Cache) ListLive(ctx context.Context, gvk schema.GroupVersionKind, namespace string) ([]*unstructured.Unstructured, error) {
	if w, ok := (*c.kinds.Load())[gvk.GroupKind()]; ok {
		gvk = w.gvk
	}
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, fmt.Errorf("cannot list %s: %w", gvk.Kind, err)
	}
	var reader dynamic.ResourceInterface = c.live.Resource(mapping.Resource)
	if mapping.Scope.Name() == apimeta.RESTScopeNameNamespace {
		reader = c.live.Resource(mapping.Resource).Namespace(namespace)
	}
	list, err := reader.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot list %s: %w", gvk.Kind, err)
	}
	out := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i]
	}
	return out, nil
}

// List unpacks all cached holders of a kind, one after the other: there may be more than
// fit into memory. Where the kind is not watched there are none. The objects are shared
// and must not be modified.
func (c *Cache) List(ctx context.Context, gvk schema.GroupVersionKind) iter.Seq2[*unstructured.Unstructured, error] {
	return c.CreatedSince(ctx, gvk, time.Time{})
}

// CreatedSince goes through those cached holders of a kind that were created at a time or
// later, as List does. All others cost next to nothing.
func (c *Cache) CreatedSince(_ context.Context, gvk schema.GroupVersionKind, since time.Time) iter.Seq2[*unstructured.Unstructured, error] {
	return func(yield func(*unstructured.Unstructured, error) bool) {
		for packed := range c.all(gvk) {
			if packed.Created().Before(since) {
				continue
			}
			if obj, err := packed.Unpack(); !yield(obj, err) {
				return
			}
		}
	}
}

// Has reports whether there is a cached holder of a kind with a namespace and name.
func (c *Cache) Has(gvk schema.GroupVersionKind, key types.NamespacedName) bool {
	w, ok := (*c.kinds.Load())[gvk.GroupKind()]
	if !ok || !w.ready() {
		return false
	}
	_, exists, err := w.objects.GetByKey(toolscache.ObjectName(key).String())
	return exists && err == nil
}

// Requests are for all cached holders of a kind: their names, which cost less than they do.
func (c *Cache) Requests(gvk schema.GroupVersionKind) iter.Seq[Request] {
	return func(yield func(Request) bool) {
		for packed := range c.all(gvk) {
			if !yield(RequestFor(gvk, packed.Key())) {
				return
			}
		}
	}
}

// Names lists the cached holders of a kind in a namespace.
func (c *Cache) Names(gvk schema.GroupVersionKind, namespace string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for packed := range c.all(gvk) {
			if key := packed.Key(); key.Namespace == namespace && !yield(key.Name) {
				return
			}
		}
	}
}

func (c *Cache) all(gvk schema.GroupVersionKind) iter.Seq[*packedHolder] {
	return func(yield func(*packedHolder) bool) {
		w, ok := (*c.kinds.Load())[gvk.GroupKind()]
		if !ok || !w.ready() {
			return
		}
		for _, item := range w.objects.List() {
			if packed, ok := item.(*packedHolder); ok && !yield(packed) {
				return
			}
		}
	}
}

// Kinds returns the kinds whose holders can be read, in a stable order.
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

// Watches reports whether the holders of a kind can be read: where it is false,
// that Get does not find an object says nothing about it.
func (c *Cache) Watches(kind schema.GroupKind) bool {
	w, ok := (*c.kinds.Load())[kind]
	return ok && w.ready()
}
