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
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
)

// accepts returns the message of a policy's condition Accepted.
func (c *cluster) accepts(ctx context.Context, g Gomega, p *v1alpha1.AllowancePolicy) string {
	GinkgoHelper()
	g.Expect(c.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
	condition := apimeta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionAccepted)
	g.Expect(condition).NotTo(BeNil())
	g.Expect(condition.ObservedGeneration).To(Equal(p.Generation))
	return condition.Message
}

// unwrapped returns text as it is without the ends of lines.
func unwrapped(text string) string { return strings.Join(strings.Fields(text), " ") }

// An expression can compile, and yet never hold for any object of the kind (D14).
var _ = Describe("An expression that compares a string with a number", func() {
	const vain = "it compares object.status.observedGeneration (a string) with allowance.generation (a number)"
	blind := func(group string) *v1alpha1.AllowancePolicy {
		p := thingPolicies(group)[0]
		p.Spec.Consumption = &v1alpha1.Consumption{When: "object.status.observedGeneration == allowance.generation"}
		return p
	}

	It("is warned of where the kind declares its fields", func(ctx SpecContext) {
		group := shared.defineThings(ctx, func(definition *apiextensionsv1.CustomResourceDefinition) {
			status := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"observedGeneration": {Type: "string"}}}
			declared := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
			*declared = apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"spec": {Type: "object", XPreserveUnknownFields: new(true)}, "status": status,
			}}
		})
		p := blind(group)
		who := shared.as(alice, platformTeam, "system:masters")
		Expect(who.Create(ctx, p)).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return shared.Delete(ctx, p) })
		Expect(who.warned.take()).To(ContainSubstring("spec.consumption.when: " + vain))
		Eventually(ctx, func(g Gomega) { g.Expect(shared.accepts(ctx, g, p)).To(ContainSubstring(vain)) }).Should(Succeed())

		By("converting it")
		Expect(who.update(ctx, p, func() {
			p.Spec.Consumption.When = "int(object.status.observedGeneration) >= allowance.generation"
		})).To(Succeed())
		Expect(who.warned.take()).NotTo(ContainSubstring("spec.consumption.when"))
		Eventually(ctx, func(g Gomega) { g.Expect(shared.accepts(ctx, g, p)).NotTo(ContainSubstring("spec.consumption.when")) }).Should(Succeed())
	}, SpecTimeout(specTimeout))

	It("is warned of once there are objects, and explained for each allowance", func(ctx SpecContext) {
		group := defineThings(ctx)
		p := blind(group)
		owner := shared.as(alice, platformTeam, "system:masters")
		shared.apply(ctx, p)
		Expect(shared.accepts(ctx, Default, p)).NotTo(ContainSubstring("spec.consumption.when"))

		ns := shared.newNamespace(ctx)
		controller := &thingController{shared.as(thingControllerUser, "system:masters"), ns, reportGenerationAsText}
		thing := builders.MakeThing(group, ns, "app")
		thing.Object["spec"] = map[string]any{"config": "a", "port": int64(80)}
		Expect(owner.Create(ctx, thing)).To(Succeed())
		Expect(controller.reconcile(ctx, thing)).To(Succeed())
		Eventually(ctx, func(g Gomega) { g.Expect(shared.accepts(ctx, g, p)).To(ContainSubstring(vain)) }).WithTimeout(startTimeout).Should(Succeed())
		owner.reads(ctx, ns, WithTransform(unwrapped, SatisfyAll(
			ContainSubstring("judged by spec.consumption.when of AllowancePolicy "+p.Name),
			ContainSubstring("spec.consumption.when of AllowancePolicy "+p.Name+" does not hold: it compares object.status.observedGeneration"),
		)), "explain", "things."+group+"/app")
	}, SpecTimeout(startTimeout))
})

// What nothing tells of a kind is said to who wrote the policy for it (D8).
var _ = Describe("A policy for a kind whose status never tells when it has settled", func() {
	It("says so once there are objects, and not once it says when", func(ctx SpecContext) {
		group := defineThings(ctx)
		p := thingPolicies(group)[0]
		shared.apply(ctx, p)
		ns := shared.newNamespace(ctx)
		thing := builders.MakeThing(group, ns, "app")
		owner := shared.as(alice, platformTeam, "system:masters")
		Expect(owner.Create(ctx, thing)).To(Succeed())
		Expect(reportGenerationAsText(ctx, owner, thing)).To(Succeed())
		const help = "int(object.status.observedGeneration) >= allowance.generation"
		Eventually(ctx, func(g Gomega) { g.Expect(shared.accepts(ctx, g, p)).To(ContainSubstring(help)) }).Should(Succeed())

		Expect(owner.update(ctx, p, func() { p.Spec.Consumption = &v1alpha1.Consumption{When: help} })).To(Succeed())
		Eventually(ctx, func(g Gomega) { g.Expect(shared.accepts(ctx, g, p)).NotTo(ContainSubstring(help)) }).Should(Succeed())
	}, SpecTimeout(specTimeout))
})
