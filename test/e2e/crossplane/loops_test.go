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

package crossplane

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/stage"
)

// Where somebody's controller writes over what a gate shows, the operator steps back, and
// the gate is what it was.
var _ = Describe("A gate whose condition somebody writes over", func() {
	It("shows it no more, tells people, and lets nothing through by that", func(ctx SpecContext) {
		const group = "loops.example.org"
		shared.offer(ctx, group)
		shared.Apply(ctx, stage.ParsePolicies(strings.ReplaceAll(outsidePolicies, "GROUP", group))...)
		i := provision(ctx, group, databaseKind, "")
		i.opened(ctx, refusedAtFirst)
		stranger := shared.As(stage.MalloryName, "system:masters")
		written := i.instance.DeepCopy()
		Expect(stranger.Patch(ctx, written, merge(`{"spec":{"forProvider":{"backupWindow":"03:00-04:00"}}}`))).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(i.gate(ctx, g)).To(Equal(stage.Observing))
			g.Expect(stage.Condition(i.instance, v1alpha1.ConditionGate)).NotTo(BeEmpty())
		}).Should(Succeed())

		By("taking the condition away whenever it is there")
		ends := takesAway(context.WithoutCancel(ctx), stranger, i.instance)
		DeferCleanup(ends)
		Eventually(ctx, func(g Gomega) {
			var events eventsv1.EventList
			g.Expect(shared.List(ctx, &events, client.InNamespace(i.instance.GetNamespace()))).To(Succeed())
			g.Expect(events.Items).To(ContainElement(SatisfyAll(
				HaveField("Reason", "WriteLoop"), HaveField("Regarding.Name", i.instance.GetName()))))
			g.Expect(i.gate(ctx, g)).To(Equal(stage.Observing))
			g.Expect(stage.Condition(i.instance, v1alpha1.ConditionGate)).To(BeEmpty())
		}).Should(Succeed())
		Consistently(ctx, func(g Gomega) {
			g.Expect(i.gate(ctx, g)).To(Equal(stage.Observing))
			g.Expect(stage.Condition(i.instance, v1alpha1.ConditionGate)).To(BeEmpty())
			g.Expect(shared.calls(ctx, i.instance).Mutations().Verbs()).To(Equal([]cloud.Verb{cloud.Create, cloud.Update}))
		}).WithTimeout(quietMoment).Should(Succeed())

		By("taking back what nobody allowed: the gate opens all the same")
		Expect(stranger.Patch(ctx, written, merge(`{"spec":{"forProvider":{"backupWindow":null}}}`))).To(Succeed())
		shared.has(ctx, i.instance, large)
		ends()
		Eventually(ctx, func(g Gomega) { g.Expect(i.gate(ctx, g)).To(Equal(i.shut())) }).Should(Succeed())
		i.mutated(ctx, cloud.Create, cloud.Update, cloud.Update)
	}, SpecTimeout(specTimeout))
})

// takesAway has somebody remove the condition of the gate of an object whenever it is
// there, until the function that it returns is called.
func takesAway(ctx context.Context, who *stage.Actor, object *unstructured.Unstructured) func() {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	seen := object.DeepCopy() // The spec goes on reading its own.
	go func() {
		defer GinkgoRecover()
		defer close(ended)
		for ctx.Err() == nil {
			if who.Get(ctx, client.ObjectKeyFromObject(seen), seen) != nil || len(stage.Condition(seen, v1alpha1.ConditionGate)) == 0 {
				continue
			}
			all, _, _ := unstructured.NestedSlice(seen.Object, "status", "conditions")
			var others []any
			for _, each := range all {
				if condition, ok := each.(map[string]any); !ok || condition["type"] != v1alpha1.ConditionGate {
					others = append(others, each)
				}
			}
			if unstructured.SetNestedSlice(seen.Object, others, "status", "conditions") == nil {
				_ = who.Status().Update(ctx, seen) // A conflict is tried again.
			}
		}
	}()
	return func() { cancel(); <-ended }
}
