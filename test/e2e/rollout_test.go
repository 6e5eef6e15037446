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
	"fmt"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/builders"
)

// What a person who may initiate does is carried out by the real controllers as
// if Kausality was not there, and leaves nothing behind.
var _ = Describe("A rollout by an initiator", func() {
	var (
		ns    string
		audit witness
		owner *actor
	)
	BeforeEach(func(ctx SpecContext) {
		ns = shared.newNamespace(ctx)
		audit = shared.watch(ns)
		owner = shared.alice()
	})
	AfterEach(func() {
		Expect(audit.refusals()).To(BeEmpty(), "writes of controllers were refused")
	})

	kubectl := func(ctx context.Context, args ...string) {
		GinkgoHelper()
		out, err := owner.kubectl(ctx, append([]string{"--namespace=" + ns}, args...)...)
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(out).NotTo(ContainSubstring("Warning"))
	}

	DescribeTable("rolls 10 replicas", func(ctx SpecContext, surge, unavailable string) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(10).RollingUpdate(surge, unavailable))
		owner.change(ctx, d, image("web:2"))
		shared.complete(ctx, d, "2")
		Expect(shared.scales(ctx, Default, d)).To(Equal([]int32{0, 10}))
	},
		Entry("a quarter at a time", SpecTimeout(specTimeout), "25%", "25%"),
		Entry("one at a time", SpecTimeout(specTimeout), "1", "1"),
		Entry("one more at a time", SpecTimeout(specTimeout), "1", "0"),
	)

	It("scales", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(3))
		for _, n := range []int32{10, 2, 0, 4} {
			By(fmt.Sprintf("to %d", n))
			owner.change(ctx, d, replicas(n))
			shared.complete(ctx, d, "1")
			Expect(shared.scales(ctx, Default, d)).To(Equal([]int32{n}))
		}
	}, SpecTimeout(specTimeout))

	It("scales through the sub-resource", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		kubectl(ctx, "scale", "deployment/web", "--replicas=6")
		shared.complete(ctx, d, "1")
		Expect(shared.scales(ctx, Default, d)).To(Equal([]int32{6}))
	}, SpecTimeout(specTimeout))

	It("begins without replicas", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(0))
		owner.change(ctx, d, image("web:2"))
		shared.complete(ctx, d, "2")
		owner.change(ctx, d, replicas(3))
		shared.complete(ctx, d, "2")
		Expect(shared.scales(ctx, Default, d)).To(Equal([]int32{0, 3}))
	}, SpecTimeout(specTimeout))

	It("pauses and resumes", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(4))
		kubectl(ctx, "rollout", "pause", "deployment/web")
		owner.change(ctx, d, image("web:2"), image("web:3"))
		Consistently(ctx, func(g Gomega) {
			g.Expect(shared.scales(ctx, g, d)).To(Equal([]int32{4}))
		}).WithTimeout(quietMoment).Should(Succeed())
		kubectl(ctx, "rollout", "resume", "deployment/web")
		shared.complete(ctx, d, "2")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:3": 4}))
	}, SpecTimeout(specTimeout))

	It("scales while paused", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(4))
		owner.change(ctx, d, paused(true), replicas(6))
		shared.complete(ctx, d, "1")
		owner.change(ctx, d, paused(false))
		shared.complete(ctx, d, "1")
		Expect(shared.scales(ctx, Default, d)).To(Equal([]int32{6}))
	}, SpecTimeout(specTimeout))

	It("undoes", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(6))
		owner.change(ctx, d, image("web:2"))
		shared.complete(ctx, d, "2")
		kubectl(ctx, "rollout", "undo", "deployment/web")
		shared.complete(ctx, d, "3")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:1": 6}))
		kubectl(ctx, "rollout", "undo", "deployment/web", "--to-revision=2")
		shared.complete(ctx, d, "4")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:2": 6}))
	}, SpecTimeout(specTimeout))

	It("restarts", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(6))
		kubectl(ctx, "rollout", "restart", "deployment/web")
		shared.complete(ctx, d, "2")
		Expect(shared.scales(ctx, Default, d)).To(Equal([]int32{0, 6}))
	}, SpecTimeout(specTimeout))

	It("changes its mind in the middle", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(10).RollingUpdate("1", "1"))
		owner.change(ctx, d, image("web:2"))
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.pods(ctx, g, ns)).To(HaveKey("web:2"))
		}).Should(Succeed())
		owner.change(ctx, d, image("web:3"))
		shared.complete(ctx, d, "3")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:3": 10}))
	}, SpecTimeout(specTimeout))

	It("is fixed after it has failed", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(8))
		owner.change(ctx, d, image("web:"+unready))
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.pods(ctx, g, ns)).To(Equal(map[string]int{"web:1": 6, "web:" + unready: 4}))
		}).Should(Succeed())
		owner.change(ctx, d, image("web:2"))
		shared.complete(ctx, d, "3")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:2": 8}))
	}, SpecTimeout(specTimeout))

	It("is scaled while it fails", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(8))
		owner.change(ctx, d, image("web:"+unready))
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.pods(ctx, g, ns)).To(HaveKeyWithValue("web:"+unready, 4))
		}).Should(Succeed())
		owner.change(ctx, d, replicas(12), image("web:2"))
		shared.complete(ctx, d, "3")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:2": 12}))
	}, SpecTimeout(specTimeout))

	It("keeps no more revisions than asked", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2).RevisionHistoryLimit(1))
		for revision := 2; revision <= 4; revision++ {
			owner.change(ctx, d, image(fmt.Sprint("web:", revision)))
			shared.complete(ctx, d, strconv.Itoa(revision))
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.scales(ctx, g, d)).To(Equal([]int32{0, 2}))
			}).Should(Succeed())
		}
	}, SpecTimeout(specTimeout))

	It("recreates", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(6).Recreate())
		owner.change(ctx, d, image("web:2"))
		shared.complete(ctx, d, "2")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:2": 6}))
	}, SpecTimeout(specTimeout))

	It("passes minReadySeconds on to ReplicaSets", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		owner.change(ctx, d, patch(`{"spec":{"minReadySeconds":1}}`))
		shared.complete(ctx, d, "1")
		Eventually(ctx, func() int32 {
			return shared.newestReplicaSet(ctx, d).Spec.MinReadySeconds
		}).Should(Equal(int32(1)))
	}, SpecTimeout(specTimeout))

	It("is applied from a manifest, again and again", func(ctx SpecContext) {
		b := builders.MakeDeployment(ns, "web").Replicas(3)
		d := owner.deploy(ctx, b)
		for revision := 2; revision <= 3; revision++ {
			manifest := b.Image(fmt.Sprint("web:", revision)).Obj()
			manifest.APIVersion, manifest.Kind = appsv1.SchemeGroupVersion.String(), "Deployment"
			applied := manifest.DeepCopy()
			//nolint:staticcheck // A whole manifest is what people apply.
			Expect(owner.Patch(ctx, applied, client.Apply, client.FieldOwner("e2e"), client.ForceOwnership)).To(Succeed())
			shared.complete(ctx, d, strconv.Itoa(revision))
		}
	}, SpecTimeout(specTimeout))

	It("does so for many at once", func(ctx SpecContext) {
		const many = 20
		var all []*appsv1.Deployment
		for i := range many {
			d := builders.MakeDeployment(ns, fmt.Sprint("web-", i)).Replicas(4).Obj()
			Expect(owner.Create(ctx, d)).To(Succeed())
			all = append(all, d)
		}
		for _, d := range all {
			shared.complete(ctx, d, "1")
		}
		for _, d := range all {
			Expect(owner.Patch(ctx, d, client.RawPatch(types.StrategicMergePatchType, []byte(image("web:2"))))).To(Succeed())
		}
		for _, d := range all {
			shared.complete(ctx, d, "2")
		}
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:2": many * 4}))
	}, SpecTimeout(specTimeout))
})
