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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/builders"
)

// What comes to nothing after the operator was asked, or is refused as it cannot be written down, is in no record as it was.
var _ = Describe("The plugin, of what no record tells", func() {
	const records = corev1.ResourceName("count/allowancerecords.kausality.io")
	// limit lets a namespace have as many of a resource, and returns once it has counted them.
	limit := func(ctx context.Context, ns string, of corev1.ResourceName, most string) {
		GinkgoHelper()
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "limit"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{of: resource.MustParse(most)}},
		}
		Expect(shared.Create(ctx, quota)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(quota), quota)).To(Succeed())
			g.Expect(quota.Status.Used).To(HaveKey(of))
		}).Should(Succeed())
	}

	It("does not call created what a quota has refused", func(ctx SpecContext) {
		ns := shared.newNamespace(ctx)
		owner := shared.alice()
		limit(ctx, ns, corev1.ResourcePods, "1")
		d := builders.MakeDeployment(ns, "web").Replicas(2).Obj()
		Expect(owner.Create(ctx, d)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			out, err := shared.as("reader", "system:masters").kausality(ctx, ns, "trace", "deployment/web")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(out).To(MatchRegexp(`Pod/web-\S+  created\n(.*\n)*.*Pod/web-\S+  created \(gone, or never there\)\n`))
			g.Expect(out).NotTo(ContainSubstring("created (gone)"))
		}).Should(Succeed())
	}, SpecTimeout(specTimeout))

	It("tells what was refused as it could not be written down", func(ctx SpecContext) {
		ns := shared.newNamespace(ctx)
		owner := shared.alice()
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(1))
		limit(ctx, ns, records, "2")
		owner.change(ctx, d, image("web:2"))
		Eventually(ctx, func() (string, error) { return owner.kausality(ctx, ns, "why", "deployment/web") }).
			Should(SatisfyAll(ContainSubstring("of Deployment/web tells of a refusal"), ContainSubstring("exceeded quota")))
		Expect(shared.DeleteAllOf(ctx, &corev1.ResourceQuota{}, client.InNamespace(ns))).To(Succeed())
		shared.complete(ctx, d, "2")
	}, SpecTimeout(specTimeout))
})
