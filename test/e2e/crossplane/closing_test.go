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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
  deleting:
    policies:
    - target: {apiGroup: GROUP, apiVersion: v1alpha1, resource: xdatabases}
      relation: ControllerChild
      verbs: ["*"]
    - target: {external: {provider: provider-aws}}
      relation: External
      verbs: [Delete]
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
  deleting:
    policies:
    - target: {apiGroup: rds.aws.crossplane.io, apiVersion: v1alpha1, resource: rdsinstances}
      relation: ControllerChild
      verbs: ["*"]
    - target: {external: {provider: provider-aws}}
      relation: External
      verbs: [Delete]
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

// operatorUser is the user name of the operator.
var operatorUser = serviceaccount.MakeUsername(controlplane.OperatorNamespace, "kausality-controller-manager")

// byOperator wants requests of the operator.
func byOperator(event *auditv1.Event) bool { return stage.UserOf(event) == operatorUser }

// closeGatesOf offers databases of a group, whose gates are closed.
// Edits are of what defines them, and of what they are composed of.
func closeGatesOf(ctx context.Context, group string, edits ...func(*unstructured.Unstructured)) {
	GinkgoHelper()
	shared.offer(ctx, group, edits...)
	shared.Apply(ctx, stage.ParsePolicies(strings.ReplaceAll(closingPolicies, "GROUP", group))...)
}

// gatedInstance is a database with the instance that it is composed of.
type gatedInstance struct {
	database, composite, instance *unstructured.Unstructured
	by                            *stage.Actor
}

// provision has the platform team create a database, whose provider has the given
// traits, and returns when its gate has closed.
func provision(ctx context.Context, group, kind, traits string) *gatedInstance {
	GinkgoHelper()
	db := database(group, kind, shared.MakeNamespace(ctx, nil), "main", medium)
	db.SetAnnotations(map[string]string{"jira": "INFRA-1"})
	if traits != "" {
		db.SetAnnotations(map[string]string{"jira": "INFRA-1", instance.TraitsAnnotation: traits})
	}
	return provisioned(ctx, db)
}

// provisioned has the platform team create a database, and returns when its gate has
// closed.
func provisioned(ctx context.Context, db *unstructured.Unstructured) *gatedInstance {
	GinkgoHelper()
	i := &gatedInstance{database: db, by: shared.initiator()}
	Expect(i.by.Create(ctx, i.database)).To(Succeed())
	i.composite = i.database
	if db.GetKind() == claimKind {
		i.composite = shared.CompositeOf(ctx, i.database)
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

// gate returns how the gate of the instance is set.
func (i *gatedInstance) gate(ctx context.Context, g Gomega) string {
	g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(i.instance), i.instance)).To(Succeed())
	return stage.PoliciesOf(i.instance)
}

// closed waits until the gate is closed, and nothing is left that would open it.
func (i *gatedInstance) closed(ctx context.Context) {
	GinkgoHelper()
	shared.Closed(ctx, i.instance, i.shut())
}

// mutated waits until these, and no other changes, have reached the cloud.
func (i *gatedInstance) mutated(ctx context.Context, verbs ...cloud.Verb) {
	GinkgoHelper()
	Eventually(ctx, func() []cloud.Verb { return shared.calls(ctx, i.instance).Mutations().Verbs() }).WithTimeout(time.Minute).Should(Equal(verbs))
}

var _ = Describe("The controller of gates", Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		closeGatesOf(ctx, closingGroup)
	}, NodeTimeout(specTimeout))

	DescribeTable("closes the gate once the cloud has what was allowed",
		func(ctx SpecContext, kind, trace string) {
			i := provision(ctx, closingGroup, kind, "")
			i.mutated(ctx, cloud.Create)
			shared.quiet(ctx, i.composite, i.instance)

			By("changing it")
			before, above := shared.current(ctx, i.instance), shared.current(ctx, i.composite)
			audit := shared.Watch()
			i.resize(ctx, large)
			shared.has(ctx, i.instance, large)
			i.closed(ctx)
			shared.quiet(ctx, i.composite, i.instance)
			i.mutated(ctx, cloud.Create, cloud.Update)
			Expect(len(changes(audit, before))).To(BeNumerically("<=", 2*mostInstanceWrites))
			Expect(len(changes(audit, above))).To(BeNumerically("<=", 2*mostCompositeWrites))

			By("reading what became of it")
			Eventually(ctx, func(g Gomega) {
				status := shared.Record(ctx, g, i.instance).Status
				g.Expect(status.Active).To(BeEmpty())
				g.Expect(stage.ConsumedOf(status)).To(ContainElement(MatchRegexp(trace)))
			}).Should(Succeed())

			By("changing the cloud behind its back")
			Expect(shared.cloud().Drift(ctx, i.instance.GetName(), cloud.Parameters{"instanceClass": "db.t3.nano"})).To(Succeed())
			audit = shared.Watch()
			Consistently(ctx, func() []cloud.Verb { return shared.calls(ctx, i.instance).Mutations().Verbs() }).
				WithTimeout(2*poll + time.Second).Should(HaveLen(2))
			Expect(audit.Writes(stage.OfAny(i.instance, i.composite), byOperator)).To(BeEmpty(), "a resting system is written to")
		},
		Entry("of a claim", SpecTimeout(specTimeout), claimKind,
			`^alice DatabaseClaim/main spec.size XDatabase/\S+ spec.size RDSInstance/\S+ spec.forProvider.instanceClass$`),
		Entry("of a namespaced composite resource", SpecTimeout(specTimeout), databaseKind,
			`^alice Database/main spec.size RDSInstance/\S+ spec.forProvider.instanceClass$`),
	)

	DescribeTable("keeps the gate open until the cloud is done, whatever the provider says meanwhile",
		func(ctx SpecContext, traits string, fault cloud.Fault, verbs ...cloud.Verb) {
			i := provision(ctx, closingGroup, databaseKind, traits)
			fault.Name, fault.Verb, fault.Times = i.instance.GetName(), cloud.Update, 1
			Expect(shared.cloud().Inject(ctx, fault)).To(Succeed())
			i.resize(ctx, large)
			Eventually(ctx, func(g Gomega) { g.Expect(i.gate(ctx, g)).To(ContainSubstring("Update")) }).Should(Succeed())
			i.closed(ctx)
			calls := shared.calls(ctx, i.instance).Mutations()
			Expect(calls[len(calls)-1].Outcome).To(Equal(cloud.Done), "closed while the cloud was at work")
			Expect(calls.Verbs()).To(Equal(verbs))
			shared.has(ctx, i.instance, large)
		},
		Entry("an asynchronous one that announces it", SpecTimeout(specTimeout),
			string(instance.Async), slow, cloud.Create, cloud.Update),
		Entry("an asynchronous one that tells afterwards", SpecTimeout(specTimeout),
			string(instance.AsyncLate), slow, cloud.Create, cloud.Update),
		Entry("an asynchronous one that says nothing", SpecTimeout(specTimeout),
			string(instance.AsyncSilent), slow, cloud.Create, cloud.Update),
		Entry("one that says that it is done before it begins", SpecTimeout(specTimeout),
			string(instance.SyncedEarly), brief, cloud.Create, cloud.Update),
		Entry("one whose conditions say no generation", SpecTimeout(specTimeout),
			string(instance.NoGeneration), brief, cloud.Create, cloud.Update),
		Entry("an asynchronous one that says nothing, and does not show what the cloud has", SpecTimeout(specTimeout),
			instance.Annotation(instance.AsyncSilent, instance.NoObservation), slow, cloud.Create, cloud.Update),
		Entry("one that fills in what the cloud has chosen", SpecTimeout(specTimeout),
			string(instance.LateInit), brief, cloud.Create, cloud.Update),
		Entry("one that fails at first", SpecTimeout(specTimeout),
			"", cloud.Fault{Outcome: cloud.Refused, Delay: brief.Delay}, cloud.Create, cloud.Update, cloud.Update),
	)

	It("carries out two changes in a row", func(ctx SpecContext) {
		i := provision(ctx, closingGroup, databaseKind, string(instance.Async))
		Expect(shared.cloud().Inject(ctx, cloud.Fault{Name: i.instance.GetName(), Delay: slow.Delay, Times: 1})).To(Succeed())
		i.resize(ctx, large)
		i.resize(ctx, "db.t3.xlarge")
		shared.has(ctx, i.instance, "db.t3.xlarge") // the gate is closed before it is opened, too
		i.closed(ctx)
		Expect(shared.calls(ctx, i.instance).Of(cloud.Update)).To(HaveEach(HaveField("Outcome", cloud.Done)))
	}, SpecTimeout(specTimeout))

	It("carries out a change that is taken back while a silent provider works on it", func(ctx SpecContext) {
		i := provision(ctx, closingGroup, databaseKind, string(instance.AsyncSilent))
		Expect(shared.cloud().Inject(ctx, cloud.Fault{Name: i.instance.GetName(), Verb: cloud.Update, Delay: slow.Delay, Times: 1})).To(Succeed())
		i.resize(ctx, large)
		Eventually(ctx, func() cloud.Calls { return shared.calls(ctx, i.instance).Of(cloud.Update).With(cloud.Pending) }).
			WithPolling(20 * time.Millisecond).Should(HaveLen(1))
		i.resize(ctx, medium)
		shared.sized(ctx, i.instance, medium)
		i.closed(ctx)
		shared.has(ctx, i.instance, medium)
		i.mutated(ctx, cloud.Create, cloud.Update, cloud.Update)
	}, SpecTimeout(specTimeout))

	It("holds deletions back until they are allowed, or what is outside is to stay", func(ctx SpecContext) {
		i := provision(ctx, closingGroup, databaseKind, "")
		By("deleting what no policy lets take the cloud along")
		Expect(shared.collector().Delete(ctx, i.instance)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(i.instance), i.instance)).To(Succeed())
			g.Expect(stage.Condition(i.instance, v1alpha1.ConditionGate)).To(HaveKeyWithValue("reason", "Held"))
		}).Should(Succeed())
		out, err := i.by.RunKubectl(ctx, "get", "events", "-n", i.instance.GetNamespace(), "-o", "jsonpath={.items[*].reason}")
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(out).To(ContainSubstring("DeletionHeld"))

		By("letting it go")
		stranger := shared.As(stage.MalloryName, "system:masters")
		Expect(stranger.Patch(ctx, i.instance.DeepCopy(), orphan())).To(Succeed())
		Consistently(ctx, func() error {
			return shared.Get(ctx, client.ObjectKeyFromObject(i.instance), i.instance)
		}).WithTimeout(quietMoment).Should(Succeed(), "a stranger let it go")
		Expect(i.by.Patch(ctx, i.instance.DeepCopy(), orphan())).To(Succeed())
		Eventually(ctx, func() bool {
			fresh := i.instance.DeepCopy()
			return apierrors.IsNotFound(shared.Get(ctx, client.ObjectKeyFromObject(fresh), fresh)) || fresh.GetUID() != i.instance.GetUID()
		}).Should(BeTrue())
		Expect(shared.calls(ctx, i.instance).Of(cloud.Delete)).To(BeEmpty())

		By("deleting a claim, whose policies let it take the cloud along")
		claim := provision(ctx, closingGroup, claimKind, "")
		Expect(claim.by.Delete(ctx, claim.database)).To(Succeed())
		shared.Gone(ctx, claim.database, claim.composite, claim.instance)
		claim.mutated(ctx, cloud.Create, cloud.Delete)
	}, SpecTimeout(specTimeout))
})

// What the cloud does to the change of an instance: it takes longer than a provider
// waits, or not so long.
var (
	slow  = cloud.Fault{Delay: cloud.Duration(3 * time.Second)}
	brief = cloud.Fault{Delay: cloud.Duration(500 * time.Millisecond)}
)
