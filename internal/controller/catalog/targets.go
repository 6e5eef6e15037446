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

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

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
		for _, resource := range policy.NamedResources(spec) {
			name(resource.GroupVersion())
		}
	}
	return versions
}
