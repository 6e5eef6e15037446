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
	"flag"
	"fmt"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/crossplane"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/stage"
)

// upgradeQuietTime is for how long nothing has to pass by an upgrade before it is over.
const upgradeQuietTime = 3 * time.Second

// overTimeout bounds the end of an upgrade: the quiet time, and ten seconds and a look after it.
const overTimeout = time.Minute

// window is what a newer Composition adds to instances.
const window = "03:00-04:00"

// agree writes an UpgradeAllowance for Crossplane, and returns once it lets things through.
func (w *world) agree(ctx context.Context, group string, change func(*v1alpha1.UpgradeAllowance)) *v1alpha1.UpgradeAllowance {
	GinkgoHelper()
	u := &v1alpha1.UpgradeAllowance{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "upgrade-"},
		Spec: v1alpha1.UpgradeAllowanceSpec{
			ServiceAccount: crossplaneUser,
			Triggers:       []v1alpha1.UpgradeTrigger{v1alpha1.UpgradeOfComposition},
			ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{groupLabel: group}},
			Policies: []v1alpha1.PolicyEntry{
				instances("rds.aws.crossplane.io", "spec.forProvider.backupWindow"),
				instances("rds.aws.m.crossplane.io", "spec.forProvider.backupWindow"),
				{
					Target: v1alpha1.Target{APIVersion: "v1", Resource: "configmaps"}, Relation: v1alpha1.RelationControllerChild,
					Mutations: []v1alpha1.FieldMutation{{JSONPath: "data.format"}},
				},
			},
		},
	}
	change(u)
	Expect(w.As("greta", user.SystemPrivilegedGroup).Create(ctx, u)).To(Succeed())
	DeferCleanup(func(ctx context.Context) error { return client.IgnoreNotFound(w.Delete(ctx, u)) })
	Eventually(ctx, func(g Gomega) {
		g.Expect(w.Get(ctx, client.ObjectKeyFromObject(u), u)).To(Succeed())
		g.Expect(u.Status.Conditions).To(ContainElement(SatisfyAll(HaveField("Type", v1alpha1.ConditionEnforced), HaveField("Status", metav1.ConditionTrue))))
	}).Should(Succeed())
	return u
}

// groupLabel is on the databases that an UpgradeAllowance is for: other specs upgrade others.
const groupLabel = "upgraded"

func instances(group, path string) v1alpha1.PolicyEntry {
	return v1alpha1.PolicyEntry{
		Target:    v1alpha1.Target{APIGroup: &group, APIVersion: "v1alpha1", Resource: "rdsinstances"},
		Relation:  v1alpha1.RelationControllerChild,
		Mutations: []v1alpha1.FieldMutation{{JSONPath: path}},
	}
}

// recompose changes the Composition of databases of a group, by a JSON patch of what it says of
// the resources, and returns the name of the revision that is the newest then.
func (w *world) recompose(ctx context.Context, kind, group, patch string) string {
	GinkgoHelper()
	composition := &unstructured.Unstructured{}
	composition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.crossplane.io", Version: "v1", Kind: "Composition"})
	composition.SetName(strings.ToLower(kind) + "s." + group)
	before := w.newestRevision(ctx, composition.GetName())
	Expect(w.Patch(ctx, composition, client.RawPatch(types.JSONPatchType, []byte(strings.ReplaceAll(patch, "RESOURCES", "/spec/pipeline/0/input/resources"))))).To(Succeed())
	var newest string
	Eventually(ctx, func() string {
		newest = w.newestRevision(ctx, composition.GetName())
		return newest
	}).ShouldNot(Equal(before))
	return newest
}

// copyWithWindow makes a copy of a Composition that adds a backup window to instances, and returns its name,
// and that of its newest revision.
func (w *world) copyWithWindow(ctx context.Context, composition string) (name, revision string) {
	GinkgoHelper()
	name = copyOfComposition(ctx, composition, "example.org/windowed")
	var before string
	Eventually(ctx, func() string {
		before = w.newestRevision(ctx, name)
		return before
	}).ShouldNot(BeEmpty())
	other := &unstructured.Unstructured{}
	other.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.crossplane.io", Version: "v1", Kind: "Composition"})
	other.SetName(name)
	Expect(w.Patch(ctx, other, client.RawPatch(types.JSONPatchType, fmt.Appendf(nil,
		`[{"op":"add","path":"/spec/pipeline/0/input/resources/0/base/spec/forProvider/backupWindow","value":%q}]`, window)))).To(Succeed())
	Eventually(ctx, func() string {
		revision = w.newestRevision(ctx, name)
		return revision
	}).ShouldNot(Equal(before))
	return name, revision
}

// choosesRevision returns a patch that has a composite resource composed by another Composition, and by a
// revision of it, or by the one that Crossplane fills in.
func choosesRevision(composition, revision string) client.Patch {
	ref := "null"
	if revision != "" {
		ref = fmt.Sprintf(`{"name":%q}`, revision)
	}
	return merge(fmt.Sprintf(`{"spec":{"crossplane":{"compositionRef":{"name":%q},"compositionRevisionRef":%s}}}`, composition, ref))
}

// newestRevision returns the name of the newest revision of a Composition.
func (w *world) newestRevision(ctx context.Context, composition string) (name string) {
	GinkgoHelper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.crossplane.io", Version: "v1", Kind: "CompositionRevisionList"})
	Expect(w.List(ctx, list, client.MatchingLabels{"crossplane.io/composition-name": composition})).To(Succeed())
	newest := int64(-1)
	for i := range list.Items {
		if number, _, _ := unstructured.NestedInt64(list.Items[i].Object, "spec", "revision"); number > newest {
			newest, name = number, list.Items[i].GetName()
		}
	}
	return name
}

// composedBy returns the revision that a composite resource names.
func composedBy(composite *unstructured.Unstructured) string {
	for _, path := range [][]string{{"spec", "crossplane", "compositionRevisionRef", "name"}, {"spec", "compositionRevisionRef", "name"}} {
		if name, ok, _ := unstructured.NestedString(composite.Object, path...); ok {
			return name
		}
	}
	return ""
}

// said returns what requests say, and when.
func said(events controlplane.AuditEvents) []string {
	var out []string
	for i := range events {
		e := &events[i]
		line := fmt.Sprintf("%s %s %s %s %s", e.RequestReceivedTimestamp.Format("15:04:05.000"), e.StageTimestamp.Sub(e.RequestReceivedTimestamp.Time), e.Verb, e.ObjectRef.Name, e.ObjectRef.Subresource)
		if e.ResponseStatus != nil {
			line += " " + e.ResponseStatus.Message
		}
		if e.RequestObject != nil {
			line += " " + string(e.RequestObject.Raw)
		}
		out = append(out, line)
	}
	return out
}

// windowOf returns the backup window that an instance is asked to have.
func windowOf(instance *unstructured.Unstructured) string {
	window, _, _ := unstructured.NestedString(instance.Object, "spec", "forProvider", "backupWindow")
	return window
}

// remembered returns what a composite resource remembers of its Composition.
func (w *world) remembered(ctx context.Context, g Gomega, composite *unstructured.Unstructured) v1alpha1.ControllerVersion {
	for _, v := range w.Record(ctx, g, composite).Status.Versions {
		if v.Trigger == v1alpha1.UpgradeOfComposition {
			return v
		}
	}
	return v1alpha1.ControllerVersion{}
}

// upgraded is a database whose Composition changes.
type upgraded struct {
	*governed
	group  string
	manual bool
}

// crossplaneField returns where a database says how it follows its Composition.
func (d *upgraded) crossplaneField(name string) []string {
	if d.isClaim {
		return []string{"spec", name}
	}
	return []string{"spec", "crossplane", name}
}

// follows moves a database that follows its Composition by hand to a revision, and returns once
// it names that.
func (d *upgraded) follows(ctx context.Context, revision string) {
	GinkgoHelper()
	if d.manual {
		move := map[string]any{}
		Expect(unstructured.SetNestedField(move, revision, append(d.crossplaneField("compositionRevisionRef"), "name")...)).To(Succeed())
		raw, err := json.Marshal(move)
		Expect(err).NotTo(HaveOccurred())
		Expect(shared.initiator().Patch(ctx, d.database.DeepCopy(), client.RawPatch(types.MergePatchType, raw))).To(Succeed())
	}
	Eventually(ctx, func(g Gomega) {
		g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(d.composite), d.composite)).To(Succeed())
		g.Expect(composedBy(d.composite)).To(Equal(revision))
	}).Should(Succeed())
}

// isOver waits until the upgrade to a revision is over.
func (d *upgraded) isOver(ctx context.Context, revision string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		v := shared.remembered(ctx, g, d.composite)
		g.Expect(v.Revision).To(Equal(revision))
		g.Expect(v.MovedAt).NotTo(BeNil())
	}).WithTimeout(overTimeout).Should(Succeed())
}

// provideUpgraded makes a database of a group of its own, whose policies bound its instance.
func provideUpgraded(ctx context.Context, group, kind string, manual bool, edits ...func(*unstructured.Unstructured)) *upgraded {
	GinkgoHelper()
	shared.offer(ctx, group, edits...)
	shared.govern(ctx, "databases.yaml", group)
	d := &upgraded{governed: &governed{isClaim: kind == claimKind}, group: group, manual: manual}
	d.database = database(group, kind, shared.MakeNamespace(ctx, nil), "main", medium)
	d.database.SetLabels(map[string]string{groupLabel: group})
	if manual {
		Expect(unstructured.SetNestedField(d.database.Object, "Manual", d.crossplaneField("compositionUpdatePolicy")...)).To(Succeed())
	}
	if d.isClaim {
		Expect(unstructured.SetNestedField(d.database.Object, "before", "spec", "settings")).To(Succeed())
	}
	Expect(shared.initiator().Create(ctx, d.database)).To(Succeed())
	d.composite = d.database
	if d.isClaim {
		d.composite = shared.CompositeOf(ctx, d.database)
	}
	shared.Becomes(ctx, d.database, "Synced", "Ready")
	d.instance = shared.instanceOf(ctx, d.composite, "instance")
	shared.steady(ctx, d.governed)
	return d
}

// instanceGets waits until the instance has a backup window like that.
func (d *upgraded) instanceGets(ctx context.Context, window OmegaMatcher, within time.Duration) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(d.instance), d.instance)).To(Succeed())
		g.Expect(windowOf(d.instance)).To(window)
	}).WithTimeout(within).Should(Succeed())
}

// settings returns what the ConfigMap of a composite resource holds.
func (d *upgraded) settings(ctx context.Context, g Gomega) map[string]string {
	var list corev1.ConfigMapList
	g.Expect(shared.List(ctx, &list, client.InNamespace(d.database.GetNamespace()), client.MatchingLabels{"crossplane.io/composite": d.composite.GetName()})).To(Succeed())
	g.Expect(list.Items).To(HaveLen(1))
	return list.Items[0].Data
}

var _ = Describe("An upgrade of a Composition", func() {
	DescribeTable("changes what was agreed, once for each composite resource, and is denied all else", func(ctx SpecContext, kind, group string, manual bool) {
		d := provideUpgraded(ctx, group, kind, manual)
		composed := databaseKind
		if d.isClaim {
			composed = compositeKind
		}
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(d.composite), d.composite)).To(Succeed())
		first := composedBy(d.composite)
		audit := shared.WatchObjects(d.objects()...)

		By("being denied what nobody agreed to")
		second := shared.recompose(ctx, composed, group, fmt.Sprintf(`[{"op":"add","path":"RESOURCES/0/base/spec/forProvider/backupWindow","value":%q}]`, window))
		if manual {
			Consistently(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(d.composite), d.composite)).To(Succeed())
				g.Expect(composedBy(d.composite)).To(Equal(first))
			}).WithTimeout(quietMoment).Should(Succeed())
		}
		d.follows(ctx, second)
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(d.composite), d.composite)).To(Succeed())
			g.Expect(d.composite.GetAnnotations()).To(HaveKey(v1alpha1.ConditionBlocked))
			g.Expect(shared.remembered(ctx, g, d.composite)).To(SatisfyAll(HaveField("Revision", first), HaveField("MovedAt", Not(BeNil()))))
		}).Should(Succeed())
		Expect(audit.Writes(controlplane.ByUser(crossplaneUser), stage.Failed)).
			To(And(Not(BeEmpty()), HaveEach(HaveField("ResponseStatus.Code", int32(http.StatusUnprocessableEntity)))))
		Expect(audit.Refusals(crossplaneUser)).To(HaveEach(SatisfyAll(
			ContainSubstring("The request comes from CompositionRevision "+second), ContainSubstring("CompositionRevision "+first),
			ContainSubstring("spec.triggers [Composition]"))))
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(d.instance), d.instance)).To(Succeed())
		Expect(windowOf(d.instance)).To(BeEmpty())

		By("being agreed to, and so woken")
		agreed := shared.agree(ctx, group, func(*v1alpha1.UpgradeAllowance) {})
		d.instanceGets(ctx, Equal(window), retriedAtOnce)
		Expect(audit.TracesOf(stage.OfAny(d.instance), controlplane.ByUser(crossplaneUser), controlplane.Succeeded)).To(ContainElement(SatisfyAll(
			HavePrefix("greta "), ContainSubstring(`{"kind":"UpgradeAllowance","name":"`+agreed.Name+`","generation":1,"field":"(upgrade)"}`),
			ContainSubstring(`"kind":"`+composed+`"`))))
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(d.composite), d.composite)).To(Succeed())
			g.Expect(d.composite.GetAnnotations()).NotTo(HaveKey(v1alpha1.ConditionBlocked))
		}).Should(Succeed())
		shared.Becomes(ctx, d.composite, "Synced", "Ready")
		d.isOver(ctx, second)

		By("being put back, which is another upgrade")
		third := shared.recompose(ctx, composed, group, `[{"op":"remove","path":"RESOURCES/0/base/spec/forProvider/backupWindow"}]`)
		Expect(third).To(Equal(first), "names come back")
		d.follows(ctx, third)
		d.instanceGets(ctx, BeEmpty(), retriedAtOnce)
		d.isOver(ctx, first)

		By("being none where labels change only")
		was := shared.remembered(ctx, Default, d.composite)
		labeled := shared.recompose(ctx, composed, group, `[{"op":"add","path":"/metadata/labels","value":{"release":"2"}}]`)
		d.follows(ctx, labeled)
		shared.quiet(ctx, d.objects()...)
		Expect(shared.remembered(ctx, Default, d.composite)).To(Equal(was))

		By("going beyond what was agreed")
		patch := `[{"op":"add","path":"RESOURCES/0/base/spec/forProvider/backupWindow","value":"04:00-05:00"},
			{"op":"add","path":"RESOURCES/0/base/spec/forProvider/allocatedStorage","value":20}]`
		if d.isClaim {
			patch = strings.TrimSuffix(patch, "]") + `,{"op":"add","path":"RESOURCES/2/base/data","value":{"format":"2"}}]`
		}
		beyond := shared.WatchObjects(d.objects()...)
		last := shared.recompose(ctx, composed, group, patch)
		d.follows(ctx, last)
		Eventually(ctx, func(g Gomega) {
			g.Expect(beyond.Refusals(crossplaneUser)).To(ContainElement(SatisfyAll(ContainSubstring("spec.forProvider.allocatedStorage"),
				ContainSubstring("UpgradeAllowance "+agreed.Name+" does not let it through: spec.policies does not cover it"))))
			if d.isClaim {
				g.Expect(d.settings(ctx, g)).To(HaveKeyWithValue("format", "2"), "what stands beside it")
			}
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(agreed), agreed)).To(Succeed())
			g.Expect(agreed.Status.BlockedParents).To(ContainElement(SatisfyAll(HaveField("Name", d.composite.GetName()),
				HaveField("Paths", ContainElement("spec.forProvider.allocatedStorage")))))
		}).Should(Succeed())
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(d.instance), d.instance)).To(Succeed())
		Expect(windowOf(d.instance)).To(BeEmpty())

		By("being agreed to more, which wakes it once more")
		for i := range 2 {
			agreed.Spec.Policies[i].Mutations = append(agreed.Spec.Policies[i].Mutations, v1alpha1.FieldMutation{JSONPath: "spec.forProvider.allocatedStorage"})
		}
		Expect(shared.As("greta", user.SystemPrivilegedGroup).Update(ctx, agreed)).To(Succeed())
		d.instanceGets(ctx, Equal("04:00-05:00"), retriedAtOnce)
		d.isOver(ctx, last)
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(agreed), agreed)).To(Succeed())
			g.Expect(agreed.Status).To(SatisfyAll(HaveField("Moved", int32(1)), HaveField("Moving", int32(0)), HaveField("Blocked", int32(0))))
		}).Should(Succeed())
		shared.Becomes(ctx, d.composite, "Responsive")
	},
		Entry("of a namespaced composite resource that follows by itself", stage.Long, SpecTimeout(2*specTimeout), databaseKind, "follows.example.org", false),
		Entry("of a namespaced composite resource that is moved by hand", SpecTimeout(2*specTimeout), databaseKind, "moved.example.org", true),
		Entry("of a claim that follows by itself", stage.Long, SpecTimeout(2*specTimeout), claimKind, "claimed.example.org", false),
		Entry("of a claim that is moved by hand", stage.Long, SpecTimeout(2*specTimeout), claimKind, "handed.example.org", true),
	)
})

var _ = Describe("An upgrade of a Composition that reaches the cloud", func() {
	It("opens the gates that its External entries name, and the cloud is asked once", func(ctx SpecContext) {
		const group, window = "reaches.example.org", "06:00-07:00" // None that the cloud has by itself.
		shared.offer(ctx, group, limitedBy(""))
		shared.Apply(ctx, stage.ParsePolicies(strings.ReplaceAll(gatedDatabases, "GROUP", group))...)
		db := database(group, databaseKind, shared.MakeNamespace(ctx, nil), "main", medium)
		db.SetLabels(map[string]string{groupLabel: group})
		Expect(shared.initiator().Create(ctx, db)).To(Succeed())
		instance := shared.instanceOf(ctx, db, "instance")
		shared.has(ctx, instance, medium)
		shared.Becomes(ctx, db, "Synced", "Ready")
		// What follows while it is being created needs nobody to agree.
		shared.steady(ctx, &governed{database: db, composite: db, instance: instance})
		asked := func() []cloud.Verb { return shared.calls(ctx, instance).Mutations().Verbs() }

		By("waiting for somebody to agree")
		asking := shared.WatchObjects(db, instance)
		DeferCleanup(func() {
			if CurrentSpecReport().Failed() {
				AddReportEntry("requests", strings.Join(said(asking.Writes()), "\n"))
			}
		})
		shared.recompose(ctx, databaseKind, group, fmt.Sprintf(`[{"op":"add","path":"RESOURCES/0/base/spec/forProvider/backupWindow","value":%q}]`, window))
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(db), db)).To(Succeed())
			g.Expect(db.GetAnnotations()).To(HaveKey(v1alpha1.ConditionBlocked))
		}).Should(Succeed())
		Expect(asked()).To(Equal([]cloud.Verb{cloud.Create}))

		By("being agreed to, outside as well")
		audit := shared.Watch()
		shared.agree(ctx, group, func(u *v1alpha1.UpgradeAllowance) {
			u.Spec.Policies = append(u.Spec.Policies, v1alpha1.PolicyEntry{
				Target: v1alpha1.Target{External: map[string]string{"provider": "provider-aws"}}, Relation: v1alpha1.RelationExternal, Verbs: []string{"Update"},
			})
		})
		Eventually(ctx, func(g Gomega) {
			parameters, err := shared.cloud().Peek(ctx, instance.GetName())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(parameters).To(HaveKeyWithValue("backupWindow", window))
		}).Should(Succeed())
		Expect(audit.TracesOf(stage.OfAny(instance), controlplane.ByUser(crossplaneUser), controlplane.Succeeded)).To(ContainElement(HavePrefix("greta ")))
		shared.quiet(ctx, db, instance)
		Expect(asked()).To(Equal([]cloud.Verb{cloud.Create, cloud.Update}))

		By("closing again")
		Expect(shared.cloud().Drift(ctx, instance.GetName(), cloud.Parameters{"backupWindow": "05:00-06:00"})).To(Succeed())
		Consistently(ctx, asked).WithTimeout(twoLooks).Should(Equal([]cloud.Verb{cloud.Create, cloud.Update}))
	}, SpecTimeout(specTimeout))
})

var _ = Describe("A Composition that is chosen", func() {
	It("is remembered once something was made by it, and not where it was in vain", func(ctx SpecContext) {
		const group = "chosen.example.org"
		shared.offer(ctx, group)
		choice := strings.Replace(gatedDatabases, "  rules:\n", `  rules:
  - trigger: spec.crossplane
    policies:
    - target: {apiGroup: rds.aws.m.crossplane.io, apiVersion: v1alpha1, resource: rdsinstances}
      relation: ControllerChild
      mutations: [{jsonPath: spec.forProvider}]
`, 1)
		shared.Apply(ctx, stage.ParsePolicies(strings.ReplaceAll(choice, "GROUP", group))...)
		db := database(group, databaseKind, shared.MakeNamespace(ctx, nil), "main", medium)
		Expect(shared.initiator().Create(ctx, db)).To(Succeed())
		d := &upgraded{governed: &governed{database: db, composite: db, instance: shared.instanceOf(ctx, db, "instance")}, group: group}
		shared.Becomes(ctx, db, "Synced", "Ready")
		shared.steady(ctx, d.governed)
		const chosen = "databases." + group
		composed := func(revision string) {
			GinkgoHelper()
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(db), db)).To(Succeed())
				g.Expect(composedBy(db)).To(Equal(revision))
			}).Should(Succeed())
		}
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(db), db)).To(Succeed())
		first := composedBy(db)

		By("following a Composition in vain, and back")
		audit := shared.WatchObjects(d.objects()...)
		second := shared.recompose(ctx, databaseKind, group, fmt.Sprintf(`[{"op":"add","path":"RESOURCES/0/base/spec/forProvider/backupWindow","value":%q}]`, window))
		composed(second)
		Eventually(ctx, func() []string { return audit.Refusals(crossplaneUser) }).Should(ContainElement(ContainSubstring("The request comes from CompositionRevision " + second)))
		Expect(shared.recompose(ctx, databaseKind, group, `[{"op":"remove","path":"RESOURCES/0/base/spec/forProvider/backupWindow"}]`)).To(Equal(first))
		composed(first)
		shared.quiet(ctx, d.objects()...)
		Expect(shared.remembered(ctx, Default, db)).To(SatisfyAll(HaveField("Revision", first), HaveField("AlsoRevision", BeEmpty())))

		By("being composed by another one as who may")
		other, third := shared.copyWithWindow(ctx, chosen)
		Expect(shared.initiator().Patch(ctx, db.DeepCopy(), choosesRevision(other, ""))).To(Succeed())
		d.instanceGets(ctx, Equal(window), retriedAtOnce)
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.remembered(ctx, g, db)).To(SatisfyAll(HaveField("Revision", first), HaveField("AlsoRevision", third)))
		}).Should(Succeed())
		shared.quiet(ctx, d.objects()...)

		By("being composed by the first one again")
		Expect(shared.initiator().Patch(ctx, db.DeepCopy(), choosesRevision(chosen, ""))).To(Succeed())
		d.instanceGets(ctx, BeEmpty(), retriedAtOnce)
		Expect(shared.remembered(ctx, Default, db)).To(SatisfyAll(HaveField("Revision", third), HaveField("User", stage.AliceName)))
	}, SpecTimeout(2*specTimeout))
})

// The function of the spec about them, in two versions.
var (
	firstFunction  = crossplane.FunctionVersion{Name: "stamp", Number: 1, Active: true}
	secondFunction = crossplane.FunctionVersion{Name: "stamp", Number: 2, Also: "spec.forProvider.backupWindow=" + window}
)

// withFunction has Compositions composed by another function.
func withFunction(name string) func(*unstructured.Unstructured) {
	return func(object *unstructured.Unstructured) {
		pipeline, ok, _ := unstructured.NestedSlice(object.Object, "spec", "pipeline")
		if !ok {
			return
		}
		step, _ := pipeline[0].(map[string]any)
		step["functionRef"] = map[string]any{"name": name}
		Expect(unstructured.SetNestedSlice(object.Object, pipeline, "spec", "pipeline")).To(Succeed())
	}
}

// activate has Crossplane ask one version of a function, and not the other one.
func activate(ctx context.Context, version, other crossplane.FunctionVersion) {
	GinkgoHelper()
	for name, state := range map[string]string{version.Revision(): "Active", other.Revision(): "Inactive"} {
		revision := &unstructured.Unstructured{}
		revision.SetGroupVersionKind(schema.GroupVersionKind{Group: "pkg.crossplane.io", Version: "v1", Kind: "FunctionRevision"})
		revision.SetName(name)
		Expect(shared.Patch(ctx, revision, merge(fmt.Sprintf(`{"spec":{"desiredState":%q}}`, state)))).To(Succeed())
	}
}

// It starts functions, which only the process can that has started the cluster.
var _ = Describe("An upgrade of a Function", Serial, stage.Long, func() {
	It("changes what was agreed, though no composite resource is written", func(ctx SpecContext) {
		Expect(crossplane.StartFunction(ctx, members, firstFunction)).To(Succeed())
		Expect(crossplane.StartFunction(ctx, members, secondFunction)).To(Succeed())
		const group = "functions.example.org"
		d := provideUpgraded(ctx, group, databaseKind, false, withFunction(firstFunction.Name))
		function := func(g Gomega) v1alpha1.ControllerVersion {
			for _, v := range shared.Record(ctx, g, d.composite).Status.Versions {
				if v.Trigger == v1alpha1.UpgradeOfFunction {
					return v
				}
			}
			return v1alpha1.ControllerVersion{}
		}
		Eventually(ctx, func(g Gomega) { g.Expect(function(g).Image).To(Equal(firstFunction.Package())) }).Should(Succeed())
		shared.quiet(ctx, d.objects()...)
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(d.composite), d.composite)).To(Succeed())
		generation := d.composite.GetGeneration()
		audit := shared.WatchObjects(d.objects()...)

		By("being denied what nobody agreed to, when Crossplane asks the function again")
		activate(ctx, secondFunction, firstFunction)
		Eventually(ctx, func() []string { return audit.Refusals(crossplaneUser) }).WithTimeout(2 * time.Minute).Should(ContainElement(SatisfyAll(
			ContainSubstring("The request comes from package "+secondFunction.Package()), ContainSubstring("package "+firstFunction.Package()),
			ContainSubstring("spec.triggers [Function]"))))
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(d.composite), d.composite)).To(Succeed())
			g.Expect(d.composite.GetAnnotations()).To(HaveKey(v1alpha1.ConditionBlocked))
		}).Should(Succeed())
		Expect(d.composite.GetGeneration()).To(Equal(generation))

		By("being agreed to, and so woken")
		agreed := shared.agree(ctx, group, func(u *v1alpha1.UpgradeAllowance) {
			u.Spec.Triggers = []v1alpha1.UpgradeTrigger{v1alpha1.UpgradeOfFunction}
		})
		Expect(agreed.Status.RanBefore).To(ContainElement(secondFunction.Package()))
		d.instanceGets(ctx, Equal(window), retriedAtOnce)
		Expect(audit.TracesOf(stage.OfAny(d.instance), controlplane.ByUser(crossplaneUser), controlplane.Succeeded)).To(ContainElement(SatisfyAll(
			HavePrefix("greta "), ContainSubstring(`{"kind":"UpgradeAllowance","name":"`+agreed.Name+`"`))))
		isOver := func(version crossplane.FunctionVersion) {
			GinkgoHelper()
			Eventually(ctx, func(g Gomega) {
				g.Expect(function(g)).To(SatisfyAll(HaveField("Image", version.Package()), HaveField("MovedAt", Not(BeNil()))))
			}).WithTimeout(overTimeout).Should(Succeed())
		}
		isOver(secondFunction)

		By("being put back, which is another upgrade")
		activate(ctx, firstFunction, secondFunction)
		d.instanceGets(ctx, BeEmpty(), 2*time.Minute)
		isOver(firstFunction)
		shared.Becomes(ctx, d.composite, "Responsive")
	}, SpecTimeout(3*specTimeout))
})

var _ = Describe("An upgrade of what says what an instance stands for in the cloud", func() {
	It("is agreed to by the name of the field only", func(ctx SpecContext) {
		const group, path = "keeping.example.org", "spec.deletionPolicy"
		closeGatesOf(ctx, group, saying("deletionPolicy", `"Orphan"`))
		db := database(group, claimKind, shared.MakeNamespace(ctx, nil), "main", medium)
		db.SetAnnotations(map[string]string{"jira": "INFRA-1"})
		db.SetLabels(map[string]string{groupLabel: group})
		i := provisioned(ctx, db)
		shared.steady(ctx, &governed{database: db, composite: i.composite, instance: i.instance, isClaim: true})
		audit := shared.WatchObjects(i.composite, i.instance)
		agreed := shared.agree(ctx, group, func(u *v1alpha1.UpgradeAllowance) {
			u.Spec.Policies = []v1alpha1.PolicyEntry{instances("rds.aws.crossplane.io", "spec")}
		})
		shared.recompose(ctx, compositeKind, group, `[{"op":"replace","path":"RESOURCES/0/base/spec/deletionPolicy","value":"Delete"}]`)
		Eventually(ctx, func() []string { return audit.Refusals(crossplaneUser) }).WithTimeout(time.Minute).Should(ContainElement(SatisfyAll(
			ContainSubstring("changing "+path+" of RDSInstance "+i.instance.GetName()+" is not allowed by its parent"),
			ContainSubstring("spec.policies does not cover it, as it has to name what says what the object stands for outside: changing "+path))))
		policy := func(g Gomega) string {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(i.instance), i.instance)).To(Succeed())
			policy, _, _ := unstructured.NestedString(i.instance.Object, "spec", "deletionPolicy")
			return policy
		}
		Expect(policy(Default)).To(Equal("Orphan"))

		By("suggesting what lets it through, and agreeing to that")
		Eventually(ctx, func(g Gomega) { // The answer comes before the record tells of it.
			g.Expect(shared.Record(ctx, g, i.composite).Status.LastDenial).To(HaveField("Paths", ContainElement(ContainSubstring(path))))
		}).Should(Succeed())
		suggested := &v1alpha1.UpgradeAllowance{}
		Expect(yaml.Unmarshal([]byte(suggestion(ctx)), suggested)).To(Succeed())
		was := agreed.DeepCopy()
		agreed.Spec.Policies = suggested.Spec.Policies
		Expect(shared.As("greta", user.SystemPrivilegedGroup).Patch(ctx, agreed, client.MergeFrom(was))).To(Succeed())
		Eventually(ctx, policy).WithTimeout(retriedAtOnce).Should(Equal("Delete"))

		By("deleting the claim, and with that what is in the cloud")
		i.closed(ctx)
		Expect(i.by.Delete(ctx, i.database)).To(Succeed())
		shared.Gone(ctx, i.database, i.composite, i.instance)
		Expect(i.outside(ctx)).To(Equal([]cloud.Verb{cloud.Delete}))
	}, SpecTimeout(2*specTimeout))
})

// upgradedAtOnce is how many composite resources wait for one UpgradeAllowance.
var upgradedAtOnce = flag.Int("upgraded", 10, "how many composite resources are upgraded at once")

var _ = Describe("Many composite resources", stage.Long, func() {
	It("are woken when their upgrade is agreed to, by nothing but what shows that they are blocked, and keep the circuit breaker closed", func(ctx SpecContext) {
		const group = "many.example.org"
		shared.offer(ctx, group)
		shared.govern(ctx, "databases.yaml", group)
		ns := shared.MakeNamespace(ctx, nil)
		var all []*unstructured.Unstructured
		for i := range *upgradedAtOnce {
			db := database(group, databaseKind, ns, fmt.Sprintf("db-%d", i), medium)
			db.SetLabels(map[string]string{groupLabel: group})
			Expect(shared.initiator().Create(ctx, db)).To(Succeed())
			all = append(all, db)
		}
		for _, db := range all {
			Eventually(ctx, func(g Gomega) {
				status := shared.Record(ctx, g, db).Status
				g.Expect(status.Phase).To(Equal(v1alpha1.PhaseSteady))
				g.Expect(status.Active).To(BeEmpty())
			}).WithTimeout(specTimeout).Should(Succeed())
		}
		shared.recompose(ctx, databaseKind, group, fmt.Sprintf(`[{"op":"add","path":"RESOURCES/0/base/spec/forProvider/backupWindow","value":%q}]`, window))
		for _, db := range all {
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(db), db)).To(Succeed())
				g.Expect(db.GetAnnotations()).To(HaveKey(v1alpha1.ConditionBlocked))
			}).WithTimeout(specTimeout).Should(Succeed())
		}
		audit := shared.WatchNamespace(ns)
		agreed := shared.agree(ctx, group, func(*v1alpha1.UpgradeAllowance) {})
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(agreed), agreed)).To(Succeed())
			g.Expect(agreed.Status).To(SatisfyAll(HaveField("Moved", int32(len(all))), HaveField("Moving", int32(0)), HaveField("Blocked", int32(0))))
		}).WithTimeout(specTimeout).Should(Succeed())
		for _, db := range all {
			Expect(windowOf(shared.instanceOf(ctx, db, "instance"))).To(Equal(window))
			shared.Becomes(ctx, db, "Synced", "Ready", "Responsive")
			// That a policy is about it may be shown only now, which is a write of it as well.
			Expect(said(audit.Writes(controlplane.ByUser(operatorUser), controlplane.Succeeded, controlplane.OfSubresource(""), stage.OfAny(db)))).
				To(And(Not(BeEmpty()), HaveEach(Or(ContainSubstring(v1alpha1.ConditionBlocked), ContainSubstring(v1alpha1.ConditionAffected)))),
					"writes of the operator of %s, and what was refused: %v", db.GetName(), said(audit.Writes(stage.Failed)))
		}
	}, SpecTimeout(4*specTimeout))
})
