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

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// outside is what somebody tries on a child in kube-system, as on its siblings.
//
// The API server asks nobody about kube-system, where what runs the cluster is, unless a
// policy asks for it by name (D15). A parent outside of any namespace may have children
// there, of which the same is true.
func outside(ctx context.Context, _ *scene) {
	const policies = "outside"
	p := ownPolicy(policies, "rbac.authorization.k8s.io", "ClusterRole", `
  objectSelector: {matchLabels: {example.com/outside: "true"}}
  initializing:
    policies: [{target: {apiVersion: v1, resource: configmaps}, relation: ControllerChild, verbs: [Create]}]
  rules:
  - {trigger: rules, policies: [{target: {apiVersion: v1, resource: configmaps}, relation: ControllerChild, verbs: [Update]}]}
`)
	p.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: metav1.NamespaceSystem}}
	shared.apply(ctx, p)
	alice, rogue := shared.as(alice, platformTeam, "system:masters"), shared.as(mallory, "system:masters")
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "outside-", Labels: map[string]string{"example.com/outside": "true"}}}
	Expect(alice.Create(ctx, role)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(shared.Delete(ctx, role)).To(Succeed()) })
	child := func(ns string) *corev1.ConfigMap {
		GinkgoHelper()
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: "outside-", OwnerReferences: []metav1.OwnerReference{{
			APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole", Name: role.Name, UID: role.UID,
		}}}}
		Expect(alice.Create(ctx, cm)).To(Succeed())
		return cm
	}
	const changed = patch(`{"data":{"whose":"rogue"}}`)
	for _, ns := range []string{metav1.NamespaceSystem, shared.newNamespace(ctx)} {
		refuse(rogue.try(ctx, child(ns), changed), "data", "ClusterRole "+role.Name)
	}
}
