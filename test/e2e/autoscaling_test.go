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

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// An autoscaler writes nothing but the scale of what it scales, which can carry no
// ledger (D11). It is the controller manager's, and sees what a metrics API of the
// specs says.
var _ = Describe("An autoscaler", Ordered, alone, func() {
	var (
		metrics *metricsAPI
		ns      string
		audit   witness
		web     = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	)
	BeforeAll(func(ctx SpecContext) {
		metrics = shared.serveMetrics(ctx)
	}, NodeTimeout(startTimeout))

	// autoscale makes an autoscaler for between 2 and 6 Pods that use as much memory as
	// they should.
	autoscale := func(ctx context.Context) *autoscalingv2.HorizontalPodAutoscaler {
		GinkgoHelper()
		metrics.use(ns, averageMemory)
		hpa := makeAutoscaler(ns, web, 2, 6)
		Expect(shared.as(alice, platformTeam, "system:masters").Create(ctx, hpa)).To(Succeed())
		return hpa
	}
	// refused returns when the autoscaler says that it was refused, with a message that
	// has these in it.
	refused := func(ctx context.Context, hpa *autoscalingv2.HorizontalPodAutoscaler, texts ...string) {
		GinkgoHelper()
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(hpa), hpa)).To(Succeed())
			for _, text := range texts {
				g.Expect(hpa.Status.Conditions).To(ContainElement(SatisfyAll(
					HaveField("Type", autoscalingv2.AbleToScale),
					HaveField("Reason", "FailedUpdateScale"),
					HaveField("Message", ContainSubstring(text)),
				)))
			}
		}).Should(Succeed())
	}

	Context("that may initiate", func() {
		BeforeEach(func(ctx SpecContext) {
			ns = shared.newNamespace(ctx)
			audit = shared.watch(ns)
		})

		It("scales a Deployment up and down, and its Pods are traced to it", func(ctx SpecContext) {
			d := shared.mallory().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
			autoscale(ctx)
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.record(ctx, g, d).Status.History).To(ContainElement(And(
					HaveField("User", alice), HaveField("Kind", "HorizontalPodAutoscaler"), HaveField("Names", ConsistOf("web")),
				)), "nothing says who made the autoscaler")
			}).Should(Succeed())
			for _, step := range []struct {
				memory int64
				size   int32
			}{{3 * averageMemory, 6}, {1, 2}} {
				By(fmt.Sprintf("using %d MiB", step.memory))
				metrics.use(ns, step.memory)
				Eventually(ctx, func(g Gomega) { g.Expect(shared.scales(ctx, g, d)).To(Equal([]int32{step.size})) }).Should(Succeed())
				shared.complete(ctx, d, "1")
				shared.hasPods(ctx, ns, map[string]int{"web:1": int(step.size)})
			}
			Expect(audit.refusals()).To(BeEmpty())
			Expect(usersOf(audit.writes(controlplane.OfResource("apps", "deployments"), controlplane.OfSubresource("scale")))).To(HaveEach(autoscaler))
			traces := audit.tracesOf(controlplane.OfResource("apps", "replicasets"))
			Expect(traces).To(ContainElement(HavePrefix(
				fmt.Sprintf(`%s [{"kind":"Deployment","name":"web","generation":%d,"field":"spec.replicas"}]`, autoscaler, d.Generation))))
			Expect(audit.tracesOf(controlplane.OfResource("", "pods"))).To(ContainElement(SatisfyAll(
				HavePrefix(autoscaler+" ["), ContainSubstring(`"kind":"ReplicaSet"`))))
		}, SpecTimeout(specTimeout))
	})

	It("that may not is told who may, and nothing moves", func(ctx SpecContext) {
		const people = "people-scale"
		ns = shared.newNamespaceFor(ctx, people)
		policies := shared.samplePoliciesFor(ctx, people)
		for _, p := range policies {
			p.Spec.Subjects = append(initiators(p), exercisers(p)...)
		}
		shared.apply(ctx, policies...)
		d := shared.alice().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		hpa := autoscale(ctx)
		metrics.use(ns, 3*averageMemory)
		refused(ctx, hpa, "spec.replicas of Deployment web", autoscaler+" may not initiate it", "Group "+platformTeam+" may")
		Expect(shared.scales(ctx, Default, d)).To(Equal([]int32{2}))
		shared.complete(ctx, d, "1")
		By("being scaled by somebody who may")
		Expect(shared.alice().scale(ctx, d, 6)).To(Succeed())
		shared.complete(ctx, d, "1")
		shared.hasPods(ctx, ns, map[string]int{"web:1": 6})
	}, SpecTimeout(specTimeout))

	It("may scale a bounded child as far as an allowance of the parent covers that", func(ctx SpecContext) {
		group := defineThings(ctx)
		p := parsePolicies(fmt.Sprintf(`
metadata: {name: farms-%[1]s}
spec:
  for: {apiGroup: %[1]s, apiVersion: v1, kind: Thing}
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, namespace: kube-system, name: horizontal-pod-autoscaler}
  consumption: {when: "object.?status.?done.orValue('') == object.?spec.?size.orValue('-')"}
  rules:
  - trigger: spec.size
    policies:
    - target: {apiGroup: apps, apiVersion: v1, resource: deployments}
      relation: ControllerChild
      verbs: [Update]
      mutations: [{jsonPath: spec.replicas}]
`, group))[0]
		shared.apply(ctx, p)
		ns = shared.newNamespaceFor(ctx, "none")
		audit = shared.watch(ns)
		owner := shared.as(alice, platformTeam, "system:masters")
		farm := builders.MakeThing(group, ns, "farm")
		Expect(unstructured.SetNestedField(farm.Object, "small", "spec", "size")).To(Succeed())
		Expect(owner.Create(ctx, farm)).To(Succeed())
		b := builders.MakeDeployment(ns, "web").Replicas(2)
		b.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(farm, builders.ThingKind(group))}
		d := owner.deploy(ctx, b)
		settled := func(size string) {
			GinkgoHelper()
			Expect(shared.Status().Patch(ctx, farm, client.RawPatch(types.MergePatchType,
				[]byte(fmt.Sprintf(`{"status":{"done":%q}}`, size))))).To(Succeed())
			shared.over(ctx, farm)
		}
		settled("small")

		hpa := autoscale(ctx)
		metrics.use(ns, 3*averageMemory)
		refused(ctx, hpa, "changing spec.replicas of Deployment web", "Thing farm", "Group "+platformTeam)
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
		Expect(d.Spec.Replicas).To(HaveValue(Equal(int32(2))))
		expectForbidden(shared.mallory().scale(ctx, d, 3), "spec.replicas", "Thing farm")

		By("changing the parent")
		Expect(owner.Patch(ctx, farm, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"size":"large"}}`)))).To(Succeed())
		shared.hasPods(ctx, ns, map[string]int{"web:1": 6})
		Expect(audit.tracesOf(controlplane.OfResource("apps", "deployments"), controlplane.OfSubresource("scale"))).To(HaveEach(SatisfyAll(
			HavePrefix(alice+" ["), ContainSubstring(`"field":"spec.size"`))))
		settled("large")
		metrics.use(ns, 1)
		refused(ctx, hpa, "changing spec.replicas of Deployment web")
	}, SpecTimeout(specTimeout))
})
