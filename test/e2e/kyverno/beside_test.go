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

package kyverno

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/kyverno"
)

var _ = Describe("Beside Kyverno", func() {
	It("leaves alone what Kyverno generates, and is left alone, under other names", func(ctx SpecContext) {
		s := newScene(ctx, "theirs", "ours")
		theirWitness, ourWitness := s.watch("theirs"), s.watch("ours")
		theirs := s.applyKyvernos(ctx, s.team+"-theirs", "theirs")
		ours := s.applyConverted(ctx, s.team+"-ours", "ours")
		s.made(ctx, "theirs")
		s.made(ctx, "ours")

		By("making one more trigger, and changing the sources")
		s.addNamespace(ctx)
		s.made(ctx, "theirs")
		s.made(ctx, "ours")
		s.changeSource(ctx, "theirs")
		s.changeSource(ctx, "ours")

		By("deleting an object of each")
		for _, name := range []string{"theirs", "ours"} {
			lost := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespaces[0], Name: name}}
			Expect(shared.Delete(ctx, lost)).To(Succeed())
			s.made(ctx, name)
		}

		By("deleting Kyverno's policy, and then Kausality's")
		before := s.made(ctx, "ours")
		removePolicy(ctx, theirs)
		Eventually(ctx, func(g Gomega) []string { return kindsOf(s.identities(ctx, g, "theirs")) }).Should(HaveEach("ConfigMap"))
		ourWitness.UntilQuiet(ctx, quietMoment)
		Expect(s.made(ctx, "ours")).To(Equal(before))
		left := s.identities(ctx, Default, "theirs")
		removePolicy(ctx, ours)
		Eventually(ctx, func(g Gomega) []string { return kindsOf(s.identities(ctx, g, "ours")) }).Should(HaveEach("ConfigMap"))
		theirWitness.UntilQuiet(ctx, quietMoment)
		Expect(s.identities(ctx, Default, "theirs")).To(Equal(left))

		Expect(theirWitness.Writes(byKyverno)).NotTo(BeEmpty())
		Expect(describe(theirWitness.Writes(byKausality))).To(BeEmpty(), "Kausality wrote what Kyverno generated")
		Expect(ourWitness.Writes(byKausality)).NotTo(BeEmpty())
		Expect(describe(ourWitness.Writes(byKyverno))).To(BeEmpty(), "Kyverno wrote what Kausality generated")
	}, SpecTimeout(specTimeout))

	It("reports what Kyverno has generated as a conflict, and takes its place when it has gone", func(ctx SpecContext) {
		s := newScene(ctx, "same")
		theirs := s.applyKyvernos(ctx, s.team, "same")
		before := s.made(ctx, "same")
		witness := s.watch("same")
		ours := s.applyConverted(ctx, s.team, "same")
		Eventually(ctx, conditionOf(ours, v1alpha1.ConditionEnforced)).Should(HaveField("Reason", "Conflicted"))

		By("changing the source, which Kyverno's clones follow")
		s.changeSource(ctx, "same")
		witness.UntilQuiet(ctx, quietMoment)
		Expect(s.made(ctx, "same")).To(Equal(before))
		Expect(describe(witness.Writes(byKausality, controlplane.Succeeded))).To(BeEmpty(), "Kausality wrote what Kyverno generated")

		By("deleting Kyverno's policy, which takes its data with it and leaves its clones")
		removePolicy(ctx, theirs)
		Eventually(ctx, func(g Gomega) {
			now := s.identities(ctx, g, "same")
			g.Expect(now).To(HaveLen(len(before)))
			for which, uid := range now {
				if strings.HasPrefix(which, "ConfigMap ") {
					g.Expect(uid).To(Equal(before[which]), which)
				} else {
					g.Expect(uid).NotTo(Equal(before[which]), which)
				}
			}
		}).Should(Succeed())
		Expect(describe(witness.Writes(byKausality, controlplane.ByVerb("delete")))).To(BeEmpty())

		By("deleting Kausality's policy, which leaves Kyverno's clones as well")
		removePolicy(ctx, ours)
		Eventually(ctx, func(g Gomega) []string { return kindsOf(s.identities(ctx, g, "same")) }).Should(HaveEach("ConfigMap"))
		witness.UntilQuiet(ctx, quietMoment)
		Expect(describe(witness.Writes(controlplane.OfResource("", "configmaps"), byKausality, controlplane.Succeeded))).To(BeEmpty())
	}, SpecTimeout(specTimeout))

	It("is left alone by a policy of Kyverno for the same objects", func(ctx SpecContext) {
		s := newScene(ctx, "same")
		ours := s.applyConverted(ctx, s.team, "same")
		before := s.made(ctx, "same")
		witness := s.watch("same")
		theirs := s.applyKyvernos(ctx, s.team, "same")
		s.changeSource(ctx, "same")
		witness.UntilQuiet(ctx, quietMoment)
		removePolicy(ctx, theirs)
		witness.UntilQuiet(ctx, quietMoment)
		Expect(s.made(ctx, "same")).To(Equal(before))
		Expect(describe(witness.Writes(byKyverno, controlplane.Succeeded))).To(BeEmpty(), "Kyverno wrote what Kausality generated")
		Eventually(ctx, conditionOf(ours, v1alpha1.ConditionEnforced)).Should(HaveField("Status", metav1.ConditionTrue))
		removePolicy(ctx, ours)
	}, SpecTimeout(specTimeout))

	It("takes objects over as the documentation says, of which none is deleted or made again", func(ctx SpecContext) {
		s := newScene(ctx, "handed")
		theirs := s.applyKyvernos(ctx, s.team, "handed")
		before := s.made(ctx, "handed")
		witness := s.watch("handed")

		By("turning synchronization off in Kyverno's policy")
		Expect(shared.Patch(ctx, theirs, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"evaluation":{"synchronize":{"enabled":false}}}}`)))).To(Succeed())
		witness.UntilQuiet(ctx, quietMoment)
		// A change of its policy has Kyverno write what exists once more.
		Expect(witness.Writes(byKyverno, controlplane.ByVerb("update"))).NotTo(BeEmpty())

		By("applying the converted policy")
		ours := s.applyConverted(ctx, s.team, "handed")
		Eventually(ctx, conditionOf(ours, v1alpha1.ConditionEnforced)).Should(HaveField("Reason", "Conflicted"))
		inBetween := s.addNamespace(ctx)
		for which, uid := range s.made(ctx, "handed") {
			if strings.HasSuffix(which, " "+inBetween) {
				before[which] = uid
			}
		}

		By("taking over until nothing is left")
		Expect(shared.RunShell(ctx, s.team, "kubectl kausality takeover "+s.team+" --dry-run")).To(ContainSubstring("to be taken over"))
		Eventually(ctx, func() string {
			shared.RunShell(ctx, s.team, "kubectl kausality takeover "+s.team+" --yes")
			return shared.RunShell(ctx, s.team, "kubectl kausality takeover "+s.team+" --dry-run")
		}).ShouldNot(ContainSubstring("to be taken over"))
		Eventually(ctx, conditionOf(ours, v1alpha1.ConditionEnforced)).Should(HaveField("Status", metav1.ConditionTrue))

		By("starting Kyverno again, which generates for what exists, and deleting its policy")
		for _, name := range []string{kyverno.Admission, kyverno.Background} {
			Expect(members.Restart(ctx, name)).To(Succeed())
		}
		witness.UntilQuiet(ctx, quietMoment)
		removePolicy(ctx, theirs)
		witness.UntilQuiet(ctx, quietMoment)
		Expect(s.made(ctx, "handed")).To(Equal(before))
		Expect(describe(witness.Writes(controlplane.ByVerb("delete", "deletecollection")))).To(BeEmpty())
		// Each object of the namespace that was made meanwhile was created once, and none of the others.
		Expect(created(witness.Writes(controlplane.Succeeded))).To(Equal(map[string]int{inBetween: len(generated)}))

		By("changing the source, which the objects follow again")
		after := s.watch("handed")
		s.changeSource(ctx, "handed")
		s.addNamespace(ctx)
		s.made(ctx, "handed")
		after.UntilQuiet(ctx, quietMoment)
		Expect(describe(after.Writes(byKyverno))).To(BeEmpty(), "Kyverno wrote what was handed over")
		clone := &corev1.ConfigMap{}
		Expect(shared.Get(ctx, client.ObjectKey{Namespace: s.namespaces[0], Name: "handed"}, clone)).To(Succeed())
		Expect(clone.Labels).NotTo(HaveKey(HavePrefix("generate.kyverno.io/")))
		removePolicy(ctx, ours)
	}, SpecTimeout(specTimeout))
})

// kindsOf returns the kinds of objects that are there.
func kindsOf(identities map[string]types.UID) []string {
	out := make([]string, 0, len(identities))
	for which := range identities {
		kind, _, _ := strings.Cut(which, " ")
		out = append(out, kind)
	}
	return out
}

// created counts the requests that created an object, by namespace: an apply may be one.
func created(events controlplane.AuditEvents) map[string]int {
	out := map[string]int{}
	for i := range events {
		if events[i].ResponseStatus.Code == 201 {
			out[events[i].ObjectRef.Namespace]++
		}
	}
	return out
}
