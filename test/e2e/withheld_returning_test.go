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
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
)

// replacesPods returns a policy that lets Pods be made at first, and for changes of all that an object says, and that
// lets nothing go on without one.
func replacesPods(name, group, kind string) *v1alpha1.AllowancePolicy {
	GinkgoHelper()
	const pods = `{target: {apiGroup: "", apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create, Delete]}`
	return ownPolicy(name, group, kind, fmt.Sprintf(`
  initializing: {policies: [%[1]s]}
  maintaining: {}
  rules:
  - {trigger: spec, policies: [%[1]s]}
`, pods))
}

// What is withheld is carried out in part where nothing holds it back for a while. Whoever takes it back then, children
// become what was approved (D2).
var _ = Describe("What was carried out in part while its policy only warned, and is taken back by a stranger,", func() {
	const evil = "web:" + unready
	policyFor := func(of []*v1alpha1.AllowancePolicy, kind string) *v1alpha1.AllowancePolicy {
		GinkgoHelper()
		for _, p := range of {
			if p.Spec.For.Kind == kind {
				return p
			}
		}
		Fail("no policy is for " + kind)
		return nil
	}
	becomes := func(ctx context.Context, p *v1alpha1.AllowancePolicy, action v1alpha1.ValidationAction) {
		GinkgoHelper()
		shared.revised(ctx, p, func(p *v1alpha1.AllowancePolicy) {
			p.Spec.ValidationActions = []v1alpha1.ValidationAction{action}
		})
	}
	// halfCarriedOut has a stranger change an image, which is carried out in part, and withheld again.
	halfCarriedOut := func(ctx context.Context, p *v1alpha1.AllowancePolicy, obj client.Object, stranger *actor) {
		GinkgoHelper()
		stranger.change(ctx, obj, image(evil))
		shared.withholding(ctx, obj, "spec.template.spec.containers[0].image")
		becomes(ctx, p, v1alpha1.ActionWarn)
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.pods(ctx, g, obj.GetNamespace())).To(HaveKey(evil))
		}).WithTimeout(foundTimeout).Should(Succeed())
		becomes(ctx, p, v1alpha1.ActionDeny)
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
			g.Expect(withheldOf(obj)).NotTo(BeEmpty())
		}).Should(Succeed())
		Expect(shared.pods(ctx, Default, obj.GetNamespace())).To(HaveKey(evil))
	}

	It("goes, of a Deployment, and an owner's next change is carried out", func(ctx SpecContext) {
		name := policiesUnder("returning", "deployment")
		policies := shared.samplePoliciesFor(ctx, name)
		shared.apply(ctx, policies...)
		ns := shared.newNamespaceFor(ctx, name)
		owner, stranger := shared.alice(), shared.mallory()
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(4))
		shared.ended(ctx, d)
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
			g.Expect(d.Status.ObservedGeneration).To(Equal(d.Generation))
		}).Should(Succeed())
		halfCarriedOut(ctx, policyFor(policies, "Deployment"), d, stranger)
		stranger.change(ctx, d, image("web:1"))
		shared.hasPods(ctx, ns, map[string]int{"web:1": 4})
		shared.withholdsNothing(ctx, d)

		By("an owner's next change")
		owner.change(ctx, d, image("web:2"))
		shared.rolledOut(ctx, d)
		shared.hasPods(ctx, ns, map[string]int{"web:2": 4})
	}, SpecTimeout(specTimeout))

	It("goes, of a StatefulSet", func(ctx SpecContext) {
		name := policiesUnder("returning", "statefulset")
		policy := replacesPods(name, appsv1.GroupName, "StatefulSet")
		shared.apply(ctx, policy)
		ns := shared.newNamespaceFor(ctx, name)
		owner, stranger := shared.alice(), shared.mallory()
		set := builders.MakeStatefulSet(ns, "web", 3)
		// One after the other, its controller waits for the Pod that never gets ready, whatever the template says.
		set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
		Expect(owner.Create(ctx, set)).To(Succeed())
		shared.hasPods(ctx, ns, map[string]int{"web:1": 3})
		shared.ended(ctx, set)
		halfCarriedOut(ctx, policy, set, stranger)
		stranger.change(ctx, set, image("web:1"))
		shared.hasPods(ctx, ns, map[string]int{"web:1": 3})
		shared.withholdsNothing(ctx, set)
	}, SpecTimeout(specTimeout))

	It("goes, of a DaemonSet", func(ctx SpecContext) {
		name := policiesUnder("returning", "daemonset")
		policy := replacesPods(name, appsv1.GroupName, "DaemonSet")
		shared.apply(ctx, policy)
		ns := shared.newNamespaceFor(ctx, name)
		owner, stranger := shared.alice(), shared.mallory()
		set := builders.MakeDaemonSet(ns, "web")
		Expect(owner.Create(ctx, set)).To(Succeed())
		shared.hasPods(ctx, ns, map[string]int{"web:1": 2})
		shared.ended(ctx, set)
		halfCarriedOut(ctx, policy, set, stranger)
		stranger.change(ctx, set, image("web:1"))
		shared.hasPods(ctx, ns, map[string]int{"web:1": 2})
		shared.withholdsNothing(ctx, set)
	}, SpecTimeout(specTimeout))
})
