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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// bob returns another person who may initiate.
func (c *cluster) bob() *actor { return c.as("bob", platformTeam) }

// An allowance lasts until its holder has settled, however long that takes and
// whoever goes away in the meantime, and no longer.
var _ = Describe("An allowance", func() {
	var (
		ns    string
		owner *actor
	)
	BeforeEach(func(ctx SpecContext) {
		ns = shared.newNamespace(ctx)
		owner = shared.alice()
	})
	// lose deletes a Pod as its node would, and returns when there is another one.
	lose := func(ctx context.Context, image string, pods int) {
		GinkgoHelper()
		audit := shared.watch(ns)
		Expect(shared.as(podCollector, "system:masters").Delete(ctx, shared.anyPod(ctx, ns))).To(Succeed())
		Eventually(ctx, func() controlplane.AuditEvents { return audit.podWrites(replicaSetController, "create") }).Should(HaveLen(1))
		shared.hasPods(ctx, ns, map[string]int{image: pods})
	}

	It("outlives the operator for as long as a quota is in the way, and then ends for good", func(ctx SpecContext) {
		audit := shared.watch(ns)
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pods"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("2")}},
		}
		Expect(shared.Create(ctx, quota)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(quota), quota)).To(Succeed())
			g.Expect(quota.Status.Used).To(HaveKey(corev1.ResourcePods))
		}).Should(Succeed())

		d := builders.MakeDeployment(ns, "web").Replicas(4).Obj()
		Expect(shared.mallory().Create(ctx, d)).To(Succeed())
		shared.hasPods(ctx, ns, map[string]int{"web:1": 2})
		shared.lasts(ctx, d, v1alpha1.PhaseInitializing)
		By("starting the operator again")
		said := shared.saidOfPolicies(ctx)
		Expect(operator.Restart(ctx)).To(Succeed())
		shared.lasts(ctx, d, v1alpha1.PhaseInitializing)

		By("raising the quota")
		Expect(shared.Patch(ctx, quota, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"hard":{"pods":"10"}}}`)))).To(Succeed())
		// The controller, which has tried in vain for some time, wakes up.
		Expect(shared.Patch(ctx, shared.anyPod(ctx, ns), client.RawPatch(types.MergePatchType,
			[]byte(annotation("example.org/wake", "up"))))).To(Succeed())
		shared.complete(ctx, d, "1")
		shared.ended(ctx, d)
		rs := shared.newestReplicaSet(ctx, d)
		made := audit.podWrites(replicaSetController, "create")
		Expect(made).To(HaveLen(4))
		expectCaused(made, "Initializing", mallory, "Deployment/web (created)", "ReplicaSet/"+rs.Name+" (created)")
		Expect(shared.saidOfPolicies(ctx)).To(Equal(said), "policies were in effect all the time")

		By("losing a Pod, and the operator")
		lose(ctx, "web:1", 4)
		shared.expectEnded(ctx, Default, d)
		Expect(operator.Restart(ctx)).To(Succeed())
		lose(ctx, "web:1", 4)
		shared.expectEnded(ctx, Default, d)
		for _, who := range []*actor{shared.serviceAccount(deploymentController), shared.mallory()} {
			Expect(who.try(ctx, rs, replicas(9))).To(MatchError(denied, "denied"))
		}
	}, alone, SpecTimeout(specTimeout))

	It("ends although nobody saw its holder settle, and change again", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		owner.change(ctx, d, image("web:"+unready))
		shared.hasPods(ctx, ns, map[string]int{"web:1": 2, "web:" + unready: 1})
		shared.lasts(ctx, d, v1alpha1.PhaseSteady)

		Expect(operator.Kill()).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(operator.Restart(ctx)).To(Succeed()) })
		shared.mallory().change(ctx, d, image("web:2"))
		shared.rolledOut(ctx, d)
		shared.mallory().change(ctx, d, replicas(3))
		shared.rolledOut(ctx, d)
		Expect(d.Annotations).To(HaveKey(ledgerKey), "somebody wrote the ledger")
		Expect(operator.Restart(ctx)).To(Succeed())
		shared.ended(ctx, d)
		shared.complete(ctx, d, "3")
		lose(ctx, "web:2", 3)
		shared.expectEnded(ctx, Default, d)
		rs := shared.newestReplicaSet(ctx, d)
		Expect(shared.serviceAccount(deploymentController).try(ctx, rs, replicas(9))).To(MatchError(denied, "denied"))
	}, alone, SpecTimeout(specTimeout))

	It("keeps its own trace beside that of somebody else", func(ctx SpecContext) {
		const imagePath = "spec.template.spec.containers[0].image"
		bob := shared.bob()
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(4).RollingUpdate("1", "0"))
		old := shared.newestReplicaSet(ctx, d)
		audit := shared.watch(ns)
		owner.change(ctx, d, image("web:"+unready))
		shared.hasPods(ctx, ns, map[string]int{"web:1": 4, "web:" + unready: 1})
		bob.change(ctx, d, replicas(6))
		shared.hasPods(ctx, ns, map[string]int{"web:1": 6, "web:" + unready: 1})

		rs := shared.newestReplicaSet(ctx, d)
		Eventually(ctx, func(g Gomega) {
			var held []string
			for _, a := range shared.record(ctx, g, d).Status.Active {
				held = append(held, way(a))
			}
			g.Expect(held).To(ConsistOf(
				"alice -> Deployment/web "+imagePath, "alice -> Deployment/web "+imagePath, "bob -> Deployment/web spec.replicas"))
			g.Expect(shared.record(ctx, g, old).Status.Initiator).To(Equal("bob"))
			g.Expect(shared.record(ctx, g, rs).Status.Initiator).To(Equal(alice))
		}).Should(Succeed())
		replicaSets := controlplane.OfResource("apps", "replicasets")
		expectCaused(audit.writes(replicaSets, controlplane.ByVerb("create")), "Covered", alice, "Deployment/web "+imagePath)
		for _, pod := range audit.podWrites(replicaSetController, "create") {
			cause := causeOf(&pod)
			if strings.Contains(cause, rs.Name) {
				Expect(cause).To(HavePrefix("Initializing: alice -> Deployment/web " + imagePath))
			} else {
				Expect(cause).To(Equal(fmt.Sprintf("Covered: bob -> Deployment/web spec.replicas -> ReplicaSet/%s spec.replicas", old.Name)))
			}
		}

		By("being done")
		owner.change(ctx, d, image("web:2"))
		shared.complete(ctx, d, "3")
		shared.ended(ctx, d)
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:2": 6}))
		Expect(audit.refusals()).To(BeEmpty())
	}, SpecTimeout(specTimeout))
})

// saidOfPolicies returns what the status of each policy says of how far it is in effect, and
// since when.
func (c *cluster) saidOfPolicies(ctx context.Context) map[string][]metav1.Condition {
	GinkgoHelper()
	var policies v1alpha1.AllowancePolicyList
	Expect(c.List(ctx, &policies)).To(Succeed())
	said := map[string][]metav1.Condition{}
	for i := range policies.Items {
		said[policies.Items[i].Name] = policies.Items[i].Status.Conditions
	}
	return said
}
