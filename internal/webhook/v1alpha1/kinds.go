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

package v1alpha1

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/policy"
)

// kindsOf resolves kinds with a mapper, which knows also those that no policy names
// yet. A mapper that cannot be asked counts as one that does not know the resource.
func kindsOf(mapper apimeta.RESTMapper) policy.KindResolver {
	return func(resource schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		kinds, err := mapper.KindsFor(resource)
		if err != nil {
			return schema.GroupVersionKind{}, false
		}
		// To a mapper, an empty group means any group, and the singular is as good
		// as the plural; admission knows the plural only.
		for _, kind := range kinds {
			if mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version); err == nil && mapping.Resource == resource {
				return kind, true
			}
		}
		return schema.GroupVersionKind{}, false
	}
}
