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
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What counts of a reference follows from what the garbage collector does where nothing is governed (D5).
var _ = Describe("The garbage collector, where no policy is", func() {
	DescribeTable("goes by all references of a child:", func(ctx SpecContext, write func(owners []metav1.OwnerReference, other *corev1.ConfigMap) []metav1.OwnerReference, keeps bool) {
		ns := shared.newNamespace(ctx)
		configMap := func(name string, owners ...metav1.OwnerReference) *corev1.ConfigMap {
			made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, OwnerReferences: owners}}
			Expect(shared.Create(ctx, made)).To(Succeed())
			return made
		}
		ownedBy := func(o *corev1.ConfigMap) metav1.OwnerReference {
			return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: o.Name, UID: o.UID}
		}
		owner, other := configMap("owner"), configMap("other")
		child, usual := configMap("child", ownedBy(owner)), configMap("usual", ownedBy(owner))
		child.OwnerReferences = write(slices.Clone(child.OwnerReferences), other)
		Expect(shared.Update(ctx, child)).To(Succeed())
		if !keeps {
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(child), child)).To(Succeed())
				g.Expect(child.OwnerReferences).To(BeEmpty(), "its owner is there")
			}).Should(Succeed())
			return
		}
		Expect(shared.Delete(ctx, owner)).To(Succeed())
		Eventually(ctx, func() error { return shared.Get(ctx, client.ObjectKeyFromObject(usual), usual) }).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
		Consistently(ctx, func() error { return shared.Get(ctx, client.ObjectKeyFromObject(child), child) }).WithTimeout(quietMoment).Should(Succeed())
	},
		Entry("it takes away all with the UID of one that names nobody", SpecTimeout(specTimeout), func(owners []metav1.OwnerReference, _ *corev1.ConfigMap) []metav1.OwnerReference {
			second := owners[0]
			second.Name = "typo"
			return append(owners, second)
		}, false),
		Entry("it leaves a child whose owner is named in a version that nobody serves", SpecTimeout(specTimeout), func(owners []metav1.OwnerReference, _ *corev1.ConfigMap) []metav1.OwnerReference {
			owners[0].APIVersion = "v7"
			return owners
		}, true),
		Entry("it leaves a child that has another owner still", SpecTimeout(specTimeout), func(owners []metav1.OwnerReference, other *corev1.ConfigMap) []metav1.OwnerReference {
			return append(owners, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: other.Name, UID: other.UID})
		}, true),
	)
})
