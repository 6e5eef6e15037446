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
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
)

// A ledger says what the admission webhook wrote, whatever else is written under
// its key (D10).
var _ = Describe("A ledger that a request brings", func() {
	var (
		ns    string
		audit witness
		owner *actor
		rogue *actor
	)
	BeforeEach(func(ctx SpecContext) {
		ns = shared.newNamespace(ctx)
		audit = shared.watch(ns)
		owner, rogue = shared.alice(), shared.mallory()
	})

	// anything allows anything to anybody, if it was true.
	anything := func(generation int64) string {
		raw, err := yaml.Marshal([]v1alpha1.Allowance{{
			Kind: v1alpha1.Any, Mutation: v1alpha1.Any, Generation: generation, Initiator: alice,
			Trace: []v1alpha1.TraceHop{{Kind: "Deployment", Name: "web", Generation: generation, Field: "spec.replicas"}},
		}})
		Expect(err).NotTo(HaveOccurred())
		return string(raw)
	}
	// grantsNothing checks that the controller still may not act on its own.
	grantsNothing := func(ctx context.Context, d *appsv1.Deployment) {
		GinkgoHelper()
		err := shared.serviceAccount(deploymentController).try(ctx, shared.newestReplicaSet(ctx, d), replicas(9))
		Expect(err).To(MatchError(denied, "denied"))
	}
	// rollsOut checks that a legitimate change is still carried out.
	rollsOut := func(ctx context.Context, d *appsv1.Deployment, name, revision string) {
		GinkgoHelper()
		owner.change(ctx, d, image(name))
		shared.complete(ctx, d, revision)
	}

	DescribeTable("grants nothing and stops nothing on a settled Deployment", func(ctx SpecContext, ledger func(*appsv1.Deployment) string) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(3))
		rogue.warned.take()
		rogue.change(ctx, d, annotation(ledgerKey, ledger(d)))
		Expect(d.Annotations).NotTo(HaveKey(ledgerKey))
		grantsNothing(ctx, d)
		rollsOut(ctx, d, "web:2", "2")
	},
		Entry("that is forged", SpecTimeout(specTimeout), func(d *appsv1.Deployment) string { return anything(d.Generation) }),
		Entry("that is forged for a later generation", SpecTimeout(specTimeout), func(d *appsv1.Deployment) string { return anything(d.Generation + 5) }),
		Entry("that cannot be read", SpecTimeout(specTimeout), func(*appsv1.Deployment) string { return "{ not: [a ledger" }),
		Entry("that is empty", SpecTimeout(specTimeout), func(*appsv1.Deployment) string { return "[]" }),
	)

	It("grants nothing at the creation of a Deployment", func(ctx SpecContext) {
		d := rogue.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(3).Annotation(ledgerKey, anything(1)))
		grantsNothing(ctx, d)
		rollsOut(ctx, d, "web:2", "2")
		Expect(audit.tracesOf()).NotTo(ContainElement(HavePrefix(alice + ` [{"kind":"Deployment","name":"web","generation":1`)))
	}, SpecTimeout(specTimeout))

	It("grants nothing through the status", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(3))
		controller := shared.serviceAccount(deploymentController)
		forged := d.DeepCopy()
		forged.Annotations[ledgerKey] = anything(d.Generation)
		Expect(controller.Status().Update(ctx, forged)).To(Succeed())
		// A controller may have copied it, and would do so again if there was none.
		Expect(forged.Annotations).To(HaveKeyWithValue(ledgerKey, ""))
		grantsNothing(ctx, d)
		rollsOut(ctx, d, "web:2", "2")
	}, SpecTimeout(specTimeout))

	It("grants nothing to a ReplicaSet, under its own key or that of the copy", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(3))
		rs := shared.newestReplicaSet(ctx, d)
		rogue.change(ctx, rs, annotation(replicaSetLedgerKey, anything(rs.Generation)), annotation(ledgerKey, anything(rs.Generation)))
		Expect(rs.Annotations).NotTo(HaveKey(replicaSetLedgerKey))
		err := rogue.Delete(ctx, shared.anyPod(ctx, ns))
		Expect(err).To(MatchError(denied, "denied"))
		grantsNothing(ctx, d)
		rollsOut(ctx, d, "web:2", "2")
	}, SpecTimeout(specTimeout))

	It("does not come back with an undo", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(4))
		owner.change(ctx, d, image("web:"+unready))
		shared.hasPods(ctx, ns, map[string]int{"web:1": 3, "web:" + unready: 2})
		owner.change(ctx, d, image("web:3"))
		shared.complete(ctx, d, "3")
		out, err := owner.kubectl(ctx, "rollout", "undo", "--namespace="+ns, "deployment/web")
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
		Expect(ledgerOf(Default, d, ledgerKey)).NotTo(BeEmpty())
		for _, a := range ledgerOf(Default, d, ledgerKey) {
			Expect(a.Generation).To(Equal(d.Generation), "%s was brought back", way(a))
		}
		Expect(keysOf(d.Annotations)).NotTo(ContainElement(HavePrefix(v1alpha1.ReplicaSetAnnotationPrefix)))
		shared.hasPods(ctx, ns, map[string]int{"web:3": 3, "web:" + unready: 2})
		rollsOut(ctx, d, "web:4", "5")
		Expect(audit.refusals()).To(BeEmpty())
	}, SpecTimeout(specTimeout))

	// In the middle of a rollout there is a ledger to lose.
	Context("in the middle of a rollout", func() {
		var d *appsv1.Deployment
		BeforeEach(func(ctx SpecContext) {
			d = owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(4))
			owner.change(ctx, d, image("web:"+unready))
			Expect(d.Annotations).To(HaveKey(ledgerKey))
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.pods(ctx, g, ns)).To(HaveKeyWithValue("web:"+unready, 2))
			}).Should(Succeed())
		})
		AfterEach(func(ctx SpecContext) {
			rollsOut(ctx, d, "web:2", "3")
			Expect(audit.refusals()).To(BeEmpty())
		})

		DescribeTable("is put back", func(ctx SpecContext, p func() patch) {
			ledger := d.Annotations[ledgerKey]
			rogue.change(ctx, d, p())
			Expect(d.Annotations).To(HaveKeyWithValue(ledgerKey, ledger))
		},
			Entry("when it is removed", SpecTimeout(specTimeout), func() patch { return noAnnotation(ledgerKey) }),
			Entry("when all annotations are", SpecTimeout(specTimeout), func() patch { return `{"metadata":{"annotations":null}}` }),
			Entry("when it is edited", SpecTimeout(specTimeout), func() patch { return annotation(ledgerKey, anything(d.Generation)) }),
			Entry("when it is emptied", SpecTimeout(specTimeout), func() patch { return annotation(ledgerKey, "") }),
			Entry("when it is garbage", SpecTimeout(specTimeout), func() patch { return annotation(ledgerKey, "\x01{[") }),
		)

		It("is put back when it is removed through the status", func(ctx SpecContext) {
			ledger := d.Annotations[ledgerKey]
			Eventually(ctx, func() error {
				if err := shared.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
					return err
				}
				delete(d.Annotations, ledgerKey)
				return shared.serviceAccount(deploymentController).Status().Update(ctx, d)
			}).Should(Succeed())
			Expect(d.Annotations).To(HaveKeyWithValue(ledgerKey, ledger))
		}, SpecTimeout(specTimeout))

		It("is put back on a ReplicaSet", func(ctx SpecContext) {
			rs := shared.newestReplicaSet(ctx, d)
			ledger := rs.Annotations[replicaSetLedgerKey]
			Expect(ledger).NotTo(BeEmpty())
			rogue.change(ctx, rs, noAnnotation(replicaSetLedgerKey))
			Expect(rs.Annotations).To(HaveKeyWithValue(replicaSetLedgerKey, ledger))
		}, SpecTimeout(specTimeout))

		It("grants nothing to another Deployment that it is copied to", func(ctx SpecContext) {
			other := owner.deploy(ctx, builders.MakeDeployment(ns, "other").Replicas(1))
			rogue.change(ctx, other, annotation(ledgerKey, d.Annotations[ledgerKey]))
			Expect(other.Annotations).NotTo(HaveKey(ledgerKey))
			grantsNothing(ctx, other)
			// The denial above is the only one that is wanted.
			audit = shared.watch(ns)
		}, SpecTimeout(specTimeout))
	})
})
