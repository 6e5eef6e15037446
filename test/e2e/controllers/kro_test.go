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
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controllers"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// graphFile is the specification's sample, as kro accepts it.
var graphFile = filepath.Join(root, "internal", "cli", "derive", "testdata", "webapp.in.yaml")

var serviceKind = schema.GroupVersionKind{Version: "v1", Kind: "Service"}

// serve has kro serve the sample under another name and kind, which go with the spec, and with
// what edits make of it.
func serve(ctx context.Context, kind string, edits ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	GinkgoHelper()
	text, err := os.ReadFile(graphFile)
	Expect(err).NotTo(HaveOccurred())
	graph := &unstructured.Unstructured{}
	Expect(yaml.Unmarshal([]byte(strings.ReplaceAll(string(text), "kind: WebApp", "kind: "+kind)), &graph.Object)).To(Succeed())
	graph.SetName(strings.ToLower(kind))
	for _, edit := range edits {
		edit(graph)
	}
	Expect(shared.Create(ctx, graph)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(shared.Delete(ctx, graph))).To(Succeed()) })
	serving(ctx, graph)
	return graph
}

// serving waits until kro has looked at a graph and serves it.
func serving(ctx context.Context, graph *unstructured.Unstructured) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		live(ctx, g, graph)
		conditions, _, _ := unstructured.NestedSlice(graph.Object, "status", "conditions")
		g.Expect(conditions).To(ContainElement(And(
			HaveKeyWithValue("type", "Ready"), HaveKeyWithValue("status", "True"), HaveKeyWithValue("observedGeneration", graph.GetGeneration()),
		)), "%v", conditions)
	}).WithTimeout(within).Should(Succeed())
}

// derived waits for the policy of a graph until a check holds of it.
func derived(ctx context.Context, graph *unstructured.Unstructured, check func(Gomega, *v1alpha1.AllowancePolicy)) *v1alpha1.AllowancePolicy {
	GinkgoHelper()
	p := &v1alpha1.AllowancePolicy{}
	Eventually(ctx, func(g Gomega) {
		g.Expect(shared.Get(ctx, client.ObjectKey{Name: "kro-" + graph.GetName()}, p)).To(Succeed())
		check(g, p)
	}).WithTimeout(within).Should(Succeed())
	return p
}

// says checks what the condition of a policy says of its derivation.
func says(g Gomega, p *v1alpha1.AllowancePolicy, status metav1.ConditionStatus, reason string, parts ...string) {
	condition := apimeta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionDerived)
	g.Expect(condition).NotTo(BeNil(), "%v", p.Status.Conditions)
	g.Expect(condition.Status).To(Equal(status), condition.Message)
	g.Expect(condition.Reason).To(Equal(reason), condition.Message)
	for _, part := range parts {
		g.Expect(condition.Message).To(ContainSubstring(part))
	}
}

// governs has the platform team initiate on the instances of a graph, and waits until that is
// in effect.
func governs(ctx context.Context, graph *unstructured.Unstructured, annotations string) {
	GinkgoHelper()
	Expect(shared.Patch(ctx, graph, client.RawPatch(types.MergePatchType, []byte(
		`{"metadata":{"annotations":{"kausality.io/initiators":"group:`+stage.PlatformTeam+`"`+annotations+`}}}`)))).To(Succeed())
	derived(ctx, graph, func(g Gomega, p *v1alpha1.AllowancePolicy) {
		says(g, p, metav1.ConditionTrue, v1alpha1.ReasonDerived)
		g.Expect(p.Spec.Subjects).To(HaveLen(2))
		enforced := apimeta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionEnforced)
		g.Expect(enforced).NotTo(BeNil())
		g.Expect(enforced.Status).To(Equal(metav1.ConditionTrue), enforced.Message)
		g.Expect(enforced.ObservedGeneration).To(Equal(p.Generation))
	})
}

// instance returns an instance of a graph, made by alice and carried out by kro.
func (s *scene) instance(ctx context.Context, kind, name string) *unstructured.Unstructured {
	GinkgoHelper()
	instance := s.object(`
apiVersion: example.com/v1alpha1
kind: ` + kind + `
metadata: {name: ` + name + `}
spec: {name: ` + name + `, image: "web:1", replicas: 1}
`)
	Expect(s.alice.Create(ctx, instance)).To(Succeed())
	s.carriedOut(ctx, instance)
	return instance
}

// carriedOut waits until kro says that nothing is left to do for an instance as it is.
func (s *scene) carriedOut(ctx context.Context, instance *unstructured.Unstructured) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		live(ctx, g, instance)
		status, _, _ := unstructured.NestedMap(instance.Object, "status")
		g.Expect(status).To(HaveKeyWithValue("state", "ACTIVE"), "%v", status)
		g.Expect(status["conditions"]).To(ContainElement(And(
			HaveKeyWithValue("type", "Ready"), HaveKeyWithValue("status", "True"), HaveKeyWithValue("observedGeneration", instance.GetGeneration()),
		)), "%v", status)
	}).WithTimeout(within).Should(Succeed())
}

// refusedFor waits until kro says that something is refused.
func (s *scene) refusedFor(ctx context.Context, instance *unstructured.Unstructured) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		live(ctx, g, instance)
		conditions, _, _ := unstructured.NestedSlice(instance.Object, "status", "conditions")
		g.Expect(conditions).To(ContainElement(And(
			HaveKeyWithValue("type", "ResourcesReady"), HaveKeyWithValue("status", "False"), HaveKeyWithValue("message", ContainSubstring("is not allowed by its parent")),
		)), "%v", conditions)
	}).WithTimeout(within).Should(Succeed())
}

// has checks fields of the Deployment and the Service of an instance.
func (s *scene) has(ctx context.Context, name, image string, replicas int64) {
	GinkgoHelper()
	deployment, service := s.ref(deploymentKind, name), s.ref(serviceKind, name)
	live(ctx, Default, deployment)
	live(ctx, Default, service)
	containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	Expect(containers).To(ConsistOf(HaveKeyWithValue("image", image)))
	number, _, _ := unstructured.NestedInt64(deployment.Object, "spec", "replicas")
	Expect(number).To(Equal(replicas))
	selector, _, _ := unstructured.NestedString(service.Object, "spec", "selector", "app")
	Expect(selector).To(Equal(name))
}

// cost counts what a story costs those who wait for it.
type cost struct {
	// ready are the times from changes to when kro says that they are carried out.
	ready []time.Duration
	// applied is how often kro has applied Deployments, whether or not that changed them.
	applied int
}

// median returns the time that half of the changes took.
func (c cost) median() time.Duration {
	sorted := slices.Sorted(slices.Values(c.ready))
	return sorted[len(sorted)/2]
}

// measuredChanges is how many changes are made one after the other, to see how long each takes.
const measuredChanges = 9

// operate does what people do with instances of a graph, and returns what that costs.
func (s *scene) operate(ctx context.Context, kind string) (c cost) {
	GinkgoHelper()
	var all []*unstructured.Unstructured
	for i := range 3 {
		all = append(all, s.instance(ctx, kind, fmt.Sprintf("web-%d", i)))
	}
	for _, spec := range []string{`{"image":"web:2"}`, `{"replicas":3}`} {
		By("changing " + spec)
		for _, instance := range all {
			merge(ctx, s.alice, instance, `{"spec":`+spec+`}`)
		}
		for _, instance := range all {
			s.carriedOut(ctx, instance)
		}
	}
	By("changing one again and again")
	for i := range measuredChanges {
		began := time.Now()
		merge(ctx, s.alice, all[1], fmt.Sprintf(`{"spec":{"image":"web:%d"}}`, 3+i))
		s.carriedOut(ctx, all[1])
		c.ready = append(c.ready, time.Since(began))
	}
	By("having children pruned, and others made")
	merge(ctx, s.alice, all[0], `{"spec":{"name":"shop"}}`)
	s.carriedOut(ctx, all[0])
	s.has(ctx, "shop", "web:2", 3)
	By("deleting them")
	for _, instance := range all {
		Expect(s.alice.Delete(ctx, instance)).To(Succeed())
	}
	for _, instance := range all {
		shared.Gone(ctx, instance)
	}
	Eventually(ctx, func(g Gomega) { g.Expect(s.pods(ctx, g)).To(BeEmpty()) }).WithTimeout(within).Should(Succeed())
	c.applied = len(s.appliedByKro("deployments"))
	return c
}

// appliedByKro returns the requests by which kro applied objects of a resource since the scene was
// last looked at. It applies all children in each of its passes, also those that stay as they are.
func (s *scene) appliedByKro(resource string) controlplane.AuditEvents {
	GinkgoHelper()
	return s.Writes(controlplane.Succeeded, controlplane.ByUser(kroUser), controlplane.ByVerb("patch"), controlplane.OfSubresource(""),
		func(e *auditv1.Event) bool { return e.ObjectRef.Resource == resource })
}

var _ = Describe("kro", Label(controllers.Kro.Name), func() {
	It("does its work, with not many more writes and passes, and in about the same time", func(ctx SpecContext) {
		governs(ctx, serve(ctx, "CountedApp"), "")
		serve(ctx, "FreeApp")
		costs := map[bool]cost{}
		compare(ctx, controllers.Kro.Name, func(ctx context.Context, s *scene) {
			costs[s.governed] = s.operate(ctx, map[bool]string{true: "CountedApp", false: "FreeApp"}[s.governed])
		})
		with, without := costs[true], costs[false]
		report := fmt.Sprintf("Ready after %v with a policy, %v without (median of %d changes); Deployments applied %d times with, %d without",
			with.median().Round(time.Millisecond), without.median().Round(time.Millisecond), measuredChanges, with.applied, without.applied)
		AddReportEntry("passes", ReportEntryVisibilityAlways, report)
		Expect(with.median()).To(BeNumerically("<=", 2*without.median()+time.Second), report)
		Expect(without.applied).To(BeNumerically(">=", measuredChanges), report)
		Expect(float64(with.applied)).To(BeNumerically("<=", mostWrites*float64(without.applied)), report)
	}, SpecTimeout(2*specTimeout))

	It("carries out what initiators change, and nothing else", func(ctx SpecContext) {
		graph := serve(ctx, "WebApp")
		By("deriving a policy that is in effect for nobody")
		derived(ctx, graph, func(g Gomega, p *v1alpha1.AllowancePolicy) {
			says(g, p, metav1.ConditionTrue, v1alpha1.ReasonDerived, "3 fields of WebApp", "in effect for nobody")
			g.Expect(metav1.IsControlledBy(p, graph)).To(BeTrue())
		})
		s := setScene(ctx, false)
		old := s.instance(ctx, "WebApp", "old")
		merge(ctx, s.mallory, old, `{"spec":{"image":"web:0"}}`)
		s.carriedOut(ctx, old)
		s.has(ctx, "old", "web:0", 1)

		By("adopting the instances that there are without a denial")
		governs(ctx, graph, "")
		s.carriedOut(ctx, old)
		web := s.instance(ctx, "WebApp", "web")
		s.has(ctx, "web", "web:1", 1)
		Expect(s.refusals()).To(BeEmpty())

		for _, spec := range []string{`{"image":"web:2"}`, `{"replicas":3}`, `{"replicas":0}`, `{"name":"shop"}`, `{"image":"web:3","replicas":2}`} {
			By("an initiator changing " + spec)
			merge(ctx, s.alice, web, `{"spec":`+spec+`}`)
			s.carriedOut(ctx, web)
		}
		s.has(ctx, "shop", "web:3", 2)
		for _, kind := range []schema.GroupVersionKind{deploymentKind, serviceKind} {
			pruned := s.ref(kind, "web")
			Eventually(ctx, func() bool {
				return apierrors.IsNotFound(shared.Get(ctx, client.ObjectKeyFromObject(pruned), pruned))
			}).WithTimeout(within).Should(BeTrue(), "%s web was not pruned", kind.Kind)
		}
		Expect(s.refusals()).To(BeEmpty())

		By("a stranger changing it, upon which nothing follows")
		merge(ctx, s.mallory, web, `{"spec":{"image":"web:theirs"}}`)
		s.refusedFor(ctx, web)
		s.has(ctx, "shop", "web:3", 2)
		merge(ctx, s.mallory, web, `{"spec":{"image":"web:3"}}`)
		s.carriedOut(ctx, web)

		By("a stranger changing a child, or taking it away")
		deployment := s.ref(deploymentKind, "shop")
		for _, patch := range []string{
			`{"spec":{"replicas":7}}`, `{"metadata":{"labels":{"kro.run/instance-id":null}}}`,
			`{"metadata":{"labels":{"applyset.kubernetes.io/part-of":"other"}}}`, `{"metadata":{"annotations":{"internal.kro.run/apply-order":"9"}}}`,
		} {
			err := s.mallory.Patch(ctx, deployment.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
			Expect(err).To(MatchError(ContainSubstring("is not allowed by its parent WebApp")), patch)
		}
		Expect(s.mallory.Delete(ctx, deployment.DeepCopy())).To(MatchError(ContainSubstring("is not allowed by its parent WebApp")))
		Expect(s.mallory.Patch(ctx, deployment.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(
			`{"metadata":{"labels":{"kro.run/kro-version":"v0.0.0"}}}`)))).To(Succeed(), "it says nothing of whose child it is")

		By("deleting instances")
		for _, instance := range []*unstructured.Unstructured{web, old} {
			Expect(s.alice.Delete(ctx, instance)).To(Succeed())
		}
		Eventually(ctx, func(g Gomega) {
			for _, kind := range []schema.GroupVersionKind{deploymentKind, serviceKind} {
				list := &unstructured.UnstructuredList{}
				list.SetGroupVersionKind(kind)
				g.Expect(shared.List(ctx, list, client.InNamespace(s.namespace))).To(Succeed())
				g.Expect(list.Items).To(BeEmpty())
			}
			g.Expect(apierrors.IsNotFound(shared.Get(ctx, client.ObjectKeyFromObject(web), web))).To(BeTrue())
		}).WithTimeout(within).Should(Succeed())
	}, SpecTimeout(specTimeout))

	It("makes children again that were lost, where its graph says so", func(ctx SpecContext) {
		graph := serve(ctx, "HealedApp")
		governs(ctx, graph, `,"kausality.io/recreate":"true"`)
		s := setScene(ctx, false)
		healed := s.instance(ctx, "HealedApp", "healed")
		service := s.ref(serviceKind, "healed")
		live(ctx, Default, service)
		lost := service.GetUID()
		merge(ctx, s.alice, service, `{"metadata":{"annotations":{"kausality.io/break-glass":"delete: to see whether it comes back"}}}`)
		Expect(s.alice.Delete(ctx, service)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			live(ctx, g, service)
			g.Expect(service.GetUID()).NotTo(Equal(lost))
		}).WithTimeout(within).Should(Succeed())
		s.carriedOut(ctx, healed)
		Expect(s.refusals()).To(BeEmpty())
	}, SpecTimeout(specTimeout))

	It("has a policy that follows its graph, and that somebody may take over", func(ctx SpecContext) {
		graph := serve(ctx, "EditedApp")
		governs(ctx, graph, "")
		image := func(p *v1alpha1.AllowancePolicy) bool {
			for _, r := range p.Spec.Rules {
				if r.Trigger == "spec.image" {
					return true
				}
			}
			return false
		}

		By("an edit that kro does not accept")
		edit := func(expression string) {
			GinkgoHelper()
			editTemplate(ctx, graph, []any{map[string]any{"name": "app", "image": expression}}, "spec", "template", "spec", "containers")
		}
		edit("${schema.spec.missing}")
		Eventually(ctx, func(g Gomega) {
			live(ctx, g, graph)
			conditions, _, _ := unstructured.NestedSlice(graph.Object, "status", "conditions")
			g.Expect(conditions).To(ContainElement(And(HaveKeyWithValue("type", "GraphAccepted"), HaveKeyWithValue("status", "False"))), "%v", conditions)
		}).WithTimeout(within).Should(Succeed())
		derived(ctx, graph, func(g Gomega, p *v1alpha1.AllowancePolicy) { g.Expect(image(p)).To(BeTrue()) })

		By("one that it accepts")
		edit("web:fixed")
		serving(ctx, graph)
		derived(ctx, graph, func(g Gomega, p *v1alpha1.AllowancePolicy) {
			g.Expect(image(p)).To(BeFalse())
			says(g, p, metav1.ConditionTrue, v1alpha1.ReasonDerived, "2 fields of EditedApp")
		})

		By("somebody naming others as initiators in the policy")
		p := derived(ctx, graph, func(Gomega, *v1alpha1.AllowancePolicy) {})
		was := p.DeepCopy()
		p.Spec.Subjects = append(p.Spec.Subjects, v1alpha1.PolicySubject{Subject: v1alpha1.Subject{Kind: v1alpha1.SubjectUser, Name: "carol"}, MayInitiate: true})
		Expect(shared.Patch(ctx, p, client.MergeFrom(was))).To(Succeed())
		edit("${schema.spec.image}")
		serving(ctx, graph)
		derived(ctx, graph, func(g Gomega, p *v1alpha1.AllowancePolicy) {
			g.Expect(image(p)).To(BeTrue())
			g.Expect(p.Spec.Subjects).To(HaveLen(3))
		})

		By("somebody taking it over")
		Expect(shared.Patch(ctx, p, client.RawPatch(types.MergePatchType, []byte(
			`{"metadata":{"annotations":{"kausality.io/managed":"false"}},"spec":{"rules":[]}}`)))).To(Succeed())
		p = derived(ctx, graph, func(g Gomega, p *v1alpha1.AllowancePolicy) {
			says(g, p, metav1.ConditionFalse, v1alpha1.ReasonTakenOver, "+ spec.image: Update deployments.apps spec.template.spec.containers[*].image")
			g.Expect(p.OwnerReferences).To(BeEmpty())
			g.Expect(p.Spec.Rules).To(BeEmpty())
		})
		Eventually(ctx, func(g Gomega) {
			var events eventsv1.EventList
			g.Expect(shared.List(ctx, &events, client.InNamespace(corev1.NamespaceDefault))).To(Succeed())
			g.Expect(events.Items).To(ContainElement(And(
				HaveField("Regarding.Name", graph.GetName()), HaveField("Reason", "PolicyNotKept"), HaveField("Type", corev1.EventTypeWarning),
			)))
		}).WithTimeout(within).Should(Succeed())

		By("giving it back, and deleting the graph")
		Expect(shared.Patch(ctx, p, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"kausality.io/managed":"true"}}}`)))).To(Succeed())
		derived(ctx, graph, func(g Gomega, p *v1alpha1.AllowancePolicy) {
			says(g, p, metav1.ConditionTrue, v1alpha1.ReasonDerived)
			g.Expect(p.Spec.Rules).NotTo(BeEmpty())
			g.Expect(metav1.IsControlledBy(p, graph)).To(BeTrue())
		})
		Expect(shared.Delete(ctx, graph)).To(Succeed())
		Eventually(ctx, func() bool { return apierrors.IsNotFound(shared.Get(ctx, client.ObjectKeyFromObject(p), p)) }).WithTimeout(within).Should(BeTrue())
	}, SpecTimeout(specTimeout))

	It("leaves a policy alone that had the name before", func(ctx SpecContext) {
		before := &v1alpha1.AllowancePolicy{ObjectMeta: metav1.ObjectMeta{Name: "kro-namedapp"}, Spec: v1alpha1.AllowancePolicySpec{
			For: v1alpha1.ParentKind{APIGroup: "example.com", APIVersion: "v1alpha1", Kind: "NamedApp"},
		}}
		Expect(shared.Create(ctx, before)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(shared.Delete(ctx, before)).To(Succeed()) })
		graph := serve(ctx, "NamedApp")
		Eventually(ctx, func(g Gomega) {
			var events eventsv1.EventList
			g.Expect(shared.List(ctx, &events, client.InNamespace(corev1.NamespaceDefault))).To(Succeed())
			g.Expect(events.Items).To(ContainElement(And(
				HaveField("Regarding.Name", graph.GetName()), HaveField("Reason", "PolicyNotKept"), HaveField("Note", ContainSubstring("it was there before")),
			)))
		}).WithTimeout(within).Should(Succeed())
		after := before.DeepCopy()
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(before), after)).To(Succeed())
		Expect(after.Spec).To(Equal(before.Spec))
		Expect(after.OwnerReferences).To(BeEmpty())
	}, SpecTimeout(specTimeout))
})
