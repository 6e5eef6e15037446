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

package kro

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
)

// additions returns the fields of the spec that say what is allowed, that a policy has, and that are
// not derived. Others have set them: what the operator applied goes when it is applied no more. Who
// sets such a field conflicts with nobody, as an apply is refused only for what it has itself.
func additions(derived, there *v1alpha1.AllowancePolicy) []string {
	was, is := &derived.Spec, &there.Spec
	var out []string
	add := func(isThere, isDerived bool, field string) bool {
		if isThere && !isDerived {
			out = append(out, field)
		}
		return isThere && isDerived
	}
	if add(is.Initializing != nil, was.Initializing != nil, "spec.initializing") {
		add(is.Initializing.When != "", was.Initializing.When != "", "spec.initializing.when")
		add(len(is.Initializing.Policies) > 0, len(was.Initializing.Policies) > 0, "spec.initializing.policies")
	}
	if add(is.Maintaining != nil, was.Maintaining != nil, "spec.maintaining") {
		add(len(is.Maintaining.Policies) > 0, len(was.Maintaining.Policies) > 0, "spec.maintaining.policies")
	}
	if add(is.Deleting != nil, was.Deleting != nil, "spec.deleting") {
		add(len(is.Deleting.Policies) > 0, len(was.Deleting.Policies) > 0, "spec.deleting.policies")
	}
	add(len(is.Rules) > 0, len(was.Rules) > 0, "spec.rules")
	if is.Consumption != nil {
		// For how long an allowance is open is the admin's to say.
		add(is.Consumption.When != "", was.Consumption != nil && was.Consumption.When != "", "spec.consumption.when")
	}
	return out
}

// takeOut removes fields that others have added to a policy.
func (r *Reconciler) takeOut(ctx context.Context, there *v1alpha1.AllowancePolicy, fields []string) error {
	patch := map[string]any{"metadata": map[string]any{"resourceVersion": there.ResourceVersion}}
	for _, field := range fields {
		path := strings.Split(field, ".")
		at := patch
		for _, key := range path[:len(path)-1] {
			next, ok := at[key].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[key] = next
			}
			at = next
		}
		at[path[len(path)-1]] = nil
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("writing what is to be taken out of AllowancePolicy %s: %w", there.Name, err)
	}
	if err := r.Client.Patch(ctx, there, client.RawPatch(types.MergePatchType, raw), client.FieldOwner(fieldManager)); err != nil {
		return fmt.Errorf("taking out of AllowancePolicy %s what is not derived: %w", there.Name, err)
	}
	return nil
}
