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
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/eventrecorder"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// loseRecord deletes the record of an object as only the operator may.
func (c *cluster) loseRecord(ctx context.Context, obj client.Object) {
	GinkgoHelper()
	rec := c.recorded(ctx, obj)
	Expect(c.as(controlplane.OperatorUser, "system:masters").Delete(ctx, &rec)).To(Succeed())
}

// began counts how often each parent in a namespace began to be upgraded.
func (c *cluster) began(ctx context.Context, g Gomega, ns string) map[string]int32 {
	GinkgoHelper()
	var list corev1.EventList
	g.Expect(c.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
	out := map[string]int32{}
	for _, event := range list.Items {
		if event.Reason == eventrecorder.Upgrading {
			out[event.InvolvedObject.Name] += max(event.Count, 1)
		}
	}
	return out
}

// Each parent is upgraded once, whatever happens in between.
var _ = Describe("In the middle of an upgrade", alone, func() {
	const v1, v2 = "example.org/controller:v1", "example.org/controller:v2"

	It("nothing flaps as the operator is killed, records are lost, and the leader goes back and forth", func(ctx SpecContext) {
		group := defineThings(ctx)
		ns := shared.newNamespace(ctx)
		user := shared.makeController(ctx, ns)
		shared.governController(ctx, group, ns)
		greta := shared.as("greta", "system:masters")
		first := shared.runVersion(ctx, ns, "controller-1", v1)
		things := shared.madeBy(ctx, first, group)
		for _, thing := range things {
			Eventually(ctx, func(g Gomega) []v1alpha1.ControllerVersion { return shared.record(ctx, g, thing).Status.Versions }).
				Should(ConsistOf(HaveField("Image", v1)))
			Eventually(ctx, func(g Gomega) map[string]string {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(thing), thing)).To(Succeed())
				return thing.GetAnnotations()
			}).Should(HaveKey(v1alpha1.ConditionAffected), "what its policy writes is not of the upgrade")
		}
		agreed := upgradeOf(user)
		Expect(greta.Create(ctx, agreed)).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return client.IgnoreNotFound(shared.Delete(ctx, agreed)) })
		steps := stage.Commands(filepath.Join(root, "docs", "upgrading.md"), "Crossplane")
		Expect(steps).To(HaveLen(3))
		Expect(shared.RunShell(ctx, ns, strings.ReplaceAll(steps[0], "crossplane-2-5", agreed.Name))).To(SatisfyAll(ContainSubstring("condition met"), ContainSubstring(v1)))

		// The new version makes one write for a parent, or all that are left.
		second := shared.runVersion(ctx, ns, "controller-2", v2)
		second.format, second.serves = "2", true
		begins := *second
		begins.serves = false
		begin := func(thing *unstructured.Unstructured) {
			GinkgoHelper()
			Eventually(ctx, func() error { return begins.reconcileAs(ctx, thing) }).Should(Succeed())
		}
		finish := func(thing *unstructured.Unstructured) {
			GinkgoHelper()
			Expect(second.reconcileAs(ctx, thing)).To(Succeed())
		}
		putBack := func(things ...*unstructured.Unstructured) {
			GinkgoHelper()
			for _, thing := range things {
				Expect(first.reconcileAs(ctx, thing.DeepCopy())).To(MatchError(denied, "denied"), thing.GetName())
			}
		}
		// The last two are left alone.
		n := len(things) - 2
		moving, untouched := things[:n], things[n:]
		audit := shared.watch(ns)
		begin(moving[0])
		finish(moving[0])
		begin(moving[1])

		By("killing the operator while one has moved, one is moving, and the others are not")
		killed()(ctx)
		putBack(moving[:2]...)
		finish(moving[1])
		begin(moving[2])
		for _, thing := range moving[3:] {
			Expect(first.reconcileAs(ctx, thing)).To(Succeed(), "the old version goes on with what has not moved")
		}

		By("losing records of those that move")
		for _, thing := range moving[:3] {
			shared.loseRecord(ctx, thing)
		}
		putBack(moving[:3]...)
		for _, thing := range moving[:3] {
			Eventually(ctx, func(g Gomega) []v1alpha1.ControllerVersion { return shared.record(ctx, g, thing).Status.Versions }).
				Should(ConsistOf(HaveField("Image", v2)))
		}
		finish(moving[2])

		By("killing it again, with the record of the last")
		last := moving[3]
		begin(last)
		back := killed()
		shared.loseRecord(ctx, last)
		back(ctx)
		putBack(last)
		finish(last)
		for _, thing := range moving[4:] {
			begin(thing)
			finish(thing)
		}
		putBack(moving...)

		By("killing it once more while it waits until that is over")
		killed()(ctx)
		for _, thing := range moving {
			Eventually(ctx, func(g Gomega) []v1alpha1.ControllerVersion { return shared.record(ctx, g, thing).Status.Versions }).
				WithTimeout(2 * time.Minute).Should(ConsistOf(SatisfyAll(HaveField("Image", v2), HaveField("MovedAt", Not(BeNil())))))
		}
		audit.expectUpgraded(user, "greta", agreed.Name, moving...)
		began := map[string]int32{}
		for _, thing := range moving {
			began[thing.GetName()] = 1
		}
		began[last.GetName()] = 2 // Nobody knew any more that it had begun.
		Eventually(ctx, func(g Gomega) { g.Expect(shared.began(ctx, g, ns)).To(Equal(began)) }).Should(Succeed())

		By("denying a third change")
		reformatted := func(thing *unstructured.Unstructured, format string) *corev1.ConfigMap {
			GinkgoHelper()
			config := &corev1.ConfigMap{}
			Expect(shared.Get(ctx, client.ObjectKeyFromObject(thing), config)).To(Succeed())
			config.Data["format"] = format
			return config
		}
		for _, thing := range moving {
			Expect(second.Update(ctx, reformatted(thing, "3"), client.DryRunAll)).To(MatchError(ContainSubstring("the parent was upgraded to image " + v2)))
		}

		By("leaving alone what the new version has never touched")
		reader := shared.as("reader", "system:masters")
		for _, thing := range untouched {
			Expect(audit.writes(controlplane.ByUser(operatorUser), controlplane.OnObject(ns, thing.GetName()))).To(BeEmpty())
			rec := shared.recorded(ctx, thing)
			Expect(audit.writes(controlplane.ByUser(operatorUser), controlplane.OnObject(ns, rec.Name))).To(BeEmpty())
			reader.reads(ctx, ns, WithTransform(unwrapped, MatchRegexp(`Waits \S+ ago `+ns+` Thing/`+thing.GetName()+` image `+v1+` no change of its children was asked for`)),
				"upgrade", agreed.Name)
			reader.reads(ctx, ns, ContainSubstring("it is not upgraded"), "explain", "things."+group+"/"+thing.GetName())
		}

		By("withdrawing it before these have moved, as the runbook says")
		for _, step := range steps[1:] {
			Expect(shared.RunShell(ctx, ns, strings.ReplaceAll(step, "crossplane-2-5", agreed.Name))).To(ContainSubstring(agreed.Name))
		}
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(agreed), agreed)).To(MatchError(apierrors.IsNotFound, "not found"))
		Eventually(ctx, func() error { return second.Update(ctx, reformatted(untouched[0], "2"), client.DryRunAll) }).Should(MatchError(ContainSubstring(
			"The request comes from image " + v2 + ", and Thing " + untouched[0].GetName() + " was made by, or upgraded to, image " + v1)))
	}, SpecTimeout(upgradeTimeout))
})
