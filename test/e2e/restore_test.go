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
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// actors are who act on objects.
var actors = []controlplane.Component{controlplane.ControllerManager, controlplane.Scheduler, controlplane.Kwok}

// A backup of etcd that is restored takes back objects, ledgers and records together, and
// with them what the operator keeps for itself. What is watched goes back in time, which no
// watch tells of: the operator notices, and begins anew (docs/install.md).
var _ = Describe("A restored backup of etcd", stage.Long, func() {
	It("is where everything goes on from", func(ctx SpecContext) {
		cp, installed := startCluster(ctx, controlplane.Options{})
		c := connect(cp)
		c.apply(ctx, c.samplePoliciesFor(ctx, "restored")...)
		ns := c.newNamespaceFor(ctx, "restored")
		owner, stranger := c.alice(), c.mallory()

		By("having something settled, something half-way, and something withheld")
		settled := owner.deploy(ctx, builders.MakeDeployment(ns, "settled").Replicas(2))
		owner.change(ctx, settled, image("settled:2"))
		c.complete(ctx, settled, "2")
		half := owner.deploy(ctx, builders.MakeDeployment(ns, "half").Replicas(4))
		owner.change(ctx, half, image("half:"+unready))
		held := owner.deploy(ctx, builders.MakeDeployment(ns, "held").Replicas(2))
		stranger.change(ctx, held, image("held:stranger"))
		lost := owner.deploy(ctx, builders.MakeDeployment(ns, "lost").Replicas(1))
		Eventually(ctx, func(g Gomega) {
			g.Expect(c.scales(ctx, g, half)).To(Equal([]int32{3, 2}))
			g.Expect(c.record(ctx, g, held).Status.WithheldCount).To(BeEquivalentTo(1))
		}).Should(Succeed())

		By("having a clone, whose source changes while the operator is down, and nobody acts that it would keep from it")
		clone := c.newGenerated(ctx, "variables.source.setField('metadata.name', 'made')", "")
		Expect(owner.Create(ctx, configMap(clone.ns, "source", "before"))).To(Succeed())
		Expect(owner.Create(ctx, configMap(clone.ns, "trigger", ""))).To(Succeed())
		Eventually(clone.made).WithContext(ctx).Should(Equal("before"))
		for _, name := range actors {
			Expect(cp.Kill(string(name))).To(Succeed())
		}
		Expect(cp.Kill(controlplane.DefaultOperatorName)).To(Succeed())
		Expect(set(ctx, owner, clone.ns, "source", "in the backup")).To(Succeed())

		backup := filepath.Join(GinkgoT().TempDir(), "backup")
		By("taking a backup")
		copyOf(ctx, cp, backup)
		resume(ctx, cp, installed)

		By("going on without it")
		owner.change(ctx, settled, image("settled:3"))
		owner.change(ctx, held, approve("spec.template"))
		Expect(owner.Delete(ctx, lost)).To(Succeed())
		Eventually(clone.made).WithContext(ctx).Should(Equal("in the backup"))
		Expect(set(ctx, owner, clone.ns, "source", "after")).To(Succeed())
		Eventually(clone.made).WithContext(ctx).Should(Equal("after"))
		Expect(owner.Delete(ctx, configMap(clone.ns, "trigger", ""))).To(Succeed())
		Eventually(clone.made).WithContext(ctx).Should(Equal("gone"))
		late := owner.deploy(ctx, builders.MakeDeployment(ns, "late").Replicas(1))
		c.complete(ctx, settled, "3")
		c.complete(ctx, held, "2")
		By("having decided something that is not recorded yet")
		owner.change(ctx, half, image("half:2"))
		c.complete(ctx, half, "3")

		By("restoring it")
		restore(ctx, cp, backup)
		Expect(os.ReadFile(cp.Log(controlplane.DefaultOperatorName))).To(ContainSubstring("has gone back in time"))
		resume(ctx, cp, installed)
		Eventually(ctx, func(g Gomega) {
			g.Expect(c.Get(ctx, client.ObjectKeyFromObject(late), late)).To(Satisfy(apierrors.IsNotFound))
		}).Should(Succeed())

		By("finding everything as it was, but for what had not followed yet")
		Eventually(clone.made).WithContext(ctx).Should(Equal("in the backup"))
		c.complete(ctx, settled, "2")
		c.complete(ctx, lost, "1")
		c.withholding(ctx, held, "spec.template.spec.containers[0].image")
		Expect(c.replicaSets(ctx, Default, held)).To(HaveLen(1))
		Expect(c.Get(ctx, client.ObjectKeyFromObject(half), half)).To(Succeed())
		Expect(c.scales(ctx, Default, half)).To(Equal([]int32{3, 2}))
		Expect(ledgerOf(Default, half, ledgerKey)).NotTo(BeEmpty())

		By("going on from there")
		stranger.change(ctx, settled, image("settled:stranger"))
		c.withholding(ctx, settled, "spec.template.spec.containers[0].image")
		owner.change(ctx, settled, image("settled:4"))
		owner.change(ctx, half, image("half:3"))
		owner.change(ctx, held, approve("spec.template"))
		c.complete(ctx, settled, "3")
		c.complete(ctx, half, "3")
		c.complete(ctx, held, "2")
		Expect(set(ctx, owner, clone.ns, "source", "from there on")).To(Succeed())
		Eventually(clone.made).WithContext(ctx).Should(Equal("from there on"))
		c.hasPods(ctx, ns, map[string]int{"settled:4": 2, "half:3": 4, "held:stranger": 2, "lost:1": 1})
	}, SpecTimeout(startTimeout+2*specTimeout))
})

// resume starts the operator, as a kubelet does, and then the actors. Policies ignore failures:
// an actor that comes first may carry out what is withheld.
func resume(ctx context.Context, cp *controlplane.ControlPlane, installed *controlplane.Operator) {
	GinkgoHelper()
	By("starting the operator, and then who acts on objects")
	Expect(installed.Restart(ctx)).To(Succeed())
	for _, name := range actors {
		Expect(cp.Restart(ctx, string(name))).To(Succeed())
	}
}

// copyOf takes a backup of what the API server stores, for which that is shut down for a
// moment.
func copyOf(ctx context.Context, cp *controlplane.ControlPlane, backup string) {
	GinkgoHelper()
	Expect(cp.Kill(string(controlplane.APIServer))).To(Succeed())
	Expect(cp.Shutdown(string(controlplane.Etcd))).To(Succeed())
	Expect(os.CopyFS(backup, os.DirFS(filepath.Join(cp.Dir(), "etcd")))).To(Succeed())
	Expect(cp.Restart(ctx, string(controlplane.Etcd))).To(Succeed())
	Expect(cp.Restart(ctx, string(controlplane.APIServer))).To(Succeed())
}

// restore has the API server store what it did when the backup was taken, and returns when
// the operator has ended because of that.
func restore(ctx context.Context, cp *controlplane.ControlPlane, backup string) {
	GinkgoHelper()
	for _, name := range append([]controlplane.Component{controlplane.APIServer, controlplane.Etcd}, actors...) {
		Expect(cp.Kill(string(name))).To(Succeed())
	}
	data := filepath.Join(cp.Dir(), "etcd")
	Expect(os.RemoveAll(data)).To(Succeed())
	Expect(os.CopyFS(data, os.DirFS(backup))).To(Succeed())
	Expect(cp.Restart(ctx, string(controlplane.Etcd))).To(Succeed())
	Expect(cp.Restart(ctx, string(controlplane.APIServer))).To(Succeed())
	Eventually(ctx, func(g Gomega) {
		g.Expect(cp.Status()).To(ContainElement(SatisfyAll(HaveField("Name", controlplane.DefaultOperatorName), HaveField("Running", false))))
	}).Should(Succeed(), "the operator goes on with what is not there any more")
}
