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

// Package recordprotection keeps the ValidatingAdmissionPolicy by which nobody but the operator
// writes AllowanceRecords, where the operator's installer cannot install one.
package recordprotection

import (
	"context"
	"fmt"
	"maps"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	installed "kausality.io/operator/config/record-protection"
	"kausality.io/operator/internal/controller/requeue"
	"kausality.io/operator/internal/interception"
)

// Reconciler keeps the policy and its binding as long as the operator is installed. They are
// owned by what is installed, as all that the operator renders is, so that they go with it.
type Reconciler struct {
	client.Client
	// User is the operator, who alone may write records.
	User string
}

// Caches returns what is kept of policies and bindings: these two, as the operator may read no
// others.
func Caches() map[client.Object]cache.ByObject {
	only := cache.ByObject{Field: fields.OneTermEqualSelector(metav1.ObjectNameField, installed.Name)}
	return map[client.Object]cache.ByObject{
		&admissionregistrationv1.ValidatingAdmissionPolicy{}:        only,
		&admissionregistrationv1.ValidatingAdmissionPolicyBinding{}: only,
	}
}

// SetupWithManager adds the reconciler to mgr.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	one := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: installed.Name}}}
	})
	return ctrl.NewControllerManagedBy(mgr).Named("recordprotection").
		Watches(&admissionregistrationv1.ValidatingWebhookConfiguration{}, one).
		Watches(&admissionregistrationv1.ValidatingAdmissionPolicy{}, one).
		Watches(&admissionregistrationv1.ValidatingAdmissionPolicyBinding{}, one).
		Complete(r)
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	var configurations admissionregistrationv1.ValidatingWebhookConfigurationList
	if err := r.List(ctx, &configurations); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing ValidatingWebhookConfigurations: %w", err)
	}
	policy, binding, err := installed.For(r.User)
	if err != nil {
		return ctrl.Result{}, reconcile.TerminalError(err)
	}
	found := interception.FindInstalled(configurations.Items)
	if found == nil {
		return ctrl.Result{}, r.remove(ctx, binding, policy)
	}
	err = r.protect(ctx, policy, binding, found.Owners)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		// The cache does not show our own last write yet.
		return ctrl.Result{RequeueAfter: requeue.AfterConflict}, nil
	}
	return ctrl.Result{}, err
}

// protect writes the policy before its binding, which says nothing without it.
func (r *Reconciler) protect(ctx context.Context, policy *admissionregistrationv1.ValidatingAdmissionPolicy,
	binding *admissionregistrationv1.ValidatingAdmissionPolicyBinding, owners []metav1.OwnerReference,
) error {
	policyThere := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: policy.Name}}
	if err := r.keep(ctx, policyThere, policy, owners, func() { policyThere.Spec = withDefaults(policy.Spec) }); err != nil {
		return err
	}
	bindingThere := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: binding.Name}}
	return r.keep(ctx, bindingThere, binding, owners, func() {
		bindingThere.Spec.PolicyName, bindingThere.Spec.ValidationActions = binding.Spec.PolicyName, binding.Spec.ValidationActions
		bindingThere.Spec.ParamRef, bindingThere.Spec.MatchResources = nil, nil
	})
}

// withDefaults returns a spec as the API server keeps it: what nobody says anything about is there,
// too.
func withDefaults(spec admissionregistrationv1.ValidatingAdmissionPolicySpec) admissionregistrationv1.ValidatingAdmissionPolicySpec {
	spec = *spec.DeepCopy()
	match := spec.MatchConstraints
	match.MatchPolicy = ptr.To(admissionregistrationv1.Equivalent)
	match.NamespaceSelector, match.ObjectSelector = &metav1.LabelSelector{}, &metav1.LabelSelector{}
	for i := range match.ResourceRules {
		match.ResourceRules[i].Scope = ptr.To(admissionregistrationv1.AllScopes)
	}
	return spec
}

// keep writes what differs.
func (r *Reconciler) keep(ctx context.Context, there, want client.Object, owners []metav1.OwnerReference, set func()) error {
	result, err := controllerutil.CreateOrUpdate(ctx, r.Client, there, func() error {
		labels := there.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, want.GetLabels())
		there.SetLabels(labels)
		there.SetOwnerReferences(owners)
		set()
		return nil
	})
	if err != nil {
		return fmt.Errorf("keeping what protects AllowanceRecords, %T %s: %w", there, there.GetName(), err)
	}
	if result != controllerutil.OperationResultNone {
		logf.FromContext(ctx).Info("Records are protected", "object", fmt.Sprintf("%T", there), "operation", result)
	}
	return nil
}

// remove deletes what nobody needs any more. The collector does so, too, but not where somebody
// has orphaned it.
func (r *Reconciler) remove(ctx context.Context, objects ...client.Object) error {
	for _, object := range objects {
		if err := r.Get(ctx, client.ObjectKeyFromObject(object), object); apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return fmt.Errorf("looking for %T %s: %w", object, object.GetName(), err)
		}
		if err := client.IgnoreNotFound(r.Delete(ctx, object)); err != nil {
			return fmt.Errorf("deleting %T %s, as the operator is not installed: %w", object, object.GetName(), err)
		}
	}
	return nil
}
