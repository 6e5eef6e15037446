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
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/policy"
)

// oldestMinor is the minor version of the oldest Kubernetes 1 that the operator is for.
const oldestMinor = 30

// apiService is a kind that each API server has, and whose Go type is not among those of clients.
var apiService = schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}

// removed are Go types of what Kubernetes has ceased to serve in a version.
type removed interface {
	APILifecycleRemoved() (major, minor int)
}

// isServed reports whether a Go type is that of objects which an API server may serve, of no version that none does
// any more: options and lists have no metadata of an object, and what is only the content of sub-resources, such as a
// Scale, has no list.
func isServed(known *runtime.Scheme, gvk schema.GroupVersionKind, obj runtime.Object) bool {
	if _, err := apimeta.Accessor(obj); err != nil {
		return false
	}
	if r, ok := obj.(removed); ok {
		if major, minor := r.APILifecycleRemoved(); major == 1 && minor <= oldestMinor {
			return false
		}
	}
	return known.Recognizes(gvk.GroupVersion().WithKind(gvk.Kind+listSuffix)) ||
		slices.Contains(unwatchable, gvk.GroupKind()) || slices.Contains(policy.ExemptGroups(), gvk.Group)
}
