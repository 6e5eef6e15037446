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

package cluster

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clientdiscovery "k8s.io/client-go/discovery"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/kubectl"
)

// storing knows in which version the API server stores objects, and asks once about each kind. What cannot be told is
// taken for a kind of one version.
type storing struct {
	served clientdiscovery.DiscoveryInterface
	known  map[schema.GroupVersionKind]*discovery.Resource
}

// ByKind implements storedversion.Kinds.
func (s *storing) ByKind(kind schema.GroupVersionKind) (discovery.Resource, bool) {
	if s == nil || s.served == nil || !strings.Contains(kind.Group, ".") {
		return discovery.Resource{}, false
	}
	known, asked := s.known[kind]
	if !asked {
		if told, served, err := discovery.Told(context.Background(), s.uncached(), kind); err == nil && served {
			known = &told
		}
		s.known[kind] = known
	}
	if known == nil {
		return discovery.Resource{}, false
	}
	return *known, true
}

// uncached asks the API server itself: what kubectl keeps on the disk may be of before a definition was changed.
func (s *storing) uncached() discovery.Discovery {
	asked, ok := s.served.(discovery.Discovery)
	if _, cached := s.served.(clientdiscovery.CachedDiscoveryInterface); cached || !ok {
		return clientdiscovery.NewDiscoveryClient(s.served.RESTClient())
	}
	return asked
}

// stored returns a kind in the version in which its objects are stored, where that is known.
func (c *Cluster) stored(kind schema.GroupVersionKind) schema.GroupVersionKind {
	if resource, ok := c.storing.ByKind(kind); ok {
		if stored, elsewhere := resource.StoredElsewhere(); elsewhere {
			kind.Version = stored.Name
		}
	}
	return kind
}

// VersionToName returns the version that a command about an object of a kind has to name, empty where kubectl takes it
// by itself, or nothing tells.
func (c *Cluster) VersionToName(kind schema.GroupKind) string {
	if !strings.Contains(kind.Group, ".") {
		return ""
	}
	mapping, err := c.mapper.RESTMapping(kind)
	if err != nil {
		return ""
	}
	resource, _ := c.storing.ByKind(mapping.GroupVersionKind)
	return resource.VersionToName()
}

// Objects returns what a command about an object is told.
func (c *Cluster) Objects(ref v1alpha1.TargetReference) kubectl.Objects {
	return kubectl.Objects{
		Group: ref.Group, Version: c.VersionToName(schema.GroupKind{Group: ref.Group, Kind: ref.Kind}), Kind: ref.Kind,
		Namespace: ref.Namespace, Names: []string{ref.Name},
	}
}
