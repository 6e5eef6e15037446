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
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// applyPolicies gives everybody the same rights, and applies the samples.
func (s *story) applyPolicies(ctx context.Context) error {
	if _, err := s.kubectl(ctx, s.admin, answer{says: []string{"rolebinding.rbac.authorization.k8s.io/everybody-edits created"}},
		"create", "rolebinding", "everybody-edits", "--clusterrole=edit", "--user=alice", "--user=carol", "--user=mallory"); err != nil {
		return err
	}
	// What is refused below is not refused by RBAC.
	if _, err := s.kubectl(ctx, s.mallory, answer{says: []string{"yes"}},
		"auth", "can-i", "update", "replicasets"); err != nil {
		return err
	}
	if _, err := s.kubectl(ctx, s.admin, answer{says: []string{
		"allowancepolicy.kausality.io/deployment created",
		"allowancepolicy.kausality.io/replicaset created",
	}}, "apply", "-k", s.samples); err != nil {
		return err
	}
	if _, err := s.kubectl(ctx, s.admin, answer{says: []string{
		"allowancepolicy.kausality.io/deployment condition met",
		"allowancepolicy.kausality.io/replicaset condition met",
	}}, "wait", "--for=condition=Enforced", "allowancepolicy", "--all", "--timeout="+deadline.String()); err != nil {
		return err
	}
	return s.eventually(ctx, "the API server asks Kausality about Deployments", s.asked)
}

// asked is so when the dry run of a creation comes back with a ledger.
func (s *story) asked(ctx context.Context) error {
	carol, err := newClient(s.cp.ConfigAs(s.carol.name))
	if err != nil {
		return err
	}
	labels := map[string]string{"app": "dry-run"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "dry-run"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: firstImage}}},
			},
		},
	}
	if err := carol.Create(ctx, d, client.DryRunAll); err != nil {
		return err
	}
	if ledgerText(d) == "" {
		return errors.New("a Deployment is created without a ledger")
	}
	return nil
}
