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
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/upgrade"
)

// +kubebuilder:webhook:path=/mutate-kausality-io-v1alpha1-upgradeallowance,mutating=true,failurePolicy=fail,sideEffects=None,groups=kausality.io,resources=upgradeallowances,verbs=create;update,versions=v1alpha1,name=mupgradeallowance.kausality.io,admissionReviewVersions=v1,reinvocationPolicy=IfNeeded
// +kubebuilder:webhook:path=/validate-kausality-io-v1alpha1-upgradeallowance,mutating=false,failurePolicy=fail,sideEffects=None,groups=kausality.io,resources=upgradeallowances,verbs=create;update,versions=v1alpha1,name=vupgradeallowance.kausality.io,admissionReviewVersions=v1

// UpgradeAllowanceStamp returns the webhook that writes on an UpgradeAllowance who last changed its
// spec. What a request says about that has no effect.
func UpgradeAllowanceStamp(mgr ctrl.Manager) http.Handler {
	return &admission.Webhook{Handler: &stamp{decoder: admission.NewDecoder(mgr.GetScheme())}}
}

type stamp struct{ decoder admission.Decoder }

// Handle implements admission.Handler.
func (s *stamp) Handle(_ context.Context, req admission.Request) admission.Response {
	before, after, err := decodeUpgrade(s.decoder, req)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	// The object as it came is patched, so that nothing is lost that this version does not know.
	var raw map[string]any
	if err := json.Unmarshal(req.Object.Raw, &raw); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	metadata, ok := raw["metadata"].(map[string]any)
	if !ok {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("UpgradeAllowance %s has no metadata", req.Name))
	}
	metadata["annotations"] = upgrade.Stamp(before, after, req.UserInfo.Username)
	stamped, err := json.Marshal(raw)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(req.Object.Raw, stamped)
}

// decodeUpgrade reads the objects of a request; before is nil where it creates one.
func decodeUpgrade(decoder admission.Decoder, req admission.Request) (before, after *v1alpha1.UpgradeAllowance, err error) {
	after = &v1alpha1.UpgradeAllowance{}
	if err := decoder.Decode(req, after); err != nil {
		return nil, nil, fmt.Errorf("reading UpgradeAllowance %s: %w", req.Name, err)
	}
	if req.Operation != admissionv1.Update {
		return nil, after, nil
	}
	before = &v1alpha1.UpgradeAllowance{}
	if err := decoder.DecodeRaw(req.OldObject, before); err != nil {
		return nil, nil, fmt.Errorf("reading UpgradeAllowance %s as it was: %w", req.Name, err)
	}
	return before, after, nil
}

// Accounts knows service accounts. *identity.Pods is one.
type Accounts interface {
	// Exists reports whether the service account of the user is not known to be absent.
	Exists(ctx context.Context, username string) bool
}

// UpgradeAllowanceValidator refuses UpgradeAllowances that cannot work, by field, and those
// whose stamp is not as the other webhook has left it, and warns of what lets nothing through
// today.
type UpgradeAllowanceValidator struct {
	// Mapper knows what the API server serves.
	Mapper apimeta.RESTMapper
	// Serving knows all of it, and Schemas what objects are like; nil where nothing is to be said of that.
	Serving Serving
	Schemas Schemas
	// Policies are those that are active.
	Policies *policy.Active
	// Runners know what runs.
	Runners upgrade.Runners
	// Accounts knows who may run.
	Accounts Accounts
}

var _ admission.Validator[*v1alpha1.UpgradeAllowance] = (*UpgradeAllowanceValidator)(nil)

// UpgradeAllowanceHook returns the webhook for UpgradeAllowances.
func UpgradeAllowanceHook(mgr ctrl.Manager, kinds *discovery.Resolver, policies *policy.Active, runners upgrade.Runners, accounts Accounts) http.Handler {
	return admission.WithValidator(mgr.GetScheme(), &UpgradeAllowanceValidator{
		Mapper: mgr.GetRESTMapper(), Serving: kinds, Schemas: kinds, Policies: policies, Runners: runners, Accounts: accounts,
	})
}

// ValidateCreate implements admission.Validator.
func (v *UpgradeAllowanceValidator) ValidateCreate(ctx context.Context, u *v1alpha1.UpgradeAllowance) (admission.Warnings, error) {
	if err := isStampedBy(ctx, nil, u); err != nil {
		return nil, err
	}
	return v.validate(ctx, u)
}

// ValidateUpdate implements admission.Validator. A spec that stays as it is was judged before.
func (v *UpgradeAllowanceValidator) ValidateUpdate(ctx context.Context, before, u *v1alpha1.UpgradeAllowance) (admission.Warnings, error) {
	if err := isStampedBy(ctx, before, u); err != nil {
		return nil, err
	}
	if equality.Semantic.DeepEqual(before.Spec, u.Spec) {
		return nil, nil
	}
	return v.validate(ctx, u)
}

// ValidateDelete implements admission.Validator; the API server does not ask about deletions.
func (v *UpgradeAllowanceValidator) ValidateDelete(context.Context, *v1alpha1.UpgradeAllowance) (admission.Warnings, error) {
	return nil, nil
}

// isStampedBy returns an error where the stamp is not the one that the request earns: another
// webhook has changed it, or that which writes it was not asked.
func isStampedBy(ctx context.Context, before, u *v1alpha1.UpgradeAllowance) error {
	req, err := admission.RequestFromContext(ctx)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	want := upgrade.Stamp(before, u, req.UserInfo.Username)
	for _, key := range []string{v1alpha1.AnnotationChangedBy, v1alpha1.AnnotationChangedSpec} {
		if u.Annotations[key] != want[key] {
			return apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("upgradeallowances").GroupResource(), u.Name,
				fmt.Errorf("annotation %s is not as Kausality has written it: have other webhooks leave it alone, "+
					"and see that the MutatingWebhookConfiguration with %s is installed", key, upgradeStampName))
		}
	}
	return nil
}

// upgradeStampName is the name of the webhook that writes the stamp.
const upgradeStampName = "mupgradeallowance.kausality.io"

func (v *UpgradeAllowanceValidator) validate(ctx context.Context, u *v1alpha1.UpgradeAllowance) (admission.Warnings, error) {
	compiled, errs := upgrade.Compile(u, kindsOf(v.Mapper))
	if len(errs) > 0 {
		return nil, apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind(v1alpha1.KindUpgradeAllowance).GroupKind(), u.Name, errs)
	}
	return slices.Concat(v.unbounded(ctx, compiled), v.undeclared(ctx, u, compiled), v.unmatched(ctx, u, compiled)), nil
}

// unbounded warns of entries that let nothing through, as no policy bounds what they name.
func (v *UpgradeAllowanceValidator) unbounded(ctx context.Context, a *upgrade.Allowance) admission.Warnings {
	var out admission.Warnings
	for i, e := range a.Entries {
		switch {
		case e.IsExternal():
		case e.Kind.Empty():
			meant := ""
			if v.Serving != nil {
				meant = suggest(ctx, v.Serving, e.Resource.GroupVersion(), e.Resource.Resource, func(r discovery.Resource) string { return "resource " + r.GVR.Resource })
			}
			out = append(out, fmt.Sprintf("spec.policies[%d]: %s in %s is not served%s", i, e.Resource.Resource, e.Resource.GroupVersion(), meant))
		case !slices.ContainsFunc(v.Policies.Index().Policies(), func(p *policy.Policy) bool { return p.Bounds(e.Kind) }):
			out = append(out, fmt.Sprintf("spec.policies[%d]: no AllowancePolicy bounds %s, so that nothing has to let it through", i, e.Resource.Resource))
		}
	}
	return out
}

// undeclared warns of fields that a kind does not have.
func (v *UpgradeAllowanceValidator) undeclared(ctx context.Context, u *v1alpha1.UpgradeAllowance, a *upgrade.Allowance) admission.Warnings {
	if v.Serving == nil || v.Schemas == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askingTimeout)
	defer cancel()
	served := servedOnce(ctx, v.Serving)
	var named []schema.GroupVersionKind
	for _, e := range a.Entries {
		if kind, ok := served.kindFor(e.Resource); ok {
			named = append(named, kind)
		}
	}
	schemas, err := v.Schemas.Schemas(ctx, named...)
	if err != nil {
		logf.FromContext(ctx).Error(err, "Cannot tell which fields of an UpgradeAllowance there are", "upgradeallowance", u.Name)
	}
	var out admission.Warnings
	for _, what := range policy.UnmatchedEntries(u.Spec.Policies, field.NewPath("spec", "policies"), declared{served: served, schemas: schemas}) {
		out = append(out, what+"; it never matches")
	}
	return out[:min(len(out), maxUnmatched)]
}

// unmatched warns of a service account that does not exist, and of versions that nothing that
// runs, and no active package, is one of. Both may come later.
func (v *UpgradeAllowanceValidator) unmatched(ctx context.Context, u *v1alpha1.UpgradeAllowance, a *upgrade.Allowance) admission.Warnings {
	var out admission.Warnings
	if !v.Accounts.Exists(ctx, a.User) {
		out = append(out, fmt.Sprintf("spec.serviceAccount: %s does not exist", a.User))
	}
	if len(u.Spec.Versions) == 0 || a.IsOfRevisions() {
		return out // Revisions do not run.
	}
	images, err := v.Runners.Running(ctx, a.User, a.Triggers)
	if err != nil || slices.ContainsFunc(images, a.Names) {
		return out // What cannot be looked up is nothing to warn of.
	}
	return append(out, "spec.versions: "+noneOf(a)+" is one of them")
}

// noneOf says what none of the versions of an UpgradeAllowance is: those of Functions are packages, which
// do not run as anybody.
func noneOf(a *upgrade.Allowance) string {
	const packages = "no package of an active FunctionRevision"
	switch {
	case !a.Has(v1alpha1.UpgradeOfFunction):
		return fmt.Sprintf("nothing that runs as %s now", a.User)
	case !a.Has(v1alpha1.UpgradeOfController):
		return packages
	default:
		return fmt.Sprintf("nothing that runs as %s now, and %s,", a.User, packages)
	}
}
