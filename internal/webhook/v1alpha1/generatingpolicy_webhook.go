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

package v1alpha1

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/access"
	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/generate"
)

// +kubebuilder:webhook:path=/validate-kausality-io-v1alpha1-generatingpolicy,mutating=false,failurePolicy=fail,sideEffects=None,groups=kausality.io,resources=generatingpolicies,verbs=create;update,versions=v1alpha1,name=vgeneratingpolicy.kausality.io,admissionReviewVersions=v1
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// GeneratingPolicyValidator refuses GeneratingPolicies that cannot work, by field, and those by
// which somebody would act as a service account that they may not act as.
type GeneratingPolicyValidator struct {
	// Serving says what the API server serves; nil where nobody can tell.
	Serving Serving
	// Client makes SubjectAccessReviews.
	Client client.Client
	// DefaultAccount is the user name of the service account of a policy that names none.
	DefaultAccount string
}

var _ admission.Validator[*v1alpha1.GeneratingPolicy] = (*GeneratingPolicyValidator)(nil)

// GeneratingPolicyHook returns the webhook for GeneratingPolicies.
func GeneratingPolicyHook(mgr ctrl.Manager, kinds *discovery.Resolver, defaultAccount string) http.Handler {
	return admission.WithValidator(mgr.GetScheme(), &GeneratingPolicyValidator{Serving: kinds, Client: mgr.GetClient(), DefaultAccount: defaultAccount})
}

// ValidateCreate implements admission.Validator.
func (v *GeneratingPolicyValidator) ValidateCreate(ctx context.Context, p *v1alpha1.GeneratingPolicy) (admission.Warnings, error) {
	return v.validate(ctx, p)
}

// ValidateUpdate implements admission.Validator. A spec that stays as it is was judged before.
func (v *GeneratingPolicyValidator) ValidateUpdate(ctx context.Context, before, p *v1alpha1.GeneratingPolicy) (admission.Warnings, error) {
	if equality.Semantic.DeepEqual(before.Spec, p.Spec) {
		return nil, nil
	}
	return v.validate(ctx, p)
}

// ValidateDelete implements admission.Validator; the API server does not ask about deletions.
func (v *GeneratingPolicyValidator) ValidateDelete(context.Context, *v1alpha1.GeneratingPolicy) (admission.Warnings, error) {
	return nil, nil
}

func (v *GeneratingPolicyValidator) validate(ctx context.Context, p *v1alpha1.GeneratingPolicy) (admission.Warnings, error) {
	compiled, warnings, errs := generate.Compile(p.Name, &p.Spec)
	if len(errs) > 0 {
		return nil, apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind(v1alpha1.KindGeneratingPolicy).GroupKind(), p.Name, errs)
	}
	return append(warnings, v.unserved(ctx, compiled)...), v.mayImpersonate(ctx, p)
}

// unserved warns of triggers that nobody serves: nothing is made for them, and nothing fails.
func (v *GeneratingPolicyValidator) unserved(ctx context.Context, p *generate.Policy) admission.Warnings {
	if v.Serving == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askingTimeout)
	defer cancel()
	var out admission.Warnings
	for _, u := range p.Unserved(servesAny(ctx, v.Serving)) {
		gv := schema.GroupVersion{Group: u.Groups[0], Version: u.Versions[0]}
		meant := suggest(ctx, v.Serving, gv, u.Resource, func(r discovery.Resource) string { return "resource " + r.GVR.Resource })
		out = append(out, fmt.Sprintf("spec.matchConstraints: %s is not served; nothing is a trigger of it until it is%s", u, meant))
	}
	return out
}

// servesAny is the generate.Serves of what is served. What a rule leaves open is looked for in all that is served.
func servesAny(ctx context.Context, serving Serving) generate.Serves {
	within := servedOnce(ctx, serving)
	const anything = "*"
	return func(group, version, name string) (bool, bool) {
		var resources []discovery.Resource
		var err error
		if group == anything || version == anything {
			resources, err = serving.Everything(ctx)
		} else {
			resources, err = within(schema.GroupVersion{Group: group, Version: version})
		}
		return slices.ContainsFunc(resources, func(r discovery.Resource) bool {
			return r.GVR.Resource == name && (group == anything || r.GVR.Group == group)
		}), err == nil
	}
}

// mayImpersonate returns an error where the requester may not act as the service account that the
// policy acts as. It is asked at each change of a spec, whoever named the account: what the policy
// does is up to who wrote last.
func (v *GeneratingPolicyValidator) mayImpersonate(ctx context.Context, p *v1alpha1.GeneratingPolicy) error {
	req, err := admission.RequestFromContext(ctx)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	account := cmp.Or(p.Spec.ServiceAccount, v.DefaultAccount)
	namespace, name, err := serviceaccount.SplitUsername(account)
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("reading the name of service account %s: %w", account, err))
	}
	review := access.ReviewFor(req.UserInfo, &authorizationv1.ResourceAttributes{
		Version: "v1", Resource: "serviceaccounts", Verb: "impersonate", Namespace: namespace, Name: name,
	})
	if err := v.Client.Create(ctx, review); err != nil {
		return apierrors.NewInternalError(fmt.Errorf("asking whether %s may impersonate %s: %w", req.UserInfo.Username, account, err))
	}
	if review.Status.Allowed {
		return nil
	}
	return apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("generatingpolicies").GroupResource(), p.Name,
		fmt.Errorf("spec.serviceAccount: the policy would act as %s, and %s may not: it takes the verb impersonate on serviceaccounts %s in namespace %s",
			account, req.UserInfo.Username, name, namespace))
}
