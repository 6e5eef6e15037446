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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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

// NamespaceReader reads the labels of namespaces, of which it needs the metadata
// only.
type NamespaceReader struct {
	// Cached is asked first; see NamespaceCache.
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
	namespace := PartialNamespace()
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

func labelsOf(namespace *metav1.PartialObjectMetadata) map[string]string {
	if namespace.Labels == nil {
		return map[string]string{}
	}
	return namespace.Labels
}

// NamespaceCache returns what to put into the ByObject options of the cache that
// a NamespaceReader reads: it keeps no more of a namespace than selectors need,
// and hands it out without copying, as admission asks for it all the time.
func NamespaceCache() (client.Object, cache.ByObject) {
	return PartialNamespace(), cache.ByObject{
		UnsafeDisableDeepCopy: new(true),
		Transform: func(obj any) (any, error) {
			if namespace, ok := obj.(*metav1.PartialObjectMetadata); ok {
				namespace.Annotations = nil
				namespace.ManagedFields = nil
			}
			return obj, nil
		},
	}
}

// PartialNamespace returns what is known of a namespace, for those who watch or read it.
func PartialNamespace() *metav1.PartialObjectMetadata {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return namespace
}
