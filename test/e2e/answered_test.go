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
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
)

// settingsPolicy is for ConfigMaps, whose status never tells that one has settled.
const settingsPolicy = `
apiVersion: kausality.io/v1alpha1
kind: AllowancePolicy
metadata: {name: settings-NAMESPACE}
spec:
  for: {apiVersion: v1, kind: ConfigMap}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}
  objectSelector: {matchLabels: {settings: answered}}
  validationActions: [Deny]
  consumption: {ttl: 3s}
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, namespace: NAMESPACE, name: controller}
  rules:
  - trigger: data
    policies:
    - {target: {apiVersion: v1, resource: secrets}, relation: ControllerChild}
`

// Who is refused something and told what to do does it at once.
var _ = Describe("A denial that is answered before the operator has looked", func() {
	It("blocks nobody", func(ctx SpecContext) {
		ns := shared.newNamespace(ctx)
		shared.apply(ctx, parsePolicies(strings.ReplaceAll(settingsPolicy, "NAMESPACE", ns))...)
		user := serviceaccount.MakeUsername(ns, "controller")
		alice, controller := shared.as(alice, platformTeam, "system:masters"), shared.as(user, "system:masters")
		settings := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "settings", Labels: map[string]string{"settings": "answered"}}, Data: map[string]string{"a": "1"},
		}
		Expect(alice.Create(ctx, settings)).To(Succeed())
		child := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: "settings", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(settings, corev1.SchemeGroupVersion.WithKind("ConfigMap"))},
		}}
		Expect(controller.Create(ctx, child)).To(Succeed())
		wants := 0
		write := func() error {
			wants++
			return controller.Patch(ctx, child.DeepCopy(), client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"stringData":{"x":"%d"}}`, wants)))
		}
		Eventually(ctx, write).Should(MatchError(denied, "denied"))
		alice.change(ctx, settings, patch(`{"metadata":{"annotations":{"kausality.io/approve":"*"}}}`))
		Eventually(ctx, write).Should(Succeed())

		Eventually(ctx, func(g Gomega) {
			status := shared.record(ctx, g, settings).Status
			g.Expect(status.LastDenial).NotTo(BeNil())
			g.Expect(status.History).To(ContainElement(And(HaveField("Event", v1alpha1.EventExercised), HaveField("User", user))))
			g.Expect(status.AnsweredDenials).To(Equal(status.Denials))
		}).Should(Succeed())
		Consistently(ctx, func(g Gomega) {
			g.Expect(shared.record(ctx, g, settings).Status.Blocked).To(BeNil())
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(settings), settings)).To(Succeed())
			g.Expect(settings.Annotations[v1alpha1.ConditionBlocked]).To(BeEmpty())
		}).WithTimeout(quietMoment).Should(Succeed())
	}, SpecTimeout(specTimeout))
})

// All parents that have policies bound a child, and not only the one by which its chain goes on.
var _ = Describe("The plugin, of an object that two parents bound", func() {
	It("names both", func(ctx SpecContext) {
		ns := shared.newNamespace(ctx)
		shared.apply(ctx, parsePolicies(strings.ReplaceAll(settingsPolicy, "NAMESPACE", ns))...)
		owner := shared.as(alice, platformTeam, "system:masters")
		var owners []metav1.OwnerReference
		for _, name := range []string{"first", "second"} {
			settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"settings": "answered"}}}
			Expect(owner.Create(ctx, settings)).To(Succeed())
			owners = append(owners, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: settings.UID})
		}
		owners[0].Controller = new(true)
		Expect(owner.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "both", OwnerReferences: owners}})).To(Succeed())
		owner.reads(ctx, ns, And(ContainSubstring("ConfigMap/first"), WithTransform(unwrapped,
			ContainSubstring("ConfigMap/second bounds it as well: what is allowed there has to cover a change, too: kubectl kausality explain -n "+ns+" configmap/second"))),
			"explain", "secret/both")
	}, SpecTimeout(specTimeout))
})
