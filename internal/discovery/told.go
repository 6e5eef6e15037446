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
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	endpoints "k8s.io/apiserver/pkg/endpoints/discovery"
)

// Told returns what discovery alone tells of a kind, and false where it is not served. Everybody may ask that, and
// few people may read definitions: the version in which objects are stored is known by its hash, which discovery has
// for each version of a resource.
func Told(ctx context.Context, asked Discovery, kind schema.GroupVersionKind) (Resource, bool, error) {
	r := &Resolver{discovery: asked}
	gv := kind.GroupVersion()
	versions, err := r.versions(ctx, []schema.GroupVersion{gv})
	if err != nil {
		return Resource{}, false, err
	}
	list, err := asked.ServerResourcesForGroupVersionWithContext(ctx, gv.String())
	if err != nil {
		return Resource{}, false, fmt.Errorf("asking the API server what it serves of %s: %w", gv, err)
	}
	resources := parse(gv, list)
	i := slices.IndexFunc(resources, func(resource Resource) bool { return resource.GVK == kind })
	if i < 0 {
		return Resource{}, false, nil
	}
	resource := resources[i]
	elsewhere, err := r.elsewhere(ctx, gv, versions[gv.Group])
	if err != nil {
		return Resource{}, false, err
	}
	resource.Versions = elsewhere[resource.GVR.Resource]
	for j := range list.APIResources {
		if list.APIResources[j].Name == resource.GVR.Resource {
			resource.noteHash(kind.GroupKind(), list.APIResources[j].StorageVersionHash, versions[gv.Group])
		}
	}
	return resource, true, nil
}

// noteHash notes which of the versions in which a resource is served has a hash: objects are stored in that. Where none
// has, the version is not served, or the API server makes another hash, and nothing is known.
func (r *Resource) noteHash(kind schema.GroupKind, hash string, group []string) {
	isStored := func(version string) bool { return hash == endpoints.StorageVersionHash(kind.Group, version, kind.Kind) }
	if isStored(r.GVR.Version) {
		r.Preferred = r.first(group)
		return
	}
	for _, version := range slices.Sorted(maps.Keys(r.Versions)) {
		if isStored(version) {
			r.Stored, r.Preferred = version, r.first(group)
		}
	}
}
