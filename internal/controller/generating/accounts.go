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

package generating

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// Account returns the user name of the service account of a policy; false where there is no such policy.
func (a Accounts) Account(ctx context.Context, policy string) (user string, ok bool, err error) {
	p := &v1alpha1.GeneratingPolicy{}
	err = a.Cached.Get(ctx, nameOf(policy), p, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		err = a.Live.Get(ctx, nameOf(policy), p)
	}
	switch {
	case apierrors.IsNotFound(err):
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("reading GeneratingPolicy %s: %w", policy, err)
	}
	return cmp.Or(p.Spec.ServiceAccount, a.Default), true, nil
}
