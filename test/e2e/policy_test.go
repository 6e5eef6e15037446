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
	"os"
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/interception"
	"kausality.io/operator/test/builders"
)

// webhooks are the configurations of the operator's hooks, nil where they do not
// exist.
type webhooks struct {
	mutating   []admissionregistrationv1.MutatingWebhook
	validating []admissionregistrationv1.ValidatingWebhook
}

func (c *cluster) webhooks(ctx context.Context, g Gomega) webhooks {
	GinkgoHelper()
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{}
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	key := client.ObjectKey{Name: interception.DefaultName}
	g.Expect(client.IgnoreNotFound(c.Get(ctx, key, mutating))).To(Succeed())
	g.Expect(client.IgnoreNotFound(c.Get(ctx, key, validating))).To(Succeed())
	return webhooks{mutating: mutating.Webhooks, validating: validating.Webhooks}
}

// resources returns the resources of a group that the API server asks about, each with what
// happens while nobody answers: Fail where it is that in some namespaces.
func (w webhooks) resources(group string) map[string]admissionregistrationv1.FailurePolicyType {
	out := map[string]admissionregistrationv1.FailurePolicyType{}
	add := func(kind string, rules []admissionregistrationv1.RuleWithOperations, policy admissionregistrationv1.FailurePolicyType) {
		for _, rule := range rules {
			if slices.Contains(rule.APIGroups, group) {
				for _, resource := range rule.Resources {
					if out[kind+" "+resource] != admissionregistrationv1.Fail {
						out[kind+" "+resource] = policy
					}
				}
			}
		}
	}
	for _, hook := range w.mutating {
		add("mutate", hook.Rules, *hook.FailurePolicy)
	}
	for _, hook := range w.validating {
		add("validate", hook.Rules, *hook.FailurePolicy)
	}
	return out
}

// defineThings defines a kind that is a spec's own, and goes with it.
func defineThings(ctx context.Context) (group string) {
	GinkgoHelper()
	return shared.defineThings(ctx, func(*apiextensionsv1.CustomResourceDefinition) {})
}

// defineThings defines such a kind in another way.
func (c *cluster) defineThings(ctx context.Context, change func(*apiextensionsv1.CustomResourceDefinition)) (group string) {
	GinkgoHelper()
	group = fmt.Sprintf("p%d-%d.example.org", GinkgoParallelProcess(), time.Now().UnixNano())
	definition := builders.ThingDefinition(group)
	change(definition)
	Expect(c.Create(ctx, definition)).To(Succeed())
	DeferCleanup(func(ctx context.Context) error { return c.Delete(ctx, definition) })
	ns := c.newNamespaceFor(ctx, "none")
	Eventually(ctx, func() error {
		return c.Create(ctx, builders.MakeThing(group, ns, "probe"), client.DryRunAll)
	}).Should(Succeed(), "the kind is not served")
	return group
}

// thingPolicy returns a policy for the kind that defineThings defined.
func thingPolicy(group, name string) *v1alpha1.AllowancePolicy {
	GinkgoHelper()
	return parsePolicies(fmt.Sprintf(`
apiVersion: kausality.io/v1alpha1
kind: AllowancePolicy
metadata: {name: %s}
spec:
  for: {apiGroup: %s, apiVersion: v1, kind: Thing}
  subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
  rules:
  - trigger: spec
    policies:
    - {target: {apiGroup: "", apiVersion: v1, resource: configmaps}, relation: ControllerChild, verbs: ["*"]}
`, name, group))[0]
}

var _ = Describe("A policy", func() {
	Context("for a kind", func() {
		var (
			group string
			p     *v1alpha1.AllowancePolicy
		)
		BeforeEach(func(ctx SpecContext) {
			group = defineThings(ctx)
			p = thingPolicy(group, "things-"+group)
		})
		asked := func(ctx context.Context, want map[string]admissionregistrationv1.FailurePolicyType) {
			GinkgoHelper()
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.webhooks(ctx, g).resources(group)).To(Equal(want))
			}).WithTimeout(effectTimeout).WithPolling(50 * time.Millisecond).Should(Succeed())
		}
		rules := func(policy admissionregistrationv1.FailurePolicyType) map[string]admissionregistrationv1.FailurePolicyType {
			return map[string]admissionregistrationv1.FailurePolicyType{
				"mutate things": policy, "mutate things/status": policy,
				"validate things": policy, "validate things/status": policy,
			}
		}

		It("has the API server ask about it within two seconds, until it is gone", func(ctx SpecContext) {
			Expect(shared.webhooks(ctx, Default).resources(group)).To(BeEmpty())
			Expect(shared.Create(ctx, p)).To(Succeed())
			asked(ctx, rules(admissionregistrationv1.Ignore))
			shared.enforced(ctx, p, effectTimeout)
			Expect(shared.Delete(ctx, p)).To(Succeed())
			asked(ctx, map[string]admissionregistrationv1.FailurePolicyType{})
		}, SpecTimeout(specTimeout))

		It("says so again only once the API server asks, when another one takes its name", func(ctx SpecContext) {
			shared.apply(ctx, p)
			for range 5 {
				again := thingPolicy(group, p.Name)
				Expect(shared.Delete(ctx, p)).To(Succeed())
				Expect(shared.Create(ctx, again)).To(Succeed())
				shared.enforced(ctx, again, effectTimeout)
				Expect(shared.webhooks(ctx, Default).resources(group)).To(HaveKey("validate things"))
			}
		}, SpecTimeout(specTimeout))

		// Alone: while it is there, ConfigMaps have another webhook, under whose name the
		// audit log has the reasons that other specs read.
		// That requests are refused then is seen while the operator is away (outage_test.go).
		It("can tell the API server to refuse requests while nobody answers", func(ctx SpecContext) {
			p.Spec.FailurePolicy = v1alpha1.FailurePolicyFail
			shared.apply(ctx, p)
			asked(ctx, rules(admissionregistrationv1.Fail))
			By("thinking better of it")
			Expect(shared.Patch(ctx, p, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"failurePolicy":"Ignore"}}`)))).To(Succeed())
			asked(ctx, rules(admissionregistrationv1.Ignore))
		}, alone, SpecTimeout(specTimeout))

		It("whose objects nobody can list says so, and leaves others alone", func(ctx SpecContext) {
			none := parsePolicies(fmt.Sprintf(`
apiVersion: kausality.io/v1alpha1
kind: AllowancePolicy
metadata: {name: bindings-%[1]s}
spec:
  for: {apiVersion: v1, kind: Binding}
  subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
  rules:
  - trigger: target
    policies: [{target: {apiGroup: %[1]s, apiVersion: v1, resource: things}, relation: ControllerChild, verbs: ["*"]}]
`, group))[0]
			Expect(shared.Create(ctx, none)).To(Succeed())
			DeferCleanup(func(ctx context.Context) error { return shared.Delete(ctx, none) })
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(none), none)).To(Succeed())
				g.Expect(none.Status.Conditions).To(ContainElements(
					SatisfyAll(HaveField("Type", v1alpha1.ConditionAccepted), HaveField("Reason", v1alpha1.ReasonTargetNotFound),
						HaveField("Message", ContainSubstring("cannot be listed and watched"))),
					SatisfyAll(HaveField("Type", v1alpha1.ConditionEnforced), HaveField("Message", ContainSubstring("None of the policy is enforced"))),
				))
			}).Should(Succeed())
			shared.apply(ctx, p)
			shared.enforced(ctx, p, effectTimeout)
		}, SpecTimeout(specTimeout))

		It("is asked about when the kind comes later", func(ctx SpecContext) {
			later := "later." + group
			p = thingPolicy(later, "things-"+later)
			who := shared.as("root", "system:masters")
			Expect(who.Create(ctx, p)).To(Succeed())
			DeferCleanup(func(ctx context.Context) error { return shared.Delete(ctx, p) })
			Expect(who.warned.take()).To(ContainSubstring("is not served"))
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
				g.Expect(p.Status.Conditions).To(ContainElement(SatisfyAll(
					HaveField("Type", v1alpha1.ConditionAccepted), HaveField("Reason", v1alpha1.ReasonTargetNotFound))))
			}).Should(Succeed())

			definition := builders.ThingDefinition(later)
			Expect(shared.Create(ctx, definition)).To(Succeed())
			DeferCleanup(func(ctx context.Context) error { return shared.Delete(ctx, definition) })
			shared.enforced(ctx, p, time.Minute)
			Expect(shared.webhooks(ctx, Default).resources(later)).To(HaveKey("validate things"))
		}, SpecTimeout(specTimeout))

		It("can refuse a change that nobody who may initiate makes", func(ctx SpecContext) {
			p.Spec.UncausedChanges = v1alpha1.UncausedRefuse
			// Nothing ever says that a Thing has settled, and a new one is unrestricted.
			p.Spec.Consumption = &v1alpha1.Consumption{When: "true"}
			shared.apply(ctx, p)
			ns := shared.newNamespace(ctx)
			thing := builders.MakeThing(group, ns, "thing")
			who := shared.as("root", "system:masters")
			Expect(who.Create(ctx, thing)).To(Succeed())
			Eventually(ctx, func(g Gomega) {
				rec := shared.record(ctx, g, thing)
				g.Expect(rec.Status.Phase).To(Equal(v1alpha1.PhaseSteady))
				g.Expect(rec.Status.ActiveCount).To(BeZero())
			}).Should(Succeed())
			change := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"size":2}}`))
			err := who.Patch(ctx, thing, change)
			Expect(err).To(MatchError(denied, "denied"))
			Expect(err).To(MatchError(SatisfyAll(ContainSubstring("spec"), ContainSubstring(platformTeam))))
			who.reads(ctx, ns, lines("update of Thing/thing", "asked by     root", "of           spec", "refused by   AllowancePolicy "+p.Name,
				"allowed to   Group "+platformTeam), "why", "things."+group+"/thing")
			Expect(shared.as(alice, platformTeam, "system:masters").Patch(ctx, thing, change)).To(Succeed())
			Expect(thing.GetAnnotations()).To(HaveKey(ledgerKey))
		}, SpecTimeout(specTimeout))
	})

	Context("for what was there before it", func() {
		It("drops its ledgers, and keeps what they said in the records", func(ctx SpecContext) {
			// It is for a generation that the Thing has next, later in this story.
			const everything = `[{"kind":"*","mutation":"*","generation":3,"initiator":"alice"}]`
			group := defineThings(ctx)
			ns := shared.newNamespace(ctx)
			thing := builders.MakeThing(group, ns, "thing")
			thing.SetAnnotations(map[string]string{ledgerKey: everything})
			Expect(shared.Create(ctx, thing)).To(Succeed())
			// It is not in the middle of anything.
			settle := func() {
				GinkgoHelper()
				settled := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":"True","observedGeneration":%d}]}}`, thing.GetGeneration())
				Expect(shared.Status().Patch(ctx, thing, client.RawPatch(types.MergePatchType, []byte(settled)))).To(Succeed())
			}
			settle()
			child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Namespace: ns, Name: "child",
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(thing, builders.ThingKind(group))},
			}}
			Expect(shared.Create(ctx, child)).To(Succeed())

			p := thingPolicy(group, "things-"+group)
			shared.apply(ctx, p)
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.record(ctx, g, thing).Status.RawLedger).To(Equal(everything))
			}).Should(Succeed())
			child.Data = map[string]string{"a": "b"}
			expectForbidden(shared.mallory().Update(ctx, child), "Thing thing")

			By("writing the same once more while there is no policy")
			thing.Object["spec"] = map[string]any{"size": int64(2)}
			Expect(shared.Update(ctx, thing)).To(Succeed())
			Expect(ledgerOf(Default, thing, ledgerKey)).To(HaveEach(HaveField("Relation", v1alpha1.RelationWithheld)))
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.record(ctx, g, thing).Status.Consumed).To(BeEmpty())
			}).Should(Succeed())
			Expect(shared.Delete(ctx, p)).To(Succeed())
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(thing), thing)).To(Succeed())
				thing.SetAnnotations(map[string]string{ledgerKey: everything})
				g.Expect(shared.Update(ctx, thing)).To(Succeed())
				g.Expect(thing.GetAnnotations()).To(HaveKeyWithValue(ledgerKey, everything))
			}).Should(Succeed())
			settle()
			shared.apply(ctx, thingPolicy(group, "again-"+group))
			expectForbidden(shared.mallory().Update(ctx, child), "Thing thing")
			expectForbidden(shared.as("system:serviceaccount:"+ns+":default", "system:masters").Update(ctx, child))
		}, SpecTimeout(specTimeout))
	})

	Context("of ReplicaSets", func() {
		It("lets everything pass where nobody can start a chain", func(ctx SpecContext) {
			const only = "replicasets-only"
			ns := shared.newNamespaceFor(ctx, only)
			audit := shared.watch(ns)
			for _, p := range shared.samplePoliciesFor(ctx, only) {
				if p.Spec.For.Kind == "ReplicaSet" {
					shared.apply(ctx, p)
				}
			}
			d := shared.mallory().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(4))
			shared.mallory().change(ctx, d, image("web:2"))
			shared.complete(ctx, d, "2")
			Expect(audit.refusals()).To(BeEmpty())
		}, SpecTimeout(specTimeout))
	})

	Context("that comes in the middle of a rollout", func() {
		It("lets it go on, and holds what comes after it", func(ctx SpecContext) {
			const midway = "midway"
			ns := shared.newNamespaceFor(ctx, midway)
			audit := shared.watch(ns)
			stranger := shared.mallory()
			b := builders.MakeDeployment(ns, "web").Replicas(6).RollingUpdate("1", "0")
			b.Spec.MinReadySeconds = 2 // each of the six Pods takes that long
			d := stranger.deploy(ctx, b)
			stranger.change(ctx, d, image("web:2"))
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.pods(ctx, g, ns)).To(HaveKey("web:2"))
			}).Should(Succeed())

			shared.apply(ctx, shared.samplePoliciesFor(ctx, midway)...)
			Expect(shared.pods(ctx, Default, ns)).To(HaveKey("web:1"), "the rollout was over too soon")
			Expect(shared.recorded(ctx, d).Status.Adopting).To(BeTrue())
			shared.complete(ctx, d, "2")
			Expect(audit.refusals()).To(BeEmpty())
			Expect(audit.reasons()).To(HaveKey("Adopting"))

			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.record(ctx, g, d).Status.Adopting).To(BeFalse())
			}).Should(Succeed())
			err := shared.serviceAccount(deploymentController).try(ctx, shared.newestReplicaSet(ctx, d), replicas(9))
			Expect(err).To(MatchError(denied, "denied"))
			stranger.change(ctx, d, replicas(8))
			Expect(stranger.warned.take()).To(ContainSubstring("withheld"))
		}, SpecTimeout(specTimeout))
	})

	Context("that warns", func() {
		It("lets uncaused changes pass, and says so", func(ctx SpecContext) {
			const warning = "warning"
			ns := shared.newNamespaceFor(ctx, warning)
			policies := shared.samplePoliciesFor(ctx, warning)
			for _, p := range policies {
				p.Spec.ValidationActions = []v1alpha1.ValidationAction{v1alpha1.ActionWarn}
			}
			shared.apply(ctx, policies...)
			d := shared.alice().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
			controller := shared.serviceAccount(deploymentController)
			controller.change(ctx, shared.newestReplicaSet(ctx, d), replicas(5))
			Expect(controller.warned.take()).To(SatisfyAll(
				ContainSubstring("not allowed by its parent Deployment web"), ContainSubstring("spec.replicas")))
			stranger := shared.mallory()
			stranger.change(ctx, d, image("web:2"))
			shared.rolledOut(ctx, d)
			Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:2": 2}))
		}, SpecTimeout(specTimeout))
	})

	DescribeTable("that cannot work is refused by field", func(ctx SpecContext, spec string, fields ...string) {
		p := parsePolicies("metadata: {name: refused}\nspec:\n  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}\n" + spec)[0]
		err := shared.Create(ctx, p, client.DryRunAll)
		Expect(apierrors.IsInvalid(err)).To(BeTrue(), "got: %v", err)
		for _, field := range fields {
			Expect(err).To(MatchError(ContainSubstring(field)))
		}
	},
		Entry("a trigger that is no path", SpecTimeout(specTimeout), `
  rules: [{trigger: "spec..replicas"}]`, "spec.rules[0].trigger"),
		Entry("a condition that is no CEL", SpecTimeout(specTimeout), `
  rules: [{trigger: spec, conditions: ["object.spec.replicas >"]}]`, "spec.rules[0].conditions[0]"),
		Entry("a condition that is not true or false", SpecTimeout(specTimeout), `
  rules: [{trigger: spec, conditions: ["1 + 1"]}]`, "spec.rules[0].conditions[0]"),
		Entry("a capture that is no path", SpecTimeout(specTimeout), `
  rules: [{trigger: spec, capture: ["metadata.annotations["]}]`, "spec.rules[0].capture[0]"),
		Entry("a mutation that is no path", SpecTimeout(specTimeout), `
  rules:
  - trigger: spec
    policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, mutations: [{jsonPath: "spec["}]}]`,
			"spec.rules[0].policies[0].mutations[0].jsonPath"),
		Entry("verbs that there are not", SpecTimeout(specTimeout), `
  rules:
  - trigger: spec
    policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Patch]}]`,
			"spec.rules[0].policies[0]", "verbs"),
		Entry("an external target of a child", SpecTimeout(specTimeout), `
  deleting:
    policies: [{target: {external: {provider: aws}}, relation: ControllerChild}]`, "spec.deleting.policies[0]", "external"),
		Entry("mutations of something external", SpecTimeout(specTimeout), `
  rules:
  - trigger: spec
    policies: [{target: {external: {provider: aws}}, relation: External, verbs: [Update], mutations: [{jsonPath: spec}]}]`,
			"spec.rules[0].policies[0]", "mutations"),
		Entry("a maintaining condition that is no CEL", SpecTimeout(specTimeout), `
  maintaining:
    policies: [{target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create], conditions: ["object."]}]`,
			"spec.maintaining.policies[0].conditions[0]"),
		Entry("an end of initializing that is no CEL", SpecTimeout(specTimeout), `
  initializing: {when: "has("}`, "spec.initializing.when"),
		Entry("a service account without its namespace", SpecTimeout(specTimeout), `
  subjects: [{kind: ServiceAccount, name: x}]`, "spec.subjects[0]", "namespace"),
		Entry("what is said twice", SpecTimeout(specTimeout), `
  subjects: [{kind: User, name: x}, {kind: User, name: x, mayInitiate: true}]
  rules:
  - trigger: spec
    capture: [spec.a, spec.a]
    policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Update, Update]}]`,
			"spec.subjects[1]: Duplicate", "spec.rules[0].capture[1]: Duplicate", "spec.rules[0].policies[0].verbs[1]: Duplicate"),
		Entry("something external without keys or verbs", SpecTimeout(specTimeout), `
  rules:
  - trigger: spec
    policies: [{target: {apiVersion: v1, resource: pods}, relation: External}]`, "spec.rules[0].policies[0]", "target.external", "verbs"),
		Entry("times that are none", SpecTimeout(specTimeout), `
  consumption: {ttl: -1m, maxOpen: 0s}`, "spec.consumption.ttl", "spec.consumption.maxOpen"),
		Entry("an end of allowances that is about something else", SpecTimeout(specTimeout), `
  consumption: {when: oldObject == null}`, "spec.consumption.when", "undeclared reference to 'oldObject'"),
		Entry("a trigger that no change is", SpecTimeout(specTimeout), `
  rules: [{trigger: status.replicas}]`, "spec.rules[0].trigger", "status is what controllers report"),
		Entry("actions that exclude each other", SpecTimeout(specTimeout), `
  validationActions: [Deny, Warn]`, "spec.validationActions", "exclude"),
	)

	It("that names a time which is none is refused with the field, and with what a time is", func(ctx SpecContext) {
		policy := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "refused"},
			"spec": map[string]any{
				"for":         map[string]any{"apiGroup": "apps", "apiVersion": "v1", "kind": "Deployment"},
				"consumption": map[string]any{"ttl": "10 minutes", "maxOpen": "a day"},
			},
		}}
		policy.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("AllowancePolicy"))
		root := shared.as("root", "system:masters")
		Expect(root.Create(ctx, policy.DeepCopy(), client.DryRunAll)).To(MatchError(SatisfyAll(
			ContainSubstring("spec.consumption.ttl: Invalid value"), ContainSubstring("spec.consumption.maxOpen: Invalid value"),
			ContainSubstring("must be a duration, such as 90s, 10m or 1h30m"))))
		Expect(unstructured.SetNestedStringMap(policy.Object, map[string]string{"ttl": "1h30m", "maxOpen": "1.5h"}, "spec", "consumption")).To(Succeed())
		Expect(root.Create(ctx, policy, client.DryRunAll)).To(Succeed())
	}, SpecTimeout(specTimeout))

	DescribeTable("that cannot matter is warned of", func(ctx SpecContext, spec, warning string) {
		p := parsePolicies("metadata: {name: warned}\nspec:\n" + spec)[0]
		who := shared.as("root", "system:masters")
		Expect(who.Create(ctx, p, client.DryRunAll)).To(Succeed())
		Expect(who.warned.take()).To(ContainSubstring(warning))
	},
		Entry("nobody may initiate", SpecTimeout(specTimeout), `
  for: {apiGroup: apps, apiVersion: v1, kind: ReplicaSet}`, "no subject has mayInitiate"),
		Entry("the kind is not served", SpecTimeout(specTimeout), `
  for: {apiGroup: example.org, apiVersion: v1, kind: Nothing}`, "spec.for: Nothing in example.org/v1 is not served"),
		Entry("the kind is not served, and nearly is", SpecTimeout(specTimeout), `
  for: {apiGroup: apps, apiVersion: v1, kind: deployment}`,
			"spec.for: deployment in apps/v1 is not served; the policy waits until it is; did you mean kind Deployment in apps/v1?"),
		Entry("the kind is that of a list", SpecTimeout(specTimeout), `
  for: {apiGroup: apps, apiVersion: v1, kind: DeploymentList}`,
			"spec.for: DeploymentList in apps/v1 is not served; the policy waits until it is; did you mean kind Deployment in apps/v1?"),
		Entry("objects of the kind cannot be listed", SpecTimeout(specTimeout), `
  for: {apiVersion: v1, kind: Binding}`, "spec.for: Binding in v1 cannot be listed and watched"),
		Entry("a target is called by its short name, and without its group", SpecTimeout(specTimeout), `
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  rules:
  - trigger: spec
    policies: [{target: {apiVersion: v1, resource: rs}, relation: ControllerChild}]`,
			"target resource rs in v1 is not served; it is not bounded until it is; did you mean resource replicasets in apps/v1?"),
		Entry("a target is not served", SpecTimeout(specTimeout), `
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  rules:
  - trigger: spec
    policies: [{target: {apiGroup: apps, apiVersion: v1, resource: nothings}, relation: ControllerChild}]`,
			"target resource nothings in apps/v1 is not served"),
		Entry("the parent has no such field", SpecTimeout(specTimeout), `
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  rules: [{trigger: spec.template.spec.containers.image}]`,
			"spec.rules[0].trigger: in kind Deployment, spec.template.spec.containers is a list: name an item of it, "+
				"or all of them by spec.template.spec.containers[*]; it never matches"),
		Entry("a child has no such field, and no policy names its kind yet", SpecTimeout(specTimeout), `
  for: {apiGroup: networking.k8s.io, apiVersion: v1, kind: Ingress}
  rules:
  - trigger: spec.rules[*].host
    policies: [{target: {apiGroup: discovery.k8s.io, apiVersion: v1, resource: endpointslices}, relation: ControllerChild, mutations: [{jsonPath: "endpoints[*].adresses"}]}]`,
			"spec.rules[0].policies[0].mutations[0].jsonPath: in kind EndpointSlice, there is no field endpoints[*].adresses"),
		Entry("a child cannot be owned", SpecTimeout(specTimeout), `
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  deleting: {policies: [{target: {apiVersion: v1, resource: persistentvolumes}, relation: ControllerChild, verbs: [Delete]}]}`,
			"spec.deleting.policies[0].target: PersistentVolume objects are in no namespace"),
		Entry("the controller that makes the children is no subject", SpecTimeout(specTimeout), `
  for: {apiVersion: v1, kind: ReplicationController}
  subjects: [{kind: User, name: replication-controller}]
  rules:
  - trigger: spec.replicas
    policies: [{target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create, Delete]}]`,
			"spec.subjects: ServiceAccount kube-system/replication-controller makes the Pod objects of a ReplicationController, and is no subject"),
		Entry("lost Pods would not be replaced", SpecTimeout(specTimeout), `
  for: {apiGroup: apps, apiVersion: v1, kind: ReplicaSet}
  rules:
  - trigger: spec.replicas
    policies: [{target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create]}]`, "spec.maintaining"),
	)

	It("of the samples has no part that never matches", func(ctx SpecContext) {
		who := shared.as("root", "system:masters")
		for _, p := range slices.Concat(shared.samplePoliciesFor(ctx, "tried"), kindPoliciesFor("tried", "cronjob", "daemonset", "job", "statefulset")) {
			Expect(who.Create(ctx, p, client.DryRunAll)).To(Succeed())
			Expect(who.warned.take()).NotTo(ContainSubstring("never match"), p.Name)
		}
	}, SpecTimeout(specTimeout))

	It("of the specification applies as it is", func(ctx SpecContext) {
		files, err := filepath.Glob(filepath.Join(root, "internal", "policy", "testdata", "spec", "*.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(files).NotTo(BeEmpty())
		for _, file := range files {
			text, err := os.ReadFile(file)
			Expect(err).NotTo(HaveOccurred())
			for _, p := range parsePolicies(string(text)) {
				Expect(shared.Create(ctx, p, client.DryRunAll)).To(Succeed(), file)
			}
		}
	}, SpecTimeout(specTimeout))
})

// What the API server asks the operator.
var _ = Describe("The API server", alone, Ordered, func() {
	It("asks nothing while there are no policies", func(ctx SpecContext) {
		for _, p := range shared.samplePolicies(ctx) {
			Expect(shared.Delete(ctx, p)).To(Succeed())
		}
		DeferCleanup(func(ctx SpecContext) { shared.applySamplePolicies(ctx) })
		Eventually(ctx, func(g Gomega) {
			var mutating admissionregistrationv1.MutatingWebhookConfigurationList
			var protecting admissionregistrationv1.MutatingAdmissionPolicyList
			var validating admissionregistrationv1.ValidatingWebhookConfigurationList
			g.Expect(shared.List(ctx, &mutating)).To(Succeed())
			g.Expect(shared.List(ctx, &protecting)).To(Succeed())
			g.Expect(shared.List(ctx, &validating)).To(Succeed())
			g.Expect(mutating.Items).To(ConsistOf(
				HaveField("Name", "kausality-mutating-webhook-configuration"),
				SatisfyAll(HaveField("Name", interception.CausesName("")), HaveField("Webhooks", ConsistOf(
					HaveField("Rules", ConsistOf(HaveField("Resources", ConsistOf("generatingpolicies"))))))),
			), "only the webhooks that stamp UpgradeAllowances and GeneratingPolicies are left")
			g.Expect(protecting.Items).To(BeEmpty())
			g.Expect(validating.Items).To(ConsistOf(HaveField("Name", "kausality-validating-webhook-configuration")),
				"only the webhook for policies is left")
		}).WithTimeout(effectTimeout).Should(Succeed())

		By("rolling out as if there was no operator")
		ns := shared.newNamespace(ctx)
		d := shared.mallory().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		shared.mallory().change(ctx, d, image("web:2"))
		shared.complete(ctx, d, "2")
		Expect(shared.records(ctx, Default, d)).To(BeEmpty())
	}, SpecTimeout(specTimeout))
})
