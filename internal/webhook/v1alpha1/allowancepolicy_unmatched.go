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
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/policy"
)

const (
	// askingTimeout bounds how long somebody who applies a policy waits for what
	// might be said about it. The status of the policy says it all the same.
	askingTimeout = 3 * time.Second
	// maxUnmatched is how many parts of a policy are warned of.
	maxUnmatched = 8
)

// unmatched warns of what can never match: fields that a kind does not have, and
// children that cannot be owned.
func (v *AllowancePolicyValidator) unmatched(ctx context.Context, p *v1alpha1.AllowancePolicy, compiled *policy.Policy, served served) admission.Warnings {
	named := []schema.GroupVersionKind{compiled.For}
	for _, e := range compiled.Entries() {
		if kind, ok := served.kindFor(e.Resource); ok {
			named = append(named, kind)
		}
	}
	schemas, err := v.Schemas.Schemas(ctx, named...)
	if err != nil {
		logf.FromContext(ctx).Error(err, "Cannot tell which fields of a policy there are", "policy", p.Name)
	}
	known := declared{served: served, schemas: schemas}
	out := admission.Warnings(policy.Unmatched(&p.Spec, known))
	for i := range out {
		out[i] += "; it never matches"
	}
	out = append(out, policy.Misjudged(&p.Spec, known)...)
	out = append(out, policy.Silent(&p.Spec, known)...)
	if more := len(out) - maxUnmatched; more > 0 {
		return append(out[:maxUnmatched], fmt.Sprintf("%d more parts of the policy never match", more))
	}
	return out
}

// declared is what policy.Unmatched asks.
type declared struct {
	served  served
	schemas map[schema.GroupVersionKind]*discovery.Schema
}

// KindFor implements policy.Declared.
func (d declared) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
	return d.served.kindFor(resource)
}

// Namespaced implements policy.Declared.
func (d declared) Namespaced(kind schema.GroupVersionKind) (namespaced, known bool) {
	resource, known := d.served.byKind(kind)
	return resource.Namespaced, known
}

// Undeclared implements policy.Declared.
func (d declared) Undeclared(kind schema.GroupVersionKind, pattern change.Pattern) string {
	return d.schemas[kind].Undeclared(pattern)
}

// TypeOf implements policy.Declared.
func (d declared) TypeOf(kind schema.GroupVersionKind, pattern change.Pattern) change.ValueType {
	return d.schemas[kind].TypeOf(pattern)
}
