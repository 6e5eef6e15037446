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
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The API server asks nobody about kube-system, where what runs the cluster is, unless a
// policy asks for it by name (D15). A parent outside of any namespace may have children
// there, of which the same is true.
var _ = Describe("A child in kube-system of a parent outside of namespaces", Serial, func() {
	It("is bounded where a policy names kube-system, and else its siblings are", func(ctx SpecContext) {
		const policies = "outside"
		p := ownPolicy(policies, "rbac.authorization.k8s.io", "ClusterRole", `
  objectSelector: {matchLabels: {example.com/outside: "true"}}
  initializing:
    policies: [{target: {apiVersion: v1, resource: configmaps}, relation: ControllerChild, verbs: [Create]}]
  rules:
  - {trigger: rules, policies: [{target: {apiVersion: v1, resource: configmaps}, relation: ControllerChild, verbs: [Update]}]}
`)
		p.Spec.NamespaceSelector = nil
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
		inSystem, elsewhere := child(metav1.NamespaceSystem), child(shared.newNamespace(ctx))
		DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(shared.Delete(ctx, inSystem))).To(Succeed()) })
		const changed = patch(`{"data":{"whose":"rogue"}}`)
		refuse(rogue.try(ctx, elsewhere, changed), "data", "ClusterRole "+role.Name)
		Expect(rogue.try(ctx, inSystem, changed, client.DryRunAll)).To(Succeed())

		By("naming kube-system in the policy")
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		p.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: metav1.NamespaceSystem}}
		Expect(shared.Update(ctx, p)).To(Succeed())
		Eventually(ctx, func() error { return rogue.try(ctx, inSystem, changed, client.DryRunAll) }).Should(MatchError(ContainSubstring("is not allowed by its parent")))
		refuse(rogue.try(ctx, elsewhere, changed), "data", "ClusterRole "+role.Name)
	}, SpecTimeout(specTimeout))
})
