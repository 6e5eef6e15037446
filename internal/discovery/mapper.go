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
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Mapper maps kinds to resources as the Resolver knows them now. Another RESTMapper
// remembers for ever what it has once looked up, so that a kind that is defined anew
// with another scope would be asked for where it is not.
type Mapper struct {
	// RESTMapper maps what the Resolver does not know.
	apimeta.RESTMapper
	// Resolver goes with the definitions.
	Resolver *Resolver
}

// RESTMapping implements meta.RESTMapper.
func (m Mapper) RESTMapping(kind schema.GroupKind, versions ...string) (*apimeta.RESTMapping, error) {
	for _, version := range versions {
		if r, ok := m.Resolver.ByKind(kind.WithVersion(version)); ok {
			scope := apimeta.RESTScopeRoot
			if r.Namespaced {
				scope = apimeta.RESTScopeNamespace
			}
			return &apimeta.RESTMapping{Resource: r.GVR, GroupVersionKind: r.GVK, Scope: scope}, nil
		}
	}
	return m.RESTMapper.RESTMapping(kind, versions...)
}
