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
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// Policies come, change and go while Deployments are in the middle of something,
// and nothing of what was there before gains or loses by it (D10, D20).
var _ = Describe("A Deployment that is there before its policy", func() {
	const comings = "comings"
	It("finishes what it was doing, however often policies come and whatever they select", func(ctx SpecContext) {
		ns := shared.newNamespaceFor(ctx, comings)
		owner, rogue := shared.alice(), shared.mallory()
		midway := func(name string, labels map[string]string) *appsv1.Deployment {
			GinkgoHelper()
			b := builders.MakeDeployment(ns, name).Replicas(2)
			b.Labels = labels
			d := rogue.deploy(ctx, b)
			rogue.change(ctx, d, image(name+":"+unready))
			Eventually(ctx, func(g Gomega) { g.Expect(shared.scales(ctx, g, d)).To(Equal([]int32{2, 1})) }).Should(Succeed())
			return d
		}
		gold := map[string]string{"tier": "gold"}
		stuck, other := midway("stuck", gold), midway("other", nil)
		rest := rogue.deploy(ctx, builders.MakeDeployment(ns, "rest").Replicas(2))
		rogue.change(ctx, rest, label("tier", "gold"))

		var policies []*v1alpha1.AllowancePolicy
		come := func() {
			GinkgoHelper()
			policies = shared.samplePoliciesFor(ctx, comings)
			policies[0].Spec.ObjectSelector = &metav1.LabelSelector{MatchLabels: gold}
			shared.apply(ctx, policies...)
		}
		widen := func() {
			GinkgoHelper()
			p := policies[0]
			Expect(shared.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
			base := p.DeepCopy()
			p.Spec.ObjectSelector = nil
			Expect(shared.Patch(ctx, p, client.MergeFrom(base))).To(Succeed())
			shared.enforced(ctx, p, effectTimeout)
		}
		adopting := func(n int64) {
			GinkgoHelper()
			Eventually(ctx, func(g Gomega) {
				p := policies[0]
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
				g.Expect(p.Status.Adopting).To(Equal(n))
			}).Should(Succeed())
		}
		scaling := func(ctx context.Context, d *appsv1.Deployment) error {
			rs := shared.replicaSets(ctx, Default, d)[0]
			return shared.serviceAccount(deploymentController).
				Patch(ctx, &rs, client.RawPatch("application/merge-patch+json", []byte(replicas(9))), client.DryRunAll)
		}

		By("selecting some, whose records say all at once, in the two writes that one takes")
		audit := shared.watch(ns)
		come()
		adopting(1)
		Consistently(ctx, func() map[string]int {
			writes := map[string]int{}
			for _, event := range audit.writes(controlplane.OfResource("kausality.io", "allowancerecords")) {
				writes[event.ObjectRef.Name]++
			}
			return writes
		}).WithTimeout(2*time.Second).Should(And(HaveLen(2), HaveEach(2)), "of the Deployment, and of its new ReplicaSet")
		Expect(scaling(ctx, stuck)).To(Succeed())
		Expect(scaling(ctx, other)).To(Succeed(), "no policy is for it")
		expectForbidden(scaling(ctx, rest))

		By("selecting more")
		widen()
		adopting(2)
		Expect(scaling(ctx, stuck)).To(Succeed())
		Expect(scaling(ctx, other)).To(Succeed())

		By("going, and coming back")
		for _, p := range policies {
			Expect(shared.Delete(ctx, p)).To(Succeed())
		}
		Eventually(ctx, func() error { return scaling(ctx, rest) }).Should(Succeed())
		come()
		widen()
		adopting(2)
		expectForbidden(scaling(ctx, rest))
		Expect(scaling(ctx, stuck)).To(Succeed())

		By("settling one after the other")
		owner.change(ctx, stuck, image("stuck:2"))
		shared.complete(ctx, stuck, "3")
		adopting(1)
		expectForbidden(scaling(ctx, stuck))
		owner.change(ctx, other, image("other:2"))
		shared.complete(ctx, other, "3")
		adopting(0)
	}, SpecTimeout(specTimeout))
})

// What is there can be approved, by who could have made it (D20).
var _ = Describe("Approving a change of a Deployment", func() {
	It("is like making it, for the paths that it names, with conditions and captures", func(ctx SpecContext) {
		const approving = "approving"
		ns := shared.newNamespaceFor(ctx, approving)
		policies := shared.samplePoliciesFor(ctx, approving)
		for i := range policies[0].Spec.Rules {
			if rule := &policies[0].Spec.Rules[i]; rule.Trigger == "spec.template" {
				rule.Conditions = []string{"has(object.metadata.annotations['ticket'])"}
				rule.Capture = []string{"metadata.annotations[ticket]"}
			}
		}
		shared.apply(ctx, policies...)
		owner, rogue := shared.alice(), shared.mallory()
		audit := shared.watch(ns)
		b := builders.MakeDeployment(ns, "web").Replicas(2)
		b.Spec.MinReadySeconds = 1
		d := owner.deploy(ctx, b)
		withheld := func() []string {
			var paths []string
			for _, a := range ledgerOf(Default, d, ledgerKey) {
				if a.Relation == v1alpha1.RelationWithheld {
					paths = append(paths, a.Mutation)
				}
			}
			return paths
		}
		const imagePath = "spec.template.spec.containers[0].image"
		rogue.change(ctx, d, image("web:2"), replicas(3), `{"spec":{"minReadySeconds":0}}`)
		Expect(withheld()).To(ConsistOf(imagePath, "spec.replicas", "spec.minReadySeconds"))

		By("being nobody who may, or naming nothing")
		rogue.warned.take()
		rogue.change(ctx, d, approve("*"))
		Expect(rogue.warned.take()).To(ContainSubstring("mallory may not approve"))
		owner.change(ctx, d, approve("no..path"))
		Expect(owner.warned.take()).To(ContainSubstring("no..path"))
		Expect(withheld()).To(HaveLen(3))

		By("not meeting the condition")
		owner.change(ctx, d, approve(imagePath))
		Expect(owner.warned.take()).To(ContainSubstring("has(object.metadata.annotations['ticket'])"))
		Expect(withheld()).To(HaveLen(3))

		By("naming several, one of them removed, while changing something else")
		owner.change(ctx, d, patch(`{"metadata":{"annotations":{"ticket":"T-1","kausality.io/approve":"`+imagePath+`, spec.minReadySeconds"}},"spec":{"replicas":4}}`))
		Expect(d.Annotations).NotTo(HaveKey(v1alpha1.AnnotationApprove))
		Expect(withheld()).To(BeEmpty(), "what the owner changes is not withheld any more")
		shared.complete(ctx, d, "2")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:2": 4}))
		Expect(shared.newestReplicaSet(ctx, d).Spec.MinReadySeconds).To(BeZero())
		Expect(audit.tracesOf()).To(ContainElement(ContainSubstring(`"attestations":{"metadata.annotations[ticket]":"T-1"}`)))

		By("approving all by a manifest that is applied")
		rogue.change(ctx, d, replicas(1), image("web:3"))
		manifest := builders.MakeDeployment(ns, "web").Replicas(1).Image("web:3").
			Annotation("ticket", "T-2").Annotation(v1alpha1.AnnotationApprove, v1alpha1.Any).Obj()
		manifest.APIVersion, manifest.Kind = appsv1.SchemeGroupVersion.String(), "Deployment"
		//nolint:staticcheck // A whole manifest is what people apply.
		Expect(owner.Patch(ctx, manifest, client.Apply, client.FieldOwner("e2e"), client.ForceOwnership)).To(Succeed())
		shared.complete(ctx, d, "3")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:3": 1}))
	}, SpecTimeout(specTimeout))
})
