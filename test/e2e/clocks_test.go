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
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/bench/metrics"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/clockshift"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// repeatedly is how often is done what may go well by chance: the replica that leads may be
// faster than what it would do wrong.
const repeatedly = 6

// Replicas write down times for each other: since when a grant is pending, that somebody broke
// the glass, for how long something has been at rest. All of them go by the API server's clock.
var _ = Describe("Two replicas whose clocks differ by a minute", Ordered, func() {
	var (
		c     *cluster
		cp    *controlplane.ControlPlane
		svc   *service
		clock clockshift.Clock
	)
	BeforeAll(func(ctx SpecContext) {
		cp = startControlPlane(ctx, controlplane.Options{})
		var err error
		clock, err = clockshift.New(GinkgoT().TempDir(), "operator")
		Expect(err).NotTo(HaveOccurred())
		shifted, err := filepath.Abs(*shiftedBin)
		Expect(err).NotTo(HaveOccurred())
		svc = startReplicas(ctx, cp, (*service).byHook, controlplane.OperatorOptions{},
			controlplane.OperatorOptions{Binary: shifted, Env: []string{clock.Env()}})
		c = connect(cp)
		c.applySamplePolicies(ctx)
	}, NodeTimeout(startTimeout))

	for _, ahead := range []time.Duration{time.Minute, -time.Minute} {
		for leader, other := range []int{1, 0} {
			length := Label()
			if (ahead > 0) != (leader == 0) {
				length = stage.Long // Either leads in one of the others, and either way of the clock is in one.
			}
			It(fmt.Sprintf("agree where one is ahead by %s and replica %d leads", ahead, leader+1), func(ctx SpecContext) {
				Expect(clock.Set(ahead)).To(Succeed())
				Expect(cp.Restart(ctx, svc.names[1])).To(Succeed())
				Expect(cp.Restart(ctx, svc.names[other])).To(Succeed())
				ns := c.newNamespace(ctx)
				alice, bob := c.alice(), c.glassBreaker(ctx, ns)

				By("rolling out, and scaling what only a record carries")
				var all []*appsv1.Deployment
				for i := range repeatedly {
					all = append(all, alice.deploy(ctx, builders.MakeDeployment(ns, fmt.Sprintf("web-%d", i)).Replicas(1)))
				}
				for _, d := range all {
					Expect(alice.scale(ctx, d, 2)).To(Succeed())
				}
				for _, d := range all {
					alice.change(ctx, d, image(d.Name+":2"))
				}
				for _, d := range all {
					c.complete(ctx, d, "2")
				}

				By("breaking the glass, which one hook notes and the other one takes")
				for i := range repeatedly {
					rs := c.newestReplicaSet(ctx, all[i])
					Expect(bob.try(ctx, rs, patch(fmt.Sprintf(`{"metadata":{"annotations":{"replicaset.%s":"INC-%d"}},"spec":{"minReadySeconds":%d}}`,
						v1alpha1.AnnotationBreakGlass, i, i+1)))).To(Succeed())
				}

				By("refusing strangers, and what was broken in before")
				for _, d := range all {
					refuse(c.mallory().try(ctx, c.newestReplicaSet(ctx, d), replicas(9)))
				}
				Eventually(ctx, func(g Gomega) {
					for _, d := range all {
						g.Expect(c.record(ctx, g, d).Status.PendingGrants).To(BeEmpty())
					}
				}).Should(Succeed())
			}, length, SpecTimeout(2*specTimeout))
		}
	}

	It("say so", func(ctx SpecContext) {
		for i, want := range []time.Duration{0, time.Minute} {
			made, err := metrics.NewScraper(ctx, c.Client, cp.MetricsURL(svc.names[i]), c.newNamespace(ctx))
			Expect(err).NotTo(HaveOccurred())
			Eventually(ctx, func(g Gomega) {
				all, err := made.Scrape(ctx)
				g.Expect(err).NotTo(HaveOccurred())
				ahead := families(all).sum("kausality_clock_ahead_seconds")
				g.Expect(ahead).To(BeNumerically("~", want.Seconds(), 2))
			}).Should(Succeed())
		}
	}, SpecTimeout(specTimeout))
})
