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
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// Another mutating webhook changes each object after Kausality's, and when the API server asks that again, another
// replica is asked: it finds what the first has written, and not what that has taken away.
var _ = Describe("A request about which two replicas are asked", func() {
	It("has its approvals and its broken glass, told once", func(ctx SpecContext) {
		cp := startControlPlane(ctx, controlplane.Options{})
		replicas := startReplicas(ctx, cp, (*service).byHook, controlplane.OperatorOptions{}, controlplane.OperatorOptions{})
		c := connect(cp)
		c.applySamplePolicies(ctx)
		ns := c.newNamespace(ctx)
		alice, bob, mallory := c.alice(), c.glassBreaker(ctx, ns), c.mallory()

		const seenKey = "example.org/seen-by-"
		c.mutateToo(ctx, afterOurs, ns, admissionregistrationv1.Rule{
			APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments", "replicasets"},
		}, func(req admission.Request, obj *unstructured.Unstructured) {
			annotations := obj.GetAnnotations()
			if annotations == nil {
				annotations = map[string]string{}
			}
			// What a Deployment has its controller copies onto its ReplicaSets.
			annotations[seenKey+req.Kind.Kind] = string(req.UID)
			obj.SetAnnotations(annotations)
		})
		Eventually(ctx, func(g Gomega) {
			probe := builders.MakeDeployment(ns, "probe").Obj()
			g.Expect(c.Create(ctx, probe, client.DryRunAll)).To(Succeed())
			g.Expect(probe.Annotations).To(HaveKey(seenKey + "Deployment"))
		}).Should(Succeed())
		broken := func(key, reason, spec string) patch {
			return patch(fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}},"spec":%s}`, key, reason, spec))
		}

		for i := range 3 {
			d := alice.deploy(ctx, builders.MakeDeployment(ns, fmt.Sprintf("web-%d", i)).Replicas(1))
			created := replicas.verdictsOf(alice.user.UserName, d.Name)
			By("approving what a stranger has changed")
			mallory.change(ctx, d, image(d.Name+":2"))
			Expect(mallory.warned.take()).To(SatisfyAll(ContainSubstring("withheld"), Not(ContainSubstring("no effect"))))
			Expect(alice.try(ctx, d.DeepCopy(), approve("*"), client.DryRunAll)).To(Succeed())
			Expect(alice.warned.take()).To(BeEmpty())
			alice.change(ctx, d, approve("*"))
			Expect(alice.warned.take()).To(BeEmpty())
			c.complete(ctx, d, "2")
			c.withholdsNothing(ctx, d)
			Eventually(ctx, func(g Gomega) {
				g.Expect(c.record(ctx, g, d).Status.History).To(ContainElement(SatisfyAll(
					HaveField("Event", v1alpha1.EventApproved), HaveField("User", alice.user.UserName),
					HaveField("Count", BeNumerically("<=", replicas.verdictsOf(alice.user.UserName, d.Name)-created)),
				)))
			}).Should(Succeed())

			By("breaking the glass of what has no parent")
			bob.change(ctx, d, broken(v1alpha1.AnnotationBreakGlass, "INC-1", `{"replicas":2}`))
			Expect(bob.warned.take()).To(SatisfyAll(
				ContainSubstring("the glass is broken"), Not(ContainSubstring("no effect")), Not(ContainSubstring("withheld"))))
			c.complete(ctx, d, "2")
			c.withholdsNothing(ctx, d)
			Expect(c.newestReplicaSet(ctx, d).Spec.Replicas).To(HaveValue(Equal(int32(2))))

			By("breaking the glass of what has one")
			rs := c.newestReplicaSet(ctx, d)
			bob.change(ctx, rs, broken("replicaset."+v1alpha1.AnnotationBreakGlass, "INC-2", `{"minReadySeconds":1}`))
			Expect(bob.warned.take()).To(SatisfyAll(ContainSubstring("the glass is broken"), Not(ContainSubstring("no effect"))))
			Eventually(ctx, func(g Gomega) {
				status := c.record(ctx, g, d).Status
				g.Expect(status.BrokenGlass).To(BeEmpty())
				g.Expect(status.History).To(ContainElement(SatisfyAll(
					HaveField("Event", v1alpha1.EventBreakGlass), HaveField("User", "bob"),
					HaveField("Count", BeNumerically("<=", replicas.verdictsOf("bob", rs.Name))),
				)))
			}).Should(Succeed())
			refuse(bob.try(ctx, rs, patch(`{"spec":{"minReadySeconds":2}}`)))
		}
	}, SpecTimeout(2*specTimeout))
})
