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
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// What custom resources may have done to their children depends on their phase, and
// on the strictest of their policies.
var _ = Describe("The children of a custom resource", func() {
	var (
		group, ns                string
		controller, owner, rogue *actor
	)
	BeforeEach(func(ctx SpecContext) {
		group = defineThings(ctx)
		ns = shared.newNamespaceFor(ctx, "things")
		controller = shared.as("system:serviceaccount:"+ns+":things", "system:serviceaccounts", "system:masters")
		owner, rogue = shared.as(alice, platformTeam, "system:masters"), shared.as(mallory, "system:masters")
	})
	merge := func(text string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(text)) }
	makeThing := func(ctx context.Context, name string) client.Object {
		GinkgoHelper()
		thing := builders.MakeThing(group, ns, name)
		thing.Object["spec"] = map[string]any{"size": int64(1)}
		Expect(owner.Create(ctx, thing)).To(Succeed())
		return thing
	}
	child := func(of client.Object, name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: ns, Name: name, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(of, builders.ThingKind(group))},
			},
			Data: map[string]string{"state": "new", "other": "x"},
		}
	}

	It("are bounded while it initializes, for as long as the policy says", func(ctx SpecContext) {
		shared.apply(ctx, parsePolicies(strings.ReplaceAll(`
metadata: {name: initializing-GROUP}
spec:
  for: {apiGroup: GROUP, apiVersion: v1, kind: Thing}
  subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
  initializing:
    when: "object.status.phase != 'Running'"
    policies:
    - target: {apiVersion: v1, resource: configmaps}
      relation: ControllerChild
      verbs: [Create]
      mutations: [{jsonPath: "data[state]", verbs: [Mutate]}]
  rules:
  - trigger: spec
    policies:
    - {target: {apiVersion: v1, resource: configmaps}, relation: ControllerChild, verbs: [Create]}
`, "GROUP", group))...)
		thing := makeThing(ctx, "thing")
		cm := child(thing, "one")
		Expect(controller.Create(ctx, cm)).To(Succeed())
		Expect(controller.Patch(ctx, cm, merge(`{"data":{"state":"ready"}}`))).To(Succeed())
		expectForbidden(controller.Patch(ctx, cm, merge(`{"data":{"state":null}}`)), "data[state]", "Initializing")
		expectForbidden(controller.Patch(ctx, cm, merge(`{"data":{"state":"x","other":"y"}}`)), "data[other]")
		expectForbidden(controller.Delete(ctx, cm), "deletion")

		By("changing what grants the same again, and settling, neither of which ends it")
		Expect(owner.Patch(ctx, thing, merge(`{"spec":{"size":2}}`))).To(Succeed())
		ready := fmt.Sprintf(`{"status":{"observedGeneration":%d,"conditions":[{"type":"Ready","status":"True","observedGeneration":%[1]d}]}}`, thing.GetGeneration())
		Expect(controller.Status().Patch(ctx, thing, merge(ready))).To(Succeed())
		Expect(controller.Patch(ctx, cm, merge(`{"data":{"state":"still"}}`))).To(Succeed())

		By("ending it")
		Expect(controller.Status().Patch(ctx, thing, merge(`{"status":{"phase":"Running"}}`))).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.record(ctx, g, thing).Status.Phase).To(Equal(v1alpha1.PhaseSteady))
		}).Should(Succeed())
		expectForbidden(controller.Patch(ctx, cm, merge(`{"data":{"state":"late"}}`)), "data[state]", "Steady")
		By("being as it was, after which it does not come back")
		shared.over(ctx, thing) // What the change allowed ends later than that.
		Expect(controller.Status().Patch(ctx, thing, merge(`{"status":{"phase":"Pending"}}`))).To(Succeed())
		expectForbidden(controller.Create(ctx, child(thing, "two")), "Steady")
	}, SpecTimeout(specTimeout))

	It("are held to the strictest of its policies, which a label does not take it out of", func(ctx SpecContext) {
		audit := shared.watch(ns)
		// steady makes a policy under which a Thing is steady at once.
		steady := func(name string, action v1alpha1.ValidationAction) *v1alpha1.AllowancePolicy {
			p := thingPolicy(group, name+"-"+group)
			p.Spec.ValidationActions = []v1alpha1.ValidationAction{action}
			p.Spec.Consumption = &v1alpha1.Consumption{When: "true"}
			return p
		}
		shared.apply(ctx, steady("audit", v1alpha1.ActionAudit))
		thing := makeThing(ctx, "thing")
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.record(ctx, g, thing).Status.Phase).To(Equal(v1alpha1.PhaseSteady))
		}).Should(Succeed())

		By("auditing")
		Expect(rogue.Create(ctx, child(thing, "audited"))).To(Succeed())
		Expect(rogue.warned.take()).To(BeEmpty())
		By("warning")
		shared.apply(ctx, steady("warn", v1alpha1.ActionWarn))
		Expect(rogue.Create(ctx, child(thing, "warned"))).To(Succeed())
		Expect(rogue.warned.take()).To(ContainSubstring("not allowed by its parent Thing thing"))
		By("denying, for those that are selected")
		deny := steady("deny", v1alpha1.ActionDeny)
		deny.Spec.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
		shared.apply(ctx, deny)
		Expect(rogue.Create(ctx, child(thing, "not-selected"))).To(Succeed())
		Expect(rogue.Patch(ctx, thing, merge(`{"metadata":{"labels":{"tier":"gold"}}}`))).To(Succeed())
		expectForbidden(rogue.Create(ctx, child(thing, "denied")), "deny-"+group)

		By("leaving the policy by a label")
		for _, leave := range []string{`{"metadata":{"labels":{"tier":"lead"}}}`, `{"metadata":{"labels":null}}`} {
			expectForbidden(rogue.Patch(ctx, thing, merge(leave)), "would leave AllowancePolicy deny-"+group, platformTeam)
		}
		// The labels of a child do not matter.
		warned := child(thing, "warned")
		Expect(rogue.Patch(ctx, warned, merge(`{"metadata":{"labels":{"tier":"lead"}}}`))).To(Succeed())
		expectForbidden(rogue.Delete(ctx, warned))
		Expect(owner.Patch(ctx, thing, merge(`{"metadata":{"labels":{"tier":"lead"}}}`))).To(Succeed())
		Expect(rogue.Delete(ctx, warned)).To(Succeed())

		var reasons []string
		// Namespaces get a ConfigMap of the publisher of root certificates, at some time.
		for _, event := range audit.writes(controlplane.OfResource("", "configmaps"), controlplane.ByVerb("create"), controlplane.ByUser(rogue.User.UserName)) {
			reasons = append(reasons, event.Annotations[auditReason])
		}
		Expect(reasons).To(Equal([]string{"Audited", "Warned", "Warned", "Denied"}))
	}, SpecTimeout(specTimeout))
})
