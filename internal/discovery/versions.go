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
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// subresourceStatus is the sub-resource by which controllers report.
const subresourceStatus = "status"

// versions returns the versions that are served of each group. It asks only where definitions may serve one of
// the group versions, as their versions may differ in their sub-resources: those of Kubernetes' own kinds do not.
func (r *Resolver) versions(ctx context.Context, of []schema.GroupVersion) (map[string][]string, error) {
	if !slices.ContainsFunc(of, func(gv schema.GroupVersion) bool { return mayBeDefined(gv.Group) }) {
		return nil, nil
	}
	list, err := r.discovery.ServerGroupsWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking the API server which groups it serves: %w", err)
	}
	out := map[string][]string{}
	for i := range list.Groups {
		out[list.Groups[i].Name] = inOrder(&list.Groups[i])
	}
	return out, nil
}

// inOrder returns the versions of a group, first those that kubectl prefers.
func inOrder(group *metav1.APIGroup) []string {
	out := make([]string, 0, len(group.Versions))
	for _, version := range group.Versions {
		out = append(out, version.Version)
	}
	if i := slices.Index(out, group.PreferredVersion.Version); i > 0 {
		out = slices.Insert(slices.Delete(out, i, i+1), 0, group.PreferredVersion.Version)
	}
	return out
}

// mayBeDefined reports whether the kinds of a group may be those of CustomResourceDefinitions, whose groups
// have a dot.
func mayBeDefined(group string) bool { return strings.Contains(group, ".") }

// elsewhere returns the other versions of a group in which resources are served, by the name of the resource, with
// the sub-resources that they have there.
func (r *Resolver) elsewhere(ctx context.Context, gv schema.GroupVersion, versions []string) (map[string]map[string][]string, error) {
	if !mayBeDefined(gv.Group) {
		return nil, nil
	}
	out := map[string]map[string][]string{}
	for _, version := range versions {
		other := schema.GroupVersion{Group: gv.Group, Version: version}
		if other == gv {
			continue
		}
		list, err := r.discovery.ServerResourcesForGroupVersionWithContext(ctx, other.String())
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("asking the API server what it serves of %s: %w", other, err)
		}
		for _, resource := range parse(other, list) {
			name := resource.GVR.Resource
			if out[name] == nil {
				out[name] = map[string][]string{}
			}
			out[name][version] = resource.Subresources
		}
	}
	return out, nil
}

// OnlyElsewhere returns the sub-resources that a resource has in other versions and not in its own, each with these
// versions, sorted. The API server asks nobody about them who named only its own version.
func (r *Resource) OnlyElsewhere() map[string][]string {
	var out map[string][]string
	for _, version := range slices.Sorted(maps.Keys(r.Versions)) {
		for _, name := range r.Versions[version] {
			if slices.Contains(r.Subresources, name) {
				continue
			}
			if out == nil {
				out = map[string][]string{}
			}
			out[name] = append(out[name], version)
		}
	}
	return out
}

// HasStatusInObject reports whether there is a version in which a write of the object itself changes its status, too.
func (r *Resource) HasStatusInObject() bool {
	for _, subresources := range r.Versions {
		if !slices.Contains(subresources, subresourceStatus) {
			return true
		}
	}
	return !slices.Contains(r.Subresources, subresourceStatus)
}

// StoredVersion is a version in which objects are stored.
type StoredVersion struct {
	// Name of the version, such as v1.
	Name string
	// HasStatus is true where the status has a sub-resource in it.
	HasStatus bool
}

// StoredElsewhere returns the version in which objects are stored, and false where that is the resource's own one.
func (r *Resource) StoredElsewhere() (StoredVersion, bool) {
	subresources, ok := r.Versions[r.Stored]
	return StoredVersion{Name: r.Stored, HasStatus: slices.Contains(subresources, subresourceStatus)}, ok
}

// VersionToName returns the version that a command about an object has to name, empty where kubectl takes it by itself:
// that in which objects are stored, or, where it is not served, that which policies name. In another one kubectl
// gives back what it has read, without what that version lacks.
func (r *Resource) VersionToName() string {
	right := r.GVR.Version
	if stored, elsewhere := r.StoredElsewhere(); elsewhere {
		right = stored.Name
	}
	if r.Preferred == "" || r.Preferred == right {
		return ""
	}
	return right
}

// VersionToName returns the version that a command about an object of a kind has to name, empty where kubectl takes it
// by itself, or nothing is known of the kind.
func (r *Resolver) VersionToName(kind schema.GroupKind) string { return r.served.Load().named[kind] }

// learnStored notes in which version a resource is stored, of those that are served, which of them kubectl takes, and
// in which others a write may lose fields. Those of its group are in the order that kubectl has.
func (r *Resolver) learnStored(ctx context.Context, resource *Resource, group []string) error {
	if len(resource.Versions) == 0 {
		return nil
	}
	stored, err := r.definitions.Storage(ctx, resource.GVR.GroupResource())
	if err != nil {
		return err
	}
	if _, served := resource.Versions[stored.Version]; served {
		resource.Stored = stored.Version
	}
	if stored.Version != "" {
		resource.Preferred = resource.first(group)
	}
	resource.Losing, resource.Storing = losing(resource, stored), storing(stored)
	return nil
}

// first returns the first of some versions in which the resource is served.
func (r *Resource) first(versions []string) string {
	i := slices.IndexFunc(versions, func(version string) bool {
		_, elsewhere := r.Versions[version]
		return elsewhere || version == r.GVR.Version
	})
	if i < 0 {
		return ""
	}
	return versions[i]
}

// noteVersions adds the kind of a resource for each version in which it is served.
func (r *Resource) noteVersions(kinds map[schema.GroupVersionResource]schema.GroupKind) {
	kinds[r.GVR] = r.GVK.GroupKind()
	for version := range r.Versions {
		kinds[r.GVR.GroupResource().WithVersion(version)] = r.GVK.GroupKind()
	}
}
