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

package remove

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
)

// generatingPolicies returns the GeneratingPolicies that there are, those included that are being deleted and wait
// for an operator.
func generatingPolicies(ctx context.Context, c client.Client) ([]v1alpha1.GeneratingPolicy, error) {
	var policies v1alpha1.GeneratingPolicyList
	switch err := c.List(ctx, &policies); {
	case apierrors.IsNotFound(err), apimeta.IsNoMatchError(err):
		return nil, nil // Their kind is not there either.
	case err != nil:
		return nil, fmt.Errorf("listing GeneratingPolicies: %w", err)
	}
	return policies.Items, nil
}

// withoutGenerating deletes all GeneratingPolicies, and lets those go that wait for an operator. What they made stays:
// with their finalizer an operator would delete it, and without an operator their definition could not be deleted.
func withoutGenerating(ctx context.Context, c client.Client) error {
	policies, err := generatingPolicies(ctx, c)
	if err != nil {
		return err
	}
	for i := range policies {
		if err := letGo(ctx, c, policies[i].Name); err != nil {
			return fmt.Errorf("deleting GeneratingPolicy %s, so that what it made stays: %w", policies[i].Name, err)
		}
	}
	return nil
}

// letGo takes the finalizer off a policy and deletes it, and begins again where an operator has written it in between.
func letGo(ctx context.Context, c client.Client, name string) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		p := &v1alpha1.GeneratingPolicy{}
		if err := c.Get(ctx, client.ObjectKey{Name: name}, p); err != nil {
			return err
		}
		after := p.DeepCopy()
		after.Finalizers = slices.DeleteFunc(after.Finalizers, func(f string) bool { return f == v1alpha1.FinalizerGenerating })
		if len(after.Finalizers) != len(p.Finalizers) {
			if err := c.Patch(ctx, after, client.MergeFromWithOptions(p, client.MergeFromWithOptimisticLock{})); err != nil {
				return err
			}
		}
		if p.DeletionTimestamp != nil {
			return nil
		}
		return c.Delete(ctx, after, client.Preconditions{UID: &after.UID, ResourceVersion: &after.ResourceVersion})
	})
	return client.IgnoreNotFound(err)
}
