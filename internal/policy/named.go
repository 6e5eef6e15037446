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

package policy

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"kausality.io/operator/api/v1alpha1"
)

// EntriesOf returns all entries of a policy as it is written, in whichever section.
func EntriesOf(spec *v1alpha1.AllowancePolicySpec) []v1alpha1.PolicyEntry {
	var all []v1alpha1.PolicyEntry
	if spec.Initializing != nil {
		all = append(all, spec.Initializing.Policies...)
	}
	if spec.Deleting != nil {
		all = append(all, spec.Deleting.Policies...)
	}
	return append(all, SteadyEntriesOf(spec)...)
}

// SteadyEntriesOf returns the entries of a policy as it is written that are about the children of steady parents.
func SteadyEntriesOf(spec *v1alpha1.AllowancePolicySpec) []v1alpha1.PolicyEntry {
	var all []v1alpha1.PolicyEntry
	if spec.Maintaining != nil {
		for i := range spec.Maintaining.Policies {
			all = append(all, spec.Maintaining.Policies[i].PolicyEntry)
		}
	}
	for i := range spec.Rules {
		all = append(all, spec.Rules[i].Policies...)
	}
	return all
}

// NamedResources returns the resources that a policy names as ControllerChild targets, or as
// readers of its objects, each once, in the order in which it names them.
func NamedResources(spec *v1alpha1.AllowancePolicySpec) []schema.GroupVersionResource {
	var resources []schema.GroupVersionResource
	name := func(resource schema.GroupVersionResource) {
		if resource.Resource != "" && !slices.Contains(resources, resource) {
			resources = append(resources, resource)
		}
	}
	for _, entry := range EntriesOf(spec) {
		name(ResourceOf(entry.Target))
		if t := entry.Through; t != nil {
			name(schema.GroupVersionResource{Group: t.APIGroup, Version: t.APIVersion, Resource: t.Resource})
		}
	}
	return resources
}

// ResourceOf returns the resource that a target names; one without a resource for what is outside the cluster.
func ResourceOf(t v1alpha1.Target) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: ptr.Deref(t.APIGroup, ""), Version: t.APIVersion, Resource: t.Resource}
}
