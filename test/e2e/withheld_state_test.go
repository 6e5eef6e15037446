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
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// approvedKey is the annotation with the approved content of an object of which
// something is withheld.
const approvedKey = v1alpha1.AnnotationApproved

// withheldOf returns the fields that the ledger of an object says are withheld.
func withheldOf(obj client.Object) []string { return stage.WithheldOf(obj) }

// withholding checks that just these fields of an object are withheld, and that it has
// its approved content, which can be read.
func (c *cluster) withholding(ctx context.Context, obj client.Object, paths ...string) {
	GinkgoHelper()
	Expect(c.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
	Expect(withheldOf(obj)).To(ConsistOf(paths))
	Expect(obj.GetAnnotations()).To(HaveKey(approvedKey))
	state, err := approved.Decode(obj.GetAnnotations()[approvedKey])
	Expect(err).NotTo(HaveOccurred())
	Expect(state.Unknown).To(BeFalse(), "what was approved is not known any more")
}

// withholdsNothing returns when nothing of an object is withheld, and nothing is left
// that says so.
func (c *cluster) withholdsNothing(ctx context.Context, obj client.Object) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		g.Expect(obj.GetAnnotations()).NotTo(HaveKey(approvedKey))
		g.Expect(withheldOf(obj)).To(BeEmpty())
		g.Expect(c.record(ctx, g, obj).Status.WithheldCount).To(BeZero())
	}).Should(Succeed())
}

// hasEvicted has a Pod evicted by somebody, and returns when it has gone.
func (a *actor) hasEvicted(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	Expect(a.evict(ctx, pod)).To(Succeed())
	uid := pod.UID
	Eventually(ctx, func(g Gomega) {
		now := &corev1.Pod{}
		err := a.cluster.Get(ctx, client.ObjectKeyFromObject(pod), now)
		g.Expect(apierrors.IsNotFound(err) || err == nil && now.UID != uid).To(BeTrue(), "it is still there")
	}).Should(Succeed())
}

// makings returns the Pods that a user has asked for, as they were asked for, those that
// were refused among them where that is wanted.
func (w witness) makings(user string, filters ...controlplane.AuditFilter) []string {
	GinkgoHelper()
	var out []string
	for _, event := range w.writes(append(filters, controlplane.OfResource("", "pods"), controlplane.OfSubresource(""),
		controlplane.ByUser(user), controlplane.ByVerb("create"))...) {
		Expect(event.RequestObject).NotTo(BeNil(), "the audit log does not say what was written")
		out = append(out, string(event.RequestObject.Raw))
	}
	return out
}

// triesToMake waits until a controller was refused a Pod with some text in it.
func (w witness) triesToMake(ctx context.Context, user, text string) {
	GinkgoHelper()
	Eventually(ctx, func() []string { return w.makings(user, controlplane.Refused(http.StatusForbidden)) }).
		Should(ContainElement(ContainSubstring(text)), "the controller did not even try")
}

// madeNone checks for a moment that a controller has made no Pod with any of these texts.
func (w witness) madeNone(ctx context.Context, user string, texts ...string) {
	GinkgoHelper()
	Consistently(ctx, func(g Gomega) {
		for _, pod := range w.makings(user, controlplane.Succeeded) {
			for _, text := range texts {
				g.Expect(pod).NotTo(ContainSubstring(text))
			}
		}
	}).WithTimeout(quietMoment).Should(Succeed())
}

// containers lists the containers of Pods as "name=image".
func containers(told ...string) []corev1.Container {
	out := make([]corev1.Container, 0, len(told))
	for _, each := range told {
		name, image, _ := strings.Cut(each, "=")
		out = append(out, corev1.Container{Name: name, Image: image})
	}
	return out
}

// contents returns what the Pods in a namespace run that are there to stay, each told as
// "name=image name=image".
func (c *cluster) contents(ctx context.Context, g Gomega, namespace string) map[string]int {
	GinkgoHelper()
	var list corev1.PodList
	g.Expect(c.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
	out := map[string]int{}
	for i := range list.Items {
		if pod := &list.Items[i]; pod.DeletionTimestamp == nil {
			var all []string
			for _, each := range pod.Spec.Containers {
				all = append(all, each.Name+"="+each.Image)
			}
			out[strings.Join(all, " ")]++
		}
	}
	return out
}

// guarded is a StatefulSet of four Pods, made by who may, under the policies in
// testdata.
type guarded struct {
	ns              string
	set             *appsv1.StatefulSet
	audit           witness
	owner, stranger *actor
}

// guard makes a StatefulSet as it is wanted, and returns it when it has settled.
func guard(ctx context.Context, policies string, with func(*appsv1.StatefulSet)) *guarded {
	GinkgoHelper()
	ns := shared.newNamespaceUnder(ctx, policies, "statefulset")
	s := &guarded{ns: ns, set: builders.MakeStatefulSet(ns, "web", 4), owner: shared.alice(), stranger: shared.mallory()}
	with(s.set)
	Expect(s.owner.Create(ctx, s.set)).To(Succeed())
	s.settles(ctx)
	s.audit = shared.watch(ns)
	return s
}

// settles returns when the StatefulSet has all of its Pods as it wants them, and nothing
// is left of what was allowed for that.
func (s *guarded) settles(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(s.set), s.set)).To(Succeed())
		status := s.set.Status
		g.Expect(status.ObservedGeneration).To(Equal(s.set.Generation))
		g.Expect([]int32{status.Replicas, status.ReadyReplicas, status.UpdatedReplicas}).To(HaveEach(*s.set.Spec.Replicas))
	}).Should(Succeed())
	shared.ended(ctx, s.set)
}

// runs has somebody write the containers of the StatefulSet.
func (s *guarded) runs(ctx context.Context, who *actor, told ...string) {
	GinkgoHelper()
	Expect(who.update(ctx, s.set, func() { s.set.Spec.Template.Spec.Containers = containers(told...) })).To(Succeed())
}

// losesOne has the Pod of the highest ordinal evicted, for which the controller makes
// another one as the set is now, and none with any of these texts is let through.
func (s *guarded) losesOne(ctx context.Context, texts ...string) {
	GinkgoHelper()
	last := &corev1.Pod{}
	Expect(shared.Get(ctx, client.ObjectKey{Namespace: s.ns, Name: "web-3"}, last)).To(Succeed())
	s.stranger.hasEvicted(ctx, last)
	s.staysFree(ctx, texts...)
}

// staysFree checks that the controller has tried to make Pods with each of these texts,
// and was not let.
func (s *guarded) staysFree(ctx context.Context, texts ...string) {
	GinkgoHelper()
	for _, text := range texts {
		s.audit.triesToMake(ctx, statefulSetController, text)
	}
	s.audit.madeNone(ctx, statefulSetController, texts...)
}

// is over when nothing is withheld any more, all Pods are as they were, and what its
// owner changes next is carried out.
func (s *guarded) isOver(ctx context.Context, told ...string) {
	GinkgoHelper()
	shared.withholdsNothing(ctx, s.set)
	s.settles(ctx)
	Expect(shared.contents(ctx, Default, s.ns)).To(Equal(map[string]int{strings.Join(told, " "): 4}))

	s.owner.warned.take()
	next := slices.Clone(told)
	next[0] = "a=a:2"
	s.runs(ctx, s.owner, next...)
	Expect(s.owner.warned.take()).To(BeEmpty())
	s.settles(ctx)
	Expect(shared.contents(ctx, Default, s.ns)).To(Equal(map[string]int{strings.Join(next, " "): 4}))
}

// What is withheld is the difference between what was approved and what is there, by
// whatever way it came about (D2).
var _ = Describe("What a stranger makes of the containers of a StatefulSet", func() {
	threesome := func(ctx context.Context, policies string) *guarded {
		GinkgoHelper()
		return guard(ctx, policies, func(set *appsv1.StatefulSet) {
			set.Spec.Template.Spec.Containers = containers("a=a:1", "b=b:1", "c=c:1")
		})
	}

	It("waits although the one that was replaced is put back in its place", func(ctx SpecContext) {
		s := threesome(ctx, "replaced")
		s.runs(ctx, s.stranger, "a=a:1", "bb=evil:1", "c=c:1")
		Expect(s.stranger.warned.take()).To(ContainSubstring("withheld"))
		s.losesOne(ctx, "evil:1")

		By("putting the old one back at its index")
		s.runs(ctx, s.stranger, "a=a:1", "b=b:1", "bb=evil:1", "c=c:1")
		shared.withholding(ctx, s.set, "spec.template.spec.containers[2]")
		s.staysFree(ctx, "evil:1")

		By("taking the other one away")
		s.runs(ctx, s.stranger, "a=a:1", "b=b:1", "c=c:1")
		s.isOver(ctx, "a=a:1", "b=b:1", "c=c:1")
		s.audit.madeNone(ctx, statefulSetController, "evil:1")
	}, SpecTimeout(specTimeout))

	It("stays with a container that is taken away and comes back", func(ctx SpecContext) {
		s := threesome(ctx, "returned")
		s.runs(ctx, s.stranger, "a=a:1", "b=evil:1", "c=c:1")
		s.runs(ctx, s.stranger, "a=a:1", "c=c:1")
		s.runs(ctx, s.stranger, "a=a:1", "c=c:1", "b=evil:1")
		s.runs(ctx, s.stranger, "a=a:1", "b=evil:1", "c=c:1")
		shared.withholding(ctx, s.set, "spec.template.spec.containers[1].image")

		By("giving another one its old image")
		s.runs(ctx, s.stranger, "a=a:1", "b=evil:1", "c=b:1")
		shared.withholding(ctx, s.set, "spec.template.spec.containers[1].image", "spec.template.spec.containers[2].image")
		s.losesOne(ctx, "evil:1")

		By("taking all of that back, in another order")
		s.runs(ctx, s.stranger, "b=evil:1", "c=b:1")
		s.runs(ctx, s.stranger, "c=c:1", "b=evil:1")
		s.runs(ctx, s.stranger, "c=c:1", "a=a:1", "b=b:1")
		s.staysFree(ctx, "evil:1")
		s.runs(ctx, s.stranger, "a=a:1", "b=b:1", "c=c:1")
		s.isOver(ctx, "a=a:1", "b=b:1", "c=c:1")
		s.audit.madeNone(ctx, statefulSetController, "evil:1")
	}, SpecTimeout(specTimeout))

	It("waits where it is only their order", func(ctx SpecContext) {
		s := threesome(ctx, "ordered")
		audit := shared.watch(s.ns)
		s.runs(ctx, s.stranger, "c=c:1", "a=a:1", "b=b:1")
		Expect(s.stranger.warned.take()).To(ContainSubstring("withheld"))
		shared.withholding(ctx, s.set, "spec.template.spec.containers")
		audit.tries(ctx, statefulSetController, "StatefulSet web")
		Consistently(ctx, func(g Gomega) {
			g.Expect(shared.contents(ctx, g, s.ns)).To(Equal(map[string]int{"a=a:1 b=b:1 c=c:1": 4}))
		}).WithTimeout(quietMoment).Should(Succeed())

		By("an owner who changes one of them in that order")
		s.runs(ctx, s.owner, "c=c:1", "a=a:1", "b=b:2")
		shared.withholding(ctx, s.set, "spec.template.spec.containers")

		By("putting them back in their order")
		s.runs(ctx, s.stranger, "a=a:1", "b=b:2", "c=c:1")
		s.isOver(ctx, "a=a:1", "b=b:2", "c=c:1")
	}, SpecTimeout(specTimeout))

	It("is not approved with what an owner changes elsewhere meanwhile", func(ctx SpecContext) {
		s := threesome(ctx, "mixed")
		other, audit := shared.as("trudy", developers), shared.watch(s.ns)
		s.runs(ctx, s.stranger, "a=a:1", "b=evil:1", "c=c:1")
		s.runs(ctx, other, "a=a:1", "b=evil:1", "c=c:1", "d=evil:2")
		s.runs(ctx, s.owner, "a=a:7", "b=evil:1", "c=c:1", "d=evil:2")
		Expect(s.owner.warned.take()).To(SatisfyAll(ContainSubstring("by "+mallory+" is withheld"), ContainSubstring("by trudy is withheld")))
		shared.withholding(ctx, s.set, "spec.template.spec.containers[1].image", "spec.template.spec.containers[3]")
		audit.tries(ctx, statefulSetController, "StatefulSet web")
		Consistently(ctx, func(g Gomega) {
			g.Expect(shared.contents(ctx, g, s.ns)).To(Equal(map[string]int{"a=a:1 b=b:1 c=c:1": 4}))
		}).WithTimeout(quietMoment).Should(Succeed())
		s.losesOne(ctx, "evil:1", "evil:2")

		By("each of them taking back what is the other's")
		s.runs(ctx, s.stranger, "a=a:7", "b=evil:1", "c=c:1")
		shared.withholding(ctx, s.set, "spec.template.spec.containers[1].image")
		s.runs(ctx, other, "a=a:7", "b=b:1", "c=c:1")
		shared.withholdsNothing(ctx, s.set)
		s.settles(ctx)
		Expect(shared.contents(ctx, Default, s.ns)).To(Equal(map[string]int{"a=a:7 b=b:1 c=c:1": 4}))
		s.audit.madeNone(ctx, statefulSetController, "evil:1", "evil:2")
	}, SpecTimeout(specTimeout))
})

// So many changes that people are told of them by fields further up are withheld one by
// one all the same.
var _ = Describe("Many changes by a stranger", func() {
	It("are withheld until each of them is taken back", func(ctx SpecContext) {
		s := guard(ctx, "many", func(set *appsv1.StatefulSet) {
			set.Spec.Template.Annotations = map[string]string{"note": "ours"}
		})
		note := func(i int, value string) patch {
			return patch(fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"note-%d":%s}}}}}`, i, value))
		}
		for i := range 15 {
			s.stranger.change(ctx, s.set, note(i, fmt.Sprintf(`"evil-%d"`, i)))
		}
		Expect(withheldOf(s.set)).To(HaveLen(15))
		s.stranger.change(ctx, s.set, patch(fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"last":"evil-last"}},
			"spec":{"containers":[{"name":%q,"env":[{"name":"LAST","value":"evil-env"}]}]}}}}`, builders.Container)))
		s.losesOne(ctx, "evil-0", "evil-14", "evil-last", "evil-env")

		By("taking the first ones back")
		for i := range 15 {
			s.stranger.change(ctx, s.set, note(i, "null"))
		}
		shared.withholding(ctx, s.set, "spec.template.metadata.annotations[last]", "spec.template.spec.containers[0].env")
		s.audit = shared.watch(s.ns)
		s.staysFree(ctx, "evil-last", "evil-env")

		By("taking the rest back")
		s.stranger.change(ctx, s.set, patch(fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"last":null}},
			"spec":{"containers":[{"name":%q,"env":[{"name":"LAST","$patch":"delete"}]}]}}}}`, builders.Container)))
		shared.withholdsNothing(ctx, s.set)
		s.settles(ctx)
		s.audit.madeNone(ctx, statefulSetController, "evil-")
	}, SpecTimeout(specTimeout))

	It("may be larger than can be kept, and keep nobody from being granted anything", func(ctx SpecContext) {
		ns := shared.newNamespace(ctx)
		audit := shared.watch(ns)
		owner, stranger := shared.alice(), shared.mallory()
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		large := strings.Repeat("evil-", 8*1024)
		stranger.change(ctx, d, patch(fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"large":%q}}}}}`, large)))
		Expect(stranger.warned.take()).To(ContainSubstring("withheld"))
		stranger.change(ctx, d, `{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":1}}}}`)

		By("an owner changing other fields")
		owner.change(ctx, d, replicas(3), image("web:2"))
		Expect(owner.warned.take()).NotTo(ContainSubstring("no room"))
		Expect(ledgerOf(Default, d, ledgerKey)).To(ContainElements(
			SatisfyAll(HaveField("Initiator", alice), HaveField("Mutation", "spec.replicas"), HaveField("Kind", "ReplicaSet")),
			SatisfyAll(HaveField("Initiator", alice), HaveField("Mutation", v1alpha1.MutationCreateObject), HaveField("Kind", "ReplicaSet")),
		))
		audit.tries(ctx, deploymentController, "Deployment web")
		Consistently(ctx, func(g Gomega) { g.Expect(shared.pods(ctx, g, ns)).To(Equal(map[string]int{"web:1": 2})) }).
			WithTimeout(quietMoment).Should(Succeed())

		By("approving what is small")
		owner.change(ctx, d, approve("spec.template.spec.terminationGracePeriodSeconds"))
		Expect(withheldOf(d)).To(ConsistOf(HavePrefix("spec.template.metadata.annotations")))

		By("taking the rest back")
		stranger.change(ctx, d, patch(`{"spec":{"template":{"metadata":{"annotations":{"large":null}}}}}`))
		shared.withholdsNothing(ctx, d)
		shared.complete(ctx, d, "2")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:2": 3}))
		audit.madeNone(ctx, replicaSetController, large)

		By("writing it again, which somebody approves")
		stranger.change(ctx, d, patch(fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"large":%q}}}}}`, large)))
		owner.warned.take()
		owner.change(ctx, d, approve("*"))
		Expect(owner.warned.take()).To(BeEmpty())
		shared.withholdsNothing(ctx, d)
		shared.complete(ctx, d, "3")
		Expect(shared.anyPod(ctx, ns).Annotations).To(HaveKeyWithValue("large", large))
	}, SpecTimeout(specTimeout))

	It("may leave the annotations no room for what is granted, which is said", func(ctx SpecContext) {
		const limit = 256 << 10
		ns := shared.newNamespace(ctx)
		owner, stranger := shared.alice(), shared.mallory()
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
		room := limit - len("notes") - 10
		for key, value := range d.GetAnnotations() {
			room -= len(key) + len(value)
		}
		stranger.change(ctx, d, patch(fmt.Sprintf(`{"metadata":{"annotations":{"notes":%q}}}`, strings.Repeat("x", room))))

		owner.warned.take()
		scale := client.RawPatch(types.MergePatchType, []byte(replicas(3)))
		Expect(owner.Patch(ctx, d, scale)).To(MatchError(apierrors.IsInvalid, "IsInvalid"))
		Expect(owner.warned.take()).To(ContainSubstring("the annotations of Deployment web have no room for what is kept there"))

		By("doing what it says")
		owner.change(ctx, d, patch(`{"metadata":{"annotations":{"notes":null}}}`))
		owner.change(ctx, d, replicas(3))
		Eventually(ctx, func(g Gomega) { g.Expect(shared.pods(ctx, g, ns)).To(Equal(map[string]int{"web:1": 3})) }).Should(Succeed())
	}, SpecTimeout(specTimeout))

	It("may leave what is made of it no room for what is granted, which is told by what is above", func(ctx SpecContext) {
		const large = 261_500 // Of 262,144 bytes: the object itself has room, a copy with a ledger of its own has not.
		ns := shared.newNamespace(ctx)
		owner, stranger := shared.alice(), shared.mallory()
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		stranger.change(ctx, d, patch(fmt.Sprintf(`{"metadata":{"annotations":{"notes":%q}}}`, strings.Repeat("x", large))))

		owner.warned.take()
		owner.change(ctx, d, image("web:2"))
		Expect(owner.warned.take()).To(ContainSubstring("a controller that copies them onto what it makes, as that of Deployments does, is refused there"))
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.recorded(ctx, d).Status.History).To(ContainElement(SatisfyAll(
				HaveField("Event", v1alpha1.EventDenied), HaveField("Reason", v1alpha1.ReasonNoRoom),
				HaveField("Message", ContainSubstring("it is copied from Deployment web; shorten it there, and then where a copy is left")))))
		}).Should(Succeed())
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
		Expect(d.Status.Conditions).NotTo(ContainElement(HaveField("Type", appsv1.DeploymentConditionType(v1alpha1.ConditionBlocked))))

		By("doing what it says")
		owner.change(ctx, d, patch(`{"metadata":{"annotations":{"notes":null}}}`))
		var sets appsv1.ReplicaSetList
		Expect(shared.List(ctx, &sets, client.InNamespace(ns))).To(Succeed())
		for i := range sets.Items { // The controller leaves it to old ones what they have.
			owner.change(ctx, &sets.Items[i], patch(`{"metadata":{"annotations":{"notes":null}}}`))
		}
		Eventually(ctx, func(g Gomega) { g.Expect(shared.pods(ctx, g, ns)).To(Equal(map[string]int{"web:2": 2})) }).Should(Succeed())
	}, SpecTimeout(specTimeout))

	It("may have a key that is larger than a ledger", func(ctx SpecContext) {
		// Selectors of labels take keys of 63 bytes; what nothing validates takes any.
		group := defineThings(ctx)
		p := thingPolicy(group, "large-"+group)
		shared.apply(ctx, p)
		ns := shared.newNamespace(ctx)
		owner, stranger := shared.as(alice, platformTeam, "system:masters"), shared.as(mallory, "system:masters")
		thing := builders.MakeThing(group, ns, "app")
		thing.Object["spec"] = map[string]any{"size": int64(1)}
		Expect(owner.Create(ctx, thing)).To(Succeed())
		reportDone(ctx, owner, thing)
		shared.over(ctx, thing)
		key := strings.Repeat("evil", 10*1024)
		stranger.setThing(ctx, thing, fmt.Sprintf(`{"labels":{%q:"x"}}`, key))
		Expect(stranger.warned.take()).To(ContainSubstring("withheld"))
		Expect(thing.GetAnnotations()).To(HaveKey(approvedKey))

		By("an owner changing another field")
		owner.setThing(ctx, thing, `{"size":2}`)
		Expect(ledgerOf(Default, thing, ledgerKey)).To(ContainElement(SatisfyAll(
			HaveField("Initiator", alice), HaveField("Kind", "ConfigMap"))), "her change got her nothing")

		By("approving that field again, and then all")
		Expect(owner.Patch(ctx, thing, client.RawPatch(types.MergePatchType, []byte(approve("spec.size"))))).To(Succeed())
		Expect(thing.GetAnnotations()).To(HaveKey(approvedKey), "what was not approved is withheld no more")
		owner.warned.take()
		Expect(owner.Patch(ctx, thing, client.RawPatch(types.MergePatchType, []byte(approve("*"))))).To(Succeed())
		if said := owner.warned.take(); said != "" {
			Expect(thing.GetAnnotations()).To(HaveKey(approvedKey), said)
		} else {
			Expect(thing.GetAnnotations()).NotTo(HaveKey(approvedKey))
		}
	}, SpecTimeout(specTimeout))
})

// Policies come and go while something is withheld, or make it so while an object is in
// the middle of something (D20).
var _ = Describe("A stranger's change while policies come and go", func() {
	It("is not carried out by a rollout that the policy found in progress", func(ctx SpecContext) {
		const found = "found-rolling"
		ns := shared.newNamespaceFor(ctx, found)
		owner, stranger := shared.alice(), shared.mallory()
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(8))
		owner.change(ctx, d, image("web:"+unready))
		half := map[string]int{"web:1": 6, "web:" + unready: 4}
		shared.hasPods(ctx, ns, half)
		shared.apply(ctx, shared.samplePoliciesFor(ctx, found)...)
		Eventually(ctx, func(g Gomega) { g.Expect(shared.record(ctx, g, d).Status.Adopting).To(BeTrue()) }).Should(Succeed())

		By("changing it")
		audit := shared.watch(ns)
		stranger.change(ctx, d, image("web:evil"))
		Expect(stranger.warned.take()).To(ContainSubstring("withheld"))
		shared.withholding(ctx, d, "spec.template.spec.containers[0].image")
		Eventually(ctx, func() controlplane.AuditEvents {
			return audit.writes(controlplane.ByUser(deploymentController), controlplane.Refused(http.StatusForbidden))
		}).ShouldNot(BeEmpty(), "the controller did not even try")
		Consistently(ctx, func(g Gomega) { g.Expect(shared.pods(ctx, g, ns)).To(Equal(half)) }).WithTimeout(quietMoment).Should(Succeed())
		audit.madeNone(ctx, replicaSetController, "web:evil")

		By("approving that")
		owner.change(ctx, d, approve("*"))
		shared.rolledOut(ctx, d)
		shared.hasPods(ctx, ns, map[string]int{"web:evil": 8})
		shared.withholdsNothing(ctx, d)
	}, SpecTimeout(specTimeout))

	It("is taken back in the middle of that rollout, which goes on", func(ctx SpecContext) {
		const found = "found-resumed"
		ns := shared.newNamespaceFor(ctx, found)
		owner, stranger := shared.alice(), shared.mallory()
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(4))
		owner.change(ctx, d, image("web:"+unready))
		shared.hasPods(ctx, ns, map[string]int{"web:1": 3, "web:" + unready: 2})
		shared.apply(ctx, shared.samplePoliciesFor(ctx, found)...)
		Eventually(ctx, func(g Gomega) { g.Expect(shared.record(ctx, g, d).Status.Adopting).To(BeTrue()) }).Should(Succeed())
		audit := shared.watch(ns)
		stranger.change(ctx, d, image("web:evil"))
		stranger.change(ctx, d, image("web:"+unready))
		shared.withholdsNothing(ctx, d)
		owner.change(ctx, d, image("web:2"))
		shared.rolledOut(ctx, d)
		shared.hasPods(ctx, ns, map[string]int{"web:2": 4})
		audit.madeNone(ctx, replicaSetController, "web:evil")
	}, SpecTimeout(specTimeout))

	It("is withheld still when the policy is deleted and made again", func(ctx SpecContext) {
		s := guard(ctx, "remade", func(set *appsv1.StatefulSet) {
			set.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
		})
		s.stranger.change(ctx, s.set, image("web:evil"))
		shared.withholding(ctx, s.set, "spec.template.spec.containers[0].image")

		policy := kindPoliciesFor(policiesUnder("remade", "statefulset"), "statefulset")[0]
		Expect(shared.Delete(ctx, policy.DeepCopy())).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			pod := shared.anyPod(ctx, s.ns)
			g.Expect(s.stranger.Delete(ctx, pod, client.DryRunAll)).To(Succeed())
		}).Should(Succeed(), "the policy is still in effect")
		By("changing it again, with no policy")
		s.stranger.change(ctx, s.set, label("look", "again"), replicas(4))
		Expect(s.set.Annotations).To(HaveKey(approvedKey), "what was approved is forgotten")
		shared.apply(ctx, policy)

		s.losesOne(ctx, "web:evil")
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(s.set), s.set)).To(Succeed())
			g.Expect(s.set.Annotations).To(HaveKey(approvedKey))
			g.Expect(withheldOf(s.set)).To(ConsistOf("spec.template.spec.containers[0].image"))
		}).Should(Succeed(), "nobody is told any more")
		By("approving it")
		s.owner.change(ctx, s.set, approve("*"))
		shared.hasPods(ctx, s.ns, map[string]int{"web:1": 3, "web:evil": 1})
		shared.withholdsNothing(ctx, s.set)
	}, SpecTimeout(specTimeout))
})

// printedApproval is the command that messages tell people to run.
var printedApproval = regexp.MustCompile(`kubectl annotate (-n \S+ \S+ \S+ \S+='[^']*')`)

// An approval is of what somebody has looked at, and not of what came since (D20).
var _ = Describe("Approving what somebody has looked at", func() {
	const imagePath = "spec.template.spec.containers[0].image"
	var (
		ns              string
		audit           witness
		d               *appsv1.Deployment
		owner, stranger *actor
	)
	BeforeEach(func(ctx SpecContext) {
		ns = shared.newNamespace(ctx)
		audit = shared.watch(ns)
		owner, stranger = shared.alice(), shared.mallory()
		d = owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
	})
	// commandIn are the arguments of kubectl that a message tells.
	commandIn := func(message string) []string {
		GinkgoHelper()
		found := printedApproval.FindStringSubmatch(message)
		Expect(found).NotTo(BeNil(), message)
		return append([]string{"annotate"}, strings.Fields(strings.ReplaceAll(found[1], "'", ""))...)
	}
	// unmoved checks that nothing was approved of the image, and of what else is withheld.
	unmoved := func(ctx context.Context, said string, besides ...string) {
		GinkgoHelper()
		Expect(said).To(ContainSubstring("changed since"))
		shared.withholding(ctx, d, append(besides, imagePath)...)
		Consistently(ctx, func(g Gomega) { g.Expect(shared.pods(ctx, g, ns)).To(Equal(map[string]int{"web:1": 2})) }).
			WithTimeout(quietMoment).Should(Succeed())
	}
	// digestOf is that of the one withheld change of an object.
	digestOf := func(obj client.Object) string {
		GinkgoHelper()
		marks := ledgerOf(Default, obj, ledgerKey)
		Expect(marks).To(HaveLen(1))
		return marks[0].Content
	}
	// denial is what the Deployment controller is told of what is there: a try that it
	// began before may be answered after that came.
	denial := func(ctx context.Context) (message string) {
		GinkgoHelper()
		Eventually(ctx, func() string {
			refused := audit.writes(controlplane.ByUser(deploymentController), controlplane.Refused(http.StatusForbidden))
			if len(refused) > 0 {
				message = refused[len(refused)-1].ResponseStatus.Message
			}
			return message
		}).Should(ContainSubstring("@" + digestOf(d)))
		return message
	}

	DescribeTable("with the command that is printed in", func(ctx SpecContext, printed func(warning string, denial func() string) string) {
		look := func(version string) []string {
			GinkgoHelper()
			audit = shared.watch(ns)
			stranger.change(ctx, d, image(version))
			return commandIn(printed(stranger.warned.take(), func() string { return denial(ctx) }))
		}
		seen := look("web:theirs")
		Expect(seen).To(ContainElement(MatchRegexp(`=` + regexp.QuoteMeta(imagePath) + `@[0-9a-f]{12}$`)))
		newer := look("web:evil")
		out, err := owner.kubectl(ctx, seen...)
		Expect(err).NotTo(HaveOccurred(), out)
		unmoved(ctx, out)

		By("running the command that tells of what is there now")
		out, err = owner.kubectl(ctx, newer...)
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(out).NotTo(ContainSubstring("Warning"))
		shared.complete(ctx, d, "2")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:evil": 2}))
	},
		Entry("the warning", SpecTimeout(specTimeout), func(warning string, _ func() string) string { return warning }),
		Entry("a denial", SpecTimeout(specTimeout), func(_ string, denial func() string) string { return denial() }),
	)

	It("with a star", func(ctx SpecContext) {
		stranger.change(ctx, d, image("web:theirs"))
		approval := v1alpha1.AnnotationApprove + "=*@" + digestOf(d)
		stranger.change(ctx, d, replicas(3))
		out, err := owner.kubectl(ctx, "annotate", "-n", ns, "deployment", "web", approval)
		Expect(err).NotTo(HaveOccurred(), out)
		unmoved(ctx, out, "spec.replicas")

		By("being back at what was looked at")
		stranger.change(ctx, d, replicas(2))
		out, err = owner.kubectl(ctx, "annotate", "-n", ns, "deployment", "web", approval)
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(out).NotTo(ContainSubstring("Warning"))
		shared.complete(ctx, d, "2")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:theirs": 2}))
	}, SpecTimeout(specTimeout))

	It("with the plugin", func(ctx SpecContext) {
		stranger.change(ctx, d, image("web:theirs"))
		seen := digestOf(d)
		stranger.change(ctx, d, image("web:evil"))
		out, err := owner.kausality(ctx, ns, "approve", "deployment/web", "--path", imagePath+"@"+seen, "--yes")
		Expect(err).To(HaveOccurred(), out)
		unmoved(ctx, out)

		out, err = owner.kausality(ctx, ns, "approve", "deployment/web", "--yes")
		Expect(err).NotTo(HaveOccurred(), out)
		shared.complete(ctx, d, "2")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:evil": 2}))
	}, SpecTimeout(specTimeout))
})

// What people are told of a withheld change names who has to be asked about what is there now.
var _ = Describe("A withheld change that others change further", func() {
	It("is told to be of who changed it last", func(ctx SpecContext) {
		_, object := (&scene{}).sharing(ctx, `{"engine":"postgres"}`, "backup", "other")
		shared.as("bob", "system:masters").setThing(ctx, object, `{"backup":{"schedule":"daily","size":1}}`)
		shared.as("trudy", "system:masters").setThing(ctx, object, `{"backup":{"size":100}}`)
		shared.withholding(ctx, object, "spec.backup")
		Expect(ledgerOf(Default, object, ledgerKey)).To(ContainElement(And(
			HaveField("Relation", v1alpha1.RelationWithheld), HaveField("Initiator", "trudy"), HaveField("Generation", object.GetGeneration()))))
	}, SpecTimeout(specTimeout))
})

// What is changed on the way out is nobody's to approve.
var _ = Describe("A Deployment that is being deleted while something of it is withheld", func() {
	It("is scaled without that being withheld", func(ctx SpecContext) {
		ns := shared.newNamespace(ctx)
		owner := shared.alice()
		d := builders.MakeDeployment(ns, "web").Replicas(2)
		d.Finalizers = []string{"example.org/kept"}
		made := owner.deploy(ctx, d)
		DeferCleanup(func(ctx SpecContext) {
			Expect(shared.Patch(ctx, made, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
		})
		shared.ended(ctx, made)
		shared.mallory().change(ctx, made, image("web:evil"))
		withheld := "spec.template.spec.containers[0].image"
		shared.withholding(ctx, made, withheld)
		Expect(owner.Delete(ctx, made, client.PropagationPolicy("Orphan"))).To(Succeed())
		Expect(owner.scale(ctx, made, 1)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(made), made)).To(Succeed())
			g.Expect(made.Status.ObservedGeneration).To(Equal(made.Generation))
		}).Should(Succeed())
		shared.withholding(ctx, made, withheld)
	}, SpecTimeout(specTimeout))
})
