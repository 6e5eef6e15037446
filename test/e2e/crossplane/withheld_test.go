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
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/crossplane/provider/apis/cluster"
	"kausality.io/operator/test/crossplane/provider/apis/namespaced"
	"kausality.io/operator/test/stage"
)

// evil is what all values of strangers contain: it must never be in the cloud.
const evil = "evil"

// managedKind is that of instances that nobody composes.
const managedKind = "RDSInstance"

// sizesAndEngines returns policies for a group under which an initiator may change the size
// and the engine of databases, of claims, and of instances that nobody composes.
func sizesAndEngines(group string) []*v1alpha1.AllowancePolicy {
	GinkgoHelper()
	own := strings.ReplaceAll(ownPolicies, "example.org/own", "example.org/"+group)
	inNamespaces := strings.NewReplacer("own.GROUP", "namespaced.GROUP", "rds.aws.crossplane.io", "rds.aws.m.crossplane.io").Replace(own)
	policies := stage.ParsePolicies(strings.ReplaceAll(closingPolicies+"---"+own+"---"+inNamespaces, "GROUP", group))
	for _, p := range policies {
		p.Spec.FailurePolicy = "" // What comes while nobody can be asked is judged afterwards.
		if len(p.Spec.Rules) > 1 {
			continue
		}
		raw, err := json.Marshal(p.Spec.Rules[0])
		Expect(err).NotTo(HaveOccurred())
		var engine v1alpha1.Rule
		text := strings.NewReplacer("spec.size", "spec.engine", "instanceClass", "engine").Replace(string(raw))
		Expect(json.Unmarshal([]byte(text), &engine)).To(Succeed())
		p.Spec.Rules = append(p.Spec.Rules, engine)
	}
	return policies
}

// asked is an object of alice's that ends in the cloud, as strangers change it.
type asked struct {
	*gatedInstance

	// object is what is changed: the database, the claim, or the instance itself.
	object *unstructured.Unstructured
	// spec are the fields above those that are changed.
	spec []string
	// size and engine are what these fields are called.
	size, engine string
}

// ask has alice create an object of a kind.
func ask(ctx context.Context, group, kind string) *asked {
	GinkgoHelper()
	if kind != managedKind {
		i := provision(ctx, group, kind, "")
		return &asked{gatedInstance: i, object: i.database, spec: []string{"spec"}, size: "size", engine: "engine"}
	}
	return askManaged(ctx, group, managed(cluster.GroupVersion, strings.ReplaceAll(group, ".", "-")+"-"+rand.String(5)))
}

// managed returns an instance that nobody composes, of a group with or without namespaces.
func managed(gv schema.GroupVersion, name string) *unstructured.Unstructured {
	mr := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"forProvider": map[string]any{"instanceClass": medium, "engine": "postgres"},
	}}}
	mr.SetGroupVersionKind(gv.WithKind(managedKind))
	mr.SetName(name)
	return mr
}

// askManaged has alice create an instance that nobody composes.
func askManaged(ctx context.Context, group string, mr *unstructured.Unstructured) *asked {
	GinkgoHelper()
	mr.SetLabels(map[string]string{"example.org/" + group: "true"})
	i := &gatedInstance{instance: mr, by: shared.initiator()}
	Expect(i.by.Create(ctx, mr)).To(Succeed())
	shared.has(ctx, mr, medium)
	i.closed(ctx)
	return &asked{gatedInstance: i, object: mr, spec: []string{"spec", "forProvider"}, size: "instanceClass", engine: "engine"}
}

// change sets fields of the object; nil takes one away.
func (a *asked) change(fields map[string]any) client.Patch {
	GinkgoHelper()
	var content any = fields
	for _, field := range slices.Backward(a.spec) {
		content = map[string]any{field: content}
	}
	raw, err := json.Marshal(content)
	Expect(err).NotTo(HaveOccurred())
	return client.RawPatch(types.MergePatchType, raw)
}

// patch is that somebody changes the object.
func (a *asked) patch(ctx context.Context, who *stage.Actor, patch client.Patch) {
	GinkgoHelper()
	Expect(who.Patch(ctx, a.object.DeepCopy(), patch)).To(Succeed())
}

// put is that somebody replaces the object by what edit makes of it.
func (a *asked) put(ctx context.Context, who *stage.Actor, edit func(spec map[string]any)) {
	GinkgoHelper()
	Eventually(ctx, func() error {
		fresh := a.object.DeepCopy()
		if err := who.Get(ctx, client.ObjectKeyFromObject(fresh), fresh); err != nil {
			return err
		}
		spec, _, err := unstructured.NestedMap(fresh.Object, a.spec...)
		if err != nil {
			return err
		}
		edit(spec)
		if err := unstructured.SetNestedMap(fresh.Object, spec, a.spec...); err != nil {
			return err
		}
		return who.Update(ctx, fresh)
	}).Should(Succeed())
}

// withholds waits until exactly these paths below the spec are said to be withheld.
func (a *asked) withholds(ctx context.Context, fields ...string) {
	GinkgoHelper()
	var paths []string
	for _, field := range fields {
		paths = append(paths, strings.Join(append(append([]string{}, a.spec...), field), "."))
	}
	Eventually(ctx, func(g Gomega) {
		g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(a.object), a.object)).To(Succeed())
		g.Expect(stage.WithheldOf(a.object)).To(ConsistOf(paths))
	}).Should(Succeed())
}

// shown returns what people are shown to approve what is withheld of the object.
func (a *asked) shown(ctx context.Context) string {
	GinkgoHelper()
	var shown string
	Eventually(ctx, func(g Gomega) {
		g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(a.object), a.object)).To(Succeed())
		withheld := slices.DeleteFunc(shared.Record(ctx, g, a.object).Status.Active, func(a v1alpha1.Allowance) bool { return a.Relation != v1alpha1.RelationWithheld })
		g.Expect(withheld).To(HaveLen(1))
		g.Expect(withheld[0].Content).NotTo(BeEmpty())
		shown = withheld[0].Mutation + "@" + withheld[0].Content
	}).Should(Succeed())
	return shown
}

// untouched checks that nothing of a stranger's was ever asked of the cloud.
func (a *asked) untouched(ctx context.Context) {
	GinkgoHelper()
	calls := shared.calls(ctx, a.instance).Mutations()
	Expect(calls).NotTo(BeEmpty(), "it was never made")
	for _, call := range calls {
		Expect(fmt.Sprint(call.Parameters)).NotTo(ContainSubstring(evil), "call %d", call.Number)
	}
}

// unmoved checks that nothing at all is asked of the cloud for a while.
func (a *asked) unmoved(ctx context.Context) {
	GinkgoHelper()
	before := shared.calls(ctx, a.instance).Mutations()
	Consistently(ctx, func() cloud.Calls { return shared.calls(ctx, a.instance).Mutations() }).
		WithTimeout(poll + time.Second).Should(HaveLen(len(before)))
}

// runs waits until the cloud has an instance with an engine.
func (a *asked) runs(ctx context.Context, engine string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		parameters, err := shared.cloud().Peek(ctx, a.instance.GetName())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(parameters).To(HaveKeyWithValue("engine", engine))
	}).Should(Succeed())
}

// approve returns what an approval of paths looks like.
func approve(paths string) client.Patch {
	return merge(fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationApprove, paths))
}

// What is withheld is the difference from what was approved, however it came about, down
// to the cloud (D20).
var _ = Describe("What strangers make of something in the cloud", Ordered, ContinueOnFailure, func() {
	const group = "strangers.example.org"
	BeforeAll(func(ctx SpecContext) {
		shared.offer(ctx, group)
		shared.Apply(ctx, sizesAndEngines(group)...)
	}, NodeTimeout(specTimeout))

	DescribeTable("stays out of it until it is approved, or taken back", func(ctx SpecContext, kind string) {
		a := ask(ctx, group, kind)
		mallory, marvin := shared.stranger(), shared.As("marvin", stage.Developers, "system:masters")
		By("changing two fields, each in its own way")
		a.patch(ctx, mallory, a.change(map[string]any{a.size: "db.evil.1"}))
		a.put(ctx, marvin, func(spec map[string]any) { spec[a.engine] = "evil" })
		a.withholds(ctx, a.size, a.engine)
		By("changing one of them again, taking it away, and bringing it back")
		a.patch(ctx, marvin, a.change(map[string]any{a.size: nil}))
		a.withholds(ctx, a.size, a.engine)
		a.patch(ctx, marvin, a.change(map[string]any{a.size: "db.evil.2"}))
		a.withholds(ctx, a.size, a.engine)
		a.unmoved(ctx)
		a.untouched(ctx)

		By("changing one of them as who may, beside the other one")
		a.patch(ctx, a.by, a.change(map[string]any{a.engine: "mariadb"}))
		a.withholds(ctx, a.size)
		a.unmoved(ctx)
		By("taking the other one back")
		a.put(ctx, marvin, func(spec map[string]any) { spec[a.size] = medium })
		a.withholds(ctx)
		a.runs(ctx, "mariadb")
		a.closed(ctx)
		a.untouched(ctx)
		shared.has(ctx, a.instance, medium)
	},
		Entry("of a claim", SpecTimeout(2*specTimeout), claimKind),
		Entry("of a namespaced composite resource", SpecTimeout(2*specTimeout), databaseKind),
		Entry("of a managed resource that nobody composes", SpecTimeout(2*specTimeout), managedKind),
	)

	// It has databases of its own: each change of one that waits is some five writes for Crossplane's circuit
	// breaker, which opens at fifty. In one spec with what is above, it did.
	DescribeTable("goes into it as far as it is approved, once the rest is taken back", func(ctx SpecContext, kind string) {
		a := ask(ctx, group, kind)
		mallory := shared.stranger()
		a.put(ctx, mallory, func(spec map[string]any) { spec[a.size], spec[a.engine] = "db.t3.approved", "evil" })
		a.withholds(ctx, a.size, a.engine)
		a.patch(ctx, a.by, approve(strings.Join(append(append([]string{}, a.spec...), a.size), ".")))
		a.withholds(ctx, a.engine)
		a.unmoved(ctx)
		a.patch(ctx, mallory, a.change(map[string]any{a.engine: "postgres"}))
		shared.has(ctx, a.instance, "db.t3.approved")
		a.closed(ctx)
		a.untouched(ctx)
	},
		Entry("of a claim", SpecTimeout(2*specTimeout), claimKind),
		Entry("of a namespaced composite resource", SpecTimeout(2*specTimeout), databaseKind),
		Entry("of a managed resource that nobody composes", SpecTimeout(2*specTimeout), managedKind),
	)
})

// whileAway does something without the operator, and returns when it is back. Other policies of the suite
// would let nothing pass, so somebody takes its webhooks away as well. It is for Serial specs.
func whileAway(ctx context.Context, what func()) {
	GinkgoHelper()
	Expect(operator.Kill()).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(operator.Restart(ctx)).To(Succeed()) })
	webhooks := []string{"mutatingwebhookconfiguration/kausality-admission", "validatingwebhookconfiguration/kausality-admission"}
	out, err := shared.RunKubectl(ctx, append([]string{"delete"}, webhooks...)...)
	Expect(err).NotTo(HaveOccurred(), out)
	what()
	Expect(operator.Restart(ctx)).To(Succeed())
	Eventually(ctx, func(g Gomega) {
		out, err := shared.RunKubectl(ctx, append([]string{"get"}, webhooks...)...)
		g.Expect(err).NotTo(HaveOccurred(), out)
	}).Should(Succeed())
}

var _ = Describe("What strangers make of something in the cloud while the operator is away", Serial, Ordered, ContinueOnFailure, func() {
	const group = "away.example.org"
	BeforeAll(func(ctx SpecContext) {
		shared.offer(ctx, group)
		shared.Apply(ctx, sizesAndEngines(group)...)
	}, NodeTimeout(specTimeout))

	It("stays out of it where it is a composite resource", func(ctx SpecContext) {
		a := ask(ctx, group, databaseKind)
		whileAway(ctx, func() {
			a.patch(ctx, shared.stranger(), a.change(map[string]any{a.size: "db.evil.1"}))
			shared.sized(ctx, a.instance, "db.evil.1") // which Crossplane carries out
		})
		shown := a.shown(ctx)
		a.withholds(ctx, a.size)
		By("approving what was shown, when it is something else")
		a.patch(ctx, shared.stranger(), a.change(map[string]any{a.size: "db.evil.2"}))
		a.patch(ctx, a.by, merge(fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationApprove, shown)))
		a.withholds(ctx, a.size)
		a.patch(ctx, shared.stranger(), a.change(map[string]any{a.size: "db.evil.1"}))
		a.patch(ctx, a.by, a.change(map[string]any{a.engine: "mariadb"}))
		a.unmoved(ctx)
		a.untouched(ctx)
		By("taking it back")
		a.patch(ctx, shared.stranger(), a.change(map[string]any{a.size: medium}))
		a.runs(ctx, "mariadb")
		a.closed(ctx)
		a.untouched(ctx)
		shared.has(ctx, a.instance, medium)
	}, SpecTimeout(2*specTimeout))

	It("stays out of it where it is a managed resource", func(ctx SpecContext) {
		mr := managed(namespaced.GroupVersion, "away-managed")
		mr.SetNamespace(shared.MakeNamespace(ctx, nil))
		a := askManaged(ctx, group, mr)
		whileAway(ctx, func() {
			a.patch(ctx, shared.stranger(), a.change(map[string]any{a.size: "db.evil.1"}))
			a.patch(ctx, shared.stranger(), merge(`{"spec":{"managementPolicies":["Observe"]}}`))
		})
		a.withholds(ctx, a.size)
		a.patch(ctx, a.by, a.change(map[string]any{a.engine: "mariadb"}))
		a.unmoved(ctx)
		a.untouched(ctx)
		By("approving it")
		a.patch(ctx, a.by, approve("*"))
		shared.has(ctx, a.instance, "db.evil.1")
		a.runs(ctx, "mariadb")
		a.closed(ctx)
	}, SpecTimeout(2*specTimeout))
})
