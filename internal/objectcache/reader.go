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
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"kausality.io/operator/internal/lineage"
)

// Reader reads holders: from the cache, or, where that is asked for, from the API server.
type Reader interface {
	// Get returns a holder from the cache, which the caller does not modify.
	Get(ctx context.Context, gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error)
	// ByUID returns the one of any kind that has the UID.
	ByUID(ctx context.Context, uid types.UID) (*unstructured.Unstructured, error)
	// Ignores reports whether a parent that a holder names is none for it.
	Ignores(ctx context.Context, obj *unstructured.Unstructured, parent lineage.Ref) bool
	// Live reads one from the API server.
	Live(ctx context.Context, gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error)
	// List goes through all cached holders of a kind, not to be modified either.
	List(ctx context.Context, gvk schema.GroupVersionKind) iter.Seq2[*unstructured.Unstructured, error]
	// CreatedSince goes through those that were created at a time or later.
	CreatedSince(ctx context.Context, gvk schema.GroupVersionKind, since time.Time) iter.Seq2[*unstructured.Unstructured, error]
	// Has reports whether there is a cached holder of that name.
	Has(gvk schema.GroupVersionKind, key types.NamespacedName) bool
	// Requests goes through their names, which costs less.
	Requests(gvk schema.GroupVersionKind) iter.Seq[Request]
	// Kinds returns the cached kinds.
	Kinds() []schema.GroupVersionKind
	// Watches reports whether the cache has all holders of a kind.
	Watches(kind schema.GroupKind) bool
	// Source has the events of all
	Source() source.TypedSource[Request]
}
