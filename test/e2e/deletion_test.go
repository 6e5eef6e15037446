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
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// collector is the garbage collector.
const collector = "system:serviceaccount:kube-system:generic-garbage-collector"

// Whoever deletes the root has deleted what goes with it, however that comes about
// and at whatever depth (D9).
var _ = Describe("The deletion of a Deployment", func() {
	var (
		ns    string
		audit witness
		owner *actor
		rogue *actor
	)
	BeforeEach(func(ctx SpecContext) {
		ns = shared.newNamespace(ctx)
		audit = shared.watch(ns)
		owner, rogue = shared.alice(), shared.mallory()
	})

	// remove deletes the Deployment with kubectl, after a dry run of the same that
	// leaves no trace.
	remove := func(ctx context.Context, d *appsv1.Deployment, cascade string) {
		GinkgoHelper()
		args := []string{"delete", "deployment", d.Name, "--namespace=" + ns, "--cascade=" + cascade}
		out, err := owner.kubectl(ctx, append(args, "--dry-run=server")...)
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(shared.recorded(ctx, d).Status.Deletion).To(BeNil())
		out, err = rogue.kubectl(ctx, args...)
		Expect(err).NotTo(HaveOccurred(), out)
		Eventually(ctx, func() bool {
			return apierrors.IsNotFound(shared.Get(ctx, client.ObjectKeyFromObject(d), &appsv1.Deployment{}))
		}).Should(BeTrue())
		Expect(shared.recorded(ctx, d).Status.Deletion).To(HaveValue(SatisfyAll(
			HaveField("User", mallory), HaveField("Policies", ConsistOf("deployment")))))
	}

	DescribeTable("says at every hop who it was", func(ctx SpecContext, cascade string) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		rs := shared.newestReplicaSet(ctx, d)
		remove(ctx, d, cascade)
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.pods(ctx, g, ns)).To(BeEmpty())
			g.Expect(shared.deletionOf(ctx, g, d)).To(Equal("mallory -> Deployment/web (deleted)"))
			g.Expect(shared.deletionOf(ctx, g, rs)).To(Equal("mallory -> Deployment/web (deleted) -> ReplicaSet/" + rs.Name + " (deleted)"))
			g.Expect(shared.record(ctx, g, rs).Status.Phase).To(Equal(v1alpha1.PhaseDeleting))
		}).Should(Succeed())

		By("reading what the audit log says about the garbage collector")
		deleted := []controlplane.AuditFilter{controlplane.ByUser(collector), controlplane.ByVerb("delete"), controlplane.Succeeded}
		Expect(audit.tracesOf(append(deleted, controlplane.OfResource("apps", "replicasets"))...)).To(HaveEach(
			Equal(`mallory [{"kind":"Deployment","name":"web","generation":1,"field":"(deleted)"}]`)))
		Eventually(ctx, func() []string {
			return audit.tracesOf(append(deleted, controlplane.OfResource("", "pods"))...)
		}).Should(And(HaveLen(2), HaveEach(SatisfyAll(
			HavePrefix(`mallory [{"kind":"Deployment","name":"web","generation":1,"field":"(deleted)"},{"kind":"ReplicaSet"`),
			HaveSuffix(`"field":"(deleted)"}]`)))))
		Expect(audit.refusals()).To(BeEmpty())
	},
		Entry("in the background", SpecTimeout(specTimeout), "background"),
		Entry("in the foreground", SpecTimeout(specTimeout), "foreground"),
	)

	It("can leave the ReplicaSets, which another Deployment takes over and bounds again", func(ctx SpecContext) {
		b := builders.MakeDeployment(ns, "web").Replicas(2)
		d := owner.deploy(ctx, b)
		rs := shared.newestReplicaSet(ctx, d)
		remove(ctx, d, "orphan")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:1": 2}))
		live := &appsv1.ReplicaSet{}
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(rs), live)).To(Succeed())
		Expect(live.OwnerReferences).To(BeEmpty())
		// It is a root now, and may show already that a policy is for it.
		Expect(keysOf(live.Annotations)).NotTo(ContainElement(And(ContainSubstring("kausality.io/"), Not(Equal(affectedKey)))))
		rogue.change(ctx, live, replicas(3))
		shared.hasPods(ctx, ns, map[string]int{"web:1": 3})

		again := owner.deploy(ctx, b)
		Expect(shared.newestReplicaSet(ctx, again).UID).To(Equal(rs.UID), "the ReplicaSet was not taken over")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:1": 2}))
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.record(ctx, g, again).Status).To(And(HaveField("Deletion", BeNil()), HaveField("Initiator", alice)))
		}).Should(Succeed())
		Expect(shared.recorded(ctx, rs).Status.Deletion).To(BeNil())
		expectForbidden(rogue.try(ctx, rs, replicas(9)))
		owner.change(ctx, again, image("web:2"))
		shared.complete(ctx, again, "2")
		Expect(audit.refusals()).To(BeEmpty())
	}, SpecTimeout(specTimeout))

	It("comes with that of all Deployments, and of the namespace", func(ctx SpecContext) {
		first := owner.deploy(ctx, builders.MakeDeployment(ns, "first"))
		second := owner.deploy(ctx, builders.MakeDeployment(ns, "second"))
		Expect(rogue.DeleteAllOf(ctx, &appsv1.Deployment{}, client.InNamespace(ns))).To(Succeed())
		for _, d := range []*appsv1.Deployment{first, second} {
			Expect(shared.deletionOf(ctx, Default, d)).To(Equal("mallory -> Deployment/" + d.Name + " (deleted)"))
		}
		shared.hasPods(ctx, ns, map[string]int{})

		third := owner.deploy(ctx, builders.MakeDeployment(ns, "third"))
		stuck := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "stuck", Finalizers: []string{"example.org/wait"}}}
		Expect(shared.Create(ctx, stuck)).To(Succeed())
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
		Expect(shared.Delete(ctx, namespace)).To(Succeed())
		mayAll := shared.as(mallory, "system:masters")
		Eventually(ctx, func(g Gomega) []v1alpha1.AllowanceRecord {
			// Whoever clears up a namespace that goes may delete what is left in it.
			g.Expect(mayAll.DeleteAllOf(ctx, &v1alpha1.AllowanceRecord{}, client.InNamespace(ns))).To(Succeed())
			var left v1alpha1.AllowanceRecordList
			g.Expect(shared.List(ctx, &left, client.InNamespace(ns))).To(Succeed())
			return left.Items
		}).Should(BeEmpty())
		Expect(shared.Patch(ctx, stuck, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
		Eventually(ctx, func() bool {
			return apierrors.IsNotFound(shared.Get(ctx, client.ObjectKeyFromObject(namespace), namespace))
		}).Should(BeTrue(), "something in it was not deleted")
		Expect(shared.records(ctx, Default, third)).To(BeEmpty())
		Expect(audit.refusals()).To(HaveEach(ContainSubstring("because it is being terminated")))
	}, SpecTimeout(specTimeout))
})

// deletionOf returns the trace of the deletion of an object in words.
func (c *cluster) deletionOf(ctx context.Context, g Gomega, obj client.Object) string {
	GinkgoHelper()
	deletion := c.record(ctx, g, obj).Status.Deletion
	g.Expect(deletion).NotTo(BeNil(), "the record of %s does not say who deleted it", obj.GetName())
	return way(v1alpha1.Allowance{Initiator: deletion.Initiator, Trace: deletion.Trace})
}

// Custom resources with finalizers stay until their controller has cleaned up, and
// what it may do until then is for the deleting section to say.
var _ = Describe("The deletion of a custom resource with finalizers", func() {
	const finalizer = "example.org/clean-up"
	var (
		group, ns string
		audit     witness
		// controller acts for Things; it and the others may do everything by RBAC.
		controller, owner, rogue *actor

		parent, child client.Object
		leaf          *corev1.ConfigMap
	)

	// begin makes a Thing with a Thing below it that has a ConfigMap, under a policy
	// with that deleting section, and deletes the upper one.
	begin := func(ctx context.Context, deleting string) {
		GinkgoHelper()
		group = defineThings(ctx)
		ns = shared.newNamespaceFor(ctx, "things")
		audit = shared.watch(ns)
		controller = shared.as("system:serviceaccount:"+ns+":things", "system:serviceaccounts", "system:masters")
		owner, rogue = shared.as(alice, platformTeam, "system:masters"), shared.as(mallory, "system:masters")
		shared.apply(ctx, parsePolicies(strings.NewReplacer("GROUP", group, "NAMESPACE", ns).Replace(`
metadata: {name: things-GROUP}
spec:
  for: {apiGroup: GROUP, apiVersion: v1, kind: Thing}
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, name: things, namespace: NAMESPACE}
  rules:
  - trigger: spec
    policies:
    - {target: {apiGroup: GROUP, apiVersion: v1, resource: things}, relation: ControllerChild, verbs: ["*"]}
    - {target: {apiVersion: v1, resource: configmaps}, relation: ControllerChild, verbs: ["*"]}
`+deleting))...)

		makeThing := func(name string, above client.Object) client.Object {
			thing := builders.MakeThing(group, ns, name)
			thing.SetFinalizers([]string{finalizer})
			thing.Object["spec"] = map[string]any{"size": int64(1)}
			if above != nil {
				thing.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(above, builders.ThingKind(group))})
			}
			return thing
		}
		parent = makeThing("parent", nil)
		Expect(owner.Create(ctx, parent)).To(Succeed())
		child = makeThing("child", parent)
		Expect(controller.Create(ctx, child)).To(Succeed())
		leaf = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: "leaf",
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(child, builders.ThingKind(group))},
		}}
		Expect(controller.Create(ctx, leaf)).To(Succeed())

		Expect(owner.Delete(ctx, parent, client.DryRunAll)).To(Succeed())
		Expect(shared.recorded(ctx, parent).Status.Deletion).To(BeNil())
		Expect(rogue.Delete(ctx, parent)).To(Succeed())
		Expect(owner.Delete(ctx, parent)).To(Succeed()) // again, and too late
		Expect(shared.deletionOf(ctx, Default, parent)).To(Equal("mallory -> Thing/parent (deleted)"))
	}
	size := func(n int) client.Patch {
		return client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"size":%d}}`, n))
	}
	release := func(ctx context.Context, obj client.Object) {
		GinkgoHelper()
		Expect(controller.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
	}
	// finish cleans up as a controller does, and checks what is said about it.
	finish := func(ctx context.Context) {
		GinkgoHelper()
		Expect(controller.Delete(ctx, child)).To(Succeed())
		Expect(shared.deletionOf(ctx, Default, child)).To(Equal("mallory -> Thing/parent (deleted) -> Thing/child (deleted)"))
		// Until the operator has seen it go, its allowances are the cause of what happens below it.
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.record(ctx, g, child).Status.Phase).To(Equal(v1alpha1.PhaseDeleting))
		}).Should(Succeed())
		Expect(controller.Delete(ctx, leaf)).To(Succeed())
		release(ctx, child)
		release(ctx, parent)
		for _, gone := range []client.Object{parent, child, leaf} {
			Expect(apierrors.IsNotFound(shared.Get(ctx, client.ObjectKeyFromObject(gone), gone))).To(BeTrue(), gone.GetName())
		}
		Expect(audit.tracesOf(controlplane.OfResource("", "configmaps"), controlplane.ByVerb("delete"))).To(HaveEach(MatchRegexp(
			`^mallory .*"name":"parent",.*"field":"\(deleted\)".*"name":"child",.*"field":"\(deleted\)"`)))
	}

	It("lets happen only what the section says, traced to who deleted the root", func(ctx SpecContext) {
		begin(ctx, `
  deleting:
    policies:
    - target: {apiGroup: GROUP, apiVersion: v1, resource: things}
      relation: ControllerChild
      verbs: [Delete]
      mutations: [{jsonPath: spec.draining}]
    - {target: {apiVersion: v1, resource: configmaps}, relation: ControllerChild, verbs: [Delete]}
`)
		another := builders.MakeThing(group, ns, "another")
		another.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(parent, builders.ThingKind(group))})
		for _, err := range []error{
			controller.Create(ctx, another),
			controller.Patch(ctx, child, size(2)),
			rogue.Patch(ctx, child, size(2)),
		} {
			expectForbidden(err, "parent Thing parent (Deleting", "spec.deleting")
		}
		Expect(controller.Patch(ctx, child, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"draining":true}}`)))).To(Succeed())
		var begun []string
		for _, a := range ledgerOf(Default, child, stage.LedgerKey(child)) {
			if a.Trace[len(a.Trace)-1].Field != v1alpha1.FieldCreated {
				begun = append(begun, way(a))
			}
		}
		Expect(begun).To(And(Not(BeEmpty()), HaveEach("mallory -> Thing/parent (deleted) -> Thing/child spec.draining")))
		finish(ctx)

		By("making another one of that name")
		again := builders.MakeThing(group, ns, "parent")
		Expect(owner.Create(ctx, again)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			status := shared.record(ctx, g, again).Status
			g.Expect(status.Phase).To(Equal(v1alpha1.PhaseInitializing))
			g.Expect(status.Deletion).To(BeNil())
		}).Should(Succeed())
	}, SpecTimeout(specTimeout))

	It("lets everything happen where there is no section", func(ctx SpecContext) {
		begin(ctx, "")
		Expect(controller.Patch(ctx, child, size(2))).To(Succeed())
		Expect(audit.tracesOf(controlplane.OfResource(group, "things"), controlplane.ByVerb("patch"))).To(HaveEach(
			Equal(`mallory [{"kind":"Thing","name":"parent","generation":1,"field":"(deleted)"}]`)))
		finish(ctx)
	}, SpecTimeout(specTimeout))
})
