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

package ancestry

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

// Namespaces knows the labels of namespaces.
type Namespaces interface {
	// Labels returns the labels of a namespace, which the caller does not
	// modify. They are never nil, which stands for an object outside of any
	// namespace.
	Labels(ctx context.Context, name string) map[string]string
}

// NamespaceReader reads the labels of namespaces.
type NamespaceReader struct {
	// Cached is asked first: a cache, since clients read what has no type of its own from the API
	// server. See NamespaceCache.
	Cached client.Reader
	// Live is asked about a namespace that the cache does not know yet, as the
	// API server does for its own selectors: the first objects of a namespace
	// can come before the watch tells of it.
	Live client.Reader
	// Behind reports whether the cache may be older than what others see; nil where it
	// never is.
	Behind func() bool
}

var _ Namespaces = NamespaceReader{}

// Labels implements Namespaces. A namespace that cannot be read counts as it was last
// known, or as one without labels.
func (r NamespaceReader) Labels(ctx context.Context, name string) map[string]string {
	namespace := NewNamespace()
	key := types.NamespacedName{Name: name}
	if r.Behind != nil && r.Behind() {
		if err := client.IgnoreNotFound(r.Live.Get(ctx, key, namespace)); err == nil {
			return labelsOf(namespace)
		}
	}
	err := r.Cached.Get(ctx, key, namespace)
	if apierrors.IsNotFound(err) {
		err = client.IgnoreNotFound(r.Live.Get(ctx, key, namespace))
	}
	if err != nil {
		logf.FromContext(ctx).Error(err, "Cannot read the labels of a namespace; selectors see none", "namespace", name)
	}
	return labelsOf(namespace)
}

// IsGoing reports whether a namespace is being deleted, and all that is in it will be. It asks the API
// server: what is in the namespace may be deleted within milliseconds. A namespace that cannot be read
// counts as one that stays.
func (r NamespaceReader) IsGoing(ctx context.Context, name string) bool {
	namespace := NewNamespace()
	err := r.Live.Get(ctx, types.NamespacedName{Name: name}, namespace)
	return err == nil && namespace.GetDeletionTimestamp() != nil
}

func labelsOf(namespace *unstructured.Unstructured) map[string]string {
	if labels := namespace.GetLabels(); labels != nil {
		return labels
	}
	return map[string]string{}
}

// NamespaceCache returns what to put into the ByObject options of the cache that
// a NamespaceReader reads, and GeneratingPolicies with Namespaces among their triggers: one
// watch serves both. transform leaves out what neither needs. Namespaces are handed out without
// copying, as admission asks for them all the time.
func NamespaceCache(transform toolscache.TransformFunc) (client.Object, cache.ByObject) {
	return NewNamespace(), cache.ByObject{UnsafeDisableDeepCopy: new(true), Transform: transform}
}

// NewNamespace returns an empty Namespace to watch by, or to read into.
func NewNamespace() *unstructured.Unstructured {
	namespace := &unstructured.Unstructured{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return namespace
}
