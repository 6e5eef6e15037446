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

package catalog

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"kausality.io/operator/api/v1alpha1"
)

// entries returns all entries of a policy, in whichever section.
func entries(spec *v1alpha1.AllowancePolicySpec) []v1alpha1.PolicyEntry {
	var all []v1alpha1.PolicyEntry
	if spec.Initializing != nil {
		all = append(all, spec.Initializing.Policies...)
	}
	if spec.Deleting != nil {
		all = append(all, spec.Deleting.Policies...)
	}
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
	for _, entry := range entries(spec) {
		target := entry.Target
		name(schema.GroupVersionResource{Group: ptr.Deref(target.APIGroup, ""), Version: target.APIVersion, Resource: target.Resource})
		if t := entry.Through; t != nil {
			name(schema.GroupVersionResource{Group: t.APIGroup, Version: t.APIVersion, Resource: t.Resource})
		}
	}
	return resources
}

// groupVersions returns the group versions of all kinds and resources that the policies name.
func groupVersions(policies []v1alpha1.AllowancePolicy) []schema.GroupVersion {
	var versions []schema.GroupVersion
	name := func(gv schema.GroupVersion) {
		if !slices.Contains(versions, gv) {
			versions = append(versions, gv)
		}
	}
	for i := range policies {
		spec := &policies[i].Spec
		name(schema.GroupVersion{Group: spec.For.APIGroup, Version: spec.For.APIVersion})
		for _, resource := range NamedResources(spec) {
			name(resource.GroupVersion())
		}
	}
	return versions
}
