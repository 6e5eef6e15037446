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
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// subresourceScale is the sub-resource by which autoscalers, and "kubectl scale", set a number.
const subresourceScale = "scale"

// DefaultReplicas is the field that it sets in all of Kubernetes' own kinds.
const DefaultReplicas = "spec.replicas"

func (r *Resource) hasScale() bool { return slices.Contains(r.Subresources, subresourceScale) }

// scaledElsewhere returns the other versions in which a resource has a scale, sorted.
func (r *Resource) scaledElsewhere() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(r.Versions)), func(version string) bool {
		return !slices.Contains(r.Versions[version], subresourceScale)
	})
}

// learnScales notes what the scale of a resource sets, in its own version and in others that have one. Where
// objects are not converted, all versions have the same fields. Where a webhook converts them, the number of
// replicas is assumed to be converted to the number of replicas.
func (r *Resolver) learnScales(ctx context.Context, resource *Resource) error {
	if resource.hasScale() {
		own, err := r.scale(ctx, resource.GVR)
		if err != nil {
			return err
		}
		resource.ReplicasPath = own.Path
	}
	elsewhere := resource.scaledElsewhere()
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
