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

// Package v1alpha1 holds the webhooks of Kausality's own kinds.
package v1alpha1

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/policy"
)

// +kubebuilder:webhook:path=/validate-kausality-io-v1alpha1-allowancepolicy,mutating=false,failurePolicy=fail,sideEffects=None,groups=kausality.io,resources=allowancepolicies,verbs=create;update,versions=v1alpha1,name=vallowancepolicy.kausality.io,admissionReviewVersions=v1

// AllowancePolicyValidator refuses AllowancePolicies that cannot work, by field,
// and warns of what has no effect today.
type AllowancePolicyValidator struct {
	// Serving knows what the API server serves.
	Serving Serving
	// Schemas are what it declares about kinds.
	Schemas Schemas
	// InEffect are the policies that are in effect; nil where nobody knows.
	InEffect func() []*policy.Policy
}

// Schemas knows what the API server declares about the fields of kinds.
// *discovery.Resolver is the one.
type Schemas interface {
	// Schemas returns what is declared of kinds, without those of which nothing is,
	// or of which the error says why that cannot be known.
	Schemas(ctx context.Context, gvks ...schema.GroupVersionKind) (map[schema.GroupVersionKind]*discovery.Schema, error)
}

var _ admission.Validator[*v1alpha1.AllowancePolicy] = (*AllowancePolicyValidator)(nil)

// AllowancePolicyHook returns the webhook for AllowancePolicies, beside those that are in effect.
func AllowancePolicyHook(mgr ctrl.Manager, kinds *discovery.Resolver, inEffect func() []*policy.Policy) http.Handler {
	return admission.WithValidator(mgr.GetScheme(), &AllowancePolicyValidator{Serving: kinds, Schemas: kinds, InEffect: inEffect})
}

// ValidateCreate implements admission.Validator.
func (v *AllowancePolicyValidator) ValidateCreate(ctx context.Context, p *v1alpha1.AllowancePolicy) (admission.Warnings, error) {
	warnings, err := v.validate(ctx, p)
	return append(warnings, unclearManaged(nil, p)...), err
}

// unclearManaged returns what is told who gives a policy an annotation about whose it is that says nothing: by a misspelled
// "false" somebody takes it over, and the operator puts back what they change.
func unclearManaged(before, p *v1alpha1.AllowancePolicy) admission.Warnings {
	value, said := p.Annotations[v1alpha1.AnnotationManaged]
	if !said || value == "true" || value == "false" || before != nil && before.Annotations[v1alpha1.AnnotationManaged] == value {
		return nil
	}
	return admission.Warnings{fmt.Sprintf("the annotation %s says nothing with another value than \"true\" or \"false\"", v1alpha1.AnnotationManaged)}
}

// ValidateUpdate implements admission.Validator. A spec that stays as it is was
// judged before, perhaps by another version: labels, annotations and finalizers
// of the policy must remain changeable.
func (v *AllowancePolicyValidator) ValidateUpdate(ctx context.Context, before, p *v1alpha1.AllowancePolicy) (admission.Warnings, error) {
	if equality.Semantic.DeepEqual(before.Spec, p.Spec) {
		return unclearManaged(before, p), nil
	}
	warnings, err := v.validate(ctx, p)
	return append(warnings, unclearManaged(before, p)...), err
}

// ValidateDelete implements admission.Validator; nothing stands in the way of a
// deletion, and the API server does not ask about them.
func (v *AllowancePolicyValidator) ValidateDelete(context.Context, *v1alpha1.AllowancePolicy) (admission.Warnings, error) {
	return nil, nil
}

func (v *AllowancePolicyValidator) validate(ctx context.Context, p *v1alpha1.AllowancePolicy) (admission.Warnings, error) {
	ctx, cancel := context.WithTimeout(ctx, askingTimeout)
	defer cancel()
	served := servedOnce(ctx, v.Serving)
	compiled, errs := policy.Compile(p, served.kindFor)
	if len(errs) > 0 {
		return nil, apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("AllowancePolicy").GroupKind(), p.Name, errs)
	}
	return v.warnings(ctx, p, compiled, served), nil
}
