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
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/builders"
)

// A controller of Kubernetes lets go of nothing that it selects, and is refused. Of one that
// selects nothing nobody can tell whether it means it (D5).
var _ = Describe("A controller that selects nothing, and lets go of a child", func() {
	It("is named by the record of the parent, and has a stray when it takes that back", func(ctx SpecContext) {
		group := defineThings(ctx)
		shared.apply(ctx, thingPolicies(group)...)
		ns := shared.newNamespace(ctx)
		owner := shared.as(alice, platformTeam, "system:masters")
		controller := &thingController{shared.as(thingControllerUser, "system:masters"), ns, reportObserved}
		thing := builders.MakeThing(group, ns, "app")
		thing.Object["spec"] = map[string]any{"config": "a", "port": int64(80)}
		Expect(owner.Create(ctx, thing)).To(Succeed())
		Expect(controller.reconcile(ctx, thing)).To(Succeed())
		shared.over(ctx, thing)
		config := &corev1.ConfigMap{}
		Expect(shared.Get(ctx, client.ObjectKey{Namespace: ns, Name: "app"}, config)).To(Succeed())
		owners := config.OwnerReferences
		patched := func(who *actor, text string) error {
			return who.Patch(ctx, config, client.RawPatch(types.MergePatchType, []byte(text)))
		}

		By("changing the child in the same request")
		Expect(patched(controller.actor, `{"metadata":{"ownerReferences":null},"data":{"config":"own"}}`)).To(MatchError(denied, "denied"))
		By("letting somebody else do it")
		Expect(patched(shared.as(mallory, "system:masters"), `{"metadata":{"ownerReferences":null}}`)).To(MatchError(denied, "denied"))

		By("letting go, changing it, and taking it back")
		Expect(patched(controller.actor, `{"metadata":{"ownerReferences":null}}`)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.record(ctx, g, thing).Status.History).To(ContainElement(And(
				HaveField("Reason", "Released"), HaveField("User", thingControllerUser), HaveField("Kind", "ConfigMap"), HaveField("Names", ConsistOf("app")))))
		}).Should(Succeed())
		Expect(patched(controller.actor, `{"data":{"config":"own"}}`)).To(Succeed())
		config.OwnerReferences = owners
		Expect(controller.Update(ctx, config)).To(Succeed())
		Eventually(ctx, func(g Gomega) { g.Expect(shared.straysOf(ctx, g, thing)).To(ConsistOf(config.UID)) }).Should(Succeed())

		By("changing it further, for what an initiator allows of others")
		owner.setThing(ctx, thing, `{"config":"b"}`)
		Expect(controller.reconcile(ctx, thing)).To(MatchError(denied, "denied"))
		By("who may approving it")
		Expect(patched(owner, `{"metadata":{"annotations":{"configmap.kausality.io/approve":"*"}}}`)).To(Succeed())
		Expect(controller.reconcile(ctx, thing)).To(Succeed())
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(config), config)).To(Succeed())
		Expect(config.Data).To(HaveKeyWithValue("config", "b"))
		Expect(metav1.IsControlledBy(config, thing)).To(BeTrue())
	}, SpecTimeout(specTimeout))

	// The garbage collector looks owners up by their names, and deletes the child of none.
	DescribeTable("is named as well where it names the parent otherwise:", func(ctx SpecContext, field string, value any) {
		group := defineThings(ctx)
		shared.apply(ctx, thingPolicies(group)...)
		ns := shared.newNamespace(ctx)
		controller := &thingController{shared.as(thingControllerUser, "system:masters"), ns, reportObserved}
		thing := builders.MakeThing(group, ns, "app")
		thing.Object["spec"] = map[string]any{"config": "a", "port": int64(80)}
		Expect(shared.as(alice, platformTeam, "system:masters").Create(ctx, thing)).To(Succeed())
		Expect(controller.reconcile(ctx, thing)).To(Succeed())
		shared.over(ctx, thing)
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "app"}}
		Expect(controller.reown(ctx, config, field, value)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.record(ctx, g, thing).Status.History).To(ContainElement(And(
				HaveField("Reason", "Released"), HaveField("User", thingControllerUser), HaveField("Kind", "ConfigMap"), HaveField("Names", ConsistOf("app")))))
		}).Should(Succeed())
	},
		Entry("by another name", SpecTimeout(specTimeout), "name", "other"),
		Entry("as of another kind", SpecTimeout(specTimeout), "kind", "Other"),
		Entry("as one that controls nothing", SpecTimeout(specTimeout), "controller", false),
	)
})
