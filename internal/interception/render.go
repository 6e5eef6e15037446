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

// Package interception renders what tells the API server which requests concern
// Kausality: the two webhook configurations (D15) and the admission policy that
// protects ledgers inside the API server (D10).
//
// It is pure: equal input yields equal output, byte by byte, so that a reconciler
// which compares before it writes never writes for nothing.
package interception

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/policy"
)

const (
	// DefaultName is the name of all rendered objects unless Input has another.
	DefaultName = "kausality-admission"

	// MutatePath is where the operator serves the hook that grants.
	MutatePath = "/mutate"

	// ValidatePath is where the operator serves the hook that gives the verdict.
	ValidatePath = "/validate"

	// DefaultTimeoutSeconds is how long the API server waits for an answer. A
	// controller's write waits that long while the operator hangs.
	DefaultTimeoutSeconds int32 = 5
)

// Input is all that the rendered objects depend on.
type Input struct {
	// Name of the rendered objects; DefaultName if empty.
	Name string

	// Policies are those that work at least in part.
	Policies []*policy.Policy

	// KubeSystem says that some policy asks for kube-system (SelectsKubeSystem).
	// Policies are then intercepted there as everywhere.
	KubeSystem bool

	// Holder says how the kind of a policy's "for" is served, and false while it
	// is not: its requests are then left alone until it appears.
	Holder func(schema.GroupVersionKind) (Served, bool)

	// Child says the same of the resource of a policy's target.
	Child func(schema.GroupVersionResource) (Served, bool)

	// Outside are annotations, besides Kausality's own, that say what the objects stand for
	// outside that a policy bounds in the cluster.
	Outside func(*policy.Policy) []string

	// Gated says which resources External entries of a policy may be about: their
	// gates are computed in each write (D16).
	Gated func(*policy.Policy) []Gated

	// Triggers are the requests for triggers of GeneratingPolicies: what they write is noted with who
	// writes it (D21).
	Triggers []admissionregistrationv1.RuleWithOperations

	// Sources are what GeneratingPolicies are known to read. That is noted likewise.
	Sources []generate.Source

	// Owners own what is rendered, which goes when the last of them does: see Installed.
	Owners []metav1.OwnerReference

	// ClientConfig is how the API server reaches the operator: a Service or a
	// base URL, without the path of a hook, and the CA bundle.
	ClientConfig admissionregistrationv1.WebhookClientConfig

	// PathKey is what the API server shows behind the path of a hook, so that the operator
	// knows it; nothing is shown where it is empty.
	PathKey string

	// OperatorNamespace is never intercepted: the operator must be able to start
	// while it cannot answer.
	OperatorNamespace string

	// Composers are the user names under which objects with a gate are composed: what they
	// want while the webhook is down is noted (D16).
	Composers []string

	// OperatorUser is the user name under which the operator writes.
	OperatorUser string

	// TimeoutSeconds is DefaultTimeoutSeconds if zero.
	TimeoutSeconds int32
}

// Served is a resource that the API server serves.
type Served struct {
	// Resource in the version in which requests for it are looked at.
	Resource schema.GroupVersionResource
	// Namespaced says whether its objects live in namespaces.
	Namespaced bool
	// Subresources that are served, without their resource, such as "status".
	Subresources []string
	// Elsewhere are the sub-resources that only other versions have, each with these.
	Elsewhere map[string][]string
	// StatusInObject says that there is a version in which a write of the object itself changes its status.
	StatusInObject bool
	// Losing are the versions in which a write may lose fields that the object has.
	Losing []string
}

// isScaled reports whether objects of the resource can be scaled, in whichever version.
func (s *Served) isScaled() bool {
	return s.has("scale")
}

// has reports whether the resource has a sub-resource, in whichever version.
func (s *Served) has(subresource string) bool {
	return slices.Contains(s.Subresources, subresource) || len(s.Elsewhere[subresource]) > 0
}

// Gated is a resource whose objects have a gate.
type Gated struct {
	Served
	// Annotations, besides Kausality's own, whose change matters for the gate.
	Annotations []string
}

// Desired is what should exist. What is nil should not: with no policy the
// operator is in no request's path. Each field that the API server would default
// is set, so that what it stores equals what is rendered.
type Desired struct {
	Mutating        *admissionregistrationv1.MutatingWebhookConfiguration
	Validating      *admissionregistrationv1.ValidatingWebhookConfiguration
	AdmissionPolicy *admissionregistrationv1.MutatingAdmissionPolicy
	Binding         *admissionregistrationv1.MutatingAdmissionPolicyBinding
	// Causes is there whatever policies there are: the first GeneratingPolicy has an author, too.
	Causes *admissionregistrationv1.MutatingWebhookConfiguration
}

// Render returns what should exist.
func Render(in Input) Desired {
	if in.Name == "" {
		in.Name = DefaultName
	}
	if in.TimeoutSeconds == 0 {
		in.TimeoutSeconds = DefaultTimeoutSeconds
	}
	resources := collect(in)
	scope := scopeOf(in)
	policy, binding := admissionPolicy(in, scope.selector(), resources)
	return Desired{
		Mutating:        mutating(in, scope, resources),
		Validating:      validating(in, scope, resources),
		AdmissionPolicy: policy,
		Binding:         binding,
		Causes:          causes(in, scope.selector()),
	}
}

func objectMeta(in Input) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: in.Name,
		Labels: map[string]string{
			"app.kubernetes.io/name":       "kausality",
			"app.kubernetes.io/managed-by": "kausality",
		},
		OwnerReferences: in.Owners,
	}
}
