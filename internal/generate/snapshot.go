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

package generate

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Snapshot is what a policy may read of the cluster. Two calls with the same arguments
// return the same within one evaluation. Objects are as unstructured objects hold them, and
// are not changed. What the policy's service account may not read is an error.
type Snapshot interface {
	// KindOf returns the kind that is served as a resource, and whether there is one.
	KindOf(resource schema.GroupVersionResource) (schema.GroupVersionKind, bool, error)
	// IsNamespaced reports whether the objects of a kind are in namespaces, and whether it
	// is served at all.
	IsNamespaced(kind schema.GroupVersionKind) (namespaced, served bool, err error)
	// Get returns an object, nil where it is not there.
	Get(resource schema.GroupVersionResource, namespace, name string) (map[string]any, error)
	// List returns the objects that a selector selects: of all namespaces where the
	// namespace is empty.
	List(resource schema.GroupVersionResource, namespace string, selector labels.Selector) ([]map[string]any, error)
}

// Read is what an evaluation read: when it changes, the answer may be another one.
type Read struct {
	// Resource that was read.
	Resource schema.GroupVersionResource
	// Namespace is empty for all namespaces, and where there is none.
	Namespace string
	// Name is empty where objects were listed.
	Name string
	// Selector is that of a list, in canonical form; empty selects everything.
	Selector string
}
