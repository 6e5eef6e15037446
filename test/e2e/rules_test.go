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
	"encoding/json"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// Two policies for Deployments, by two teams: one rolls out images, and only with
// a ticket, the other decides about sizes, and about a tier on which anything
// depends.
const teamPolicies = `
metadata: {name: images}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, name: deployment-controller, namespace: kube-system}
  rules:
  - trigger: spec.template.spec.containers[*].image
    conditions:
    - "object.metadata.labels['env'] != 'prod'"
    - "has(object.metadata.annotations['jira'])"
    - "object.metadata.annotations['jira'].matches('^INFRA-[0-9]+$')"
    capture:
    - "metadata.annotations[jira]"
    - "metadata.annotations[approved-by]"
    - "spec.replicas"
    - "spec.template.spec.containers[*].name"
    policies:
    - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
      relation: ControllerChild
      verbs: [Create]
      mutations: [{jsonPath: spec.replicas, verbs: [Mutate]}]
---
metadata: {name: sizes}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  subjects:
  - {kind: Group, name: operations-team, mayInitiate: true}
  rules:
  - trigger: spec.replicas
    conditions: ["object.spec.replicas > oldObject.spec.replicas"]
    policies:
    - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
      relation: ControllerChild
      mutations: [{jsonPath: spec.replicas}]
  - trigger: metadata.labels[tier]
`

const operationsTeam = "operations-team"

var _ = Describe("Rules", Ordered, ContinueOnFailure, func() {
	const (
		teams     = "teams"
		imagePath = "spec.template.spec.containers[0].image"
	)
	var (
		ns         string
		audit      witness
		owner      *actor
		operations *actor
	)
	BeforeAll(func(ctx SpecContext) {
		policies := parsePolicies(teamPolicies)
		for _, p := range shared.samplePoliciesFor(ctx, teams) {
			if p.Spec.For.Kind == "ReplicaSet" {
				policies = append(policies, p)
			}
		}
		for _, p := range policies {
			p.Name = teams + "-" + strings.TrimPrefix(p.Name, teams+"-")
			p.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{labelOwnPolicies: teams}}
		}
		shared.apply(ctx, policies...)
	})
	BeforeEach(func(ctx SpecContext) {
		ns = shared.newNamespaceFor(ctx, teams)
		audit = shared.watch(ns)
		owner = shared.alice()
		operations = shared.as("olga", operationsTeam, developers)
	})

	It("carry attestations down to the last hop", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2).Annotation("jira", "INFRA-1"))
		audit = shared.watch(ns)
		owner.change(ctx, d, image("web:2"))
		shared.complete(ctx, d, "2")

		rs := shared.newestReplicaSet(ctx, d)
		first := v1alpha1.TraceHop{
			Kind: "Deployment", Name: "web", Field: imagePath,
			Attestations: map[string]string{
				"metadata.annotations[jira]":            "INFRA-1",
				"spec.replicas":                         "2",
				"spec.template.spec.containers[0].name": builders.Container,
			},
		}
		// A ReplicaSet's Pods go back to its creation, or to its first scaling.
		leadsBack := WithTransform(func(trace []v1alpha1.TraceHop) []v1alpha1.TraceHop {
			out := slices.Clone(trace)
			for i := range out {
				out[i].Generation = 0
			}
			return out
		}, HaveExactElements(Equal(first), SatisfyAll(HaveField("Kind", "ReplicaSet"), HaveField("Name", rs.Name))))
		traces := audit.tracesOf(controlplane.OfResource("", "pods"), controlplane.ByVerb("create"))
		Expect(traces).NotTo(BeEmpty())
		for _, text := range traces {
			initiator, raw, _ := strings.Cut(text, " ")
			Expect(initiator).To(Equal(alice))
			var trace []v1alpha1.TraceHop
			Expect(json.Unmarshal([]byte(raw), &trace)).To(Succeed())
			Expect(trace).To(leadsBack)
		}
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.record(ctx, g, rs).Status.LastDecision).To(HaveValue(SatisfyAll(
				HaveField("Kind", "Pod"), HaveField("Initiator", alice), HaveField("Trace", leadsBack))))
		}).Should(Succeed())
	}, SpecTimeout(specTimeout))

	It("hold what does not meet their conditions, and say which", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		refused := func(because string, patches ...patch) {
			GinkgoHelper()
			owner.change(ctx, d, patches...)
			Expect(owner.warned.take()).To(SatisfyAll(ContainSubstring("withheld"), ContainSubstring(because)))
		}
		refused(`has(object.metadata.annotations['jira'])`, image("web:2"))
		refused(`.matches('^INFRA-[0-9]+$')`, annotation("jira", "please"), image("web:3"))
		refused(`object.metadata.labels['env'] != 'prod'`, annotation("jira", "INFRA-2"), label("env", "prod"), image("web:4"))
		owner.change(ctx, d, approve("*"))
		Expect(owner.warned.take()).To(ContainSubstring("object.metadata.labels['env'] != 'prod'"))
		Expect(shared.replicaSets(ctx, Default, d)).To(HaveLen(1))

		owner.change(ctx, d, label("env", "test"), approve(imagePath))
		shared.complete(ctx, d, "2")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:4": 2}))
	}, SpecTimeout(specTimeout))

	It("of several policies add up, and each is for its own initiators", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2).Annotation("jira", "INFRA-3"))
		owner.change(ctx, d, replicas(3))
		Expect(owner.warned.take()).To(SatisfyAll(
			ContainSubstring("spec.replicas"), ContainSubstring(operationsTeam), Not(ContainSubstring(platformTeam))))
		operations.change(ctx, d, replicas(2))
		operations.change(ctx, d, replicas(4))
		shared.complete(ctx, d, "1")

		operations.change(ctx, d, image("web:2"))
		Expect(operations.warned.take()).To(SatisfyAll(ContainSubstring(imagePath), ContainSubstring(platformTeam)))
		Expect(operations.try(ctx, d, image("web:1"))).To(Succeed())

		By("being in both teams")
		both := shared.as("dave", platformTeam, operationsTeam)
		both.change(ctx, d, patch(`{"spec":{"replicas":5,"template":{"spec":{"containers":[{"name":"`+builders.Container+`","image":"web:2"}]}}}}`))
		shared.complete(ctx, d, "2")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:2": 5}))

		By("shrinking, for which no rule has a condition that holds")
		operations.change(ctx, d, replicas(1))
		Expect(operations.warned.take()).To(ContainSubstring("object.spec.replicas > oldObject.spec.replicas"))
	}, SpecTimeout(specTimeout))

	It("without policies allow anything to any child, traced by the key of the map", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2).Annotation("jira", "INFRA-4"))
		owner.change(ctx, d, image("web:"+unready)) // which keeps what follows in use
		shared.hasPods(ctx, ns, map[string]int{"web:1": 2, "web:" + unready: 1})
		rs := shared.newestReplicaSet(ctx, d)
		controller := shared.serviceAccount(deploymentController)
		anything := patch(`{"spec":{"minReadySeconds":7}}`)
		Expect(controller.try(ctx, rs, anything)).To(MatchError(denied, "denied"))

		owner.change(ctx, d, label("tier", "gold"))
		Expect(owner.warned.take()).To(ContainSubstring("metadata.labels[tier]"))
		operations.change(ctx, d, label("tier", "silver"))
		Expect(operations.warned.take()).To(BeEmpty())
		Expect(ledgerOf(Default, d, ledgerKey)).To(ContainElement(SatisfyAll(
			HaveField("Kind", "*"), HaveField("Mutation", "*"), HaveField("Verbs", BeEmpty()),
			HaveField("Relation", v1alpha1.Relation("")),
			WithTransform(way, Equal("olga -> Deployment/web metadata.labels[tier]")))))
		controller.change(ctx, rs, anything)
		Expect(shared.mallory().try(ctx, rs, replicas(9))).To(MatchError(denied, "denied"))
	}, SpecTimeout(specTimeout))
})

var _ = Describe("Policies that come and go", func() {
	It("are in effect as soon as somebody can start their chains, and as long", func(ctx SpecContext) {
		const order = "order"
		ns := shared.newNamespaceFor(ctx, order)
		owner, stranger := shared.alice(), shared.mallory()
		var upper, lower *v1alpha1.AllowancePolicy
		for _, p := range shared.samplePoliciesFor(ctx, order) {
			if p.Spec.For.Kind == "ReplicaSet" {
				lower = p
			} else {
				upper = p
			}
		}
		d := stranger.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		uncaused := func() error {
			return stranger.try(ctx, shared.newestReplicaSet(ctx, d), patch(`{"spec":{"minReadySeconds":7}}`))
		}
		goesOut := func(p patch, revision string, pods map[string]int) {
			GinkgoHelper()
			stranger.change(ctx, d, p)
			Expect(stranger.warned.take()).To(BeEmpty())
			shared.rolledOut(ctx, d)
			Expect(d.Annotations).To(HaveKeyWithValue(revisionKey, revision))
			Expect(shared.pods(ctx, Default, ns)).To(Equal(pods))
		}
		By("having only the lower one")
		shared.apply(ctx, lower)
		goesOut(image("web:2"), "2", map[string]int{"web:2": 2})

		By("having both")
		shared.apply(ctx, upper)
		Expect(uncaused()).To(MatchError(denied, "denied"))
		owner.change(ctx, d, image("web:"+unready))
		shared.hasPods(ctx, ns, map[string]int{"web:2": 2, "web:" + unready: 1})

		By("losing the upper one in mid-rollout")
		warning := func(ctx context.Context) (string, error) {
			err := stranger.try(ctx, d.DeepCopy(), image("web:3"), client.DryRunAll)
			return stranger.warned.take(), err
		}
		Expect(warning(ctx)).To(ContainSubstring("withheld"))
		Expect(shared.Delete(ctx, upper)).To(Succeed())
		Eventually(ctx, warning).Should(BeEmpty(), "a policy that is deleted goes by what operators hear of it, in a moment")
		goesOut(image("web:3"), "4", map[string]int{"web:3": 2})

		By("having it again")
		upper.ObjectMeta = metav1.ObjectMeta{Name: upper.Name}
		shared.apply(ctx, upper)
		Expect(uncaused()).To(MatchError(denied, "denied"))
		stranger.change(ctx, d, image("web:4"))
		Expect(stranger.warned.take()).To(ContainSubstring("withheld"))

		By("losing the lower one")
		Expect(shared.Delete(ctx, lower)).To(Succeed())
		Eventually(ctx, func() error {
			return client.IgnoreNotFound(shared.Delete(ctx, shared.anyPod(ctx, ns), client.DryRunAll))
		}).Should(Succeed(), "Pods are still bounded")
		owner.change(ctx, d, approve("*"))
		shared.complete(ctx, d, "5")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:4": 2}))
	}, SpecTimeout(specTimeout))
})

// What a controller counts in an annotation of its own object is no change that somebody has to
// approve (D5).
var _ = Describe("A rule about the annotations of Deployments", func() {
	const annotated = "annotated"
	It("lets rollouts go on, whose number is an annotation, and withholds what a stranger writes there", func(ctx SpecContext) {
		ns := shared.newNamespaceFor(ctx, annotated)
		policies := shared.samplePoliciesFor(ctx, annotated)
		rule := policies[0].Spec.Rules[0].DeepCopy()
		rule.Trigger = "metadata.annotations"
		policies[0].Spec.Rules = append(policies[0].Spec.Rules, *rule)
		shared.apply(ctx, policies...)

		owner, stranger := shared.alice(), shared.mallory()
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		for _, revision := range []string{"2", "3"} {
			owner.change(ctx, d, image("web:"+revision))
			shared.hasPods(ctx, ns, map[string]int{"web:" + revision: 2})
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
				g.Expect(d.Annotations).To(HaveKeyWithValue(revisionKey, revision))
				g.Expect(stage.WithheldOf(d)).To(BeEmpty())
			}).Should(Succeed())
		}
		stranger.change(ctx, d, annotation("note", "theirs"))
		Expect(stranger.warned.take()).To(ContainSubstring("the change of metadata.annotations[note] of Deployment web is withheld"))
		Expect(stranger.try(ctx, d, annotation(revisionKey, "9"))).To(Succeed())
		Expect(stranger.warned.take()).To(ContainSubstring("the change of metadata.annotations[" + revisionKey + "] of Deployment web is withheld"))
	}, SpecTimeout(specTimeout))
})
