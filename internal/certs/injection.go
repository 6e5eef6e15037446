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

package certs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// fieldOwner is who injects the CA bundle, in managedFields.
const fieldOwner = "kausality-cert-rotator"

// injectedElsewhere is what the annotations begin with that have cert-manager inject.
const injectedElsewhere = "cert-manager.io/inject-"

// injector keeps the CA bundle in the installed webhook configurations, on the replica that
// leads.
type injector struct {
	client client.Client
	certs  *Certs
	// installed reports whether a configuration is one.
	installed func(client.Object) bool
}

func setupInjection(mgr manager.Manager, opts Options, c *Certs) error {
	if opts.Installed == nil {
		return nil
	}
	r := &injector{client: mgr.GetClient(), certs: c, installed: opts.Installed}
	name := "ca-bundle"
	if opts.ControllerName != "" {
		name += "-" + opts.ControllerName
	}
	all := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: name}}}
	})
	own := builder.WithPredicates(predicate.NewPredicateFuncs(r.installed))
	return builder.ControllerManagedBy(mgr).Named(name).
		Watches(&admissionregistrationv1.ValidatingWebhookConfiguration{}, all, own).
		Watches(&admissionregistrationv1.MutatingWebhookConfiguration{}, all, own).
		WatchesRawSource(source.Channel(c.changed[1], all)).
		Complete(r)
}

// Reconcile implements reconcile.Reconciler.
func (r *injector) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	want := r.certs.CABundle()
	if len(want) == 0 {
		return reconcile.Result{}, nil // There is none yet, or whoever installed it knows the authority.
	}
	var validating admissionregistrationv1.ValidatingWebhookConfigurationList
	var mutating admissionregistrationv1.MutatingWebhookConfigurationList
	if err := errors.Join(r.client.List(ctx, &validating), r.client.List(ctx, &mutating)); err != nil {
		return reconcile.Result{}, fmt.Errorf("listing webhook configurations: %w", err)
	}
	var errs []error
	for i := range validating.Items {
		errs = append(errs, r.inject(ctx, validating.Items[i].DeepCopy(), want))
	}
	for i := range mutating.Items {
		errs = append(errs, r.inject(ctx, mutating.Items[i].DeepCopy(), want))
	}
	return reconcile.Result{}, errors.Join(errs...)
}

// inject has a configuration name the authorities, where it is an installed one.
func (r *injector) inject(ctx context.Context, live client.Object, want []byte) error {
	if !r.installed(live) {
		return nil
	}
	for annotation := range live.GetAnnotations() {
		if strings.HasPrefix(annotation, injectedElsewhere) {
			return nil
		}
	}
	bundles := bundlesOf(live)
	if !slices.ContainsFunc(bundles, func(has *[]byte) bool { return !bytes.Equal(*has, want) }) {
		return nil
	}
	for _, has := range bundles {
		*has = want
	}
	err := r.client.Update(ctx, live, client.FieldOwner(fieldOwner))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("telling webhook configuration %s by which authority to trust the operator: %w", live.GetName(), err)
	}
	return nil
}
