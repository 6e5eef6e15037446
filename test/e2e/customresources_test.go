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
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// Whatever a custom resource says about itself, its controller does what was
// caused, and nothing else.
var _ = Describe("A custom resource", func() {
	type kind struct {
		scope        apiextensionsv1.ResourceScope
		statusInside bool
		consumption  *v1alpha1.Consumption
		report       func(context.Context, *actor, *unstructured.Unstructured) error
	}
	namespaced := apiextensionsv1.NamespaceScoped

	DescribeTable("has its children changed as who may has changed it:", func(ctx SpecContext, k kind) {
		group := shared.defineThings(ctx, func(definition *apiextensionsv1.CustomResourceDefinition) {
			definition.Spec.Scope = k.scope
			if k.statusInside {
				definition.Spec.Versions[0].Subresources = nil
			}
		})
		policies := thingPolicies(group)
		policies[0].Spec.Consumption = k.consumption
		shared.apply(ctx, policies...)
		ns := shared.newNamespace(ctx)
		owner, other := shared.as(alice, platformTeam, "system:masters"), shared.as("bob", platformTeam, "system:masters")
		stranger := shared.as(mallory, "system:masters")
		controller := &thingController{shared.as(thingControllerUser, "system:masters"), ns, k.report}
		audit := shared.watch(ns)
		written := func(verb, resource, name string) controlplane.AuditEvents {
			return audit.writes(controlplane.ByUser(thingControllerUser), controlplane.ByVerb(verb), controlplane.Succeeded,
				func(e *auditv1.Event) bool {
					return e.ObjectRef.Resource == resource && e.ObjectRef.Subresource == "" && e.ObjectRef.Name == name
				})
		}
		part := builders.MakeThing(group, ns, "app-part")

		By("creating it")
		thing := builders.MakeThing(group, ns, "app")
		if k.scope == apiextensionsv1.ClusterScoped {
			thing.SetNamespace("")
		}
		thing.Object["spec"] = map[string]any{"config": "a", "port": int64(80), "part": k.scope == namespaced}
		Expect(stranger.Create(ctx, thing)).To(Succeed())
		// As its own types know it, with a struct that nobody has filled in.
		Expect(controller.Patch(ctx, thing, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"backend":{"external":{"name":""}}}}`)))).To(Succeed())
		Expect(controller.reconcile(ctx, thing)).To(Succeed())
		for _, resource := range []string{"configmaps", "services"} {
			expectCaused(written("create", resource, "app"), "Initializing", mallory, "Thing/app (created)")
		}
		if k.scope == namespaced {
			Expect(controller.reconcile(ctx, part)).To(Succeed())
			expectCaused(written("create", "configmaps", "app-part"), "Initializing", mallory,
				"Thing/app (created)", "Thing/app-part (created)")
			shared.over(ctx, part)
		}
		shared.over(ctx, thing)
		Expect(controller.reconcile(ctx, thing)).To(Succeed())

		By("changing it together")
		audit = shared.watch(ns)
		owner.setThing(ctx, thing, `{"config":"b"}`)
		other.setThing(ctx, thing, `{"port":81}`)
		Expect(controller.reconcile(ctx, thing)).To(Succeed())
		expectCaused(written("update", "configmaps", "app"), "Covered", alice, "Thing/app spec.config")
		expectCaused(written("update", "services", "app"), "Covered", "bob", "Thing/app spec.port")
		if k.scope == namespaced {
			expectCaused(written("update", "things", "app-part"), "Covered", alice, "Thing/app spec.config")
			Expect(controller.reconcile(ctx, part)).To(Succeed())
			expectCaused(written("update", "configmaps", "app-part"), "Covered", alice,
				"Thing/app spec.config", "Thing/app-part spec.config")
		}
		shared.over(ctx, thing)

		By("changing a label that no generation tells of")
		audit = shared.watch(ns)
		Expect(owner.Patch(ctx, thing, client.RawPatch(types.MergePatchType, []byte(label("tier", "gold"))))).To(Succeed())
		held := func(g Gomega) { g.Expect(shared.record(ctx, g, thing).Status.Active).NotTo(BeEmpty()) }
		Eventually(ctx, held).Should(Succeed())
		Consistently(ctx, held).WithTimeout(quietMoment).Should(Succeed())
		Expect(controller.reconcile(ctx, thing)).To(Succeed())
		expectCaused(written("update", "configmaps", "app"), "Covered", alice, "Thing/app metadata.labels[tier]")

		By("doing what nobody has caused")
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "app"}}
		for _, who := range []*actor{controller.actor, stranger, owner} {
			err := who.Patch(ctx, config, client.RawPatch(types.MergePatchType, []byte(`{"data":{"config":"z"}}`)))
			Expect(err).To(MatchError(denied, "denied"))
			rec := shared.recorded(ctx, thing)
			Expect(err).To(MatchError(ContainSubstring("kubectl get allowancerecord -n " + rec.Namespace + " " + rec.Name)))
		}
		Expect(controller.Delete(ctx, config)).To(MatchError(denied, "denied"))
		in := ""
		if k.scope == apiextensionsv1.ClusterScoped {
			in = ns // That is where the child is, and its parent is not.
		}
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.record(ctx, g, thing).Status.History).To(ContainElement(SatisfyAll(
				HaveField("Event", v1alpha1.EventDenied), HaveField("Operation", "Delete"), HaveField("Namespace", in))))
		}).Should(Succeed())

		By("changing it without the right to")
		stranger.warned.take()
		stranger.setThing(ctx, thing, `{"config":"theirs"}`)
		Expect(stranger.warned.take()).To(ContainSubstring("withheld"))
		Expect(controller.reconcile(ctx, thing)).To(MatchError(ContainSubstring("spec.config by mallory is withheld")))

		By("approving that")
		audit = shared.watch(ns)
		Expect(owner.Patch(ctx, thing, client.RawPatch(types.MergePatchType, []byte(approve("spec.config"))))).To(Succeed())
		Expect(controller.reconcile(ctx, thing)).To(Succeed())
		expectCaused(written("update", "configmaps", "app"), "Covered", alice, "Thing/app spec.config")
	},
		Entry("observedGeneration and Ready", SpecTimeout(specTimeout), kind{scope: namespaced, report: reportObserved}),
		Entry("a condition with a generation", SpecTimeout(specTimeout), kind{scope: namespaced, report: reportInCondition}),
		Entry("a condition without a generation", SpecTimeout(specTimeout), kind{
			scope: namespaced, report: reportReadyOnly, consumption: &v1alpha1.Consumption{TTL: &metav1.Duration{Duration: 5 * time.Second}},
		}),
		Entry("no status", SpecTimeout(specTimeout), kind{
			scope: namespaced, report: reportNothing, consumption: &v1alpha1.Consumption{TTL: &metav1.Duration{Duration: 5 * time.Second}},
		}),
		Entry("a status inside, as its policy knows", SpecTimeout(specTimeout), kind{
			scope: namespaced, statusInside: true, report: reportInside,
			consumption: &v1alpha1.Consumption{When: "object.status.observedGeneration >= allowance.generation"},
		}),
		Entry("no namespace", SpecTimeout(specTimeout), kind{scope: apiextensionsv1.ClusterScoped, report: reportObserved}),
	)

	// As the Prometheus operator does, and cert-manager.
	It("is not done because a loop of its controller says so that has done nothing", func(ctx SpecContext) {
		owner := shared.as(alice, platformTeam, "system:masters")
		controller, thing := newThing(ctx, owner, map[string]any{"config": "a", "port": int64(80)})
		Expect(controller.reconcile(ctx, thing)).To(Succeed())

		By("changing it right after its creation, before which the other loop has not looked")
		owner.setThing(ctx, thing, `{"config":"b"}`)
		reportDone(ctx, controller.actor, thing)
		said := time.Now()
		Expect(controller.reconcile(ctx, thing)).To(Succeed())

		By("being over once it is quiet")
		shared.over(ctx, thing)
		Expect(time.Since(said)).To(BeNumerically(">", statusQuietTime-500*time.Millisecond), "the quiet time begins with the change")
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: controller.namespace, Name: "app"}}
		Expect(controller.Patch(ctx, config, client.RawPatch(types.MergePatchType, []byte(`{"data":{"config":"z"}}`)))).To(MatchError(denied, "denied"))
	}, SpecTimeout(specTimeout))

	// As the RabbitMQ operator does with the image.
	It("has its spec filled in by its controller while it is new", func(ctx SpecContext) {
		controller, thing := newThing(ctx, shared.as(mallory, "system:masters"), map[string]any{"port": int64(80)})
		audit := shared.watch(controller.namespace)
		controller.setThing(ctx, thing, `{"config":"default"}`)
		Expect(controller.reconcile(ctx, thing)).To(Succeed())
		expectCaused(audit.writes(controlplane.ByUser(thingControllerUser), controlplane.ByVerb("create"), controlplane.OfResource("", "configmaps"), controlplane.Succeeded),
			"Initializing", mallory, "Thing/app (created)")
		shared.over(ctx, thing)

		By("changing it itself, later")
		controller.setThing(ctx, thing, `{"config":"other"}`)
		Expect(controller.reconcile(ctx, thing)).To(MatchError(ContainSubstring("spec.config by " + thingControllerUser + " is withheld")))
	}, SpecTimeout(specTimeout))
	It("keeps the fields that only the version has in which it is stored", func(ctx SpecContext) {
		group := shared.defineThings(ctx, func(definition *apiextensionsv1.CustomResourceDefinition) {
			first := &definition.Spec.Versions[0]
			second := *first.DeepCopy()
			second.Name, first.Storage = "v2", false
			first.Schema = thingSchema("config", "tier")
			second.Schema = thingSchema("config", "tier", "extra")
			definition.Spec.Versions = append(definition.Spec.Versions, second)
		})
		policies := thingPolicies(group)
		shared.apply(ctx, policies...)
		owner, stranger := shared.as(alice, platformTeam, "system:masters"), shared.as(mallory, "system:masters")
		thing := builders.MakeThing(group, shared.newNamespace(ctx), "app")
		thing.SetAPIVersion(group + "/v2")
		thing.Object["spec"] = map[string]any{"config": "a", "extra": "kept"}
		Expect(owner.Create(ctx, thing)).To(Succeed())
		kept := func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(thing), thing)).To(Succeed())
			g.Expect(thing.Object["spec"]).To(HaveKeyWithValue("extra", "kept"))
			g.Expect(thing.Object["status"]).To(Or(BeNil(), HaveKeyWithValue("extra", "kept")))
		}
		Expect(owner.patchStatus(ctx, thing.DeepCopy(), `{"extra":"kept"}`)).To(Succeed())
		By("showing which policies affect it")
		Eventually(ctx, func(g Gomega) {
			kept(g)
			g.Expect(thing.GetAnnotations()).To(HaveKey(v1alpha1.ConditionAffected))
		}).Should(Succeed())
		By("granting")
		owner.setThing(ctx, thing, `{"config":"b"}`)
		Eventually(ctx, func(g Gomega) {
			kept(g)
			g.Expect(thing.GetAnnotations()).To(HaveKey(v1alpha1.AnnotationAllowances))
		}).Should(Succeed())
		By("withholding, and approving")
		stranger.setThing(ctx, thing, `{"config":"c"}`)
		Eventually(ctx, func(g Gomega) {
			kept(g)
			g.Expect(thing.GetAnnotations()).To(HaveKey(v1alpha1.AnnotationApproved))
		}).Should(Succeed())
		Expect(owner.Patch(ctx, thing, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"kausality.io/approve":"*"}}}`)))).To(Succeed())
		Consistently(ctx, kept).WithTimeout(quietMoment).Should(Succeed())
	})

	for _, in := range []struct{ version, mode string }{{"v1", "Refuse"}, {"v2", "Hold"}} {
		It("is not changed by what is not stored of it, where policies name "+in.version, func(ctx SpecContext) {
			group := shared.defineThings(ctx, func(definition *apiextensionsv1.CustomResourceDefinition) {
				first := &definition.Spec.Versions[0]
				second := *first.DeepCopy()
				second.Name, second.Storage = "v2", false
				first.Schema, second.Schema = thingSchema("config"), thingSchema("config", "extra")
				for _, schema := range []*apiextensionsv1.CustomResourceValidation{first.Schema, second.Schema} {
					schema.OpenAPIV3Schema.Properties["status"] = apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
				}
				definition.Spec.Versions = append(definition.Spec.Versions, second)
			})
			ns := shared.newNamespaceFor(ctx, "unstored")
			policies := strings.NewReplacer("NS", ns, "GROUP", group, "MODE", in.mode, "apiVersion: v1, kind: Thing", "apiVersion: "+in.version+", kind: Thing")
			shared.apply(ctx, parsePolicies(policies.Replace(lossyPolicy))[0])
			owner, stranger := shared.as(alice, platformTeam, "system:masters"), shared.as(mallory, "system:masters")
			controller := shared.as("system:serviceaccount:"+ns+":controller", "system:masters")
			thing := builders.MakeThing(group, ns, "app")
			thing.Object["spec"] = map[string]any{"config": "a"}
			Expect(owner.Create(ctx, thing)).To(Succeed())
			Expect(reportObserved(ctx, controller, thing)).To(Succeed())
			shared.over(ctx, thing)
			newer := builders.MakeThing(group, ns, "app")
			newer.SetAPIVersion(group + "/v2")
			for _, who := range []*actor{stranger, owner} {
				who.warned.take()
				Expect(who.Patch(ctx, newer.DeepCopy(), merge(`{"spec":{"extra":"gold"}}`))).To(Succeed())
				Expect(who.warned.take()).To(BeEmpty())
				Expect(shared.Get(ctx, client.ObjectKeyFromObject(thing), thing)).To(Succeed())
				Expect(thing.Object["spec"]).To(Equal(map[string]any{"config": "a"}))
				Expect(thing.GetAnnotations()).NotTo(HaveKey(v1alpha1.AnnotationApproved))
				Expect(ledgerOf(Default, thing, ledgerKey)).To(BeEmpty())
			}
			By("changing what is stored along with it")
			err := stranger.Patch(ctx, newer.DeepCopy(), merge(`{"spec":{"extra":"gold","config":"rogue"}}`))
			if in.mode == "Refuse" {
				Expect(err).To(MatchError(SatisfyAll(ContainSubstring("spec.config"), Not(ContainSubstring("spec.extra")))))
				return
			}
			Expect(err).NotTo(HaveOccurred())
			Expect(stranger.warned.take()).To(SatisfyAll(ContainSubstring("the change of spec.config of Thing app is withheld"), Not(ContainSubstring("spec.extra"))))
			Expect(owner.Patch(ctx, newer.DeepCopy(), merge(`{"metadata":{"annotations":{"kausality.io/approve":"spec.config"}}}`))).To(Succeed())
			Expect(shared.Get(ctx, client.ObjectKeyFromObject(thing), thing)).To(Succeed())
			Expect(thing.GetAnnotations()).NotTo(HaveKey(v1alpha1.AnnotationApproved))
		}, SpecTimeout(specTimeout))
	}
})

// thingSchema returns a schema of Things with texts in the spec and in the status.
func thingSchema(fields ...string) *apiextensionsv1.CustomResourceValidation {
	texts := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{}}
	for _, field := range fields {
		texts.Properties[field] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	}
	return &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
		Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": texts, "status": texts},
	}}
}
