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
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/gate/registry"
	"kausality.io/operator/internal/policy"
)

// warnings says what of a policy has no effect today, or another one than its
// author may think. Clients show each on a line of its own, so each is short.
func (v *AllowancePolicyValidator) warnings(ctx context.Context, p *v1alpha1.AllowancePolicy, compiled *policy.Policy, served served) admission.Warnings {
	return slices.Concat(
		v.unservedParent(ctx, compiled, served),
		v.clashes(p, compiled),
		v.unservedTargets(ctx, compiled, served),
		v.unservedChildren(ctx, p),
		v.unmatched(ctx, p, compiled, served),
		registry.Drivers().Unmatched(compiled),
		initiators(p, compiled),
		compiled.Unmaintained(),
		v.unexercised(p, compiled),
		waiting(compiled),
		secretCaptures(compiled),
	)
}

// unservedParent warns of a parent kind that does not exist, or of whose objects nothing can be known. Where the
// API server cannot be asked, there is nothing to say.
func (v *AllowancePolicyValidator) unservedParent(ctx context.Context, p *policy.Policy, served served) admission.Warnings {
	gv := p.For.GroupVersion()
	if _, err := served(gv); err != nil {
		return nil
	}
	switch found, ok := served.byKind(p.For); {
	case !ok:
		meant := suggest(ctx, v.Serving, gv, p.For.Kind, func(r discovery.Resource) string { return "kind " + r.GVK.Kind })
		return admission.Warnings{fmt.Sprintf("spec.for: %s in %s is not served; the policy waits until it is%s", p.For.Kind, gv, meant)}
	case found.Unwatchable:
		return admission.Warnings{fmt.Sprintf("spec.for: %s in %s cannot be listed and watched, so that nothing can be known of its objects: "+
			"none of the policy is enforced", p.For.Kind, gv)}
	default:
		return nil
	}
}

// clashes warns of kinds that policies in effect name in another version.
func (v *AllowancePolicyValidator) clashes(p *v1alpha1.AllowancePolicy, compiled *policy.Policy) admission.Warnings {
	if v.InEffect == nil {
		return nil
	}
	all := append([]*policy.Policy{compiled}, v.others(p)...)
	clashes := policy.Clashes(all, func(each *policy.Policy) policy.Rank {
		if each == compiled {
			return policy.RankNew
		}
		return policy.RankInEffect
	})[compiled]
	out := make(admission.Warnings, 0, len(clashes))
	for _, c := range clashes {
		out = append(out, c.String()+"; none of this policy counts until both name the same version")
	}
	return out
}

// others are the policies in effect beside one.
func (v *AllowancePolicyValidator) others(p *v1alpha1.AllowancePolicy) []*policy.Policy {
	var out []*policy.Policy
	for _, other := range v.InEffect() {
		if other.Name != p.Name {
			out = append(out, other)
		}
	}
	return out
}

// unexercised warns of controllers that may not carry out what is allowed, where it is known which other policies
// may have them as a subject.
func (v *AllowancePolicyValidator) unexercised(p *v1alpha1.AllowancePolicy, compiled *policy.Policy) admission.Warnings {
	if v.InEffect == nil {
		return nil
	}
	return compiled.Unexercised(v.others(p))
}

// unservedTargets warns of each target resource that does not exist, once.
func (v *AllowancePolicyValidator) unservedTargets(ctx context.Context, p *policy.Policy, served served) admission.Warnings {
	var warned []schema.GroupVersionResource
	var out admission.Warnings
	for _, e := range p.Entries() {
		if e.IsExternal() || !e.Kind.Empty() || slices.Contains(warned, e.Resource) {
			continue
		}
		gv := e.Resource.GroupVersion()
		if _, err := served(gv); err != nil {
			continue
		}
		warned = append(warned, e.Resource)
		meant := suggest(ctx, v.Serving, gv, e.Resource.Resource, func(r discovery.Resource) string { return "resource " + r.GVR.Resource })
		out = append(out, fmt.Sprintf("target resource %s in %s is not served; it is not bounded until it is%s", e.Resource.Resource, gv, meant))
	}
	return out
}

// unservedChildren warns of kinds that the policy tells about as children and that nobody serves, in whatever version.
func (v *AllowancePolicyValidator) unservedChildren(ctx context.Context, p *v1alpha1.AllowancePolicy) admission.Warnings {
	if p.Spec.Knowledge == nil || len(p.Spec.Knowledge.Children) == 0 {
		return nil
	}
	all, err := v.Serving.Everything(ctx)
	if err != nil {
		return nil // Some of it may be missing.
	}
	var out admission.Warnings
	for i, c := range p.Spec.Knowledge.Children {
		kind := schema.GroupKind{Group: c.APIGroup, Kind: c.Kind}
		if !slices.ContainsFunc(all, func(r discovery.Resource) bool { return r.GVK.GroupKind() == kind }) {
			out = append(out, fmt.Sprintf("spec.knowledge.children[%d]: %s is not served, and no child is of it until it is", i, kind))
		}
	}
	return out
}

var pod = schema.GroupKind{Kind: "Pod"}

// waiting warns of Pods everywhere that cannot start while the operator is away: what it
// takes to have it back may be one of them.
func waiting(p *policy.Policy) admission.Warnings {
	if p.FailurePolicy != v1alpha1.FailurePolicyFail || !p.Bounds(pod) || !p.NamespaceSelector().Empty() && p.Naming() == nil {
		return nil
	}
	return admission.Warnings{fmt.Sprintf("spec.failurePolicy: without a namespaceSelector, Pods of every %s wait for the operator, "+
		"but those with a system-critical priority class", p.For.Kind)}
}

// secretCaptures warns of captures that would publish a Secret: traces are
// annotations, and go down to every child.
func secretCaptures(p *policy.Policy) admission.Warnings {
	if p.For.GroupKind() != (schema.GroupKind{Group: corev1.GroupName, Kind: "Secret"}) {
		return nil
	}
	var out admission.Warnings
	for _, r := range p.Rules {
		for _, c := range r.Capture {
			if path := c.Pattern.String(); path == v1alpha1.Any || strings.HasPrefix(path, "data") || strings.HasPrefix(path, "stringData") {
				out = append(out, fmt.Sprintf(
					"spec.rules[%d].capture: %s of a Secret would be readable in the annotations of its children", r.Index, c.Text))
			}
		}
	}
	return out
}
