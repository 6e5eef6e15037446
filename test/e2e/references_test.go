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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
)

// readerPolicies are those for a kind that reads another one by a selector, as a Prometheus
// reads ServiceMonitors, and for the other one, which is also what readers are restarted for
// that name it, as tools do that watch ConfigMaps.
const readerPolicies = `
apiVersion: kausality.io/v1alpha1
kind: AllowancePolicy
metadata: {name: "reader-READER"}
spec:
  for: {apiGroup: READER, apiVersion: v1, kind: Thing}
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, name: thing-controller, namespace: kube-system}
  initializing:
    policies:
    - {target: {apiVersion: v1, resource: configmaps}, relation: ControllerChild, verbs: [Create]}
  maintaining:
    policies:
    - {target: {apiVersion: v1, resource: configmaps}, relation: ControllerChild, verbs: [Create]}
  rules:
  - trigger: spec
    policies:
    - {target: {apiVersion: v1, resource: configmaps}, relation: ControllerChild, mutations: [{jsonPath: data}]}
---
apiVersion: kausality.io/v1alpha1
kind: AllowancePolicy
metadata: {name: "read-READ"}
spec:
  for: {apiGroup: READ, apiVersion: v1, kind: Thing}
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  rules:
  - trigger: spec
    policies: &through
    - target: {apiVersion: v1, resource: configmaps}
      relation: ControllerChild
      mutations: [{jsonPath: data}]
      through: {apiGroup: READER, apiVersion: v1, resource: things, selectedBy: spec.selector, namespacesSelectedBy: spec.namespaceSelector}
    - target: {apiGroup: READER, apiVersion: v1, resource: things}
      relation: ControllerChild
      mutations: [{jsonPath: spec.restarted}]
      through: {apiGroup: READER, apiVersion: v1, resource: things, namedBy: ["spec.settings[*]"]}
  - trigger: metadata.labels
    policies: *through
`

// reading is an object that reads others, and its controller, which acts when it is told to.
type reading struct {
	// reads and read are the groups of the reader and of what it reads.
	reads, read string
	ns          string
	reader      *unstructured.Unstructured
	// owner may initiate, stranger may not; controller makes the child of the reader.
	owner, stranger, controller *actor
}

// newReading makes a reader of two objects, which is done with what it was made for.
func newReading(ctx context.Context) *reading {
	GinkgoHelper()
	r := &reading{
		reads: defineThings(ctx), read: defineThings(ctx),
		owner: shared.as(alice, platformTeam, "system:masters"), stranger: shared.as(mallory, "system:masters"),
		controller: shared.as(thingControllerUser, "system:masters"),
	}
	shared.apply(ctx, parsePolicies(strings.NewReplacer("READER", r.reads, "READ", r.read).Replace(readerPolicies))...)
	r.ns = shared.newNamespace(ctx)
	for _, name := range []string{"one", "other"} {
		Expect(r.owner.Create(ctx, r.object(name))).To(Succeed())
	}
	r.reader = builders.MakeThing(r.reads, r.ns, "reader")
	r.reader.Object["spec"] = map[string]any{
		"selector": map[string]any{"matchLabels": map[string]any{"team": "a"}}, "settings": []any{"one"},
	}
	Expect(r.owner.Create(ctx, r.reader)).To(Succeed())
	Eventually(ctx, func() error { return r.reconcile(ctx) }).Should(Succeed())
	shared.over(ctx, r.reader)
	return r
}

// object returns an object that the reader selects.
func (r *reading) object(name string) *unstructured.Unstructured {
	obj := builders.MakeThing(r.read, r.ns, name)
	obj.SetLabels(map[string]string{"team": "a"})
	obj.Object["spec"] = map[string]any{"target": "first"}
	return obj
}

// reconcile has the controller make the child of the reader of all that this reads.
func (r *reading) reconcile(ctx context.Context) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := r.controller.Get(ctx, client.ObjectKeyFromObject(r.reader), r.reader); err != nil {
			return err
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(builders.ThingKind(r.read))
		if err := r.controller.List(ctx, list, client.InNamespace(r.ns), client.MatchingLabels{"team": "a"}); err != nil {
			return err
		}
		child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: r.reader.GetName()}}
		if _, err := controllerutil.CreateOrUpdate(ctx, r.controller, child, func() error {
			child.Data = map[string]string{}
			for i := range list.Items {
				child.Data[list.Items[i].GetName()], _, _ = unstructured.NestedString(list.Items[i].Object, "spec", "target")
			}
			return controllerutil.SetControllerReference(r.reader, child, scheme)
		}); err != nil {
			return err
		}
		return reportObserved(ctx, r.controller, r.reader)
	})
}

// expect expects the reader to be made of these.
func (r *reading) expect(ctx context.Context, want map[string]string) {
	GinkgoHelper()
	var child corev1.ConfigMap
	Expect(shared.Get(ctx, client.ObjectKeyFromObject(r.reader), &child)).To(Succeed())
	Expect(child.Data).To(Equal(want))
}

// patch changes an object by merging.
func (r *reading) patch(ctx context.Context, who *actor, obj *unstructured.Unstructured, text string) error {
	return who.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(text)))
}

// waits expects the reader to wait for what a stranger has done to one of what it reads, also
// with what somebody else changes.
func (r *reading) waits(ctx context.Context, text string) {
	GinkgoHelper()
	withheld := MatchError(ContainSubstring(text + " by mallory is withheld of Thing one, which it reads"))
	Expect(r.reconcile(ctx)).To(withheld)
	Expect(r.patch(ctx, r.owner, r.object("other"), `{"spec":{"target":"second"}}`)).To(Succeed())
	Expect(r.reconcile(ctx)).To(withheld)
	Expect(r.patch(ctx, r.owner, r.reader, `{"spec":{"more":true}}`)).To(Succeed())
	Expect(r.reconcile(ctx)).To(withheld)
	r.expect(ctx, map[string]string{"one": "first", "other": "first"})
}

// readByParents returns the ways to change a child by what its parent reads.
func readByParents() []bypass {
	refused := MatchError(ContainSubstring("is for who may initiate on it, as it is read by Thing reader"))
	return []bypass{
		{"changing what the parent reads", func(ctx context.Context, _ *scene) {
			r := newReading(ctx)
			Expect(r.patch(ctx, r.stranger, r.object("one"), `{"spec":{"target":"theirs"}}`)).To(Succeed())
			r.waits(ctx, "the change of spec.target")
		}},
		{"making something for the parent to read", func(ctx context.Context, _ *scene) {
			r := newReading(ctx)
			Expect(r.stranger.Create(ctx, r.object("theirs"))).To(refused)
			unread := r.object("theirs")
			unread.SetLabels(nil)
			Expect(r.stranger.Create(ctx, unread)).To(Succeed(), "what nobody reads")
			Expect(r.patch(ctx, r.stranger, unread, `{"metadata":{"labels":{"team":"a"}}}`)).To(Succeed())
			Expect(r.reconcile(ctx)).To(MatchError(ContainSubstring("by mallory is withheld of Thing theirs, which it reads")))
			Expect(r.stranger.Delete(ctx, unread)).To(Succeed(), "what is withheld can be taken back")
			Expect(r.reconcile(ctx)).To(Succeed())
		}},
		{"deleting what the parent reads", func(ctx context.Context, _ *scene) {
			r := newReading(ctx)
			Expect(r.stranger.Delete(ctx, r.object("one"))).To(refused)
			Expect(r.stranger.DeleteAllOf(ctx, r.object("one"), client.InNamespace(r.ns))).To(refused)
			Expect(r.reconcile(ctx)).To(Succeed())
			r.expect(ctx, map[string]string{"one": "first", "other": "first"})
		}},
		{"hiding what the parent reads by a label", func(ctx context.Context, _ *scene) {
			r := newReading(ctx)
			Expect(r.patch(ctx, r.stranger, r.object("one"), `{"metadata":{"labels":{"team":"b"}}}`)).To(Succeed())
			r.waits(ctx, "the change of metadata.labels[team]")
			Expect(r.patch(ctx, r.stranger, r.object("one"), `{"metadata":{"labels":{"team":"a"}}}`)).To(Succeed())
			Expect(r.reconcile(ctx)).To(Succeed())
			r.expect(ctx, map[string]string{"one": "first", "other": "second"})
		}},
	}
}

// What changes a child may be neither its parent nor a change of it.
var _ = Describe("What others read", func() {
	It("has readers follow who may change it, and says so", func(ctx SpecContext) {
		r := newReading(ctx)
		// traced expects the way to the latest change of the child.
		traced := func(field string) {
			GinkgoHelper()
			Eventually(ctx, func(g Gomega) {
				decision := shared.record(ctx, g, r.reader).Status.LastDecision
				g.Expect(decision).NotTo(BeNil())
				g.Expect(decision.Trace).To(HaveExactElements(
					SatisfyAll(HaveField("Kind", "Thing"), HaveField("Field", field)),
					SatisfyAll(HaveField("Name", "reader"), HaveField("Field", v1alpha1.FieldReads))))
			}).Should(Succeed())
		}
		By("changing it")
		Expect(r.patch(ctx, r.owner, r.object("one"), `{"spec":{"target":"second"}}`)).To(Succeed())
		Expect(r.reconcile(ctx)).To(Succeed())
		r.expect(ctx, map[string]string{"one": "second", "other": "first"})
		traced("spec.target")

		By("changing it, and reporting that it is done itself")
		Expect(r.patch(ctx, r.owner, r.object("one"), `{"spec":{"target":"third"}}`)).To(Succeed())
		one := r.object("one")
		reportDone(ctx, r.controller, one)
		Expect(r.reconcile(ctx)).To(Succeed())
		r.expect(ctx, map[string]string{"one": "third", "other": "first"})
		Expect(r.patch(ctx, r.owner, r.object("one"), `{"spec":{"target":"second"}}`)).To(Succeed())
		Expect(r.reconcile(ctx)).To(Succeed())

		By("making another one")
		Expect(r.owner.Create(ctx, r.object("more"))).To(Succeed())
		Expect(r.reconcile(ctx)).To(Succeed())
		r.expect(ctx, map[string]string{"one": "second", "other": "first", "more": "first"})

		By("having it read no more")
		Expect(r.patch(ctx, r.owner, r.object("one"), `{"metadata":{"labels":{"team":null}}}`)).To(Succeed())
		Expect(r.reconcile(ctx)).To(Succeed())
		r.expect(ctx, map[string]string{"other": "first", "more": "first"})

		By("deleting it")
		Expect(r.owner.Delete(ctx, r.object("more"))).To(Succeed())
		Expect(r.reconcile(ctx)).To(Succeed())
		r.expect(ctx, map[string]string{"other": "first"})
		traced(v1alpha1.FieldDeleted)
	}, SpecTimeout(specTimeout))

	It("goes on once what is withheld of it is approved", func(ctx SpecContext) {
		r := newReading(ctx)
		Expect(r.patch(ctx, r.stranger, r.object("one"), `{"spec":{"target":"theirs"}}`)).To(Succeed())
		Expect(r.reconcile(ctx)).To(MatchError(ContainSubstring("annotate -n " + r.ns + " thing." + r.read + " one kausality.io/approve=")))
		Expect(r.patch(ctx, r.owner, r.object("one"), `{"metadata":{"annotations":{"kausality.io/approve":"*"}}}`)).To(Succeed())
		Expect(r.reconcile(ctx)).To(Succeed())
		r.expect(ctx, map[string]string{"one": "theirs", "other": "first"})
	}, SpecTimeout(specTimeout))

	It("has those restarted that name it", func(ctx SpecContext) {
		r := newReading(ctx)
		restart := func(when string) {
			GinkgoHelper()
			Expect(r.patch(ctx, r.controller, r.reader, fmt.Sprintf(`{"spec":{"restarted":%q}}`, when))).To(Succeed())
		}
		withheld := func() []string {
			GinkgoHelper()
			var out []string
			for _, a := range ledgerOf(Default, r.reader, ledgerKey) {
				if a.Relation == v1alpha1.RelationWithheld {
					out = append(out, a.Mutation)
				}
			}
			return out
		}
		By("changing what it names")
		Expect(r.patch(ctx, r.owner, r.object("one"), `{"spec":{"target":"second"}}`)).To(Succeed())
		restart("2")
		Expect(withheld()).To(BeEmpty())
		Expect(r.reconcile(ctx)).To(Succeed())

		By("changing it without the right to")
		Expect(r.patch(ctx, r.stranger, r.object("one"), `{"spec":{"target":"theirs"}}`)).To(Succeed())
		restart("3")
		Expect(withheld()).To(Equal([]string{"spec.restarted"}))
	}, SpecTimeout(specTimeout))
})
