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
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// An operator that is away stops nothing that no policy wants stopped; nobody gains
// an allowance, and nothing stays stuck, when it is back (D10, D20).
var _ = Describe("While the operator is away", alone, func() {
	const everything = `[{"kind":"*","mutation":"*","generation":1,"initiator":"alice","trace":[{"kind":"Deployment","name":"x","generation":1,"field":"spec"}]}]`
	var (
		ns    string
		audit witness
		owner *actor
		rogue *actor
	)
	BeforeEach(func(ctx SpecContext) {
		ns = shared.newNamespace(ctx)
		audit = shared.watch(ns)
		owner, rogue = shared.alice(), shared.mallory()
	})
	// away ends the operator. API servers learn of an admission policy by a watch, and
	// only without an operator it shows that they have.
	away := func(ctx context.Context) {
		GinkgoHelper()
		Expect(operator.Kill()).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(operator.Restart(ctx)).To(Succeed()) })
		Eventually(ctx, func(g Gomega) {
			probe := builders.MakeDeployment(ns, "probe").Annotation(ledgerKey, everything).Obj()
			g.Expect(rogue.Create(ctx, probe, client.DryRunAll)).To(Succeed())
			g.Expect(probe.Annotations).NotTo(HaveKey(ledgerKey))
		}).Should(Succeed())
	}
	// midway makes a Deployment that is in the middle of a rollout by its owner.
	midway := func(ctx context.Context, name string) *appsv1.Deployment {
		GinkgoHelper()
		d := owner.deploy(ctx, builders.MakeDeployment(ns, name).Replicas(4))
		owner.change(ctx, d, image(name+":"+unready))
		Eventually(ctx, func(g Gomega) { g.Expect(shared.scales(ctx, g, d)).To(Equal([]int32{3, 2})) }).Should(Succeed())
		return d
	}
	// mayGoOn tells, from a dry run, whether the Deployment controller may scale the
	// oldest ReplicaSet.
	mayGoOn := func(ctx context.Context, d *appsv1.Deployment) error {
		rs := shared.replicaSets(ctx, Default, d)[0]
		return shared.serviceAccount(deploymentController).
			Patch(ctx, &rs, client.RawPatch(types.MergePatchType, []byte(replicas(9))), client.DryRunAll)
	}

	It("ledgers can be neither forged, taken away nor copied, and say what they did when it is back", func(ctx SpecContext) {
		d, idle := midway(ctx, "busy"), owner.deploy(ctx, builders.MakeDeployment(ns, "idle").Replicas(2))
		rs := shared.newestReplicaSet(ctx, d)
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
		ledger, replicaSetLedger := d.Annotations[ledgerKey], rs.Annotations[replicaSetLedgerKey]
		Expect(ledger).NotTo(BeEmpty())
		Expect(replicaSetLedger).NotTo(BeEmpty())
		away(ctx)

		By("trying everything")
		for _, p := range []patch{
			annotation(ledgerKey, everything), noAnnotation(ledgerKey), annotation(ledgerKey, ""),
			`{"metadata":{"annotations":null}}`, annotation(replicaSetLedgerKey, everything),
		} {
			rogue.change(ctx, d, p)
			Expect(d.Annotations).To(HaveKeyWithValue(ledgerKey, ledger), "after %s", p)
			Expect(d.Annotations).NotTo(HaveKey(replicaSetLedgerKey))
			rogue.change(ctx, rs, p)
			Expect(rs.Annotations).To(HaveKeyWithValue(replicaSetLedgerKey, replicaSetLedger), "after %s", p)
		}
		status := d.DeepCopy()
		status.Annotations = map[string]string{ledgerKey: everything}
		status.ResourceVersion = ""
		Expect(shared.serviceAccount(deploymentController).Status().Update(ctx, status)).To(Succeed())
		Expect(status.Annotations).To(HaveKeyWithValue(ledgerKey, ledger))
		Eventually(ctx, func(g Gomega) {
			replaced := &appsv1.Deployment{}
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), replaced)).To(Succeed())
			replaced.Annotations = nil
			g.Expect(rogue.Update(ctx, replaced)).To(Succeed())
			g.Expect(replaced.Annotations).To(HaveKeyWithValue(ledgerKey, ledger))
		}).Should(Succeed())

		By("bringing it to another object")
		rogue.change(ctx, idle, annotation(ledgerKey, ledger), annotation(replicaSetLedgerKey, replicaSetLedger))
		Expect(keysOf(idle.Annotations)).NotTo(ContainElement(ContainSubstring("kausality.io/")))
		forged := builders.MakeDeployment(ns, "forged").Annotation(ledgerKey, strings.ReplaceAll(ledger, "busy", "forged")).Obj()
		Expect(rogue.Create(ctx, forged)).To(Succeed())
		Expect(forged.Annotations).NotTo(HaveKey(ledgerKey))
		shared.rolledOut(ctx, forged)

		By("having it back")
		Expect(operator.Restart(ctx)).To(Succeed())
		for _, each := range []*appsv1.Deployment{idle, forged} {
			expectForbidden(mayGoOn(ctx, each))
		}
		Expect(mayGoOn(ctx, d)).To(Succeed())
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
		Expect(d.Annotations).To(HaveKeyWithValue(ledgerKey, ledger))
		owner.change(ctx, d, image("busy:2"))
		shared.complete(ctx, d, "3")
	}, SpecTimeout(specTimeout))

	It("people and controllers go on, and nothing of that is stuck when it is back", func(ctx SpecContext) {
		busy := midway(ctx, "busy")
		young := builders.MakeDeployment(ns, "young").Image("young:" + unready).Obj()
		Expect(rogue.Create(ctx, young)).To(Succeed())
		changed := owner.deploy(ctx, builders.MakeDeployment(ns, "changed").Replicas(2))
		scaled := owner.deploy(ctx, builders.MakeDeployment(ns, "scaled").Replicas(2))
		doomed := owner.deploy(ctx, builders.MakeDeployment(ns, "doomed").Replicas(2))
		away(ctx)

		By("creating, changing, scaling and deleting")
		stranger := builders.MakeDeployment(ns, "new").Image("new:" + unready).Obj()
		Expect(rogue.Create(ctx, stranger)).To(Succeed())
		rogue.change(ctx, changed, paused(true), image("changed:2"))
		Expect(rogue.scale(ctx, scaled, 4)).To(Succeed())
		shared.rolledOut(ctx, scaled)
		Expect(rogue.Delete(ctx, doomed)).To(Succeed())
		owner.change(ctx, busy, image("busy:other-"+unready))
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.scales(ctx, g, busy)).To(HaveLen(3))
			g.Expect(shared.pods(ctx, g, ns)).To(And(HaveKeyWithValue("new:"+unready, 1), HaveKey("busy:other-"+unready), Not(HaveKey("doomed:1"))))
		}).Should(Succeed())

		By("having it back")
		Expect(operator.Restart(ctx)).To(Succeed())
		Expect(members.Restart(ctx, string(controlplane.ControllerManager))).To(Succeed())

		By("finishing what was new, as if it was adopted")
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.record(ctx, g, stranger).Status.Adopting).To(BeTrue())
		}).Should(Succeed())
		rs := shared.newestReplicaSet(ctx, stranger)
		Expect(shared.serviceAccount(deploymentController).Patch(ctx, rs,
			client.RawPatch(types.MergePatchType, []byte(replicas(9))), client.DryRunAll)).To(Succeed())
		owner.change(ctx, stranger, image("new:2"))
		shared.complete(ctx, stranger, "2")

		By("initializing still what was so before")
		Expect(shared.recorded(ctx, young).Status.Phase).To(Equal(v1alpha1.PhaseInitializing))
		rs = shared.newestReplicaSet(ctx, young)
		Expect(ways(rs)).To(HaveEach(HavePrefix("mallory -> Deployment/young (created) -> ReplicaSet/" + rs.Name)))
		owner.change(ctx, young, image("young:2"))
		shared.complete(ctx, young, "2")

		By("approving what was changed")
		rogue.change(ctx, changed, paused(false))
		Eventually(ctx, func(g Gomega) {
			g.Expect(audit.writes(controlplane.ByUser(deploymentController), controlplane.Refused(http.StatusForbidden))).NotTo(BeEmpty())
			g.Expect(shared.record(ctx, g, changed).Status.Blocked).NotTo(BeNil())
		}).Should(Succeed())
		rogue.change(ctx, changed, approve("spec.template"))
		expectForbidden(mayGoOn(ctx, changed))
		owner.change(ctx, changed, approve("spec.template"))
		shared.complete(ctx, changed, "2")

		By("bounding what had settled")
		expectForbidden(mayGoOn(ctx, scaled))
		expectForbidden(rogue.scale(ctx, scaled, 6))
		Expect(owner.scale(ctx, scaled, 3)).To(Succeed())
		shared.complete(ctx, scaled, "1")

		By("going on with what was half-way, and with what was deleted")
		// What was changed while the operator was away waits for an approval.
		owner.change(ctx, busy, image("busy:2"), approve("*"))
		shared.complete(ctx, busy, "4")
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.record(ctx, g, doomed).Status.Phase).To(Equal(v1alpha1.PhaseDeleting))
		}).WithTimeout(effectTimeout).Should(Succeed())
		again := owner.deploy(ctx, builders.MakeDeployment(ns, "doomed").Replicas(1))
		Expect(shared.recorded(ctx, again).Status.Deletion).To(BeNil())
	}, SpecTimeout(3*specTimeout/2))

	It("records are lost, and made again: what is open goes on, and what has ended stays so", func(ctx SpecContext) {
		thing, revive := usedUp(ctx, ns)
		d := midway(ctx, "web")
		held := owner.deploy(ctx, builders.MakeDeployment(ns, "held"))
		owner.change(ctx, held, paused(true)) // Or it is rolled out while nobody refuses that.
		rogue.change(ctx, held, image("held:stranger"))
		isHeld := func(g Gomega) {
			g.Expect(shared.record(ctx, g, held).Status.WithheldCount).To(BeEquivalentTo(1))
			g.Expect(shared.replicaSets(ctx, g, held)).To(HaveLen(1))
		}
		Eventually(ctx, isHeld).Should(Succeed())

		away(ctx)
		shared.loseRecords(ctx, ns)
		Expect(operator.Restart(ctx)).To(Succeed())

		By("it being back, from the first request on")
		refuse(revive())
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.record(ctx, g, d).Status.Active).To(ConsistOf(toAny(ledgerOf(g, d, ledgerKey))...))
			g.Expect(mayGoOn(ctx, d)).To(Succeed())
		}).Should(Succeed())

		By("it having looked at everything")
		shared.over(ctx, thing)
		refuse(revive())
		Eventually(ctx, isHeld).Should(Succeed())
		audit = shared.watch(ns)
		owner.change(ctx, held, paused(false))
		audit.tries(ctx, deploymentController, "Deployment held")
		Consistently(ctx, isHeld).WithTimeout(3 * time.Second).Should(Succeed())
		Expect(shared.recorded(ctx, thing).Status.History).To(ContainElement(SatisfyAll(
			HaveField("Event", v1alpha1.EventConsumed), HaveField("Message", ContainSubstring("was lost")))))
		owner.change(ctx, d, image("web:2"))
		shared.complete(ctx, d, "3")

		By("its owner approving what is there")
		admin := shared.as(alice, platformTeam, "system:masters")
		Expect(admin.Patch(ctx, thing, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"kausality.io/approve":"spec.config"}}}`)))).To(Succeed())
		Expect(revive()).To(Succeed())
	}, SpecTimeout(specTimeout))

	It("nothing moves where a policy wants it so, and everything as soon as it is back", func(ctx SpecContext) {
		group := defineThings(ctx)
		strict, lax := thingPolicy(group, "strict-"+group), thingPolicy(group, "lax-"+group)
		strict.Spec.FailurePolicy = v1alpha1.FailurePolicyFail
		shared.apply(ctx, lax, strict)
		who := shared.as(alice, platformTeam, "system:masters")
		thing := builders.MakeThing(group, ns, "thing")
		Expect(who.Create(ctx, thing)).To(Succeed())
		child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: "child", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(thing, builders.ThingKind(group))},
		}}
		Expect(who.Create(ctx, child)).To(Succeed())
		away(ctx)

		size := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"size":2}}`))
		data := client.RawPatch(types.MergePatchType, []byte(`{"data":{"size":"2"}}`))
		attempts := func() map[string]error {
			return map[string]error{
				"creating a parent": who.Create(ctx, builders.MakeThing(group, ns, "another"), client.DryRunAll),
				"changing a parent": who.Patch(ctx, thing.DeepCopy(), size, client.DryRunAll),
				"deleting a parent": who.Delete(ctx, thing, client.DryRunAll),
				"changing a child":  who.Patch(ctx, child.DeepCopy(), data, client.DryRunAll),
				"deleting a child":  who.Delete(ctx, child, client.DryRunAll),
			}
		}
		for how, err := range attempts() {
			Expect(err).To(MatchError(ContainSubstring("failed calling webhook")), how)
		}
		By("doing what no policy is about, and what another one is about")
		Expect(who.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "secret"}})).To(Succeed())
		Expect(who.Patch(ctx, thing.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"a":"b"}}}`)))).To(Succeed())
		d := builders.MakeDeployment(ns, "web").Replicas(1).Obj()
		Expect(rogue.Create(ctx, d)).To(Succeed())
		shared.rolledOut(ctx, d)

		Expect(operator.Restart(ctx)).To(Succeed())
		for how, err := range attempts() {
			Expect(err).NotTo(HaveOccurred(), how)
		}
		Expect(who.Patch(ctx, thing, size)).To(Succeed())
		Expect(ledgerOf(Default, thing, ledgerKey)).To(ContainElement(HaveField("Trace", ContainElement(HaveField("Field", "spec")))),
			fmt.Sprint(thing.GetAnnotations()))
	}, SpecTimeout(specTimeout))
})
