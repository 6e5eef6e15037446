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
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/crossplane/provider/apis/instance"
	"kausality.io/operator/test/stage"
)

// closingGroup is the group of the databases whose gates are closed.
const closingGroup = "closing.example.org"

// closingPolicies let the platform team have claims and databases, and resize them.
const closingPolicies = `
metadata: {name: claim.GROUP}
spec:
  for: {apiGroup: GROUP, apiVersion: v1alpha1, kind: DatabaseClaim}
  failurePolicy: Fail
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, namespace: crossplane-system, name: crossplane}
  initializing:
    policies:
    - target: {apiGroup: GROUP, apiVersion: v1alpha1, resource: xdatabases}
      relation: ControllerChild
      verbs: [Create]
      mutations: [{jsonPath: "*"}]
  rules:
  - trigger: spec.size
    conditions: ["has(object.metadata.annotations['jira'])"]
    capture: ["metadata.annotations[jira]"]
    policies:
    - target: {apiGroup: GROUP, apiVersion: v1alpha1, resource: xdatabases}
      relation: ControllerChild
      verbs: [Update]
      mutations: [{jsonPath: spec.size, verbs: [Mutate]}]
---
metadata: {name: composite.GROUP}
spec:
  for: {apiGroup: GROUP, apiVersion: v1alpha1, kind: XDatabase}
  failurePolicy: Fail
  subjects:
  - {kind: ServiceAccount, namespace: crossplane-system, name: crossplane}
  initializing:
    policies:
    - target: {apiGroup: rds.aws.crossplane.io, apiVersion: v1alpha1, resource: rdsinstances}
      relation: ControllerChild
      verbs: [Create]
      mutations: [{jsonPath: "*"}]
    - target: {external: {provider: provider-aws}}
      relation: External
      verbs: [Create]
  rules:
  - trigger: spec.size
    policies:
    - target: {apiGroup: rds.aws.crossplane.io, apiVersion: v1alpha1, resource: rdsinstances}
      relation: ControllerChild
      verbs: [Update]
      mutations: [{jsonPath: spec.forProvider.instanceClass, verbs: [Mutate]}]
    - target: {external: {provider: provider-aws, kind: RDSInstance}}
      relation: External
      verbs: [Update]
---
metadata: {name: database.GROUP}
spec:
  for: {apiGroup: GROUP, apiVersion: v1alpha1, kind: Database}
  failurePolicy: Fail
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, namespace: crossplane-system, name: crossplane}
  initializing:
    policies:
    - target: {apiGroup: rds.aws.m.crossplane.io, apiVersion: v1alpha1, resource: rdsinstances}
      relation: ControllerChild
      verbs: [Create]
      mutations: [{jsonPath: "*"}]
    - target: {external: {provider: provider-aws}}
      relation: External
      verbs: [Create]
  rules:
  - trigger: spec.size
    policies:
    - target: {apiGroup: rds.aws.m.crossplane.io, apiVersion: v1alpha1, resource: rdsinstances}
      relation: ControllerChild
      verbs: [Update]
      mutations: [{jsonPath: spec.forProvider.instanceClass, verbs: [Mutate]}]
    - target: {external: {provider: provider-aws}}
      relation: External
      verbs: [Update]
`

// The sets of management policies of a gate, as they are written.
const (
	observing = "Observe,LateInitialize"
	updating  = "Observe,Update,LateInitialize"
)

// operatorUser is the user name of the operator.
var operatorUser = serviceaccount.MakeUsername(controlplane.OperatorNamespace, "kausality-controller-manager")

// byOperator wants requests of the operator.
func byOperator(event *auditv1.Event) bool { return stage.UserOf(event) == operatorUser }

// gatedInstance is a database with the instance that it is composed of.
type gatedInstance struct {
	database, composite, instance *unstructured.Unstructured
	by                            *stage.Actor
}

// provision has the platform team create a database, whose provider has the given
// traits, and returns when its gate has closed.
func provision(ctx context.Context, kind, traits string) *gatedInstance {
	GinkgoHelper()
	i := &gatedInstance{by: shared.As(stage.AliceName, stage.PlatformTeam, "system:masters")}
	i.database = database(closingGroup, kind, shared.MakeNamespace(ctx, nil), "main", medium)
	i.database.SetAnnotations(map[string]string{"jira": "INFRA-1"})
	if traits != "" {
		i.database.SetAnnotations(map[string]string{"jira": "INFRA-1", instance.TraitsAnnotation: traits})
	}
	Expect(i.by.Create(ctx, i.database)).To(Succeed())
	i.composite = i.database
	if kind == claimKind {
		i.composite = shared.compositeOf(ctx, i.database)
	}
	i.instance = shared.instanceOf(ctx, i.composite, "instance")
	shared.has(ctx, i.instance, medium)
	i.closed(ctx)
	return i
}

// resize asks for a size as who may.
func (i *gatedInstance) resize(ctx context.Context, size string) {
	GinkgoHelper()
	Expect(i.by.Patch(ctx, i.database, resize(size))).To(Succeed())
}

// gate is how the gate of the instance is set.
func (i *gatedInstance) gate(ctx context.Context, g Gomega) string {
	g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(i.instance), i.instance)).To(Succeed())
	policies, _, err := unstructured.NestedStringSlice(i.instance.Object, "spec", "managementPolicies")
	g.Expect(err).NotTo(HaveOccurred())
	return strings.Join(policies, ",")
}

// closed waits until the gate is closed, and nothing is left that would open it.
func (i *gatedInstance) closed(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(i.gate(ctx, g)).To(Equal(observing))
		g.Expect(i.instance.GetAnnotations()).NotTo(HaveKey(v1alpha1.AnnotationAllowances))
		g.Expect(condition(i.instance, v1alpha1.ConditionGate)).To(And(HaveKeyWithValue("reason", "Closed"), HaveKeyWithValue("status", "False")))
	}).WithTimeout(time.Minute).Should(Succeed())
}

// mutated waits until these, and no other changes, have reached the cloud.
func (i *gatedInstance) mutated(ctx context.Context, verbs ...cloud.Verb) {
	GinkgoHelper()
	Eventually(ctx, func() []cloud.Verb { return shared.calls(ctx, i.instance).Mutations().Verbs() }).WithTimeout(time.Minute).Should(Equal(verbs))
}

var _ = Describe("The controller of gates", Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		shared.offer(ctx, closingGroup)
		shared.Apply(ctx, stage.ParsePolicies(strings.ReplaceAll(closingPolicies, "GROUP", closingGroup))...)
	}, NodeTimeout(specTimeout))

	DescribeTable("closes the gate once the cloud has what was allowed",
		func(ctx SpecContext, kind, trace string) {
			i := provision(ctx, kind, "")
			i.mutated(ctx, cloud.Create)
			shared.quiet(ctx, i.composite, i.instance)

			By("changing it")
			audit := shared.Watch()
			i.resize(ctx, large)
			shared.has(ctx, i.instance, large)
			i.closed(ctx)
			shared.quiet(ctx, i.composite, i.instance)
			i.mutated(ctx, cloud.Create, cloud.Update)
			Expect(len(changes(audit, i.instance))).To(BeNumerically("<=", 2*mostInstanceWrites))
			Expect(len(changes(audit, i.composite))).To(BeNumerically("<=", 2*mostCompositeWrites))

			By("reading what became of it")
			Eventually(ctx, func(g Gomega) {
				status := shared.Record(ctx, g, i.instance).Status
				g.Expect(status.Active).To(BeEmpty())
				var consumed []string
				for _, e := range status.History {
					if e.Event == v1alpha1.EventConsumed {
						consumed = append(consumed, causeOf(e.Initiator, e.Trace))
					}
				}
				g.Expect(consumed).To(ContainElement(MatchRegexp(trace)))
			}).Should(Succeed())

			By("changing the cloud behind its back")
			Expect(shared.cloud().Drift(ctx, i.instance.GetName(), cloud.Parameters{"instanceClass": "db.t3.nano"})).To(Succeed())
			audit = shared.Watch()
			Consistently(ctx, func() []cloud.Verb { return shared.calls(ctx, i.instance).Mutations().Verbs() }).
				WithTimeout(2*poll + time.Second).Should(HaveLen(2))
			Expect(audit.Writes(ofAny(i.instance, i.composite), byOperator)).To(BeEmpty(), "a resting system is written to")
		},
		Entry("of a claim", SpecTimeout(specTimeout), claimKind,
			`^alice DatabaseClaim/main spec.size XDatabase/\S+ spec.size RDSInstance/\S+ spec.forProvider.instanceClass$`),
		Entry("of a namespaced composite resource", SpecTimeout(specTimeout), databaseKind,
			`^alice Database/main spec.size RDSInstance/\S+ spec.forProvider.instanceClass$`),
	)
})

// causeOf says who caused something, and the way to it.
func causeOf(initiator string, trace []v1alpha1.TraceHop) string {
	words := []string{initiator}
	for _, hop := range trace {
		words = append(words, hop.Kind+"/"+hop.Name, hop.Field)
	}
	return strings.Join(words, " ")
}
