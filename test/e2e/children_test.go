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

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

const (
	replicaSetController = "system:serviceaccount:kube-system:replicaset-controller"
	// podCollector deletes Pods whose node is gone; it keeps the cluster alive.
	podCollector = "system:serviceaccount:kube-system:pod-garbage-collector"
)

// label sets a label of an object.
func label(key, value string) patch {
	return patch(fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, key, value))
}

// owners sets the owner references of an object to these, as a merge patch does.
func (a *actor) owners(ctx context.Context, obj client.Object, owners ...metav1.OwnerReference) error {
	changed, ok := obj.DeepCopyObject().(client.Object)
	Expect(ok).To(BeTrue())
	changed.SetOwnerReferences(owners)
	return a.Patch(ctx, changed, client.MergeFrom(obj))
}

// A stranger gets at the Pods of a Deployment neither through its ReplicaSets nor
// past them.
var _ = Describe("The children of a Deployment", func() {
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

	// podNames are the names of the Pods that are there to stay.
	podNames := func(ctx context.Context, g Gomega) []string {
		GinkgoHelper()
		var list corev1.PodList
		g.Expect(shared.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
		var names []string
		for i := range list.Items {
			if list.Items[i].DeletionTimestamp == nil {
				names = append(names, list.Items[i].Name)
			}
		}
		return names
	}

	It("cannot be taken away by a stranger", func(ctx SpecContext) {
		owner.change(ctx, d, image("web:2"))
		shared.complete(ctx, d, "2")
		all := shared.replicaSets(ctx, Default, d)
		Expect(all).To(HaveLen(2))
		empty, rs, pods := &all[0], &all[1], podNames(ctx, Default)
		pod := &corev1.Pod{}
		Expect(shared.Get(ctx, client.ObjectKey{Namespace: ns, Name: pods[0]}, pod)).To(Succeed())
		forged := *metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))
		forged.UID = "forged"

		By("trying")
		for how, err := range map[string]error{
			"delete a ReplicaSet":                  rogue.Delete(ctx, rs),
			"delete all ReplicaSets":               rogue.DeleteAllOf(ctx, rs, client.InNamespace(ns)),
			"delete all Pods":                      rogue.DeleteAllOf(ctx, pod, client.InNamespace(ns)),
			"leave the Pods of a ReplicaSet":       rogue.Delete(ctx, rs, client.PropagationPolicy(metav1.DeletePropagationOrphan)),
			"delete a ReplicaSet without replicas": rogue.Delete(ctx, empty),
			"have a ReplicaSet let go of":          rogue.try(ctx, rs.DeepCopy(), label("app", "other")),
			"take the label of a ReplicaSet off":   rogue.try(ctx, rs.DeepCopy(), `{"metadata":{"labels":{"app":null}}}`),
			"take the labels of a ReplicaSet off":  rogue.try(ctx, rs.DeepCopy(), `{"metadata":{"labels":null}}`),
			"drop the owner of a ReplicaSet":       rogue.owners(ctx, rs),
			"forge the owner of a ReplicaSet":      rogue.owners(ctx, rs, forged),
			"drop the owner of a Pod":              rogue.owners(ctx, pod),
			"forge the owner of a Pod":             rogue.owners(ctx, pod, forged),
		} {
			By(how)
			expectForbidden(err, "is not allowed by its parent")
		}
		// An owner that is not the controller lets another one adopt its child.
		halfOwned := rs.OwnerReferences[0]
		halfOwned.Controller = new(false)
		expectForbidden(rogue.owners(ctx, rs, halfOwned), "is not allowed by its parent")
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.replicaSets(ctx, g, d)).To(HaveLen(2))
		}).Should(Succeed())
		expectForbidden(rogue.Delete(ctx, rs))
		Expect(podNames(ctx, Default)).To(ConsistOf(toAny(pods)...))

		By("being the system, to which an empty ReplicaSet is history")
		controller := shared.serviceAccount(deploymentController)
		expectForbidden(controller.Delete(ctx, rs))
		Expect(controller.Delete(ctx, empty)).To(Succeed())
		owner.change(ctx, d, image("web:3"))
		shared.complete(ctx, d, "3")
	}, SpecTimeout(specTimeout))

	It("are set aside and taken back by their labels", func(ctx SpecContext) {
		before := podNames(ctx, Default)
		pod := &corev1.Pod{}
		Expect(shared.Get(ctx, client.ObjectKey{Namespace: ns, Name: before[0]}, pod)).To(Succeed())
		ofReplicaSet := []controlplane.AuditFilter{controlplane.ByUser(replicaSetController), controlplane.OfResource("", "pods")}

		By("releasing a Pod")
		rogue.change(ctx, pod, label("app", "aside"))
		Eventually(ctx, func(g Gomega) {
			g.Expect(podNames(ctx, g)).To(HaveLen(4))
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
			g.Expect(pod.OwnerReferences).To(BeEmpty())
		}).Should(Succeed())
		shared.complete(ctx, d, "1")
		released := audit.writes(append(ofReplicaSet, controlplane.ByVerb("patch"))...)
		Expect(released).To(HaveLen(1))
		Expect(released[0].Annotations).To(HaveKeyWithValue(auditReason, "Released"))

		By("adopting it, which is one too many, and for which no other goes")
		rs := shared.newestReplicaSet(ctx, d)
		replacements := podNames(ctx, Default)
		rogue.change(ctx, pod, label("app", "web"))
		// The controller may choose it to go, and else nothing goes.
		Eventually(ctx, func(g Gomega) { g.Expect(shared.straysOf(ctx, g, rs)).To(ContainElement(pod.UID)) }).Should(Succeed())
		Expect(owner.Delete(ctx, pod)).To(Or(Succeed(), Satisfy(apierrors.IsNotFound)))
		Eventually(ctx, func(g Gomega) {
			g.Expect(podNames(ctx, g)).To(SatisfyAll(HaveLen(3), Not(ContainElement(pod.Name)), HaveEach(BeElementOf(replacements))))
		}).Should(Succeed())
		shared.complete(ctx, d, "1")

		By("adopting one that somebody made")
		theirs := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "theirs", Labels: rs.Spec.Template.Labels}, Spec: rs.Spec.Template.Spec}
		theirs.Spec.Containers[0].Image = "web:theirs"
		Expect(rogue.Create(ctx, theirs)).To(Succeed())
		shared.hasPods(ctx, ns, map[string]int{"web:1": 3}) // the youngest goes
		shared.complete(ctx, d, "1")

		By("letting go of the ReplicaSet, which who may use its Deployment's allowances may do")
		owner.change(ctx, rs, label("app", "aside"))
		Eventually(ctx, func(g Gomega) { g.Expect(shared.replicaSets(ctx, g, d)).To(BeEmpty()) }).Should(Succeed())
		owner.change(ctx, rs, label("app", "web"))
		owner.change(ctx, d, approve("*"))
		Eventually(ctx, func(g Gomega) { g.Expect(shared.replicaSets(ctx, g, d)).NotTo(BeEmpty()) }).Should(Succeed())
		shared.complete(ctx, d, "1")
	}, SpecTimeout(specTimeout))
})

// What needs no allowance is for the policy to say.
var _ = Describe("Without a cause, Pods", func() {
	const onCall = "on-call"
	// policiesWith are the sample policies, but for what keeps Pods alive. Who
	// initiates may use the allowances of ReplicaSets too.
	policiesWith := func(ctx context.Context, name string, entries ...v1alpha1.MaintainingEntry) []*v1alpha1.AllowancePolicy {
		all := shared.samplePoliciesFor(ctx, name)
		for _, p := range all {
			if p.Spec.For.Kind == "ReplicaSet" {
				p.Spec.Maintaining = &v1alpha1.MaintainingSection{Policies: entries}
				p.Spec.Subjects = append(p.Spec.Subjects,
					v1alpha1.PolicySubject{Subject: v1alpha1.Subject{Kind: v1alpha1.SubjectGroup, Name: platformTeam}})
			}
		}
		return all
	}
	// entry is one about Pods.
	entry := func(verb string) v1alpha1.MaintainingEntry {
		return v1alpha1.MaintainingEntry{PolicyEntry: v1alpha1.PolicyEntry{
			Target:   v1alpha1.Target{APIVersion: "v1", Resource: "pods"},
			Relation: v1alpha1.RelationControllerChild,
			Verbs:    []string{verb},
		}}
	}

	It("are not replaced where the policy does not say so, and everybody hears of it", func(ctx SpecContext) {
		const unhealed = "unhealed"
		ns := shared.newNamespaceFor(ctx, unhealed)
		policies := policiesWith(ctx, unhealed)
		shared.apply(ctx, policies...)
		replicaSets := policies[1]
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(replicaSets), replicaSets)).To(Succeed())
		Expect(replicaSets.Status.Conditions).To(ContainElement(SatisfyAll(
			HaveField("Type", v1alpha1.ConditionAccepted), HaveField("Message", ContainSubstring("replacing one that was evicted or lost will be denied")))))

		audit := shared.watch(ns)
		d := shared.alice().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		rs, pod := shared.newestReplicaSet(ctx, d), shared.anyPod(ctx, ns)
		expectForbidden(shared.alice().Delete(ctx, pod))
		expectForbidden(shared.mallory().evict(ctx, pod))
		expectForbidden(shared.mallory().try(ctx, pod, label("app", "aside")), "metadata.labels[app]")

		By("losing a Pod with its node")
		Expect(shared.as(podCollector, "system:masters").Delete(ctx, pod)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(audit.writes(controlplane.ByUser(replicaSetController), controlplane.ByVerb("create"), controlplane.Refused(http.StatusForbidden))).NotTo(BeEmpty())
			g.Expect(shared.record(ctx, g, rs).Status.Blocked).NotTo(BeNil())
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(rs), rs)).To(Succeed())
			g.Expect(keysOf(rs.Annotations)).To(ContainElement(v1alpha1.ReplicaSetAnnotationPrefix + "Blocked"))
			var events eventsv1.EventList
			g.Expect(shared.List(ctx, &events, client.InNamespace(ns))).To(Succeed())
			g.Expect(events.Items).To(ContainElement(SatisfyAll(
				HaveField("Reason", "Denied"), HaveField("Regarding.Kind", "ReplicaSet"), HaveField("Regarding.Name", rs.Name))))
		}).Should(Succeed())
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:1": 1}))

		By("approving the size of the ReplicaSet, which who may initiate on the Deployment may do")
		theirs := v1alpha1.ReplicaSetAnnotationPrefix + "approve"
		stranger := shared.mallory()
		stranger.change(ctx, rs, annotation(theirs, "spec.replicas"))
		Expect(stranger.warned.take()).To(ContainSubstring("mallory may not approve"))
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:1": 1}))
		shared.alice().change(ctx, rs, annotation(theirs, "spec.replicas"))
		Expect(rs.Annotations).NotTo(HaveKey(theirs))
		shared.hasPods(ctx, ns, map[string]int{"web:1": 2})
		shared.complete(ctx, d, "1")

		By("saying so in the policy, after another loss")
		Expect(shared.as(podCollector, "system:masters").Delete(ctx, shared.anyPod(ctx, ns))).To(Succeed())
		Eventually(ctx, func(g Gomega) { g.Expect(shared.record(ctx, g, rs).Status.Blocked).NotTo(BeNil()) }).Should(Succeed())
		healing := policiesWith(ctx, unhealed, entry("Create"))[1]
		base := replicaSets.DeepCopy()
		replicaSets.Spec = healing.Spec
		Expect(shared.Patch(ctx, replicaSets, client.MergeFrom(base))).To(Succeed())
		shared.complete(ctx, d, "1")
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(rs), rs)).To(Succeed())
			g.Expect(keysOf(rs.Annotations)).NotTo(ContainElement(ContainSubstring("Blocked")))
		}).Should(Succeed())
	}, SpecTimeout(specTimeout))

	It("are deleted by whom the policy names, when it says so", func(ctx SpecContext) {
		const named = "named"
		ns := shared.newNamespaceFor(ctx, named)
		byOnCall := entry("Delete")
		byOnCall.Subjects = []v1alpha1.Subject{{Kind: v1alpha1.SubjectGroup, Name: onCall}}
		byOnCall.Conditions = []string{"has(oldObject.metadata.annotations['incident'])"}
		ofIncident := entry("Delete")
		ofIncident.Conditions = []string{"oldObject.metadata.labels['app'] == 'web' && oldObject.metadata.annotations['incident'] == 'over'"}
		shared.apply(ctx, policiesWith(ctx, named, entry("Create"), byOnCall, ofIncident)...)

		audit := shared.watch(ns)
		owner, caller, rogue := shared.alice(), shared.as("olga", onCall, developers), shared.mallory()
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		pod := shared.anyPod(ctx, ns)
		for _, who := range []*actor{owner, caller, rogue} {
			expectForbidden(who.Delete(ctx, pod))
		}
		rogue.change(ctx, pod, annotation("incident", "17"))
		expectForbidden(owner.Delete(ctx, pod))
		expectForbidden(rogue.Delete(ctx, pod))
		Expect(caller.Delete(ctx, pod)).To(Succeed())
		shared.complete(ctx, d, "1")

		By("deleting by who may use what the ReplicaSet is allowed")
		pod = shared.anyPod(ctx, ns)
		rogue.change(ctx, pod, annotation("incident", "over"))
		expectForbidden(rogue.Delete(ctx, pod))
		Expect(owner.Delete(ctx, pod)).To(Succeed())
		shared.complete(ctx, d, "1")
		Expect(audit.refusals()).To(BeEmpty())
	}, SpecTimeout(specTimeout))
})
