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
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controllers"
)

var (
	accountKind       = schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}
	networkPolicyKind = schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}
)

// serveFixed has kro serve a graph of which next to nothing follows an instance: one field of a Deployment
// and one of a Secret, a Service only by whether it is wanted, and a ServiceAccount and a NetworkPolicy in nothing.
func serveFixed(ctx context.Context, kind string) *unstructured.Unstructured {
	GinkgoHelper()
	graph := &unstructured.Unstructured{}
	Expect(yaml.Unmarshal([]byte(`
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: `+strings.ToLower(kind)+`}
spec:
  schema:
    apiVersion: v1alpha1
    kind: `+kind+`
    group: example.com
    spec: {replicas: integer | default=1, name: string | default="", image: string | default="", token: string | default="none", port: integer | default=80}
  resources:
  - id: deployment
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${schema.metadata.name}"}
      spec:
        replicas: ${schema.spec.replicas}
        selector: {matchLabels: {app: "${schema.metadata.name}"}}
        template:
          metadata: {labels: {app: "${schema.metadata.name}"}}
          spec: {containers: [{name: app, image: "web:1"}]}
  - id: account
    template:
      apiVersion: v1
      kind: ServiceAccount
      metadata: {name: "${schema.metadata.name}"}
  - id: fence
    template:
      apiVersion: networking.k8s.io/v1
      kind: NetworkPolicy
      metadata: {name: "${schema.metadata.name}"}
      spec: {podSelector: {}, policyTypes: [Ingress]}
  - id: secret
    template:
      apiVersion: v1
      kind: Secret
      metadata: {name: "${schema.metadata.name}"}
      stringData: {token: "${schema.spec.token}"}
  - id: service
    template:
      apiVersion: v1
      kind: Service
      metadata: {name: "${schema.metadata.name}"}
      spec: {selector: {app: "${schema.metadata.name}"}, ports: [{port: "${schema.spec.port}"}]}
`), &graph.Object)).To(Succeed())
	Expect(shared.Create(ctx, graph)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(shared.Delete(ctx, graph))).To(Succeed()) })
	serving(ctx, graph)
	return graph
}

// editResources changes the resources of a graph.
func editResources(ctx context.Context, graph *unstructured.Unstructured, edit func([]any) []any) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		live(ctx, g, graph)
		resources, _, _ := unstructured.NestedSlice(graph.Object, "spec", "resources")
		g.Expect(unstructured.SetNestedSlice(graph.Object, edit(resources), "spec", "resources")).To(Succeed())
		g.Expect(shared.Update(ctx, graph)).To(Succeed())
	}).WithTimeout(within).Should(Succeed())
	serving(ctx, graph)
}

// inEffect waits until a policy that a check holds of is in effect.
func inEffect(ctx context.Context, graph *unstructured.Unstructured, check func(Gomega, *v1alpha1.AllowancePolicy)) {
	GinkgoHelper()
	derived(ctx, graph, func(g Gomega, p *v1alpha1.AllowancePolicy) {
		check(g, p)
		enforced := apimeta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionEnforced)
		g.Expect(enforced).NotTo(BeNil())
		g.Expect(enforced.Status).To(Equal(metav1.ConditionTrue), enforced.Message)
		g.Expect(enforced.ObservedGeneration).To(Equal(p.Generation))
	})
}

// stillRefused waits until kro has tried again and again, from now on, and was refused.
func (s *scene) stillRefused(ctx context.Context, parts ...string) {
	GinkgoHelper()
	s.look()
	for _, part := range parts {
		Eventually(ctx, func() int {
			n := 0
			for _, line := range s.refusals() {
				if strings.Contains(line, part) {
					n++
				}
			}
			return n
		}).WithTimeout(2*within).Should(BeNumerically(">=", 2), "%s was not refused twice", part)
	}
}

// What nothing of an instance reaches is bounded like the rest: by the policy that is derived, whatever the
// graph is edited to.
var _ = Describe("A child of kro that nothing of the instance reaches", Label(controllers.Kro.Name), func() {
	It("is bounded for strangers and for edits of the graph", func(ctx SpecContext) {
		graph := serveFixed(ctx, "FixedApp")
		governs(ctx, graph, "")
		s := setScene(ctx, false)
		instance := s.instance(ctx, "FixedApp", "web")
		s.remembers(ctx, instance, "fixedapp-r00001")
		account, fence := s.ref(accountKind, "web"), s.ref(networkPolicyKind, "web")

		By("a stranger changing it, or taking it away")
		for _, change := range []string{`{"automountServiceAccountToken":false}`, `{"metadata":{"labels":{"kro.run/instance-id":null}}}`} {
			refused(patch(ctx, s.mallory, account.DeepCopy(), change))
		}
		refused(patch(ctx, s.mallory, fence.DeepCopy(), `{"spec":{"policyTypes":["Egress"]}}`))
		for _, object := range []*unstructured.Unstructured{account, fence} {
			Expect(s.mallory.Delete(ctx, object.DeepCopy())).To(MatchError(ContainSubstring("is not allowed by its parent FixedApp")))
		}

		By("the graph being edited")
		editResources(ctx, graph, func(resources []any) []any {
			fixed, ok := resources[2].(map[string]any)
			Expect(ok).To(BeTrue())
			Expect(unstructured.SetNestedStringSlice(fixed, []string{"Ingress", "Egress"}, "template", "spec", "policyTypes")).To(Succeed())
			return resources
		})
		s.stillRefused(ctx, "networkpolicies")
		types := func(g Gomega) []string {
			live(ctx, g, fence)
			out, _, _ := unstructured.NestedStringSlice(fence.Object, "spec", "policyTypes")
			return out
		}
		Expect(types(Default)).To(Equal([]string{"Ingress"}))

		By("somebody agreeing to it")
		agreeTo(ctx, func(spec *v1alpha1.UpgradeAllowanceSpec) {
			spec.Policies[0] = v1alpha1.PolicyEntry{
				Target:   v1alpha1.Target{APIGroup: new("networking.k8s.io"), APIVersion: "v1", Resource: "networkpolicies"},
				Relation: v1alpha1.RelationControllerChild,
			}
		})
		Eventually(ctx, types).WithTimeout(2 * within).Should(Equal([]string{"Ingress", "Egress"}))
		s.carriedOut(ctx, instance)

		By("deleting the instance, which takes along all")
		Expect(s.alice.Delete(ctx, instance)).To(Succeed())
		shared.Gone(ctx, instance, account, fence)
	}, SpecTimeout(6*time.Minute))

	It("stays bounded when an edit of the graph takes out the last that did", func(ctx SpecContext) {
		graph := serveFixed(ctx, "UnboundApp")
		governs(ctx, graph, "")
		s := setScene(ctx, false)
		instance := s.instance(ctx, "UnboundApp", "web")
		s.remembers(ctx, instance, "unboundapp-r00001")
		editResources(ctx, graph, func(resources []any) []any {
			web, ok := resources[0].(map[string]any)
			Expect(ok).To(BeTrue())
			Expect(unstructured.SetNestedField(web, int64(3), "template", "spec", "replicas")).To(Succeed())
			Expect(unstructured.SetNestedField(web, []any{map[string]any{"name": "app", "image": "web:2"}}, "template", "spec", "template", "spec", "containers")).To(Succeed())
			return resources
		})
		inEffect(ctx, graph, func(g Gomega, p *v1alpha1.AllowancePolicy) {
			g.Expect(p.Spec.Rules).NotTo(ContainElement(HaveField("Trigger", "spec.replicas")))
		})
		s.stillRefused(ctx, "deployments")
		deployment := s.ref(deploymentKind, "web")
		s.replicas(ctx, "web", 1)
		refused(patch(ctx, s.mallory, deployment.DeepCopy(), `{"spec":{"replicas":7}}`))
		Expect(s.mallory.Delete(ctx, deployment.DeepCopy())).To(MatchError(ContainSubstring("is not allowed by its parent UnboundApp")))

		By("somebody agreeing to it")
		agreeTo(ctx, func(spec *v1alpha1.UpgradeAllowanceSpec) { spec.Policies[0].Mutations = nil })
		s.replicas(ctx, "web", 3)
		s.carriedOut(ctx, instance)
	}, SpecTimeout(6*time.Minute))

	It("stays bounded, and stays, when an edit of the graph has it no more", func(ctx SpecContext) {
		graph := serveFixed(ctx, "PrunedApp")
		governs(ctx, graph, "")
		s := setScene(ctx, false)
		instance := s.instance(ctx, "PrunedApp", "web")
		s.remembers(ctx, instance, "prunedapp-r00001")
		editResources(ctx, graph, func(resources []any) []any { return resources[:len(resources)-1] })
		inEffect(ctx, graph, func(g Gomega, p *v1alpha1.AllowancePolicy) {
			g.Expect(p.Spec.Rules).NotTo(ContainElement(HaveField("Trigger", "spec.port")))
		})
		s.stillRefused(ctx, "services")
		service := s.ref(serviceKind, "web")
		live(ctx, Default, service)
		refused(patch(ctx, s.mallory, service.DeepCopy(), `{"spec":{"selector":{"app":"theirs"}}}`))
		Expect(s.mallory.Delete(ctx, service.DeepCopy())).To(MatchError(ContainSubstring("is not allowed by its parent PrunedApp")))

		By("an instance that is new, which goes on")
		s.instance(ctx, "PrunedApp", "other")

		By("somebody agreeing to it")
		agreeTo(ctx, func(spec *v1alpha1.UpgradeAllowanceSpec) {
			spec.Policies[0] = v1alpha1.PolicyEntry{
				Target: v1alpha1.Target{APIVersion: "v1", Resource: "services"}, Relation: v1alpha1.RelationControllerChild, Verbs: []string{"Delete"},
			}
		})
		shared.Gone(ctx, service)
		s.carriedOut(ctx, instance)
	}, SpecTimeout(6*time.Minute))
})

var _ = Describe("A Secret of kro", Label(controllers.Kro.Name), func() {
	It("follows its instance where the graph writes texts into it", func(ctx SpecContext) {
		graph := serveFixed(ctx, "SecretApp")
		governs(ctx, graph, "")
		s := setScene(ctx, false)
		instance := s.instance(ctx, "SecretApp", "web")
		merge(ctx, s.alice, instance, `{"spec":{"token":"ours"}}`)
		secret := s.ref(schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, "web")
		Eventually(ctx, func(g Gomega) {
			live(ctx, g, secret)
			token, _, _ := unstructured.NestedString(secret.Object, "data", "token")
			g.Expect(token).To(Equal("b3Vycw=="))
		}).WithTimeout(within).Should(Succeed())
		s.carriedOut(ctx, instance)
		Expect(s.refusals()).To(BeEmpty())
		refused(patch(ctx, s.mallory, secret, `{"stringData":{"token":"theirs"}}`))
	}, SpecTimeout(specTimeout))
})
