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
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/interception"
)

// serially returns the ways that nothing else may go on beside: those that begin while no operator
// looks, each of which ends it and has it back, and those for which it is asked about what runs
// the cluster.
func serially() []bypass {
	return []bypass{
		{"changing a child in kube-system of a parent outside of namespaces", outside},
		{"giving the parent an owner of one's own while nobody looks", func(ctx context.Context, _ *scene) {
			// With an owner the set has the keys of its kind.
			const approveOwned = "statefulset." + v1alpha1.AnnotationApprove
			const policies = "attached"
			below := ownPolicy(policiesUnder(policies, "statefulset"), "", "ConfigMap", `
  rules:
  - {trigger: data, policies: [{target: {apiGroup: apps, apiVersion: v1, resource: statefulsets}, relation: ControllerChild, verbs: ["*"]}]}
`)
			below.Name = policies + "-app"
			below.Spec.Subjects = []v1alpha1.PolicySubject{{Subject: v1alpha1.Subject{Kind: "User", Name: mallory}, MayInitiate: true}}
			shared.apply(ctx, below)
			s := guard(ctx, policies, func(*appsv1.StatefulSet) {})
			app := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "app"}}
			Expect(s.stranger.Create(ctx, app)).To(Succeed())
			attached := patch(fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"app","uid":%q,"controller":true}]}}`, app.UID))
			shared.knows(ctx, s.set)
			back := killed()
			s.stranger.change(ctx, s.set, attached)
			back(ctx)

			By("being found, and for nothing")
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.record(ctx, g, s.set).Status.IgnoredParents).To(ContainElement(HaveField("ID", string(app.UID))))
			}).WithTimeout(foundTimeout).Should(Succeed())
			audit := shared.watch(s.ns)
			s.stranger.change(ctx, s.set, image("rogue:1"))
			Expect(s.stranger.warned.take()).To(ContainSubstring("withheld"))
			s.stranger.change(ctx, s.set, annotation(approveOwned, "*"))
			audit.tries(ctx, statefulSetController, "StatefulSet "+s.set.Name)
			Consistently(ctx, func(g Gomega) {
				g.Expect(shared.pods(ctx, g, s.ns)).NotTo(HaveKey("rogue:1"))
			}).WithTimeout(quietMoment).Should(Succeed())

			By("counting still after another start")
			again := killed()
			again(ctx)
			s.stranger.change(ctx, s.set, image("rogue:2"))
			Expect(s.stranger.warned.take()).To(ContainSubstring("withheld"))

			By("leaving what alice does as it was")
			s.owner.change(ctx, s.set, image("web:2"))
			s.settles(ctx)

			By("being hers to approve")
			s.owner.change(ctx, s.set, annotation(approveOwned, "metadata.ownerReferences"))
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.record(ctx, g, s.set).Status.IgnoredParents).To(BeEmpty())
				g.Expect(s.stranger.try(ctx, s.set.DeepCopy(), image("rogue:3"), client.DryRunAll)).To(Succeed())
				g.Expect(s.stranger.warned.take()).NotTo(ContainSubstring("withheld"))
			}).WithTimeout(foundTimeout).Should(Succeed())
		}},
		{"changing a parent that counts no generations while nobody looks", uncounted},
		{"changing the parent while everything is switched off, and the operator runs on", switching},
	}
}

// uncounted changes ConfigMaps, which have no metadata.generation, while no operator looks: one
// gets another value and a key more, and one loses all that it has.
func uncounted(ctx context.Context, _ *scene) {
	const policies, controller = "uncounted", "controller"
	p := ownPolicy(policies, "", "ConfigMap", `
  maintaining: {}
  rules:
  - {trigger: data, policies: [{target: {apiVersion: v1, resource: secrets}, relation: ControllerChild, verbs: ["*"]}]}
`)
	p.Spec.Subjects = append(p.Spec.Subjects, v1alpha1.PolicySubject{Subject: v1alpha1.Subject{Kind: "User", Name: controller}})
	ns := shared.newNamespaceFor(ctx, policies)
	shared.apply(ctx, p)
	owner, stranger, controls := shared.as(alice, platformTeam, "system:masters"), shared.as(mallory, "system:masters"), shared.as(controller, "system:masters")
	of := func(name string) *corev1.ConfigMap {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Data: map[string]string{"a": "1", "b": "1"}}
		Expect(owner.Create(ctx, cm)).To(Succeed())
		return cm
	}
	parent, emptied, touched := of("parent"), of("emptied"), of("touched")
	child := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "child", OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(parent, corev1.SchemeGroupVersion.WithKind("ConfigMap")),
		}},
		StringData: map[string]string{"a": "1", "b": "1"},
	}
	for _, cm := range []*corev1.ConfigMap{parent, emptied, touched} {
		shared.knows(ctx, cm)
	}
	// Nothing counts the changes, so that what its record knew before would do for what it knows now.
	created := shared.record(ctx, Default, parent).Status.Approved.Digests
	owner.change(ctx, parent, `{"data":{"b":"2"}}`)
	Expect(controls.Create(ctx, child)).To(Succeed())
	Eventually(ctx, func(g Gomega) {
		g.Expect(shared.record(ctx, g, parent).Status.Approved.Digests).NotTo(Equal(created))
	}).WithTimeout(foundTimeout).Should(Succeed())
	shared.knows(ctx, parent)
	shared.givesSignAfter(ctx, child)
	back := killed()
	stranger.change(ctx, parent, `{"data":{"a":"evil","c":"evil"}}`)
	stranger.change(ctx, emptied, `{"data":null}`)
	stranger.change(ctx, touched, label("team", "theirs"))
	back(ctx)

	By("changing another key of it")
	owner.change(ctx, parent, `{"data":{"b":"3"}}`)
	withholds := func(cm *corev1.ConfigMap, fields ...string) {
		GinkgoHelper()
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(cm), cm)).To(Succeed())
			g.Expect(withheldOf(cm)).To(ConsistOf(fields), "of %s", cm.Name)
		}).WithTimeout(foundTimeout).Should(Succeed())
	}
	withholds(parent, "data[a]", "data[c]")
	withholds(emptied, "data")
	Expect(denied(controls.try(ctx, child, `{"stringData":{"a":"evil","b":"3"}}`))).To(BeTrue())

	By("leaving alone what nobody changed")
	shared.knows(ctx, touched)
	shared.hasHeldNothing(ctx, touched)

	By("being put back, and approved")
	stranger.change(ctx, emptied, `{"data":{"a":"1","b":"1"}}`)
	shared.withholdsNothing(ctx, emptied)
	owner.change(ctx, parent, approve("*"))
	shared.withholdsNothing(ctx, parent)
	controls.change(ctx, child, `{"stringData":{"a":"evil","b":"3"}}`)
}

// switching changes a StatefulSet, whose Pods stay as they are, while the API server asks nobody.
func switching(ctx context.Context, _ *scene) {
	s := guard(ctx, "switching", func(set *appsv1.StatefulSet) {
		set.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
	})
	shared.knows(ctx, s.set)
	back := shared.switchedOff(ctx)
	isBack := false
	DeferCleanup(func(ctx SpecContext) {
		if !isBack {
			back(ctx)
		}
	})
	Eventually(ctx, func() error {
		return shared.Get(ctx, client.ObjectKey{Name: interception.DefaultName}, &admissionregistrationv1.MutatingWebhookConfiguration{})
	}).WithTimeout(switchedWithin).Should(Satisfy(apierrors.IsNotFound))
	s.stranger.change(ctx, s.set, image("web:evil"))
	isBack = true
	back(ctx)
	shared.findsUnseen(ctx, s.set)
	s.losesOne(ctx, "web:evil")
	s.stranger.change(ctx, s.set, image("web:1"))
	shared.withholdsNothing(ctx, s.set)
}

var _ = Describe("Bypass", alone, func() {
	for _, b := range serially() {
		It(b.way, func(ctx SpecContext) { b.try(ctx, nil) }, SpecTimeout(specTimeout))
	}
})
