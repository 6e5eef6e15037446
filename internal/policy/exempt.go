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
	"cmp"
	"maps"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
)

// exempt are resources that are never intercepted, whatever policies say (D15), with their kinds:
// a cluster that cannot renew leases or register nodes while the operator is away
// does not bring the operator back.
var exempt = map[schema.GroupResource]string{
	{Group: coordinationv1.GroupName, Resource: "leases"}: "Lease",
	{Group: corev1.GroupName, Resource: "events"}:         "Event",
	{Group: eventsv1.GroupName, Resource: "events"}:       "Event",
	{Group: corev1.GroupName, Resource: "nodes"}:          "Node",
}

// exemptGroups are groups of which no resource is intercepted, but for GeneratingPolicies, which
// are causes like any other object: our own kinds, the configuration of admission itself, and the reviews
// that each request may need to be authenticated and authorized. They are sorted.
var exemptGroups = []string{
	admissionregistrationv1.GroupName,
	authenticationv1.GroupName,
	authorizationv1.GroupName,
	v1alpha1.GroupVersion.Group,
}

// Generating is the resource of GeneratingPolicies.
var Generating = schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: "generatingpolicies"}

// Exempt reports whether requests for a resource are never asked about, whatever policies say.
func Exempt(gr schema.GroupResource) bool {
	_, alone := exempt[gr]
	return alone || slices.Contains(exemptGroups, gr.Group) && gr != Generating
}

// ExemptKind is like Exempt, for the kind of a resource.
func ExemptKind(kind schema.GroupKind) bool {
	for gr, name := range exempt {
		if gr.Group == kind.Group && name == kind.Kind {
			return true
		}
	}
	return slices.Contains(exemptGroups, kind.Group) && (kind.Group != Generating.Group || kind.Kind != v1alpha1.KindGeneratingPolicy)
}

// ExemptResources returns the resources that are exempt one by one, sorted.
func ExemptResources() []schema.GroupResource {
	return slices.SortedFunc(maps.Keys(exempt), func(a, b schema.GroupResource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource))
	})
}

// ExemptGroups returns the groups all of whose resources are exempt, but for Generating. It is sorted, and must not be
// changed.
func ExemptGroups() []string { return exemptGroups }
