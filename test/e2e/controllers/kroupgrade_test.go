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

package controllers

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controllers"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// kroUser is the service account of kro.
const kroUser = "system:serviceaccount:kro-system:kro"

// editTemplate changes a field of the template of the first resource of a graph.
func editTemplate(ctx context.Context, graph *unstructured.Unstructured, value any, fields ...string) {
	GinkgoHelper()
	Eventually(ctx, func() error {
		if err := shared.Get(ctx, client.ObjectKeyFromObject(graph), graph); err != nil {
			return err
		}
		resources, _, _ := unstructured.NestedSlice(graph.Object, "spec", "resources")
		first, ok := resources[0].(map[string]any)
		Expect(ok).To(BeTrue())
		Expect(unstructured.SetNestedField(first, value, append([]string{"template"}, fields...)...)).To(Succeed())
		Expect(unstructured.SetNestedSlice(graph.Object, resources, "spec", "resources")).To(Succeed())
		return shared.Update(ctx, graph)
	}).WithTimeout(within).Should(Succeed())
}

// remembers waits until the record of an instance says from which revision its children are
// made, and that no upgrade to it goes on.
func (s *scene) remembers(ctx context.Context, instance *unstructured.Unstructured, revision string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		var records v1alpha1.AllowanceRecordList
		g.Expect(shared.List(ctx, &records, client.InNamespace(s.namespace))).To(Succeed())
		var known []v1alpha1.ControllerVersion
		for _, rec := range records.Items {
			if rec.Spec.TargetRef.UID == instance.GetUID() {
				known = append(known, rec.Status.Versions...)
			}
		}
		g.Expect(known).To(ContainElement(SatisfyAll(
			HaveField("Trigger", v1alpha1.UpgradeOfResourceGraph), HaveField("User", kroUser), HaveField("Revision", revision),
			HaveField("MovedAt", Not(BeNil())),
		)), "%v", known)
	}).WithTimeout(within).Should(Succeed())
}

// allowsNothing waits until what was allowed by an instance has been consumed: what its graph changes
// next would be covered by it. Its record tells so: kro writes the status of an instance alone, so that what is
// used up stays in the ledger for a while.
func (s *scene) allowsNothing(ctx context.Context, instance *unstructured.Unstructured) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		var records v1alpha1.AllowanceRecordList
		g.Expect(shared.List(ctx, &records, client.InNamespace(s.namespace))).To(Succeed())
		g.Expect(records.Items).To(ContainElement(SatisfyAll(
			HaveField("Spec.TargetRef.UID", instance.GetUID()), HaveField("Status.Active", BeEmpty()), HaveField("Status.PendingGrants", BeEmpty()),
		)))
	}).WithTimeout(within).Should(Succeed())
}

// replicas waits until the Deployment of an instance has as many.
func (s *scene) replicas(ctx context.Context, name string, want int64) {
	GinkgoHelper()
	deployment := s.ref(deploymentKind, name)
	Eventually(ctx, func(g Gomega) {
		live(ctx, g, deployment)
		got, _, _ := unstructured.NestedInt64(deployment.Object, "spec", "replicas")
		g.Expect(got).To(Equal(want))
	}).WithTimeout(within).Should(Succeed())
}

// upgradesBy returns what kro was let through since the scene was last looked at, by an
// UpgradeAllowance that greta has made.
func (s *scene) upgradesBy(agreed *v1alpha1.UpgradeAllowance) controlplane.AuditEvents {
	GinkgoHelper()
	events := s.Writes(controlplane.Succeeded, controlplane.ByUser(kroUser), func(e *auditv1.Event) bool { return e.Annotations[stage.AuditReason] == "Upgrade" })
	for _, event := range events {
		Expect(event.Annotations[stage.AuditTrace]).To(SatisfyAll(
			HavePrefix("greta "), ContainSubstring(`"kind":"UpgradeAllowance","name":"`+agreed.Name+`"`), ContainSubstring("(upgrade)"),
		), stage.DescribeEvent(&event))
	}
	return events
}

// agreeTo returns what greta agrees to of an edited graph, once it lets something through.
func agreeTo(ctx context.Context, change func(*v1alpha1.UpgradeAllowanceSpec)) *v1alpha1.UpgradeAllowance {
	GinkgoHelper()
	agreed := &v1alpha1.UpgradeAllowance{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "edited-"},
		Spec: v1alpha1.UpgradeAllowanceSpec{
			ServiceAccount: kroUser, Triggers: []v1alpha1.UpgradeTrigger{v1alpha1.UpgradeOfResourceGraph},
			Policies: []v1alpha1.PolicyEntry{{
				Target:   v1alpha1.Target{APIGroup: new("apps"), APIVersion: "v1", Resource: "deployments"},
				Relation: v1alpha1.RelationControllerChild, Mutations: []v1alpha1.FieldMutation{{JSONPath: "spec.replicas"}},
			}},
		},
	}
	change(&agreed.Spec)
	greta := shared.As("greta", "system:masters")
	Expect(greta.Create(ctx, agreed)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(shared.Delete(ctx, agreed))).To(Succeed()) })
	Eventually(ctx, func(g Gomega) {
		g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(agreed), agreed)).To(Succeed())
		g.Expect(agreed.Status.Conditions).To(ContainElement(SatisfyAll(
			HaveField("Type", v1alpha1.ConditionEnforced), HaveField("Status", metav1.ConditionTrue), HaveField("ObservedGeneration", agreed.Generation),
		)))
	}).WithTimeout(within).Should(Succeed())
	return agreed
}

// What an edited graph changes of children that exist nobody has caused by changing an instance:
// it passes once for each instance, as somebody has agreed to.
var _ = Describe("An edited graph of kro", Label(controllers.Kro.Name), func() {
	It("is carried out once for each instance, as it was agreed to", func(ctx SpecContext) {
		graph := serve(ctx, "EditableApp")
		governs(ctx, graph, "")
		s := setScene(ctx, false)
		grown, still, other := s.instance(ctx, "EditableApp", "grown"), s.instance(ctx, "EditableApp", "still"), s.instance(ctx, "EditableApp", "other")
		for _, instance := range []*unstructured.Unstructured{grown, other} {
			merge(ctx, s.alice, instance, `{"spec":{"replicas":2}}`)
			s.carriedOut(ctx, instance)
		}
		merge(ctx, s.alice, grown, `{"metadata":{"labels":{"stage":"canary"}}}`)
		for _, instance := range []*unstructured.Unstructured{grown, still, other} {
			s.remembers(ctx, instance, "editableapp-r00001")
		}
		Expect(s.refusals()).To(BeEmpty())

		By("being denied before anybody has agreed, but for an instance that it changes nothing of")
		const more = "${schema.spec.replicas > 1 ? schema.spec.replicas + 1 : schema.spec.replicas}"
		editTemplate(ctx, graph, more, "spec", "replicas")
		serving(ctx, graph)
		s.refusedFor(ctx, grown)
		s.refusedFor(ctx, other)
		s.has(ctx, "grown", "web:1", 2)
		Expect(s.refusals()).To(ContainElement(SatisfyAll(
			ContainSubstring("revision editableapp-r00002"), ContainSubstring("revision editableapp-r00001"), ContainSubstring("spec.triggers [ResourceGraph]"))))
		s.carriedOut(ctx, still)
		Expect(s.refusals()).NotTo(ContainElement(ContainSubstring("still")))

		By("agreeing to something else, and to another instance")
		elsewhere := agreeTo(ctx, func(spec *v1alpha1.UpgradeAllowanceSpec) {
			spec.Policies[0].Mutations[0].JSONPath = "spec.paused"
		})
		s.look()
		Eventually(ctx, func() []string { return s.refusals() }).WithTimeout(within).Should(
			ContainElement(ContainSubstring("UpgradeAllowance " + elsewhere.Name + " does not let it through: spec.policies does not cover it")))
		Expect(shared.Delete(ctx, elsewhere)).To(Succeed())

		By("agreeing to it for one instance")
		s.look()
		agreed := agreeTo(ctx, func(spec *v1alpha1.UpgradeAllowanceSpec) {
			spec.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"stage": "canary"}}
		})
		s.replicas(ctx, "grown", 3)
		s.carriedOut(ctx, grown)
		Expect(s.upgradesBy(agreed)).To(HaveLen(1), "it passes once")
		s.remembers(ctx, grown, "editableapp-r00002")
		Eventually(ctx, func() []string { return s.refusals() }).WithTimeout(within).Should(ContainElement(ContainSubstring("it does not select EditableApp other")))
		s.has(ctx, "other", "web:1", 2)

		By("being over for that instance")
		deployment := s.ref(deploymentKind, "grown")
		live(ctx, Default, deployment)
		merge(ctx, s.alice, deployment, `{"spec":{"replicas":9},"metadata":{"annotations":{"kausality.io/break-glass":"to see what kro may do about it"}}}`)
		s.refusedFor(ctx, grown)
		Eventually(ctx, func() []string { return s.refusals() }).WithTimeout(within).Should(
			ContainElement(ContainSubstring("the parent was upgraded to revision editableapp-r00002")))
		approve(ctx, s.alice, grown)
		s.replicas(ctx, "grown", 3)
		s.carriedOut(ctx, grown)
		s.allowsNothing(ctx, grown)

		By("putting the graph back, which is an upgrade of its own")
		s.look()
		editTemplate(ctx, graph, "${schema.spec.replicas}", "spec", "replicas")
		serving(ctx, graph)
		s.replicas(ctx, "grown", 2)
		s.carriedOut(ctx, grown)
		s.carriedOut(ctx, other)
		s.carriedOut(ctx, still)
		Expect(s.upgradesBy(agreed)).To(HaveLen(1), "of the instance that it was carried out for")
		s.remembers(ctx, grown, "editableapp-r00003")
		s.remembers(ctx, other, "editableapp-r00001")
		s.remembers(ctx, still, "editableapp-r00001")
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(agreed), agreed)).To(Succeed())
			g.Expect(agreed.Status).To(SatisfyAll(HaveField("Moved", int32(1)), HaveField("Moving", int32(0)), HaveField("Blocked", int32(0))))
		}).WithTimeout(within).Should(Succeed())
	}, SpecTimeout(6*time.Minute))
})
