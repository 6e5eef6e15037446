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

package crossplane

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/internal/gate"
)

// MayMatch implements gate.Driver: of all keys only the name depends on the object.
func (d Driver) MayMatch(external map[string]string, kind gate.Kind) bool {
	ofKind := maps.Clone(external)
	delete(ofKind, KeyName)
	return d.Target(&unstructured.Unstructured{}, kind).Matches(ofKind)
}

// Target implements gate.Driver.
func (Driver) Target(obj *unstructured.Unstructured, kind gate.Kind) gate.Target {
	t := gate.Target{
		KeyAPIGroup: kind.GVK.Group,
		KeyKind:     kind.GVK.Kind,
	}
	for key, value := range map[string]string{
		KeyProvider: kind.Provider,
		KeyResource: kind.Resource,
		KeyName:     obj.GetName(),
	} {
		if value != "" {
			t[key] = value
		}
	}
	return t
}
