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
	"encoding/json"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// Somebody makes what a controller takes for its own. It is not to be changed in the
// name of anybody, nobody else's work is to stop for it, and it can be got rid of.
var _ = Describe("A child that was adopted without a cause", func() {
	const (
		approvePod        = "pod." + v1alpha1.AnnotationApprove
		approveReplicaSet = v1alpha1.ReplicaSetAnnotationPrefix + "approve"
		// manyRefusals is more than a controller that waits longer after each refusal gets
		// in a moment.
		manyRefusals = 40
	)
	var (
		ns    string
		audit witness
		owner *actor
		rogue *actor
		d     *appsv1.Deployment
	)
	BeforeEach(func(ctx SpecContext) {
		ns = shared.newNamespace(ctx)
		audit = shared.watch(ns)
		owner, rogue = shared.alice(), shared.mallory()
		d = owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(3))
	})
	refusals := func() controlplane.AuditEvents {
		return audit.writes(byControllers, controlplane.Refused(http.StatusForbidden))
	}
	// stuck begins a rollout that does not end.
	stuck := func(ctx SpecContext) {
		GinkgoHelper()
		owner.change(ctx, d, image("web:"+unready))
		Eventually(ctx, func(g Gomega) { g.Expect(shared.pods(ctx, g, ns)).To(HaveKey("web:" + unready)) }).Should(Succeed())
	}
	// undone goes back to the revision that a stray says it is.
	undone := func(ctx SpecContext) *appsv1.ReplicaSet {
		GinkgoHelper()
		stray := rogue.strayReplicaSet(ctx, d, 1)
		shared.hasStray(ctx, audit, d, stray)
		shared.hasPods(ctx, ns, map[string]int{"web:1": 3})
		out, err := owner.kubectl(ctx, "rollout", "undo", "deployment/web", "-n", ns, "--to-revision="+strayRevision)
		Expect(err).NotTo(HaveOccurred(), out)
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.record(ctx, g, d).Status.LastDenial).To(HaveValue(HaveField("Message", SatisfyAll(
				ContainSubstring("spec.replicas of ReplicaSet "+stray.Name), ContainSubstring("adopted it without a cause")))))
		}).Should(Succeed())
		Expect(shared.pods(ctx, Default, ns)).NotTo(HaveKey("web:stray"))
		return stray
	}

	It("keeps no other Pods from being made, replaced and removed", func(ctx SpecContext) {
		rs := shared.newestReplicaSet(ctx, d)
		stray := rogue.strayPod(ctx, rs)
		shared.hasStray(ctx, audit, rs, stray)
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.record(ctx, g, rs).Status.LastDenial).To(HaveValue(HaveField("Message", SatisfyAll(
				ContainSubstring("adopted Pod "+stray.Name+" without a cause"), ContainSubstring("Delete Pod "+stray.Name)))))
		}).Should(Succeed())
		Consistently(ctx, func(g Gomega) {
			g.Expect(shared.podsNamed(ctx, g, ns, "web")).To(HaveLen(4))
			g.Expect(len(refusals())).To(BeNumerically("<", manyRefusals), "the controller runs in circles")
		}).WithTimeout(quietMoment).Should(Succeed())

		By("having more of them, and losing one")
		owner.change(ctx, d, replicas(5))
		shared.rolledOut(ctx, d)
		for _, name := range shared.podsNamed(ctx, Default, ns, "web") {
			if name != stray.Name {
				lost := stray.DeepCopy()
				lost.Name = name
				Expect(rogue.evict(ctx, lost)).To(Succeed())
				break
			}
		}
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.podsNamed(ctx, g, ns, "web")).To(SatisfyAll(HaveLen(5), ContainElement(stray.Name)))
		}).Should(Succeed())

		By("deleting it, which a stranger may not")
		expectForbidden(rogue.Delete(ctx, stray), "adopted it without a cause")
		Expect(owner.Delete(ctx, stray)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.podsNamed(ctx, g, ns, "web")).To(SatisfyAll(HaveLen(5), Not(ContainElement(stray.Name))))
		}).Should(Succeed())

		By("approving one")
		stray = rogue.strayPod(ctx, rs)
		shared.hasStray(ctx, audit, rs, stray)
		rogue.change(ctx, stray, annotation(approvePod, "metadata.ownerReferences"))
		Expect(shared.straysOf(ctx, Default, rs)).To(ContainElement(stray.UID))
		owner.change(ctx, stray, annotation(approvePod, "*"))
		Expect(shared.straysOf(ctx, Default, rs)).NotTo(ContainElement(stray.UID))
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.podsNamed(ctx, g, ns, "web")).To(SatisfyAll(HaveLen(5), ContainElement(stray.Name)))
		}).Should(Succeed())
	}, SpecTimeout(specTimeout))

	// A Pod is of a kind that no policy is for.
	It("is approved as often as somebody asks, and by nothing that a stranger leaves on it", func(ctx SpecContext) {
		rs := shared.newestReplicaSet(ctx, d)
		stray := rogue.strayPod(ctx, rs)
		shared.hasStray(ctx, audit, rs, stray)
		isClean := func() {
			GinkgoHelper()
			Expect(shared.Get(ctx, client.ObjectKeyFromObject(stray), stray)).To(Succeed())
			Expect(stray.Annotations).NotTo(HaveKey(HaveSuffix("/approve")))
		}
		rogue.warned.take()
		rogue.change(ctx, stray, annotation(approvePod, "*"))
		Expect(rogue.warned.take()).To(ContainSubstring("may not approve changes of Pod " + stray.Name))
		isClean()
		Expect(shared.straysOf(ctx, Default, rs)).To(ContainElement(stray.UID))

		By("the printed command, twice")
		for range 2 {
			out, err := owner.kubectl(ctx, "annotate", "-n", ns, "pod", stray.Name, approvePod+"=metadata.ownerReferences")
			Expect(err).NotTo(HaveOccurred(), out)
			isClean()
			Expect(shared.straysOf(ctx, Default, rs)).NotTo(ContainElement(stray.UID))
		}

		By("the plugin")
		rs = shared.newestReplicaSet(ctx, owner.deploy(ctx, builders.MakeDeployment(ns, "api").Replicas(1)))
		stray = rogue.strayPod(ctx, rs)
		shared.hasStray(ctx, audit, rs, stray)
		out, err := rogue.kausality(ctx, ns, "approve", "pod/"+stray.Name, "--yes")
		Expect(err).To(HaveOccurred())
		Expect(out).To(ContainSubstring("nothing is approved"))
		Expect(shared.straysOf(ctx, Default, rs)).To(ContainElement(stray.UID))
		out, err = owner.kausality(ctx, ns, "approve", "pod/"+stray.Name, "--yes")
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(out).To(ContainSubstring("a stray of ReplicaSet/" + rs.Name))
		Expect(shared.straysOf(ctx, Default, rs)).NotTo(ContainElement(stray.UID))
		isClean()

		By("a mistyped one, which means nothing")
		rogue.warned.take()
		rogue.change(ctx, stray, annotation("pod."+v1alpha1.AnnotationPrefix+"aprove", "*"))
		Expect(rogue.warned.take()).To(ContainSubstring("did you mean " + approvePod))
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(stray), stray)).To(Succeed())
		Expect(stray.Annotations).NotTo(HaveKey(HaveSuffix("/aprove")))
	}, SpecTimeout(specTimeout))

	// setAside takes a Pod out of its ReplicaSet, which makes another one.
	setAside := func(ctx SpecContext) (*appsv1.ReplicaSet, *corev1.Pod) {
		GinkgoHelper()
		rs, pod := shared.newestReplicaSet(ctx, d), &corev1.Pod{}
		pod.Namespace, pod.Name = ns, shared.podsNamed(ctx, Default, ns, "web")[0]
		owner.change(ctx, pod, patch(`{"metadata":{"labels":{"app":null}}}`))
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.podsNamed(ctx, g, ns, "web")).To(SatisfyAll(HaveLen(3), Not(ContainElement(pod.Name))))
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
			g.Expect(pod.OwnerReferences).To(BeEmpty())
		}).Should(Succeed())
		shared.rolledOut(ctx, d)
		return rs, pod
	}
	putBack := patch(`{"metadata":{"labels":{"app":"web"}}}`)

	It("is none that an initiator sets aside and puts back", func(ctx SpecContext) {
		rs, pod := setAside(ctx)
		owner.change(ctx, pod, putBack)
		Eventually(ctx, func(g Gomega) {
			g.Expect(audit.writes(controlplane.ByVerb("patch"), byControllers, controlplane.OnObject(ns, pod.Name))).To(ContainElement(
				HaveField("Annotations", HaveKeyWithValue(auditTrace, SatisfyAll(HavePrefix(alice+" "), ContainSubstring(`"field":"metadata.labels"`))))))
		}).Should(Succeed())
		owner.change(ctx, d, image("web:2"))
		shared.hasPods(ctx, ns, map[string]int{"web:2": 3})
		shared.rolledOut(ctx, d)
		Expect(shared.straysOf(ctx, Default, rs)).To(BeEmpty())
		Expect(audit.refusals()).To(BeEmpty())
	}, SpecTimeout(specTimeout))

	It("is none that an initiator makes", func(ctx SpecContext) {
		rs := shared.newestReplicaSet(ctx, d)
		made := &corev1.Pod{Spec: *rs.Spec.Template.Spec.DeepCopy()}
		made.Namespace, made.Name, made.Labels = ns, rs.Name+"-made", rs.Spec.Selector.MatchLabels
		Expect(owner.Create(ctx, made)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(audit.writes(controlplane.ByVerb("patch"), byControllers, controlplane.OnObject(ns, made.Name))).To(ContainElement(
				HaveField("Annotations", HaveKeyWithValue(auditTrace, SatisfyAll(HavePrefix(alice+" "), ContainSubstring(v1alpha1.FieldCreated))))))
			g.Expect(shared.podsNamed(ctx, g, ns, "web")).To(HaveLen(3))
		}).Should(Succeed())
		Expect(shared.straysOf(ctx, Default, rs)).To(BeEmpty())
		Expect(audit.refusals()).To(BeEmpty())
	}, SpecTimeout(specTimeout))

	It("is one that somebody else changes meanwhile, or puts back", func(ctx SpecContext) {
		By("changing what is set aside")
		rs, pod := setAside(ctx)
		rogue.change(ctx, pod, patch(`{"spec":{"activeDeadlineSeconds":9999}}`))
		owner.change(ctx, pod, putBack)
		shared.hasStray(ctx, audit, rs, pod)
		Expect(client.IgnoreNotFound(owner.Delete(ctx, pod))).To(Succeed()) // The controller may choose it as the one too many.

		By("putting it back")
		rs, pod = setAside(ctx)
		rogue.change(ctx, pod, putBack)
		shared.hasStray(ctx, audit, rs, pod)
	}, SpecTimeout(specTimeout))

	It("does not stop a rollout", func(ctx SpecContext) {
		stuck(ctx)
		stray := rogue.strayReplicaSet(ctx, d, 2)
		shared.hasStray(ctx, audit, d, stray)
		owner.change(ctx, d, image("web:2"))
		shared.hasPods(ctx, ns, map[string]int{"web:2": 3})
		shared.rolledOut(ctx, d)
		Expect(audit.refusals()).To(BeEmpty())
		generation, reasons := stray.GetGeneration(), []string{} // each with the trace, where there is one
		for _, event := range audit.writes(controlplane.ByUser(deploymentController), controlplane.ByVerb("update"), controlplane.OnObject(ns, stray.Name)) {
			var written metav1.PartialObjectMetadata
			Expect(json.Unmarshal(event.ResponseObject.Raw, &written)).To(Succeed())
			if written.Generation != generation { // What its annotations say of the Deployment is no change of it.
				generation, reasons = written.Generation, append(reasons, event.Annotations[auditReason]+event.Annotations[auditTrace])
			}
		}
		Expect(reasons).To(SatisfyAll(Not(BeEmpty()), HaveEach("Discarding")))
	}, SpecTimeout(specTimeout))

	It("stops a scale in the middle of a rollout until it is deleted, and says so", func(ctx SpecContext) {
		stuck(ctx)
		stray := rogue.strayReplicaSet(ctx, d, 4)
		shared.hasStray(ctx, audit, d, stray)
		owner.change(ctx, d, replicas(12)) // of which each ReplicaSet gets a share
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.record(ctx, g, d).Status.LastDenial).To(HaveValue(HaveField("Message", SatisfyAll(
				ContainSubstring("spec.replicas of ReplicaSet "+stray.Name), ContainSubstring("Delete ReplicaSet "+stray.Name)))))
		}).Should(Succeed())
		Expect(len(refusals())).To(BeNumerically("<", manyRefusals), "the controller runs in circles")
		owner.change(ctx, d, image("web:2"))
		Expect(owner.Delete(ctx, stray)).To(Succeed())
		shared.hasPods(ctx, ns, map[string]int{"web:2": 12})
		shared.rolledOut(ctx, d)
	}, SpecTimeout(specTimeout))

	It("grows by somebody's undo once it is approved", func(ctx SpecContext) {
		stray := undone(ctx)
		rogue.change(ctx, stray, annotation(approveReplicaSet, "*"))
		Expect(rogue.warned.take()).To(ContainSubstring("may not approve"))
		Expect(shared.straysOf(ctx, Default, d)).To(ContainElement(stray.UID))
		owner.change(ctx, stray, annotation(approveReplicaSet, "*"))
		shared.hasPods(ctx, ns, map[string]int{"web:stray": 3})
		shared.rolledOut(ctx, d)
		Expect(shared.straysOf(ctx, Default, d)).To(BeEmpty())
	}, SpecTimeout(specTimeout))

	It("makes way for another one by somebody's undo once it is deleted", func(ctx SpecContext) {
		Expect(owner.Delete(ctx, undone(ctx))).To(Succeed())
		shared.hasPods(ctx, ns, map[string]int{"web:stray": 3})
		shared.rolledOut(ctx, d)
	}, SpecTimeout(specTimeout))

	It("is one with another owner, too", func(ctx SpecContext) {
		stray := rogue.strayReplicaSet(ctx, d, 0, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "kube-root-ca.crt", UID: shared.rootCA(ctx, ns)})
		shared.hasStray(ctx, audit, d, stray)
	}, SpecTimeout(specTimeout))

	It("is none that was left behind when its parent was made anew", func(ctx SpecContext) {
		rs, pods := shared.newestReplicaSet(ctx, d), shared.podsNamed(ctx, Default, ns, "web")
		Expect(owner.Delete(ctx, d, client.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
		again := builders.MakeDeployment(ns, "web").Replicas(3).Obj()
		Eventually(ctx, func() error { return owner.Create(ctx, again) }).Should(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(rs), rs)).To(Succeed())
			g.Expect(metav1.IsControlledBy(rs, again)).To(BeTrue())
		}).Should(Succeed())
		shared.rolledOut(ctx, again)
		Expect(shared.podsNamed(ctx, Default, ns, "web")).To(ConsistOf(toAny(pods)...))
		Expect(shared.straysOf(ctx, Default, again)).To(BeEmpty())
		owner.change(ctx, again, replicas(4), image("web:2"))
		shared.hasPods(ctx, ns, map[string]int{"web:2": 4})
		shared.rolledOut(ctx, again)
		Expect(audit.refusals()).To(BeEmpty())
	}, SpecTimeout(specTimeout))
})
