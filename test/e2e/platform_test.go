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
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// Who keeps the cluster alive is never caused by a parent: what they do passes and
// is recorded, whatever policies say (D3).
var _ = Describe("Platform actors", func() {
	It("evict the Pods of a tainted node, and those are replaced", func(ctx SpecContext) {
		ns := shared.newNamespaceFor(ctx, "tainted")
		shared.apply(ctx, ownPolicy("tainted", "apps", "ReplicaSet", `
  maintaining:
    policies:
    - {target: {apiGroup: "", apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create]}
`))

		By("running a Pod on a node of its own")
		node, place := dedicatedNode(ctx, ns)
		keepOthersAway := node.Spec.Taints[0]
		d := builders.MakeDeployment(ns, "web").Obj()
		rs := &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"},
			Spec:       appsv1.ReplicaSetSpec{Replicas: new(int32(1)), Selector: d.Spec.Selector, Template: d.Spec.Template},
		}
		place(&rs.Spec.Template.Spec)
		Expect(shared.alice().Create(ctx, rs)).To(Succeed())
		ready := func() {
			GinkgoHelper()
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(rs), rs)).To(Succeed())
				g.Expect(rs.Status.ReadyReplicas).To(BeEquivalentTo(1))
				g.Expect(rs.Annotations).NotTo(HaveKey(ledgerKey))
			}).Should(Succeed())
		}
		ready()
		audit := shared.watch(ns)
		before := shared.anyPod(ctx, ns)

		By("tainting the node")
		taint := func(taints ...corev1.Taint) {
			GinkgoHelper()
			Expect(shared.Get(ctx, client.ObjectKeyFromObject(node), node)).To(Succeed())
			base := node.DeepCopy()
			node.Spec.Taints = taints
			Expect(shared.Patch(ctx, node, client.MergeFrom(base))).To(Succeed())
		}
		taint(corev1.Taint{Key: dedicated, Value: ns, Effect: corev1.TaintEffectNoExecute})
		Eventually(ctx, func() error { return shared.Get(ctx, client.ObjectKeyFromObject(before), &corev1.Pod{}) }).
			Should(MatchError(apierrors.IsNotFound, "not found"))
		taint(keepOthersAway)
		ready()
		gone := audit.writes(controlplane.OfResource("", "pods"), controlplane.OnObject(ns, before.Name), controlplane.ByVerb("delete"), controlplane.Succeeded)
		// The node deletes it, too, once it is being deleted.
		Expect(gone).To(ContainElement(HaveField("Annotations",
			SatisfyAll(HaveKeyWithValue(auditReason, "Platform"), HaveKeyWithValue(auditParent, "ReplicaSet/web")))))
		Expect(audit.refusals()).To(BeEmpty())
	}, SpecTimeout(specTimeout))

	It("remove Jobs that are over", func(ctx SpecContext) {
		ns := shared.newNamespaceFor(ctx, "expired")
		shared.apply(ctx, ownPolicy("expired", "batch", "CronJob", `
  initializing:
    policies:
    - {target: {apiGroup: batch, apiVersion: v1, resource: jobs}, relation: ControllerChild, verbs: [Create]}
`))
		cron := builders.MakeCronJob(ns, "report", "0 0 1 1 *")
		Expect(shared.alice().Create(ctx, cron)).To(Succeed())
		job := builders.MakeJob(ns, "report", 1, 1)
		job.Spec.TTLSecondsAfterFinished = new(int32(1))
		job.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: cron.Name, UID: cron.UID, Controller: new(true)}}
		audit := shared.watch(ns)
		Expect(shared.alice().Create(ctx, job)).To(Succeed())
		Expect(shared.mallory().Delete(ctx, job)).To(MatchError(denied, "denied"))
		Eventually(ctx, func() error { return shared.Get(ctx, client.ObjectKeyFromObject(job), job) }).
			Should(MatchError(apierrors.IsNotFound, "not found"))
		gone := audit.writes(controlplane.OfResource("batch", "jobs"), controlplane.ByVerb("delete"), controlplane.Succeeded)
		Expect(gone).NotTo(BeEmpty())
		Expect(gone[0].Annotations).To(HaveKeyWithValue(auditReason, "Platform"))
	}, SpecTimeout(specTimeout))
})

// A custom resource says where its scale is, and anybody may be named who scales it.
var _ = Describe("The scale of a custom resource", func() {
	It("is set by the autoscaler that the policy names, and by nobody else", func(ctx SpecContext) {
		group := shared.defineThings(ctx, scalable)
		ns := shared.newNamespaceFor(ctx, "scaled")
		p := thingPolicy(group, "scaled-"+group)
		p.Spec.Subjects = parsePolicies(`
apiVersion: kausality.io/v1alpha1
kind: AllowancePolicy
metadata: {name: subjects}
spec:
  for: {apiGroup: "", apiVersion: v1, kind: ConfigMap}
  subjects: [{kind: ServiceAccount, namespace: keda, name: keda-operator, mayInitiate: true}, {kind: ServiceAccount, namespace: default, name: things}]
`)[0].Spec.Subjects
		p.Spec.Consumption = parsePolicies(`
apiVersion: kausality.io/v1alpha1
kind: AllowancePolicy
metadata: {name: consumption}
spec:
  for: {apiGroup: "", apiVersion: v1, kind: ConfigMap}
  consumption: {when: "object.status.size == object.spec.size"}
`)[0].Spec.Consumption
		shared.apply(ctx, p)
		thing := builders.MakeThing(group, ns, "web")
		thing.Object["spec"] = map[string]any{"size": int64(1)}
		Expect(shared.Create(ctx, thing)).To(Succeed())
		report := func(size int) {
			GinkgoHelper()
			status := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"status":{"size":%d}}`, size))
			Expect(shared.Status().Patch(ctx, thing, status)).To(Succeed())
			shared.over(ctx, thing)
		}
		report(1)
		child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web", OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(thing, thing.GroupVersionKind()),
		}}}
		controller := shared.as("system:serviceaccount:default:things", "system:serviceaccounts", "system:masters")
		Expect(controller.Create(ctx, child.DeepCopy())).To(MatchError(denied, "denied"))

		By("scaling without the right to")
		size := func(who *actor, n int) error {
			return who.SubResource("scale").Patch(ctx, thing.DeepCopy(), client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n)))
		}
		refused(size(shared.as(mallory, "system:masters"), 2), "spec.size of Thing web was refused", "ServiceAccount keda/keda-operator may")

		By("scaling as an autoscaler")
		Expect(size(shared.as("system:serviceaccount:keda:keda-operator", "system:serviceaccounts", "system:masters"), 3)).To(Succeed())
		audit := shared.watch(ns)
		Expect(controller.Create(ctx, child)).To(Succeed())
		Expect(audit.tracesOf(controlplane.OfResource("", "configmaps"))).To(ContainElement(SatisfyAll(
			HavePrefix("system:serviceaccount:keda:keda-operator "), ContainSubstring("spec.size"))))
		report(3)
		Expect(controller.Delete(ctx, child)).To(MatchError(denied, "denied"))
	}, SpecTimeout(specTimeout))
})

// scalable makes the scale of Things their size.
func scalable(definition *apiextensionsv1.CustomResourceDefinition) {
	definition.Spec.Versions[0].Subresources.Scale = scaleAt(".spec.size")
}
