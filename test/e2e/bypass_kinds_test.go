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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// knownThings returns what an administrator says of Things: the same as in the documentation.
func knownThings() *v1alpha1.Knowledge {
	GinkgoHelper()
	return documented("kinds.md", "canary")[0].Spec.Knowledge
}

// patchStatus changes the status of an object.
func (a *actor) patchStatus(ctx context.Context, obj client.Object, status string) error {
	return a.Status().Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(`{"status":`+status+`}`)))
}

// app is a Thing of alice's of which the controller has made a ConfigMap.
type app struct {
	owner      *actor
	controller *thingController
	thing      *unstructured.Unstructured
	config     *corev1.ConfigMap
}

// makeApp creates a Thing of a group as alice, under the given policies, and has its controller reconcile it.
// report is how the controller writes the status.
func makeApp(
	ctx context.Context, group string, report func(context.Context, *actor, *unstructured.Unstructured) error, policies ...*v1alpha1.AllowancePolicy,
) *app {
	GinkgoHelper()
	a := &app{owner: shared.as(alice, platformTeam, "system:masters")}
	a.controller, a.thing = newThingOf(ctx, a.owner, group, map[string]any{"config": "a", "port": int64(80)}, report, policies...)
	a.config = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a.thing.GetNamespace(), Name: a.thing.GetName()}}
	Expect(a.controller.reconcile(ctx, a.thing)).To(Succeed())
	return a
}

// unknownKinds returns the ways around that go through what nobody here has heard of a kind.
func unknownKinds() []bypass {
	return []bypass{
		{"acting through the status of somebody's object", func(ctx context.Context, s *scene) {
			group := defineThings(ctx)
			policies := thingPolicies(group)
			policies[0].Spec.Knowledge = knownThings()
			a := makeApp(ctx, group, reportGenerationAsText, policies...)
			shared.over(ctx, a.thing)

			for _, action := range []string{`{"promote":true}`, `{"conditions":[{"type":"Issuing","status":"True"}]}`} {
				err := s.rogue.patchStatus(ctx, a.thing, action)
				Expect(err).To(MatchError(denied, "denied"))
				Expect(err).To(MatchError(And(ContainSubstring("mallory may not initiate it"), ContainSubstring("Group platform-team may"))))
			}
			By("a controller reporting the same")
			Expect(a.controller.patchStatus(ctx, a.thing, `{"conditions":[{"type":"Issuing","status":"False"}]}`)).To(Succeed())
			change := client.RawPatch(types.MergePatchType, []byte(`{"data":{"config":"b"}}`))
			Expect(a.controller.Patch(ctx, a.config, change)).To(MatchError(denied, "denied"))

			By("who may acting")
			audit := shared.watch(a.controller.namespace)
			Expect(a.owner.patchStatus(ctx, a.thing, `{"promote":true}`)).To(Succeed())
			Expect(a.controller.Patch(ctx, a.config, change)).To(Succeed())
			expectCaused(audit.writes(controlplane.ByUser(thingControllerUser), controlplane.Succeeded, func(e *auditv1.Event) bool {
				return e.ObjectRef.Resource == "configmaps"
			}), "Covered", alice, "Thing/app status.promote")

			By("who may break the glass doing it")
			glass := `{"metadata":{"annotations":{"kausality.io/break-glass":%q}}}`
			Expect(s.rogue.Patch(ctx, a.thing, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, glass, "status: it burns")))).To(Succeed())
			s.rogue.warned.take()
			Expect(s.rogue.patchStatus(ctx, a.thing, `{"promote":false}`)).To(Succeed())
			Expect(s.rogue.warned.take()).To(ContainSubstring("the glass is broken"))
			Expect(s.rogue.Patch(ctx, a.thing, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"kausality.io/break-glass":null}}}`)))).To(Succeed())
			Expect(s.rogue.patchStatus(ctx, a.thing, `{"promote":null}`)).To(MatchError(denied, "denied"))
		}},
		{"acting through the status without what the rules ask for", func(ctx context.Context, _ *scene) {
			group := defineThings(ctx)
			policies := thingPolicies(group)
			policies[0].Spec.Knowledge = knownThings()
			for i := range policies[0].Spec.Rules {
				policies[0].Spec.Rules[i].Conditions = []string{`"ticket" in object.metadata.?annotations.orValue({})`}
			}
			a := makeApp(ctx, group, reportGenerationAsText, policies...)
			shared.over(ctx, a.thing)

			Expect(a.owner.patchStatus(ctx, a.thing, `{"promote":true}`)).To(MatchError(And(ContainSubstring("status.promote"), ContainSubstring("does not meet the condition"))))
			change := client.RawPatch(types.MergePatchType, []byte(`{"data":{"config":"b"}}`))
			Expect(a.controller.Patch(ctx, a.config, change)).To(MatchError(denied, "denied"))

			By("who has a ticket acting")
			Expect(a.owner.Patch(ctx, a.thing, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"ticket":"OPS-1"}}}`)))).To(Succeed())
			Expect(a.owner.patchStatus(ctx, a.thing, `{"promote":true}`)).To(Succeed())
			Expect(a.controller.Patch(ctx, a.config, change)).To(Succeed())
		}},
		{"changing what is new for as long as nobody can tell", func(ctx context.Context, s *scene) {
			group := defineThings(ctx)
			policies := thingPolicies(group)
			policies[0].Spec.Initializing = nil
			a := makeApp(ctx, group, reportReadyOnly, policies...)

			s.rogue.warned.take()
			s.rogue.setThing(ctx, a.thing, `{"config":"theirs"}`)
			Expect(s.rogue.warned.take()).To(ContainSubstring("withheld"))
			Expect(a.controller.reconcile(ctx, a.thing)).To(MatchError(denied, "denied"))
			Expect(s.rogue.Delete(ctx, a.config)).To(MatchError(denied, "denied"))

			By("the controller going on, and who may changing it")
			s.rogue.setThing(ctx, a.thing, `{"config":"a"}`)
			Expect(a.controller.reconcile(ctx, a.thing)).To(Succeed())
			a.owner.setThing(ctx, a.thing, `{"config":"b"}`)
			Expect(a.controller.reconcile(ctx, a.thing)).To(Succeed())
		}},
		{"taking back what is withheld before a controller has heard of that", func(ctx context.Context, s *scene) {
			group := defineThings(ctx)
			policies := thingPolicies(group)
			policies[0].Spec.Initializing = nil
			a := makeApp(ctx, group, reportReadyOnly, policies...)

			s.rogue.setThing(ctx, a.thing, `{"config":"theirs-alone"}`)
			s.rogue.setThing(ctx, a.thing, `{"config":"a"}`)
			writtenTo := func(key, value string) error {
				return a.controller.Patch(ctx, a.config, client.RawPatch(types.MergePatchType, []byte(`{"data":{"`+key+`":"`+value+`"}}`)))
			}
			written := func(value string) error { return writtenTo("config", value) }
			retries := MatchError(And(ContainSubstring("spec.config"), ContainSubstring("once it has heard of that")))
			Expect(written("theirs-alone")).To(retries)
			Expect(writtenTo("name", "of-theirs-alone-2")).To(retries)

			By("a short text, in a field of another name, being overwritten by who may")
			s.rogue.setThing(ctx, a.thing, `{"config":"xl"}`)
			a.owner.setThing(ctx, a.thing, `{"config":"m"}`)
			Expect(writtenTo("class", "xl")).To(retries)
			Expect(writtenTo("class", "m")).To(Succeed())

			By("the controller going on, and who may asking for the same")
			Expect(written("something else")).To(Succeed())
			a.owner.setThing(ctx, a.thing, `{"config":"theirs-alone"}`)
			Expect(a.controller.reconcile(ctx, a.thing)).To(Succeed())
		}},
		{"showing what is withheld in the annotations of a child", func(ctx context.Context, s *scene) {
			group := defineThings(ctx)
			policies := thingPolicies(group)
			a := makeApp(ctx, group, reportObserved, policies...)
			shared.over(ctx, a.thing)
			annotated := func(who *actor, key, value string) error {
				return who.Patch(ctx, a.config, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+key+`":"`+value+`"}}}`)))
			}
			Expect(annotated(a.controller.actor, "copied", "theirs-alone")).To(Succeed())
			Expect(annotated(a.controller.actor, "copied", "a")).To(Succeed())

			s.rogue.setThing(ctx, a.thing, `{"config":"theirs-alone"}`)
			// A controller hears of it from a watch, as the operator does, and not before it.
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.record(ctx, g, a.thing).Status.WithheldCount).To(BeEquivalentTo(1))
			}).Should(Succeed())
			Expect(annotated(a.controller.actor, "copied", "theirs-alone")).To(MatchError(And(
				ContainSubstring("metadata.annotations"), ContainSubstring("spec.config by mallory is withheld"))))
			By("what has nothing of it going on")
			Expect(annotated(a.controller.actor, "books", "12 of 13")).To(Succeed())
			Expect(annotated(a.owner, "note", "theirs-alone")).To(Succeed())

			By("approving it")
			Expect(a.owner.Patch(ctx, a.thing, client.RawPatch(types.MergePatchType, []byte(approve("spec.config"))))).To(Succeed())
			Expect(annotated(a.controller.actor, "copied", "theirs-alone")).To(Succeed())
			Expect(a.controller.reconcile(ctx, a.thing)).To(Succeed())
		}},
	}
}

// What nobody here has heard of a kind, an administrator says in a policy (D8).
var _ = Describe("A kind that an administrator says more of", func() {
	It("settles as is said, and proves what is said", func(ctx SpecContext) {
		group := defineThings(ctx)
		p := thingPolicies(group)[0]
		p.Spec.Knowledge = knownThings()
		p.Spec.Knowledge.Proves = []string{"spec.config"}
		a := makeApp(ctx, group, reportGenerationAsText, p)
		shared.over(ctx, a.thing)
		Expect(shared.accepts(ctx, Default, p)).NotTo(ContainSubstring("cannot tell"))

		a.owner.setThing(ctx, a.thing, `{"config":"b"}`)
		Expect(a.controller.reconcile(ctx, a.thing)).To(Succeed())
		shared.over(ctx, a.thing)

		By("withholding something of it that its status does not prove")
		shared.as(mallory, "system:masters").setThing(ctx, a.thing, `{"port":81}`)
		Expect(a.controller.patchStatus(ctx, a.thing, `{"phase":"Healthy","observedGeneration":"3"}`)).To(Succeed())
		Expect(a.controller.reconcile(ctx, a.thing)).To(MatchError(ContainSubstring("spec.port by mallory is withheld")))
		a.owner.reads(ctx, a.controller.namespace, WithTransform(unwrapped, ContainSubstring("settled: its status says what is declared for its kind")), "explain", "things."+group+"/app")
	}, SpecTimeout(2*specTimeout))

	It("is refused what no field can be, with the path of it", func(ctx SpecContext) {
		group := defineThings(ctx)
		p := thingPolicies(group)[0]
		p.Spec.Knowledge = &v1alpha1.Knowledge{
			Settled:  &v1alpha1.SettledKnowledge{Generation: "spec.generation"},
			Children: []v1alpha1.ChildKnowledge{{Kind: "ConfigMap", Counts: []string{"spec..n"}}},
		}
		err := shared.Create(ctx, p)
		Expect(err).To(MatchError(And(
			ContainSubstring("spec.knowledge.settled.generation"), ContainSubstring("spec.knowledge.children[0].counts[0]"),
			ContainSubstring("spec.knowledge.children[0].template"))))
	}, SpecTimeout(specTimeout))

	It("is said otherwise by an older policy, whose word counts", func(ctx SpecContext) {
		group := defineThings(ctx)
		older, younger := thingPolicies(group)[0], thingPolicies(group)[0]
		older.Spec.Knowledge = knownThings()
		younger.Name += "-younger"
		younger.Spec.Knowledge = knownThings()
		younger.Spec.Knowledge.Settled.Fields[0].Value = "Done"
		shared.apply(ctx, older)
		ns := shared.newNamespace(ctx)
		thing := builders.MakeThing(group, ns, "app")
		Expect(shared.as(alice, platformTeam, "system:masters").Create(ctx, thing)).To(Succeed())
		Expect(shared.Create(ctx, younger)).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return shared.Delete(ctx, younger) })
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.accepts(ctx, g, younger)).To(And(ContainSubstring("spec.knowledge.settled"), ContainSubstring(older.Name)))
		}).Should(Succeed())
	}, SpecTimeout(specTimeout))
})

// What is used up is not on an object for ever (D8).
var _ = Describe("The ledger of a custom resource", func() {
	It("goes by one write, once the object has been at rest", func(ctx SpecContext) {
		cp := startControlPlane(ctx, controlplane.Options{})
		stage.InstallOperator(ctx, cp, controlplane.OperatorOptions{
			Binary: *operatorBin, Overlay: *operatorSetup, ExtraFlags: []string{"--ledger-rest-time=5s"},
		})
		c := connect(cp)
		Expect(c.Create(ctx, builders.ThingDefinition("rest.example.org"))).To(Succeed())
		c.apply(ctx, thingPolicies("rest.example.org")...)
		ns := c.MakeNamespace(ctx, nil)
		owner := c.as(alice, platformTeam, "system:masters")
		controller := &thingController{c.as(thingControllerUser, "system:masters"), ns, reportObserved}
		thing := builders.MakeThing("rest.example.org", ns, "app")
		thing.Object["spec"] = map[string]any{"config": "a", "port": int64(80)}
		Expect(owner.Create(ctx, thing)).To(Succeed())
		owner.setThing(ctx, thing, `{"config":"b"}`)
		ledger := func(g Gomega) []v1alpha1.Allowance {
			fresh := &unstructured.Unstructured{}
			fresh.SetGroupVersionKind(thing.GroupVersionKind())
			g.Expect(c.Get(ctx, client.ObjectKeyFromObject(thing), fresh)).To(Succeed())
			thing = fresh
			return ledgerOf(g, fresh, ledgerKey)
		}
		Expect(ledger(Default)).NotTo(BeEmpty())
		Expect(controller.reconcile(ctx, thing)).To(Succeed())
		c.over(ctx, thing)
		Expect(ledger(Default)).NotTo(BeEmpty(), "it was taken out at the cost of its controller")
		Eventually(ctx, func(g Gomega) { g.Expect(ledger(g)).To(BeEmpty()) }).Should(Succeed())
		generation, version := thing.GetGeneration(), thing.GetResourceVersion()
		Consistently(ctx, func(g Gomega) {
			g.Expect(ledger(g)).To(BeEmpty())
			g.Expect(thing.GetResourceVersion()).To(Equal(version))
		}).WithTimeout(quietMoment).Should(Succeed())
		Expect(generation).To(BeEquivalentTo(2))
	}, SpecTimeout(startTimeout+specTimeout))
})
