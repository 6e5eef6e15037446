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
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// Service accounts of controllers that make Pods themselves.
var (
	statefulSetController = serviceaccount.MakeUsername("kube-system", "statefulset-controller")
	daemonSetController   = serviceaccount.MakeUsername("kube-system", "daemon-set-controller")
)

// ended returns when the holder has nothing left of any grant, neither in its
// ledger nor in its record.
func (c *cluster) ended(ctx context.Context, holder client.Object) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) { c.expectEnded(ctx, g, holder) }).Should(Succeed())
}

func (c *cluster) expectEnded(ctx context.Context, g Gomega, holder client.Object) {
	GinkgoHelper()
	g.Expect(c.Get(ctx, client.ObjectKeyFromObject(holder), holder)).To(Succeed())
	g.Expect(holder.GetAnnotations()).NotTo(HaveKey(ledgerKey), "%s still has a ledger", holder.GetName())
	status := c.record(ctx, g, holder).Status
	g.Expect(status.Phase).To(Equal(v1alpha1.PhaseSteady))
	g.Expect(status.Active).To(BeEmpty())
	g.Expect(status.PendingGrants).To(BeEmpty())
}

// lasts checks for a moment that the holder keeps what it was granted.
func (c *cluster) lasts(ctx context.Context, holder client.Object, phase v1alpha1.Phase) {
	GinkgoHelper()
	held := func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(holder), holder)).To(Succeed())
		g.Expect(holder.GetAnnotations()).To(HaveKey(ledgerKey))
		g.Expect(c.record(ctx, g, holder).Status.Phase).To(Equal(phase))
	}
	Eventually(ctx, held).Should(Succeed())
	Consistently(ctx, held).WithTimeout(quietMoment).Should(Succeed())
}

// podWrites returns the writes of whole Pods by one user that were let through. A controller that
// has not heard that it has deleted a Pod already, which is ending, deletes it once more.
func (w witness) podWrites(user string, verbs ...string) controlplane.AuditEvents {
	GinkgoHelper()
	deleted := map[types.UID]bool{}
	return slices.DeleteFunc(w.writes(controlplane.OfResource("", "pods"), controlplane.OfSubresource(""),
		controlplane.ByUser(user), controlplane.ByVerb(verbs...), controlplane.Succeeded), func(e auditv1.Event) bool {
		if e.Verb != "delete" {
			return false
		}
		pod := &metav1.PartialObjectMetadata{}
		Expect(json.Unmarshal(e.ResponseObject.Raw, pod)).To(Succeed(), describeEvent(&e))
		again := deleted[pod.UID]
		deleted[pod.UID] = true
		return again
	})
}

// expectCaused checks that each of the writes was let through for the reason, and
// that its trace leads from the initiator through the hops, each told as
// "Kind/name field".
func expectCaused(events controlplane.AuditEvents, reason, initiator string, hops ...string) {
	GinkgoHelper()
	Expect(events).NotTo(BeEmpty(), "nothing was written")
	for _, event := range events {
		Expect(causeOf(&event)).To(Equal(reason+": "+strings.Join(append([]string{initiator}, hops...), " -> ")), describeEvent(&event))
	}
}

// causeOf tells the reason and the trace of a write in words.
func causeOf(event *auditv1.Event) string {
	GinkgoHelper()
	initiator, trace, _ := strings.Cut(event.Annotations[auditTrace], " ")
	cause := v1alpha1.Allowance{Initiator: initiator}
	if trace != "" {
		Expect(json.Unmarshal([]byte(trace), &cause.Trace)).To(Succeed())
	}
	return event.Annotations[auditReason] + ": " + way(cause)
}

// Controllers that make Pods without anything in between.
var _ = Describe("The Pods of", func() {
	type workload struct {
		kind       string
		controller string
		pods       int
		make       func(namespace string) client.Object
	}
	workloads := []TableEntry{
		Entry("a StatefulSet", SpecTimeout(specTimeout), workload{"StatefulSet", statefulSetController, 4, func(ns string) client.Object {
			return builders.MakeStatefulSet(ns, "web", 4)
		}}),
		Entry("a DaemonSet", SpecTimeout(specTimeout), workload{"DaemonSet", daemonSetController, 2, func(ns string) client.Object {
			return builders.MakeDaemonSet(ns, "web")
		}}),
	}
	const imagePath = "spec.template.spec.containers[0].image"

	DescribeTable("follow who changes it, and nobody else:", func(ctx SpecContext, w workload) {
		ns := shared.newNamespaceUnder(ctx, "pods", strings.ToLower(w.kind))
		owner, stranger := shared.alice(), shared.mallory()

		By("creating it")
		audit := shared.watch(ns)
		set := w.make(ns)
		Expect(stranger.Create(ctx, set)).To(Succeed())
		shared.hasPods(ctx, ns, map[string]int{"web:1": w.pods})
		shared.ended(ctx, set)
		created := audit.podWrites(w.controller, "create")
		Expect(created).To(HaveLen(w.pods))
		expectCaused(created, "Initializing", mallory, w.kind+"/web (created)")
		Expect(audit.refusals()).To(BeEmpty())

		By("rolling it out")
		audit = shared.watch(ns)
		owner.change(ctx, set, image("web:2"))
		shared.hasPods(ctx, ns, map[string]int{"web:2": w.pods})
		shared.ended(ctx, set)
		rolled := audit.podWrites(w.controller, "create", "delete")
		Expect(rolled).To(HaveLen(2 * w.pods))
		expectCaused(rolled, "Covered", alice, w.kind+"/web "+imagePath)
		Expect(audit.refusals()).To(BeEmpty())

		By("losing a Pod")
		audit = shared.watch(ns)
		Expect(shared.serviceAccount(podCollector).Delete(ctx, shared.anyPod(ctx, ns))).To(Succeed())
		Eventually(ctx, func() controlplane.AuditEvents { return audit.podWrites(w.controller, "create") }).Should(HaveLen(1))
		shared.hasPods(ctx, ns, map[string]int{"web:2": w.pods})
		Expect(audit.podWrites(w.controller, "create")[0].Annotations).To(HaveKeyWithValue(auditReason, "Maintaining"))
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(set), set)).To(Succeed())
		Expect(set.GetAnnotations()).NotTo(HaveKey(ledgerKey))
		// The record may only now say what the rollout was allowed, and then that it is over.
		shared.ended(ctx, set)

		By("touching the Pods by hand")
		pod := shared.anyPod(ctx, ns)
		for _, who := range []*actor{owner, stranger} {
			err := who.try(ctx, pod, patch(`{"spec":{"containers":[{"name":"main","image":"web:9"}]}}`))
			Expect(err).To(MatchError(denied, "denied"))
			Expect(err).To(MatchError(ContainSubstring(w.kind + " web")))
		}
		Expect(stranger.Delete(ctx, pod)).To(MatchError(denied, "denied"))
		var history appsv1.ControllerRevisionList
		Expect(shared.List(ctx, &history, client.InNamespace(ns))).To(Succeed())
		Expect(history.Items).To(HaveLen(2))
		// RBAC lets nobody but administrators delete these.
		Expect(shared.as(mallory, "system:masters").Delete(ctx, &history.Items[0])).To(MatchError(denied, "denied"))

		By("changing it without the right to")
		audit = shared.watch(ns)
		stranger.warned.take()
		stranger.change(ctx, set, image("web:theirs"))
		Expect(stranger.warned.take()).To(SatisfyAll(ContainSubstring("withheld"), ContainSubstring(imagePath)))
		Eventually(ctx, func() controlplane.AuditEvents {
			return audit.writes(controlplane.ByUser(w.controller), controlplane.Refused(http.StatusForbidden))
		}).ShouldNot(BeEmpty(), "the controller did not even try")
		Consistently(ctx, func(g Gomega) {
			g.Expect(shared.pods(ctx, g, ns)).To(Equal(map[string]int{"web:2": w.pods}))
		}).WithTimeout(quietMoment).Should(Succeed())
		Expect(shared.List(ctx, &history, client.InNamespace(ns))).To(Succeed())
		Expect(history.Items).To(HaveLen(3), "the revision that waits")

		By("approving that")
		audit = shared.watch(ns)
		owner.change(ctx, set, approve(imagePath))
		shared.hasPods(ctx, ns, map[string]int{"web:theirs": w.pods})
		shared.ended(ctx, set)
		expectCaused(audit.podWrites(w.controller, "create", "delete"), "Covered", alice, w.kind+"/web "+imagePath)
	}, workloads)

	DescribeTable("go back with their history, which the controller trims:", func(ctx SpecContext, w workload) {
		ns := shared.newNamespaceUnder(ctx, "history", strings.ToLower(w.kind))
		owner := shared.alice()
		set := w.make(ns)
		switch set := set.(type) {
		case *appsv1.StatefulSet:
			set.Spec.RevisionHistoryLimit = new(int32(1))
		case *appsv1.DaemonSet:
			set.Spec.RevisionHistoryLimit = new(int32(1))
		}
		Expect(owner.Create(ctx, set)).To(Succeed())
		shared.hasPods(ctx, ns, map[string]int{"web:1": w.pods})
		shared.ended(ctx, set)

		audit := shared.watch(ns)
		// kept returns when the history has nothing but the templates of the last two.
		kept := func(numbers ...int64) {
			GinkgoHelper()
			Eventually(ctx, func(g Gomega) {
				var history appsv1.ControllerRevisionList
				g.Expect(shared.List(ctx, &history, client.InNamespace(ns))).To(Succeed())
				got := make([]int64, 0, len(history.Items))
				for _, r := range history.Items {
					got = append(got, r.Revision)
				}
				g.Expect(got).To(ConsistOf(numbers))
			}).Should(Succeed())
		}
		for i, version := range []string{"web:2", "web:3", "web:4"} {
			owner.change(ctx, set, image(version))
			shared.hasPods(ctx, ns, map[string]int{version: w.pods})
			shared.ended(ctx, set)
			kept(int64(i+1), int64(i+2))
		}
		By("rolling it back")
		out, err := owner.kubectl(ctx, "rollout", "undo", strings.ToLower(w.kind)+"/web", "--namespace="+ns)
		Expect(err).NotTo(HaveOccurred(), out)
		shared.hasPods(ctx, ns, map[string]int{"web:3": w.pods})
		shared.ended(ctx, set)
		kept(4, 5)

		Expect(audit.refusals()).To(BeEmpty())
		books := audit.writes(controlplane.OfResource(appsv1.GroupName, "controllerrevisions"), controlplane.ByUser(w.controller), controlplane.Succeeded)
		Expect(books).NotTo(BeEmpty())
		for _, event := range books {
			Expect(event.Annotations).To(HaveKeyWithValue(auditReason, "Bookkeeping"), describeEvent(&event))
		}
	}, workloads)

	DescribeTable("are replaced by hand for as long as that takes under OnDelete:", func(ctx SpecContext, w workload) {
		ns := shared.newNamespaceUnder(ctx, "on-delete", strings.ToLower(w.kind))
		owner := shared.alice()
		set := w.make(ns)
		switch set := set.(type) {
		case *appsv1.StatefulSet:
			set.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
		case *appsv1.DaemonSet:
			set.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType
		}
		Expect(owner.Create(ctx, set)).To(Succeed())
		shared.hasPods(ctx, ns, map[string]int{"web:1": w.pods})
		shared.ended(ctx, set)

		audit := shared.watch(ns)
		owner.change(ctx, set, image("web:2"))
		var before corev1.PodList
		Expect(shared.List(ctx, &before, client.InNamespace(ns))).To(Succeed())
		for i := range before.Items {
			shared.lasts(ctx, set, v1alpha1.PhaseSteady)
			Expect(shared.mallory().Delete(ctx, &before.Items[i])).To(MatchError(denied, "denied"))
			Expect(owner.Delete(ctx, &before.Items[i])).To(Succeed())
			Eventually(ctx, func(g Gomega) {
				pods := shared.pods(ctx, g, ns)
				g.Expect(pods["web:2"]).To(Equal(i + 1))
				g.Expect(pods["web:1"]).To(Equal(w.pods - i - 1))
			}).Should(Succeed())
		}
		shared.ended(ctx, set)
		cause := w.kind + "/web " + imagePath
		expectCaused(audit.podWrites(alice, "delete"), "Covered", alice, cause)
		expectCaused(audit.podWrites(w.controller, "create"), "Covered", alice, cause)
		Expect(audit.refusals()).To(BeEmpty())
	}, workloads)
})
