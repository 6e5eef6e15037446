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
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	eventsv1 "k8s.io/api/events/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
)

// An allowance that is open for too long stays usable, and shows (D8).
var _ = Describe("A rollout that never succeeds", func() {
	It("shows once it has been open for maxOpen, until it is over", func(ctx SpecContext) {
		ns := shared.newNamespaceFor(ctx, "overdue")
		p := ownPolicy("overdue", "apps", "Deployment", `
  consumption: {maxOpen: 1s}
  rules:
  - trigger: spec
    policies:
    - {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: ["*"]}
`)
		shared.apply(ctx, p)
		accepted := func(g Gomega) string {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
			return apimeta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionAccepted).Message
		}

		d := builders.MakeDeployment(ns, "web").Replicas(2).Image(unready).Obj()
		Expect(shared.alice().Create(ctx, d)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			overdue := apimeta.FindStatusCondition(shared.record(ctx, g, d).Status.Conditions, v1alpha1.ConditionOverdue)
			g.Expect(overdue).NotTo(BeNil())
			g.Expect(overdue.Message).To(SatisfyAll(ContainSubstring("longer than 1s"), ContainSubstring("by alice")))
			g.Expect(accepted(g)).To(ContainSubstring("Initializing for longer than 1s (maxOpen): " + ns + "/web."))
			var events eventsv1.EventList
			g.Expect(shared.List(ctx, &events, client.InNamespace(ns))).To(Succeed())
			g.Expect(events.Items).To(ContainElement(SatisfyAll(HaveField("Reason", "Overdue"), HaveField("Regarding.Name", "web"))))
		}).WithTimeout(30 * time.Second).Should(Succeed())

		By("using what its creation allowed, which is open still")
		var sets appsv1.ReplicaSetList
		Expect(shared.List(ctx, &sets, client.InNamespace(ns))).To(Succeed())
		Expect(sets.Items).To(HaveLen(1))
		Expect(shared.serviceAccount(deploymentController).try(ctx, &sets.Items[0], `{"spec":{"minReadySeconds":1}}`)).To(Succeed())

		By("repairing it")
		shared.alice().change(ctx, d, image("repaired"))
		shared.rolledOut(ctx, d)
		Eventually(ctx, func(g Gomega) {
			g.Expect(apimeta.FindStatusCondition(shared.record(ctx, g, d).Status.Conditions, v1alpha1.ConditionOverdue)).To(BeNil())
			g.Expect(accepted(g)).NotTo(ContainSubstring("maxOpen"))
		}).Should(Succeed())
	}, SpecTimeout(specTimeout))
})
