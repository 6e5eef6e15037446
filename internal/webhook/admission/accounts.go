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

package admission

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
)

// Accounts knows as whom GeneratingPolicies write.
type Accounts struct {
	// Cached is asked first, and Live about a policy that the cache does not know.
	Cached, Live client.Reader
	// Default is the user name of the service account of policies that name none.
	Default string
}

// Account implements Generators.
func (a Accounts) Account(ctx context.Context, policy string) (user string, is PolicyState, err error) {
	p := &v1alpha1.GeneratingPolicy{}
	err = a.Cached.Get(ctx, types.NamespacedName{Name: policy}, p, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		err = a.Live.Get(ctx, types.NamespacedName{Name: policy}, p)
	}
	switch {
	case apierrors.IsNotFound(err):
		return "", PolicyGone, nil
	case err != nil:
		return "", PolicyGone, fmt.Errorf("reading GeneratingPolicy %s: %w", policy, err)
	}
	if is = PolicyThere; p.DeletionTimestamp != nil {
		is = PolicyEnding
	}
	return cmp.Or(p.Spec.ServiceAccount, a.Default), is, nil
}
