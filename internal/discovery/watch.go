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

package discovery

import (
	"maps"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Definition returns what to watch of CustomResourceDefinitions: that they change, in which
// group, and whose they are, is all that a Resolver has to be told.
func Definition() client.Object {
	definition := &metav1.PartialObjectMetadata{}
	definition.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	return definition
}

// DefinitionCache returns what to put into the ByObject options of the cache that
// watches definitions: clusters have hundreds of them, with large annotations.
func DefinitionCache() (client.Object, cache.ByObject) {
	return Definition(), cache.ByObject{
		UnsafeDisableDeepCopy: new(true),
		Transform: func(obj any) (any, error) {
			if definition, ok := obj.(*metav1.PartialObjectMetadata); ok {
				definition.Annotations = nil
				maps.DeleteFunc(definition.Labels, func(key, value string) bool { return !isMarker(key, value) })
				definition.ManagedFields = nil
			}
			return obj, nil
		},
	}
}
