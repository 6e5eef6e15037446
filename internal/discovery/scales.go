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
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// subresourceScale is the sub-resource by which autoscalers, and "kubectl scale", set a number.
const subresourceScale = "scale"

// DefaultReplicas is the field that it sets in all of Kubernetes' own kinds.
const DefaultReplicas = "spec.replicas"

// versions returns the versions that are served of each group. It asks only where definitions may serve one of
// the group versions, as their versions may differ in their scale: those of Kubernetes' own kinds do not.
func (r *Resolver) versions(ctx context.Context, of []schema.GroupVersion) (map[string][]string, error) {
	if !slices.ContainsFunc(of, func(gv schema.GroupVersion) bool { return mayBeDefined(gv.Group) }) {
		return nil, nil
	}
	list, err := r.discovery.ServerGroupsWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking the API server which groups it serves: %w", err)
	}
	out := map[string][]string{}
	for _, group := range list.Groups {
		for _, version := range group.Versions {
			out[group.Name] = append(out[group.Name], version.Version)
		}
	}
	return out, nil
}

// mayBeDefined reports whether the kinds of a group may be those of CustomResourceDefinitions, whose groups
// have a dot.
func mayBeDefined(group string) bool { return strings.Contains(group, ".") }

// scaledElsewhere returns the other versions of a group in which resources have a scale.
func (r *Resolver) scaledElsewhere(ctx context.Context, gv schema.GroupVersion, versions []string) (map[string][]string, error) {
	if !mayBeDefined(gv.Group) {
		return nil, nil
	}
	out := map[string][]string{}
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
			if resource.hasScale() {
				out[resource.GVR.Resource] = append(out[resource.GVR.Resource], version)
			}
		}
	}
	return out, nil
}

func (r *Resource) hasScale() bool { return slices.Contains(r.Subresources, subresourceScale) }

// ScaledOnlyIn returns the other versions in which a resource has a scale, sorted, where its own has none.
func (r *Resource) ScaledOnlyIn() []string {
	if r.hasScale() {
		return nil
	}
	return slices.Sorted(maps.Keys(r.Scales))
}

// learnScales notes what the scale of a resource sets, in its own version and in others that have one. Where
// objects are not converted, all versions have the same fields. Where a webhook converts them, the number of
// replicas is assumed to be converted to the number of replicas.
func (r *Resolver) learnScales(ctx context.Context, resource *Resource, elsewhere []string) error {
	if resource.hasScale() {
		own, err := r.scale(ctx, resource.GVR)
		if err != nil {
			return err
		}
		resource.ReplicasPath = own.Path
	}
	if len(elsewhere) == 0 {
		return nil
	}
	resource.Scales = map[string]string{}
	if resource.hasScale() {
		resource.Scales[resource.GVR.Version] = resource.ReplicasPath
	}
	for _, version := range elsewhere {
		scale, err := r.scale(ctx, resource.GVR.GroupResource().WithVersion(version))
		if err != nil {
			return err
		}
		if scale.Converted && resource.hasScale() {
			scale.Path = resource.ReplicasPath
		}
		resource.Scales[version] = scale.Path
	}
	return nil
}

func (r *Resolver) scale(ctx context.Context, of schema.GroupVersionResource) (Scale, error) {
	scale, err := r.definitions.Scale(ctx, of)
	if scale.Path == "" {
		scale.Path = DefaultReplicas
	}
	return scale, err
}

// noteScales adds the kind of a resource for each version in which it has a scale.
func (r *Resource) noteScales(kinds map[schema.GroupVersionResource]schema.GroupKind) {
	if r.hasScale() {
		kinds[r.GVR] = r.GVK.GroupKind()
	}
	for version := range r.Scales {
		kinds[r.GVR.GroupResource().WithVersion(version)] = r.GVK.GroupKind()
	}
}
