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

package main

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/interception"
	"kausality.io/operator/test/builders"
)

// world is a namespace with Deployments of its own.
type world string

const (
	// without has Deployments that are rolled while there is no policy, so that the
	// operator has no webhook; again is the same once more, to see how far two equals
	// are apart.
	without world = "without"
	again   world = "again"
	// with has Deployments that are rolled while policies are enforced for them.
	with world = "with"
)

var worlds = []world{without, again, with}

// readPolicies reads the sample policies, for the one namespace.
func readPolicies() ([]*v1alpha1.AllowancePolicy, error) {
	policies, err := builders.SamplePolicies(*root)
	for _, p := range policies {
		p.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: string(with)}}
	}
	return policies, err
}

// enter makes the policies be there, and enforced, in the world that has them, and
// nothing of them and of webhooks in the others.
func (s *stage) enter(ctx context.Context, w world) error {
	govern := w == with
	if govern == s.governed {
		return nil
	}
	s.governed = govern
	if govern {
		for _, p := range s.policies {
			if err := s.admin.Create(ctx, p.DeepCopy()); err != nil {
				return err
			}
		}
		return s.untilEnforced(ctx)
	}
	for _, p := range s.policies {
		if err := s.admin.Delete(ctx, p.DeepCopy()); err != nil {
			return err
		}
	}
	return s.untilNobodyIsAsked(ctx)
}

func (s *stage) untilEnforced(ctx context.Context) error {
	return wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		for _, p := range s.policies {
			live := &v1alpha1.AllowancePolicy{}
			if err := s.admin.Get(ctx, client.ObjectKeyFromObject(p), live); err != nil {
				return false, err
			}
			if !apimeta.IsStatusConditionTrue(live.Status.Conditions, v1alpha1.ConditionEnforced) {
				return false, nil
			}
		}
		return true, nil
	})
}

// untilNobodyIsAsked waits until the operator has taken back all by which requests come
// to it, or are changed on the way.
func (s *stage) untilNobodyIsAsked(ctx context.Context) error {
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		for _, obj := range []client.Object{
			&admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{},
			&admissionregistrationv1.MutatingAdmissionPolicy{}, &admissionregistrationv1.MutatingAdmissionPolicyBinding{},
		} {
			err := s.admin.Get(ctx, client.ObjectKey{Name: interception.DefaultName}, obj)
			if err == nil || client.IgnoreNotFound(err) != nil {
				return false, err
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the operator to remove its webhooks: %w", err)
	}
	return nil
}
