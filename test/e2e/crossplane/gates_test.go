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
	"encoding/json"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/stage"
)

// gatedDatabases lets the platform team have databases, and resize them: only what
// follows from that reaches the cloud.
const gatedDatabases = `
metadata: {name: GROUP}
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
      mutations: [{jsonPath: spec}]
    - target: {external: {provider: provider-aws, kind: RDSInstance}}
      relation: External
      verbs: [Create]
  rules:
  - trigger: spec.size
    policies:
    - target: {apiGroup: rds.aws.m.crossplane.io, apiVersion: v1alpha1, resource: rdsinstances}
      relation: ControllerChild
      mutations: [{jsonPath: spec.forProvider.instanceClass}]
    - target: {external: {provider: provider-aws}}
      relation: External
      verbs: [Update]
`

// twoLooks is longer than the provider takes to look at the cloud twice.
const twoLooks = 2*poll + time.Second

var _ = Describe("A gate", func() {
	DescribeTable("lets through what was allowed, and nothing else", func(ctx SpecContext, group, policies string) {
		shared.offer(ctx, group, limitedBy(policies))
		shared.Apply(ctx, stage.ParsePolicies(strings.ReplaceAll(gatedDatabases, "GROUP", group))...)
		ns := shared.MakeNamespace(ctx, nil)
		alice, mallory := shared.initiator(), shared.As(stage.MalloryName, "system:masters")
		audit := shared.Watch()

		By("creating it")
		db := database(group, databaseKind, ns, "main", medium)
		Expect(alice.Create(ctx, db)).To(Succeed())
		instance := shared.instanceOf(ctx, db, "instance")
		shared.has(ctx, instance, medium)
		shared.Becomes(ctx, db, "Synced", "Ready")
		Expect(gateAt(ctx, audit, instance, medium)).To(Equal(stage.Opening{
			Policies: "Create,LateInitialize,Observe",
			Trace:    "alice: Database/main (created), RDSInstance/" + instance.GetName() + " (created)",
		}))

		By("changing it as who may")
		shared.quiet(ctx, db, instance)
		audit = shared.Watch()
		Expect(alice.Patch(ctx, db, resize(large))).To(Succeed())
		shared.has(ctx, instance, large)
		opened := gateAt(ctx, audit, instance, large)
		Expect(opened.Policies).To(ContainSubstring("Update"))
		Expect(opened.Trace).To(Equal("alice: Database/main spec.size, RDSInstance/" + instance.GetName() + " spec.forProvider.instanceClass"))
		shared.quiet(ctx, db, instance)
		Expect(shared.calls(ctx, instance).Mutations().Verbs()).To(Equal([]cloud.Verb{cloud.Create, cloud.Update}))

		By("changing it in all the other ways")
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(instance), instance)).To(Succeed())
		before := instance.DeepCopy()
		Expect(mallory.Patch(ctx, db, resize("db.t3.xlarge"))).To(Succeed())
		Expect(mallory.Warned.Take()).To(ContainSubstring("withheld"))
		Expect(mallory.Patch(ctx, instance, merge(`{"spec":{"forProvider":{"instanceClass":"db.t3.micro"}}}`))).
			To(MatchError(stage.Denied, "denied"))
		mallory.Warned.Take()
		Expect(mallory.Patch(ctx, instance, merge(`{"spec":{"managementPolicies":["*"]}}`))).To(Succeed())
		Expect(mallory.Warned.Take()).To(ContainSubstring("what this request says of spec.managementPolicies of RDSInstance " + instance.GetName() + " counts for nothing"))
		put := instance.DeepCopy()
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(instance), put)).To(Succeed())
		Expect(unstructured.SetNestedSlice(put.Object, []any{}, "spec", "managementPolicies")).To(Succeed())
		Expect(mallory.Update(ctx, put)).To(Succeed())
		Expect(mallory.Patch(ctx, instance, merge(`{"metadata":{"annotations":{"kausality.io/gate-content":null,"`+stage.LedgerKey(instance)+`":"[]"}}}`))).To(Succeed())
		Expect(shared.cloud().Drift(ctx, instance.GetName(), cloud.Parameters{"instanceClass": "db.t3.nano"})).To(Succeed())
		Consistently(ctx, func(g Gomega) {
			g.Expect(shared.calls(ctx, instance).Mutations().Verbs()).To(Equal([]cloud.Verb{cloud.Create, cloud.Update}))
		}).WithTimeout(twoLooks).Should(Succeed())
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(instance), instance)).To(Succeed())
		Expect(instance.GetGeneration()).To(Equal(before.GetGeneration()), "the field flaps")
		Expect(instance.Object["spec"]).To(Equal(before.Object["spec"]))
		for _, key := range []string{v1alpha1.AnnotationGateContent, v1alpha1.AnnotationGateCeiling, stage.LedgerKey(instance)} {
			Expect(instance.GetAnnotations()[key]).To(Equal(before.GetAnnotations()[key]), key)
		}

		By("deleting it as the garbage collector does")
		collector := shared.collector()
		Expect(collector.Delete(ctx, instance, client.DryRunAll)).To(Succeed())
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(instance), instance)).To(Succeed())
		Expect(instance.GetAnnotations()).NotTo(HaveKey("crossplane.io/paused"))
		Expect(collector.Delete(ctx, instance)).To(Succeed())
		Consistently(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(instance), instance)).To(Succeed())
			g.Expect(instance.GetDeletionTimestamp()).NotTo(BeNil())
			g.Expect(instance.GetAnnotations()).To(And(
				HaveKeyWithValue("crossplane.io/paused", "true"),
				HaveKeyWithValue(v1alpha1.AnnotationGateHeld, ContainSubstring("generic-garbage-collector"))))
			g.Expect(shared.calls(ctx, instance).Of(cloud.Delete)).To(BeEmpty())
		}).WithTimeout(quietMoment).Should(Succeed())
		Expect(mallory.Patch(ctx, instance, merge(`{"metadata":{"annotations":{"crossplane.io/paused":null,"kausality.io/gate-held":null}}}`))).To(Succeed())
		Expect(instance.GetAnnotations()).To(HaveKeyWithValue("crossplane.io/paused", "true"))
	},
		Entry("of a template that says nothing", SpecTimeout(specTimeout), "gates.example.org", ""),
		Entry("of a template with policies of its own", SpecTimeout(specTimeout), "ceilings.example.org", `["Observe","Create","Update","LateInitialize"]`),
	)
})

func merge(text string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(text)) }

// orphan lets an instance go without what it is in the cloud.
func orphan() client.Patch {
	return merge(`{"metadata":{"annotations":{"` + v1alpha1.AnnotationOrphan + `":"true"}}}`)
}

// collector returns the garbage collector.
func (w *world) collector() *stage.Actor {
	return w.As("system:serviceaccount:kube-system:generic-garbage-collector", "system:masters")
}

// gateAt returns how the gate was set by the write that gave an instance its size. The provider may have acted on
// that before the API server has written it into its audit log.
func gateAt(ctx context.Context, audit stage.Witness, instance *unstructured.Unstructured, size string) stage.Opening {
	GinkgoHelper()
	var opening stage.Opening
	Eventually(ctx, func(g Gomega) {
		writes := audit.Writes(controlplane.Succeeded, stage.OfAny(instance), func(event *auditv1.Event) bool {
			return event.ObjectRef.Subresource == "" && event.ObjectRef.Resource == "rdsinstances"
		})
		at := slices.IndexFunc(writes, func(event auditv1.Event) bool {
			written := &unstructured.Unstructured{}
			g.Expect(json.Unmarshal(event.ResponseObject.Raw, written)).To(Succeed())
			class, _, _ := unstructured.NestedString(written.Object, "spec", "forProvider", "instanceClass")
			opening = stage.OpeningOf(written)
			return class == size
		})
		g.Expect(at).To(BeNumerically(">=", 0), "no write of the audit log gives RDSInstance %s its size", instance.GetName())
	}).Should(Succeed())
	return opening
}
