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

package interception

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/interception"
	"kausality.io/operator/internal/policy"
)

// holder returns the Holder of interception.Input.
func (r *Reconciler) holder(gvk schema.GroupVersionKind) (interception.Served, bool) {
	found, ok := r.Served.ByKind(gvk)
	return served(&found), ok
}

// child returns the Child of interception.Input.
func (r *Reconciler) child(gvr schema.GroupVersionResource) (interception.Served, bool) {
	found, ok := r.Served.ByResource(gvr)
	return served(&found), ok
}

func served(found *discovery.Resource) interception.Served {
	var losing []string
	if found.Losing != nil {
		losing = found.Losing.Versions
	}
	return interception.Served{
		Resource: found.GVR, Namespaced: found.Namespaced, Subresources: found.Subresources,
		Elsewhere: found.OnlyElsewhere(), StatusInObject: found.HasStatusInObject(), Losing: losing,
	}
}

// causes returns the Triggers and Sources of interception.Input. A policy that does not compile causes
// nothing: it is not accepted.
func (r *Reconciler) causes(ctx context.Context) ([]admissionregistrationv1.RuleWithOperations, []generate.Source, error) {
	policies := &v1alpha1.GeneratingPolicyList{}
	if err := r.List(ctx, policies, client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, fmt.Errorf("listing GeneratingPolicies: %w", err)
	}
	var triggers []admissionregistrationv1.RuleWithOperations
	var sources []generate.Source
	for i := range policies.Items {
		p := &policies.Items[i]
		compiled, _, errs := generate.Compile(p.Name, &p.Spec)
		if len(errs) > 0 {
			continue
		}
		triggers = append(triggers, compiled.TriggerRules()...)
		sources = append(sources, compiled.Sources()...)
	}
	return triggers, sources, nil
}

// outside returns the Outside of interception.Input.
func (r *Reconciler) outside(ctx context.Context) func(*policy.Policy) []string {
	return func(p *policy.Policy) []string {
		var out []string
		for _, e := range p.Entries() {
			resource, ok := r.Served.ByResource(e.Resource)
			if !ok || e.IsExternal() {
				continue
			}
			if driver, _, ok := r.Gates.Gate(ctx, resource.GVK); ok {
				out = append(out, driver.Annotations()...)
			}
		}
		return out
	}
}

// gated returns the Gated of interception.Input.
func (r *Reconciler) gated(ctx context.Context) func(*policy.Policy) []interception.Gated {
	return func(p *policy.Policy) []interception.Gated {
		var out []interception.Gated
		for _, resource := range r.Gates.Behind(ctx, p) {
			if driver, _, ok := r.Gates.Gate(ctx, resource.GVK); ok {
				out = append(out, interception.Gated{
					Served:      served(&resource),
					Annotations: driver.Annotations(),
				})
			}
		}
		return out
	}
}
