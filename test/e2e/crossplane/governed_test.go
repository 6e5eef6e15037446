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
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/crossplane"
	"kausality.io/operator/test/stage"
)

// ticket is what a change has to name to be carried out.
const ticket = "ABC-1"

// crossplaneUser is the user name of Crossplane.
var crossplaneUser = serviceaccount.MakeUsername(crossplane.Namespace, crossplane.ServiceAccount)

// stranger and initiator may change all databases, as far as RBAC goes.
func (w *world) stranger() *stage.Actor {
	return w.As(stage.MalloryName, stage.Developers, user.SystemPrivilegedGroup)
}

func (w *world) initiator() *stage.Actor {
	return w.As(stage.AliceName, stage.PlatformTeam, user.SystemPrivilegedGroup)
}

// manifest reads a file in testdata for the databases of a group.
func manifest(file, group string) string {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	Expect(err).NotTo(HaveOccurred())
	return strings.ReplaceAll(string(text), crossplane.DatabaseGroup, group)
}

// govern applies the policies of a file in testdata for a group.
func (w *world) govern(ctx context.Context, file, group string) {
	GinkgoHelper()
	policies := stage.ParsePolicies(manifest(file, group))
	for _, p := range policies {
		p.Name += "." + group
	}
	w.Apply(ctx, policies...)
}

// governed is a database with what it is composed of.
type governed struct {
	database, composite, instance *unstructured.Unstructured
	// isClaim is true where the database is a claim.
	isClaim bool
}

// objects returns all of them, each once.
func (d *governed) objects() []*unstructured.Unstructured {
	if d.isClaim {
		return []*unstructured.Unstructured{d.database, d.composite, d.instance}
	}
	return []*unstructured.Unstructured{d.composite, d.instance}
}

// create makes an initiator create a database, and returns it when it is ready.
func (w *world) create(ctx context.Context, group, kind string) *governed {
	GinkgoHelper()
	d := &governed{isClaim: kind == claimKind}
	d.database = database(group, kind, w.MakeNamespace(ctx, nil), "main", medium)
	Expect(w.initiator().Create(ctx, d.database)).To(Succeed())
	d.composite = d.database
	if d.isClaim {
		d.composite = w.CompositeOf(ctx, d.database)
	}
	w.Becomes(ctx, d.database, "Synced", "Ready")
	d.instance = w.instanceOf(ctx, d.composite, "instance")
	return d
}

// steady waits until nothing is allowed any more.
func (w *world) steady(ctx context.Context, d *governed) {
	GinkgoHelper()
	holders := []*unstructured.Unstructured{d.composite}
	if d.isClaim {
		holders = append(holders, d.database)
	}
	for _, holder := range holders { // instances hold nothing
		Eventually(ctx, func(g Gomega) {
			status := w.Record(ctx, g, holder).Status
			g.Expect(status.Phase).To(Equal(v1alpha1.PhaseSteady))
			g.Expect(status.Active).To(BeEmpty())
		}).Should(Succeed(), holder.GetKind())
	}
}

// versions returns the versions that the API server has of the objects.
func (w *world) versions(ctx context.Context, d *governed) []string {
	GinkgoHelper()
	var out []string
	for _, object := range d.objects() {
		Expect(w.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		out = append(out, object.GetResourceVersion())
	}
	return out
}

// approvedResize asks for another size, for a reason.
func approvedResize(size string) client.Patch {
	return client.RawPatch(types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"annotations":{"jira":%q}},"spec":{"size":%q}}`, ticket, size))
}

// sized waits until an instance is asked to have a size.
func (w *world) sized(ctx context.Context, instance *unstructured.Unstructured, size string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(w.Get(ctx, client.ObjectKeyFromObject(instance), instance)).To(Succeed())
		g.Expect(askedSize(instance)).To(Equal(size))
	}).Should(Succeed())
}

// askedSize returns the size that an instance is asked to have.
func askedSize(instance *unstructured.Unstructured) string {
	size, _, _ := unstructured.NestedString(instance.Object, "spec", "forProvider", "instanceClass")
	return size
}

var _ = Describe("With policies", func() {
	DescribeTable("an initiator's change of a database goes down to what it is composed of, and nobody else's does",
		func(ctx SpecContext, kind, hops string) {
			By("creating it")
			all := shared.Watch()
			db := shared.create(ctx, governedGroup, kind)
			shared.has(ctx, db.instance, medium)
			shared.steady(ctx, db)
			Expect(all.Writes(stage.OfAny(db.objects()...), stage.Failed)).To(BeEmpty())

			By("changing it with a ticket")
			audit := shared.WatchObjects(db.objects()...)
			Expect(shared.initiator().Patch(ctx, db.database, approvedResize(large))).To(Succeed())
			shared.has(ctx, db.instance, large)
			Expect(audit.TracesOf(stage.OfAny(db.instance), controlplane.ByUser(crossplaneUser))).To(ContainElement(And(
				HavePrefix(stage.AliceName+" "), MatchRegexp(hops), ContainSubstring(ticket))))
			shared.steady(ctx, db)
			Expect(audit.Refusals(crossplaneUser)).To(BeEmpty())

			By("changing it as a stranger")
			stranger := shared.stranger()
			Expect(stranger.Patch(ctx, db.database, resize(medium))).To(Succeed())
			Expect(stranger.Warned.Take()).To(ContainSubstring("the change of spec.size of " + kind + " main is withheld"))
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(db.database), db.database)).To(Succeed())
				g.Expect(stage.Condition(db.database, "Synced")).To(HaveKeyWithValue("status", "False"))
				g.Expect(db.database.GetAnnotations()).To(HaveKey(v1alpha1.ConditionBlocked))
			}).Should(Succeed())
			refused := audit.Refusals(crossplaneUser)
			Expect(refused).NotTo(BeEmpty())
			Expect(refused).To(HaveEach(And(
				ContainSubstring("is not allowed by its parent "+kind+" main"),
				ContainSubstring("while the change of spec.size by "+stage.MalloryName+" is withheld"))))
			Consistently(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(db.instance), db.instance)).To(Succeed())
				g.Expect(askedSize(db.instance)).To(Equal(large))
			}).WithTimeout(quietMoment).Should(Succeed())

			By("approving it")
			Expect(shared.initiator().Patch(ctx, db.database, client.RawPatch(types.MergePatchType,
				fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"spec.size"}}}`, v1alpha1.AnnotationApprove)))).To(Succeed())
			approved := time.Now()
			shared.sized(ctx, db.instance, medium)
			Expect(time.Since(approved)).To(BeNumerically("<", retriedAtOnce))

			By("leaving it alone")
			shared.steady(ctx, db)
			shared.quiet(ctx, db.objects()...)
			resting := shared.versions(ctx, db)
			Consistently(ctx, func() []string { return shared.versions(ctx, db) }).WithTimeout(2 * poll).Should(Equal(resting))
			shared.Becomes(ctx, db.composite, "Responsive")
		},
		Entry("of a claim", SpecTimeout(2*specTimeout), claimKind,
			`"DatabaseClaim","name":"main".*"field":"spec.size".*"XDatabase".*"field":"spec.size"`),
		Entry("of a namespaced composite resource", SpecTimeout(2*specTimeout), databaseKind,
			`"Database","name":"main".*"field":"spec.size"`),
	)

	It("what a composite resource composes goes on beside what is refused, and follows once it may", func(ctx SpecContext) {
		ns := shared.MakeNamespace(ctx, nil)
		claim := database(governedGroup, claimKind, ns, "shop", large)
		Expect(unstructured.SetNestedField(claim.Object, "before", "spec", "settings")).To(Succeed())
		Expect(unstructured.SetNestedField(claim.Object, true, "spec", "replica")).To(Succeed())
		initiator := shared.initiator()
		Expect(initiator.Create(ctx, claim)).To(Succeed())
		composite := shared.CompositeOf(ctx, claim)
		shared.Becomes(ctx, claim, "Synced", "Ready")
		db := &governed{database: claim, composite: composite, isClaim: true}
		instances := []*unstructured.Unstructured{
			shared.instanceOf(ctx, composite, "instance"), shared.instanceOf(ctx, composite, "replica"),
		}
		shared.steady(ctx, db)
		audit := shared.WatchObjects(instances...)

		By("changing what no rule of the composite resource is about, along with what one is about")
		Expect(initiator.Patch(ctx, claim, merge(`{"spec":{"engine":"mysql","settings":"after"}}`))).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			var settings corev1.ConfigMapList
			g.Expect(shared.List(ctx, &settings, client.InNamespace(ns), client.MatchingLabels{"crossplane.io/composite": composite.GetName()})).To(Succeed())
			g.Expect(settings.Items).To(HaveLen(1))
			g.Expect(settings.Items[0].Data).To(HaveKeyWithValue("settings", "after"))
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(composite), composite)).To(Succeed())
			g.Expect(composite.GetAnnotations()).To(HaveKeyWithValue(v1alpha1.ConditionBlocked, ContainSubstring("spec.forProvider.engine")))
			for _, instance := range instances {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(instance), instance)).To(Succeed())
				g.Expect(engineOf(instance)).To(Equal("postgres"))
			}
		}).Should(Succeed())
		Expect(audit.Writes(controlplane.ByUser(crossplaneUser), stage.Failed)).
			To(And(Not(BeEmpty()), HaveEach(HaveField("ResponseStatus.Code", int32(http.StatusUnprocessableEntity)))))

		By("making a policy that is about it, and approving it where it was refused")
		p := stage.ParsePolicies(manifest("enginepolicy.yaml", governedGroup))[0]
		p.Spec.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"crossplane.io/claim-namespace": ns}}
		shared.Apply(ctx, p)
		Expect(initiator.Patch(ctx, composite, client.RawPatch(types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"spec.engine"}}}`, v1alpha1.AnnotationApprove)))).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			for _, instance := range instances {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(instance), instance)).To(Succeed())
				g.Expect(engineOf(instance)).To(Equal("mysql"))
			}
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(composite), composite)).To(Succeed())
			g.Expect(composite.GetAnnotations()).NotTo(HaveKey(v1alpha1.ConditionBlocked))
		}).WithTimeout(retriedAtOnce).Should(Succeed())
	}, SpecTimeout(2*specTimeout))

	It("a composite resource that composes another one tells the whole way", func(ctx SpecContext) {
		definitions, err := controlplane.Decode([]byte(manifest("stacks.yaml", governedGroup)))
		Expect(err).NotTo(HaveOccurred())
		for _, object := range definitions {
			Expect(shared.Create(ctx, object)).To(Succeed())
		}
		shared.Becomes(ctx, definitions[0], "Established")
		shared.govern(ctx, "stackpolicy.yaml", governedGroup)
		stack := database(governedGroup, "Stack", shared.MakeNamespace(ctx, nil), "stack", medium)
		unstructured.RemoveNestedField(stack.Object, "spec", "engine")
		Eventually(ctx, func() error { return shared.initiator().Create(ctx, stack) }).Should(Succeed())
		shared.Becomes(ctx, stack, "Synced", "Ready")
		inner := &unstructured.UnstructuredList{}
		inner.SetGroupVersionKind(stack.GroupVersionKind().GroupVersion().WithKind(databaseKind + "List"))
		Expect(shared.List(ctx, inner, client.InNamespace(stack.GetNamespace()))).To(Succeed())
		Expect(inner.Items).To(HaveLen(1))
		db := &governed{database: stack, composite: &inner.Items[0], instance: shared.instanceOf(ctx, stack, "instance")}
		shared.steady(ctx, db)
		shared.steady(ctx, &governed{composite: stack})

		audit := shared.WatchObjects(db.objects()...)
		Expect(shared.initiator().Patch(ctx, stack, resize(large))).To(Succeed())
		shared.has(ctx, db.instance, large)
		Expect(audit.TracesOf(stage.OfAny(db.instance), controlplane.ByUser(crossplaneUser))).To(ContainElement(And(
			HavePrefix(stage.AliceName+" "), MatchRegexp(`"Stack","name":"stack".*"Database","name":"`+db.composite.GetName()+`"`))))
		Expect(audit.Refusals(crossplaneUser)).To(BeEmpty())
	}, SpecTimeout(2*specTimeout))
})

// engineOf returns the engine that an instance is asked to have.
func engineOf(instance *unstructured.Unstructured) string {
	engine, _, _ := unstructured.NestedString(instance.Object, "spec", "forProvider", "engine")
	return engine
}

// retriedAtOnce is within what a change is carried out that was denied before: long
// before Crossplane would look at the composite resource again by itself.
const retriedAtOnce = 20 * time.Second
