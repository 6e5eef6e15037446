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
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// The two hooks of a request ask two replicas of the operator, of which neither has seen yet what the
// other has written into records.
var _ = Describe("An upgrade of a controller under two replicas that are behind", stage.Long, func() {
	const v1, v2 = "example.org/controller:v1", "example.org/controller:v2"

	It("goes through once for each parent, and is not put back", func(ctx SpecContext) {
		cp := startControlPlane(ctx, controlplane.Options{})
		objects, err := cp.Render(ctx, *operatorSetup)
		Expect(err).NotTo(HaveOccurred())
		Expect(cp.Apply(ctx, objects)).To(Succeed())
		kubeconfig, _ := lateKubeconfig(ctx, cp)
		late := controlplane.OperatorOptions{ExtraFlags: []string{"--kubeconfig=" + kubeconfig}}
		startReplicas(ctx, cp, (*service).byHook, late, late)
		c := connect(cp)

		group := c.defineThings(ctx, func(*apiextensionsv1.CustomResourceDefinition) {})
		ns := c.newNamespace(ctx)
		user := c.makeController(ctx, ns)
		c.governController(ctx, group, ns)
		first := c.runVersion(ctx, ns, "controller-1", v1)
		things := c.madeBy(ctx, first, group)
		for _, thing := range things {
			Eventually(ctx, func(g Gomega) []v1alpha1.ControllerVersion { return c.record(ctx, g, thing).Status.Versions }).
				Should(ConsistOf(SatisfyAll(HaveField("Image", v1), HaveField("MovedAt", Not(BeNil())))))
		}
		agreed := upgradeOf(user)
		Expect(c.as("greta", "system:masters").Create(ctx, agreed)).To(Succeed())
		c.expectAccepted(ctx, agreed)

		second := c.runVersion(ctx, ns, "controller-2", v2)
		second.format, second.serves = "2", true
		audit := c.watch(ns)
		for _, thing := range things {
			Eventually(ctx, func() error { return second.reconcileAs(ctx, thing) }).Should(Succeed())
			// Right after it: whoever is asked has not seen it.
			Expect(first.reconcileAs(ctx, thing.DeepCopy())).To(MatchError(denied, "denied"), thing.GetName())
		}
		for _, thing := range things {
			Eventually(ctx, func(g Gomega) []v1alpha1.ControllerVersion { return c.record(ctx, g, thing).Status.Versions }).
				WithTimeout(2 * time.Minute).Should(ConsistOf(SatisfyAll(HaveField("Image", v2), HaveField("UpgradeAllowance", agreed.Name), HaveField("MovedAt", Not(BeNil())))))
		}
		audit.expectUpgraded(user, "greta", agreed.Name, things...)

		By("denying the old version, and what else the new one does, once that is over")
		again := *second
		again.format = "3"
		for _, thing := range things {
			Expect(first.reconcileAs(ctx, thing.DeepCopy())).To(MatchError(denied, "denied"), thing.GetName())
			Eventually(ctx, func() error { return again.reconcileAs(ctx, thing.DeepCopy()) }).
				Should(MatchError(ContainSubstring("the parent was upgraded to image "+v2)), thing.GetName())
		}
	}, SpecTimeout(upgradeTimeout))
})
