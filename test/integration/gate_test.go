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

package integration

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate/crossplane"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// recordsWithin is how soon a record says what is so.
const recordsWithin = time.Second

const isTrue, isFalse = metav1.ConditionTrue, metav1.ConditionFalse

var _ = Describe("Gates", func() {
	It("show what they do, since when and by whom, and are counted", func(ctx SpecContext) {
		m := newManagedThings(ctx, "showing.example.com")
		m.define(ctx)
		apply(ctx, m.policy())
		late := newManagedThings(ctx, "overdue.example.com")
		late.define(ctx)
		apply(ctx, late.policy(maxOpen(8*time.Second)))
		startGates(ctx)

		overdue := []*unstructured.Unstructured{late.opened(ctx, "working"), late.opened(ctx, "failing")}
		reported(ctx, overdue[1], erring, "")
		closed := m.thing("closed")
		apply(ctx, closed)
		reported(ctx, closed, succeeded, "1")
		working, failing, vanished, settling := m.opened(ctx, "working"), m.opened(ctx, "failing"), m.opened(ctx, "vanished"), m.opened(ctx, "settling")
		reported(ctx, failing, erring, "")
		reported(ctx, vanished, missing, "")
		reported(ctx, settling, succeeded, "")
		paused := m.opened(ctx, "paused", func(thing *unstructured.Unstructured) { setAnnotation(thing, crossplane.PausedAnnotation, "true") })
		reported(ctx, paused, succeeded, "1")
		held := m.thing("held")
		held.SetFinalizers([]string{"example.com/cloud"})
		setAnnotation(held, crossplane.PausedAnnotation, "true")
		setAnnotation(held, v1alpha1.AnnotationGateHeld, `{"user":"mallory","initiator":"bob"}`)
		apply(ctx, held)
		Expect(k8s.Delete(ctx, held)).To(Succeed())

		By("telling it")
		shows(ctx, overdue[0], isTrue, "Open", "")
		shows(ctx, overdue[1], isTrue, "Stuck", "")
		Expect(eventsOn(ctx, NewGomega(Fail), overdue[1])).To(BeEmpty())
		Expect(shows(ctx, closed, isFalse, "Closed", "changes nothing outside").ObservedGeneration).To(Equal(int64(1)))
		shows(ctx, held, isFalse, "Held", `by mallory \(caused by bob\) is held back: .* kausality.io/orphan`)
		begun := shows(ctx, working, isTrue, "Open", `^Open for Update, caused by alice: spec\.forProvider\.size\. .* has not said`)
		shows(ctx, failing, isTrue, "Stuck", "caused by alice: .* reports an error")
		shows(ctx, vanished, isTrue, "Stuck", "not outside any more")
		shows(ctx, paused, isTrue, "Stuck", "is paused")
		Eventually(ctx, func(g Gomega) {
			g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(settling), settling)).To(Succeed())
			g.Expect(settling.GetAnnotations()).To(HaveKeyWithValue(crossplane.Driver{}.PassAnnotation(), "kausality-1"))
		}).Should(Succeed())
		reported(ctx, settling, succeeded, "")
		shows(ctx, settling, isTrue, "Settling", "nothing in the status shows")
		Eventually(m.gatesOf).Should(Equal(map[string]float64{"Closed": 1, "Open": 1, "Settling": 1, "Stuck": 3, "Held": 1}))

		By("telling what becomes of it")
		reported(ctx, working, erring, "")
		Expect(shows(ctx, working, isTrue, "Stuck", "caused by alice").LastTransitionTime).To(Equal(begun.LastTransitionTime))
		reported(ctx, working, succeeded, "1")
		Expect(shows(ctx, working, isFalse, "Closed", "").LastTransitionTime.Time).To(BeTemporally(">", begun.LastTransitionTime.Time))
		Eventually(ctx, isClosed(ctx, settling)).Should(Succeed())

		By("telling that it takes too long")
		for _, thing := range overdue {
			shows(ctx, thing, isTrue, "Stuck", "open for longer than 8s, and stays so")
			Eventually(ctx, func(g Gomega) []string { return eventsOn(ctx, g, thing) }).Should(Equal([]string{"GateStuck"}))
		}
		Expect(late.gatesOf()).To(Equal(map[string]float64{"Stuck": 2}))
		for _, thing := range append(overdue, failing, vanished, paused) {
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(thing), thing)).To(Succeed())
			Expect(policiesOf(thing)).To(Equal(openSwitch), "%s was closed before its provider had its chance", thing.GetName())
			Expect(thing.GetAnnotations()).To(HaveKey(thingLedgerKey))
		}
		Expect(paused.GetAnnotations()).To(HaveKeyWithValue(crossplane.PausedAnnotation, "true"))
		reported(ctx, overdue[1], succeeded, "1")
		Eventually(ctx, isClosed(ctx, overdue[1])).Should(Succeed())

		By("going")
		changedf(ctx, held, `{"metadata":{"finalizers":null}}`)
		for _, thing := range append(overdue, closed, working, failing, vanished, settling, paused) {
			Expect(k8s.Delete(ctx, thing)).To(Succeed())
		}
		Eventually(m.gatesOf).Should(BeEmpty())
		Eventually(late.gatesOf).Should(BeEmpty())
	})

	It("are set right after what went around admission, and rest then", func(ctx SpecContext) {
		m := newManagedThings(ctx, "reclosing.example.com")
		m.define(ctx)
		apply(ctx, m.policy())
		startGates(ctx)
		thing := m.thing("closed")
		apply(ctx, thing)
		reported(ctx, thing, succeeded, "1")
		shows(ctx, thing, isFalse, "Closed", "")

		By("opening it by hand")
		for _, text := range []string{`["*"]`, `["Observe","Create","Update"]`, `null`, `[]`} {
			changedf(ctx, thing, `{"spec":{"managementPolicies":%s}}`, text)
			Eventually(ctx, isClosed(ctx, thing)).Should(Succeed(), text)
		}
		Eventually(ctx, func(g Gomega) []string { return eventsOn(ctx, g, thing) }).Should(And(Not(BeEmpty()), HaveEach("GateReclosed")))
		Expect(metric("kausality_gate_reclosings_total", map[string]string{"kind": m.kind().String()})).To(BeNumerically("==", 3))

		By("changing what an open one is open for")
		open := m.opened(ctx, "open")
		allowed := open.GetAnnotations()[thingLedgerKey]
		stays := func(annotation string, policies []string) {
			GinkgoHelper()
			Eventually(ctx, func(g Gomega) {
				g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(open), open)).To(Succeed())
				g.Expect(policiesOf(open)).To(Equal(policies))
				g.Expect(open.GetAnnotations()).To(HaveKeyWithValue(thingLedgerKey, annotation))
			}).Should(Succeed())
		}
		changedf(ctx, open, `{"spec":{"forProvider":{"size":"2"}}}`)
		stays(allowed, closedSwitch)
		changedf(ctx, open, `{"spec":{"forProvider":{"size":"1"}}}`)
		stays(allowed, openSwitch)

		By("having a ledger that cannot be read")
		changedf(ctx, open, `{"metadata":{"annotations":{%q:"[{"}}}`, thingLedgerKey)
		stays("[{", closedSwitch)
		changedf(ctx, open, `{"metadata":{"annotations":{%q:%q}}}`, thingLedgerKey, allowed)
		stays(allowed, openSwitch)
		reported(ctx, open, succeeded, "1")
		Eventually(ctx, isClosed(ctx, open)).Should(Succeed())

		By("being at rest, whatever else happens to it")
		shows(ctx, open, isFalse, "Closed", "")
		audit := watched(m.namespace)
		audit.UntilQuiet(ctx, 2*recordsWithin)
		audit = watched(m.namespace)
		restless := 0
		Consistently(ctx, func() controlplane.AuditEvents {
			restless++
			changedf(ctx, open, `{"metadata":{"labels":{"touched":"%d"}}}`, restless)
			reported(ctx, thing, succeeded, "1")
			return audit.Writes(controlplane.ByUser(operatorUser))
		}).WithTimeout(2 * time.Second).Should(BeEmpty())
	})

	It("go on where they were when the operator comes back", func(ctx SpecContext) {
		m := newManagedThings(ctx, "restarting.example.com")
		m.define(ctx)
		apply(ctx, m.policy(maxOpen(2*time.Second)))
		first := startGates(ctx)
		done, working, widened := m.opened(ctx, "done"), m.opened(ctx, "working"), m.thing("widened")
		apply(ctx, widened)
		begun := func(g Gomega) []v1alpha1.SeenAllowance {
			rec, err := first.records.Live(ctx, targetOf(working, working.GroupVersionKind()))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(rec).NotTo(BeNil())
			return rec.Status.FirstSeen
		}
		Eventually(ctx, begun).Should(HaveLen(1))
		before := begun(NewGomega(Fail))
		shows(ctx, widened, isFalse, "Closed", "")
		first.stop()

		reported(ctx, done, succeeded, "1")
		changedf(ctx, widened, `{"spec":{"managementPolicies":["*"]}}`)
		audit := watched(m.namespace)
		second := startGates(ctx)
		Eventually(ctx, isClosed(ctx, done)).Should(Succeed())
		Eventually(ctx, isClosed(ctx, widened)).Should(Succeed())
		Expect(audit.Writes(controlplane.ByUser(operatorUser), controlplane.OnObject(m.namespace, done.GetName()), controlplane.OfResource(m.group, "things"),
			controlplane.OfSubresource(""))).To(HaveLen(1))
		Eventually(ctx, func(g Gomega) {
			rec, err := second.records.Live(ctx, targetOf(done, done.GroupVersionKind()))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(rec.Status.History).To(ContainElement(And(HaveField("Event", v1alpha1.EventConsumed), HaveField("Initiator", "alice"))))
			g.Expect(rec.Status.Active).To(BeEmpty())
		}).Should(Succeed())

		By("being open for as long as it was")
		shows(ctx, working, isTrue, "Stuck", "open for longer than 2s")
		Expect(begun(NewGomega(Fail))).To(Equal(before))
	})

	It("lose nothing to others who write at the same time", func(ctx SpecContext) {
		m := newManagedThings(ctx, "contended.example.com")
		m.define(ctx)
		apply(ctx, m.policy())
		const collisions = 5
		audit := watched(m.namespace)
		started := startGates(ctx, func(writer client.Client) client.Client { return &contended{Client: writer, left: collisions} })
		thing := m.opened(ctx, "contended")
		reported(ctx, thing, succeeded, "1")
		Eventually(ctx, isClosed(ctx, thing)).Should(Succeed())
		Expect(thing.GetLabels()).To(HaveLen(collisions))
		byOperator := []controlplane.AuditFilter{controlplane.ByUser(operatorUser), controlplane.OfResource(m.group, "things"), controlplane.OfSubresource("")}
		Expect(audit.Writes(append(byOperator, controlplane.Refused(409))...)).To(HaveLen(collisions))
		Expect(audit.Writes(append(byOperator, controlplane.Succeeded)...)).To(HaveLen(1))
		Eventually(ctx, func(g Gomega) {
			rec, err := started.records.Live(ctx, targetOf(thing, thing.GroupVersionKind()))
			g.Expect(err).NotTo(HaveOccurred())
			consumed := 0
			for _, e := range rec.Status.History {
				if e.Event == v1alpha1.EventConsumed {
					consumed++
				}
			}
			g.Expect(consumed).To(Equal(1))
		}).Should(Succeed())
	})

	It("are given back when the policy goes or says less, but for what is held", func(ctx SpecContext) {
		m := newManagedThings(ctx, "ungated.example.com")
		m.define(ctx)
		p := m.policy()
		apply(ctx, p)
		startGates(ctx)
		plain, limited, open := m.thing("plain"), m.thing("limited"), m.opened(ctx, "open")
		setAnnotation(limited, v1alpha1.AnnotationGateCeiling, `["Observe","Update"]`)
		setAnnotation(limited, crossplane.PausedAnnotation, "true")
		Expect(unstructured.SetNestedStringSlice(limited.Object, []string{"Observe"}, "spec", crossplane.SwitchField)).To(Succeed())
		held := m.thing("held")
		held.SetFinalizers([]string{"example.com/cloud"})
		setAnnotation(held, crossplane.PausedAnnotation, "true")
		setAnnotation(held, v1alpha1.AnnotationGateHeld, `{"user":"mallory"}`)
		apply(ctx, plain, limited, held)
		Expect(k8s.Delete(ctx, held)).To(Succeed())
		for _, thing := range []*unstructured.Unstructured{plain, limited} {
			reported(ctx, thing, succeeded, "1")
			shows(ctx, thing, isFalse, "Closed", "")
		}
		shows(ctx, held, isFalse, "Held", "")
		before := gateOf(ctx, NewGomega(Fail), held)

		free := func(ctx context.Context, thing *unstructured.Unstructured, policies ...string) {
			GinkgoHelper()
			Eventually(ctx, func(g Gomega) {
				g.Expect(gateOf(ctx, g, thing)).To(BeZero())
				g.Expect(policiesOf(thing)).To(Equal(policies))
				g.Expect(thing.GetAnnotations()).NotTo(Or(HaveKey(v1alpha1.AnnotationGateContent), HaveKey(v1alpha1.AnnotationGateCeiling), HaveKey(thingLedgerKey)))
				g.Expect(eventsOn(ctx, g, thing)).To(ContainElement("GateReleased"))
			}).Should(Succeed(), thing.GetName())
		}
		By("saying that it only warns")
		warning := p.DeepCopy()
		warning.Spec.ValidationActions = []v1alpha1.ValidationAction{v1alpha1.ActionWarn}
		Expect(k8s.Patch(ctx, warning, client.MergeFrom(p))).To(Succeed())
		free(ctx, plain, "*")
		free(ctx, limited, "Observe", "Update")
		free(ctx, open, "*")
		Expect(limited.GetAnnotations()).To(HaveKeyWithValue(crossplane.PausedAnnotation, "true"))
		Expect(gateOf(ctx, NewGomega(Fail), held)).To(Equal(before))

		By("saying again that it denies")
		denying := warning.DeepCopy()
		denying.Spec.ValidationActions = nil
		Expect(k8s.Patch(ctx, denying, client.MergeFrom(warning))).To(Succeed())
		for _, thing := range []*unstructured.Unstructured{plain, open} {
			reported(ctx, thing, succeeded, "1")
			Eventually(ctx, isClosed(ctx, thing)).Should(Succeed())
		}

		By("going")
		Expect(k8s.Delete(ctx, denying)).To(Succeed())
		free(ctx, plain, "*")
		Expect(gateOf(ctx, NewGomega(Fail), held)).To(Equal(before))
		Expect(held.GetAnnotations()).To(HaveKeyWithValue(crossplane.PausedAnnotation, "true"))
		Eventually(m.gatesOf).Should(Equal(map[string]float64{"Held": 1}))

		By("letting go what is held")
		changedf(ctx, held, `{"metadata":{"annotations":{%q:"true"}}}`, v1alpha1.AnnotationOrphan)
		Eventually(ctx, func(g Gomega) {
			g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(held), held)).To(Succeed())
			g.Expect(held.GetAnnotations()).NotTo(HaveKey(crossplane.PausedAnnotation))
		}).Should(Succeed())
		Expect(policiesOf(held)).NotTo(ContainElement("Delete"))
		changedf(ctx, held, `{"metadata":{"finalizers":null}}`)
		Eventually(m.gatesOf).Should(BeEmpty())
	})

	It("come with their kind, and come back with it", func(ctx SpecContext) {
		m := newManagedThings(ctx, "coming.example.com")
		apply(ctx, m.policy())
		startGates(ctx)
		definition := m.define(ctx)
		open := m.opened(ctx, "first")
		reported(ctx, open, succeeded, "1")
		Eventually(ctx, isClosed(ctx, open)).Should(Succeed())
		Eventually(m.gatesOf).Should(Equal(map[string]float64{"Closed": 1}))
		Expect(k8s.Delete(ctx, definition)).To(Succeed())
		Eventually(m.gatesOf).Should(BeEmpty())
		m.undefined(ctx)

		By("finding one that is in the middle of something")
		m.define(ctx)
		open, busy := m.opened(ctx, "second"), m.unmanaged("before")
		apply(ctx, busy)
		reported(ctx, open, succeeded, "1")
		Eventually(ctx, isClosed(ctx, open)).Should(Succeed())
		shows(ctx, busy, isTrue, "Adopting", "before the policy finishes first")
		Expect(policiesOf(busy)).To(BeEmpty(), "closed before its provider was at rest")
		reported(ctx, busy, succeeded, "1")
		Eventually(ctx, isClosed(ctx, busy)).Should(Succeed())
		Eventually(m.gatesOf).Should(Equal(map[string]float64{"Closed": 2}))
	})
})

// watched begins to look at what is written in a namespace.
func watched(namespace string) stage.Witness {
	GinkgoHelper()
	return (&stage.Cluster{AuditLog: cluster.AuditLog()}).WatchNamespace(namespace)
}

// contended is a client whose user is beaten to it, each time, until nobody is left.
type contended struct {
	client.Client
	left int
}

// Patch implements client.Client.
func (c *contended) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if c.left > 0 {
		changedf(ctx, newThing(obj.GetObjectKind().GroupVersionKind().Group, obj.GetNamespace(), obj.GetName()), `{"metadata":{"labels":{"writer-%d":"was-here"}}}`, c.left)
		c.left--
	}
	return c.Client.Patch(ctx, obj, patch, opts...)
}
