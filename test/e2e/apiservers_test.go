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
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"

	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// Each API server hears of webhooks, definitions and rights by watches of its own, and asks the
// operator about objects that the API server of the operator has not told it of yet.
var _ = Describe("Two API servers", Ordered, stage.Long, func() {
	const another = "kube-apiserver-2"
	var (
		cp *controlplane.ControlPlane
		// c asks the first API server, as the operator does. The built-in controllers ask the second one.
		// each asks both in turn.
		c, second, each *cluster
	)
	BeforeAll(func(ctx SpecContext) {
		cp, _ = startCluster(ctx, controlplane.Options{APIServers: 2})
		c, second, each = connect(cp), connect(cp), connect(cp)
		second.Config = cp.At(1, second.Config)
		each.Config = cp.Spread(each.Config)
		c.applySamplePolicies(ctx)
	}, NodeTimeout(startTimeout))

	It("let through, withhold and refuse the same", func(ctx SpecContext) {
		ns := c.newNamespace(ctx)
		alice, stranger := each.alice(), each.mallory()
		var all []*appsv1.Deployment
		for i := range 2 * repeatedly {
			all = append(all, alice.deploy(ctx, builders.MakeDeployment(ns, fmt.Sprintf("web-%d", i)).Replicas(1)))
		}
		By("scaling and rolling out, one right after the other")
		for _, d := range all {
			Expect(alice.scale(ctx, d, 2)).To(Succeed())
			alice.change(ctx, d, image(d.Name+":2"))
		}
		for _, d := range all {
			c.complete(ctx, d, "2")
		}
		By("withholding, and approving")
		for _, d := range all {
			stranger.change(ctx, d, image(d.Name+":3"))
		}
		for _, d := range all {
			refuse(stranger.try(ctx, c.newestReplicaSet(ctx, d), replicas(9)))
			alice.change(ctx, d, approve("spec.template"))
		}
		for _, d := range all {
			c.complete(ctx, d, "3")
		}
	}, SpecTimeout(specTimeout))

	It("ask about a policy once it says that it is enforced", func(ctx SpecContext) {
		for i := range repeatedly {
			name := fmt.Sprintf("servers-%d", i)
			ns := c.newNamespaceFor(ctx, name)
			d := c.alice().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(1))
			rs := c.newestReplicaSet(ctx, d)
			c.apply(ctx, c.samplePoliciesFor(ctx, name)...)
			refuse(second.mallory().try(ctx, rs, replicas(9)))
			second.mallory().change(ctx, d, image("web:stranger"))
			Eventually(func(g Gomega) {
				g.Expect(c.record(ctx, g, d).Status.WithheldCount).To(BeEquivalentTo(1))
			}).WithContext(ctx).Should(Succeed())
			Expect(c.newestReplicaSet(ctx, d).UID).To(Equal(rs.UID))
		}
	}, SpecTimeout(specTimeout))

	It("withhold what one let pass that did not know of a policy yet", func(ctx SpecContext) {
		ns := c.newNamespaceFor(ctx, "frozen")
		d := c.alice().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(1))
		rs := c.newestReplicaSet(ctx, d)

		By("freezing one while policies come")
		Expect(cp.Pause(another)).To(Succeed())
		c.apply(ctx, c.samplePoliciesFor(ctx, "frozen")...)
		var waiting []<-chan error
		for _, change := range []patch{image("web:stranger"), replicas(3)} {
			to := d.DeepCopy()
			waiting = append(waiting, begin(func() error { return second.mallory().try(ctx, to, change) }))
		}
		refuse(c.mallory().try(ctx, rs, replicas(9)))
		Expect(cp.Resume(another)).To(Succeed())
		for _, w := range waiting {
			Eventually(w).WithContext(ctx).Should(Receive(BeNil()))
		}
		By("looking what comes of it")
		Eventually(func(g Gomega) {
			g.Expect(c.record(ctx, g, d).Status.WithheldCount).To(BeNumerically(">=", 1))
		}).WithContext(ctx).Should(Succeed())
		Expect(c.newestReplicaSet(ctx, d).UID).To(Equal(rs.UID))
	}, SpecTimeout(specTimeout))
})

// begin does something meanwhile.
func begin(do func() error) <-chan error {
	done := make(chan error, 1)
	go func() {
		defer GinkgoRecover()
		done <- do()
	}()
	return done
}
