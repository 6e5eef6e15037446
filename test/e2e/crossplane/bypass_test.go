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
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/crossplane/provider/apis/cluster"
	"kausality.io/operator/test/stage"
)

// bypass is a way in which somebody might change what is in the cloud, or have it
// changed in the name of who may. docs/bypasses.md has a row for each, by its name, and
// test/mutants takes out the check that stands in its way.
type bypass struct {
	way string
	try func(context.Context, *cloudScene)
}

// Groups of the databases that bypasses are tried on.
const (
	// bypassGroup is one whose policies bound instances, and what is in the cloud.
	bypassGroup = "bypass.example.org"
	// bypassAwayGroup is the same for when nobody judges.
	bypassAwayGroup = "bypassaway.example.org"
	// bypassOutsideGroup is one whose policies bound what is in the cloud only.
	bypassOutsideGroup = "bypassoutside.example.org"
	// bypassNamingGroup is one whose databases say what instances are named in the cloud.
	bypassNamingGroup = "bypassnaming.example.org"
	// bypassCeilingGroup is one whose instances may be created, and not updated.
	bypassCeilingGroup = "bypassceiling.example.org"
	// bypassClaimGroup is one whose composite resources say who may initiate on them.
	bypassClaimGroup = "bypassclaim.example.org"
	// bypassTakingGroup is one whose databases say which instance they are composed of.
	bypassTakingGroup = "bypasstaking.example.org"
	// ownLabel is on instances that nobody composes and that a policy of their own is for.
	ownLabel = "example.org/own"
)

// ownPolicies are for instances that nobody composes.
const ownPolicies = `
metadata: {name: own.GROUP}
spec:
  for: {apiGroup: rds.aws.crossplane.io, apiVersion: v1alpha1, kind: RDSInstance}
  objectSelector: {matchLabels: {example.org/own: "true"}}
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  initializing:
    policies:
    - {target: {external: {provider: provider-aws}}, relation: External, verbs: [Create]}
  deleting:
    policies:
    - {target: {external: {provider: provider-aws}}, relation: External, verbs: [Delete]}
  rules:
  - trigger: spec.forProvider.instanceClass
    policies:
    - {target: {external: {provider: provider-aws}}, relation: External, verbs: [Update]}
  - trigger: spec.forProvider.engine
    policies:
    - {target: {external: {provider: provider-aws}}, relation: External, verbs: [Update]}
`

// freePolicy is for composite resources that people make themselves.
const freePolicy = `
metadata: {name: free.GROUP}
spec:
  for: {apiGroup: GROUP, apiVersion: v1alpha1, kind: XDatabase}
  subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
  rules:
  - trigger: spec.engine
    policies:
    - target: {apiGroup: rds.aws.crossplane.io, apiVersion: v1alpha1, resource: rdsinstances}
      relation: ControllerChild
      mutations: [{jsonPath: spec.forProvider.engine}]
`

// takingPolicies are those of databases, by which the rogue may have composite resources of her own.
func takingPolicies() string {
	const composites = "kind: XDatabase}\n  failurePolicy: Fail\n  subjects:\n"
	Expect(closingPolicies).To(ContainSubstring(composites))
	return strings.ReplaceAll(closingPolicies, composites, composites+fmt.Sprintf(
		"  - {kind: User, name: %s, mayInitiate: true}\n  - {kind: Group, name: platform-team, mayInitiate: true}\n", stage.MalloryName))
}

// chosenPolicy is for what says which composition a claim uses.
const chosenPolicy = `
metadata: {name: chosen.GROUP}
spec:
  for: {apiGroup: GROUP, apiVersion: v1alpha1, kind: DatabaseClaim}
  failurePolicy: Fail
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, namespace: crossplane-system, name: crossplane}
  rules:
  - trigger: spec.compositionRef
    policies:
    - target: {apiGroup: GROUP, apiVersion: v1alpha1, resource: xdatabases}
      relation: ControllerChild
      mutations: [{jsonPath: spec.compositionRef}]
`

// selectedPolicy is the same for composite resources without claims.
const selectedPolicy = `
metadata: {name: selected.GROUP}
spec:
  for: {apiGroup: GROUP, apiVersion: v1alpha1, kind: Database}
  failurePolicy: Fail
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, namespace: crossplane-system, name: crossplane}
  rules:
  - trigger: spec.crossplane
    policies:
    - target: {apiGroup: rds.aws.m.crossplane.io, apiVersion: v1alpha1, resource: rdsinstances}
      relation: ControllerChild
      mutations: [{jsonPath: spec.forProvider}]
`

// cloudScene is what bypasses are tried with.
type cloudScene struct {
	// rogue has all rights of RBAC, and may initiate nothing.
	rogue *stage.Actor
	// victim is the name of what somebody else has in the cloud.
	victim string
}

// untouched checks that nobody has changed what somebody else has in the cloud.
func (s *cloudScene) untouched(ctx context.Context) {
	GinkgoHelper()
	calls, err := shared.cloud().Calls(ctx, s.victim)
	Expect(err).NotTo(HaveOccurred())
	Expect(calls.Mutations().Verbs()).To(Equal([]cloud.Verb{cloud.Create}))
	parameters, err := shared.cloud().Peek(ctx, s.victim)
	Expect(err).NotTo(HaveOccurred())
	Expect(parameters).To(HaveKeyWithValue("instanceClass", "db.t3.victim"))
}

// named returns a patch that has an object stand for something else in the cloud.
func named(name string) client.Patch {
	return merge(fmt.Sprintf(`{"metadata":{"annotations":{"crossplane.io/external-name":%q}}}`, name))
}

var _ = Describe("Bypass", Ordered, ContinueOnFailure, func() {
	BeforeAll(func(ctx SpecContext) {
		closeGatesOf(ctx, bypassGroup)
		closeGatesOf(ctx, bypassNamingGroup, namesInstances)
		closeGatesOf(ctx, bypassCeilingGroup, limitedBy(`["Observe","Create","LateInitialize"]`))
		shared.Apply(ctx, stage.ParsePolicies(strings.ReplaceAll(chosenPolicy+"---"+selectedPolicy, "GROUP", bypassGroup))...)
		shared.offer(ctx, bypassTakingGroup, takesInstances)
		shared.Apply(ctx, stage.ParsePolicies(strings.ReplaceAll(takingPolicies(), "GROUP", bypassTakingGroup))...)
		shared.offer(ctx, bypassClaimGroup)
		shared.govern(ctx, "databases.yaml", bypassClaimGroup)
		shared.Apply(ctx, stage.ParsePolicies(strings.ReplaceAll(freePolicy, "GROUP", bypassClaimGroup))...)
		shared.offer(ctx, bypassOutsideGroup)
		shared.Apply(ctx, stage.ParsePolicies(strings.ReplaceAll(outsidePolicies+"---"+ownPolicies, "GROUP", bypassOutsideGroup))...)
	}, NodeTimeout(specTimeout))

	for _, b := range bypasses() {
		if !b.isAlone() {
			b.spec()
		}
	}

	It("has a row in the documentation for each way", func() {
		var tried []string
		for _, b := range bypasses() {
			tried = append(tried, b.way)
		}
		Expect(stage.DocumentedBypasses(filepath.Join(root, "docs", "bypasses.md"), stage.InTheCloud)).To(Equal(tried))
	})
})

var _ = Describe("Bypass", Serial, Ordered, ContinueOnFailure, func() {
	BeforeAll(func(ctx SpecContext) {
		shared.Apply(ctx, stage.ParsePolicies(strings.ReplaceAll(ownPolicies, "GROUP", bypassOutsideGroup))...)
		closeGatesOf(ctx, bypassAwayGroup)
		shared.Apply(ctx, stage.ParsePolicies(strings.ReplaceAll(chosenPolicy, "GROUP", bypassAwayGroup))...)
	}, NodeTimeout(specTimeout))

	for _, b := range alone() {
		b.spec()
	}
})

// isAlone reports whether the bypass takes the operator away, or changes what others' instances
// depend on, and so runs alone.
func (b bypass) isAlone() bool {
	return slices.ContainsFunc(alone(), func(other bypass) bool { return other.way == b.way })
}

func alone() []bypass { return slices.Concat(namingMeanwhile(), disowning(), choosingMeanwhile()) }

// namesInstances makes a composition say what instances are named in the cloud.
func namesInstances(object *unstructured.Unstructured) {
	const name = `metadata.annotations[crossplane.io/external-name]`
	copies(object, name, name)
}

// takesInstances makes a composition say what instances are named in the cluster.
func takesInstances(object *unstructured.Unstructured) {
	copies(object, `metadata.annotations[`+takesAnnotation+`]`, "metadata.name")
}

// takesAnnotation has the name of the instance of which a database is composed.
const takesAnnotation = "example.org/takes"

// copies makes a composition copy one field more into instances.
func copies(object *unstructured.Unstructured, field, to string) {
	if object.GetKind() != "Composition" {
		return
	}
	const traits = `metadata.annotations[aws.example.org/traits]`
	raw, err := object.MarshalJSON()
	Expect(err).NotTo(HaveOccurred())
	from := fmt.Sprintf(`{"from":%q,"to":%q}`, traits, traits)
	Expect(string(raw)).To(ContainSubstring(from))
	Expect(object.UnmarshalJSON([]byte(strings.ReplaceAll(string(raw), from, from+fmt.Sprintf(`,{"from":%q,"to":%q}`, field, to))))).To(Succeed())
}

// spec tries the bypass.
func (b bypass) spec() {
	It(b.way, func(ctx SpecContext) {
		s := &cloudScene{
			rogue:  shared.As(stage.MalloryName, "system:masters"),
			victim: fmt.Sprintf("victim-%d-", GinkgoRandomSeed()) + strings.ReplaceAll(b.way, " ", "-"),
		}
		_, err := shared.cloud().Do(ctx, cloud.Create, s.victim, cloud.Parameters{"instanceClass": "db.t3.victim"})
		Expect(err).NotTo(HaveOccurred())
		b.try(ctx, s)
		s.untouched(ctx)
	}, SpecTimeout(specTimeout))
}

// ownInstance returns an instance of alice's that nobody composes.
func ownInstance(ctx context.Context, name string, policies ...any) *gatedInstance {
	GinkgoHelper()
	mr := managed(cluster.GroupVersion, name)
	mr.SetLabels(map[string]string{ownLabel: "true"})
	if len(policies) > 0 {
		Expect(unstructured.SetNestedSlice(mr.Object, policies, "spec", "managementPolicies")).To(Succeed())
	}
	i := &gatedInstance{instance: mr, by: shared.initiator()}
	Expect(i.by.Create(ctx, mr)).To(Succeed())
	shared.has(ctx, mr, medium)
	i.closed(ctx)
	return i
}

func bypasses() []bypass {
	return slices.Concat(namingOthers(), namingMeanwhile(), disowning(), callingOneselfAuthor(), ridingAlong(), claiming(), composing(), choosing(), choosingMeanwhile(), orphaning(), unkeeping(), finding(), abandoning(), straying())
}

// namingOthers returns ways to have alice change what somebody else has in the cloud.
func namingOthers() []bypass {
	return []bypass{
		{"naming somebody else's resource in the cloud", func(ctx context.Context, s *cloudScene) {
			i := provision(ctx, bypassGroup, claimKind, "")
			err := s.rogue.Patch(ctx, i.instance.DeepCopy(), named(s.victim))
			Expect(err).To(MatchError(And(ContainSubstring("changing metadata.annotations[crossplane.io/external-name]"), ContainSubstring("is not allowed by its parent"))))
			i.resize(ctx, large)
			shared.has(ctx, i.instance, large)
			i.closed(ctx)
			Expect(i.by.Delete(ctx, i.database)).To(Succeed())
			shared.Gone(ctx, i.database, i.composite, i.instance)
			i.mutated(ctx, cloud.Create, cloud.Update, cloud.Delete)
		}},
		{"naming it where only the cloud is bounded", func(ctx context.Context, s *cloudScene) {
			i := provision(ctx, bypassOutsideGroup, databaseKind, "")
			Expect(s.rogue.Patch(ctx, i.instance.DeepCopy(), named(s.victim))).To(MatchError(stage.Denied, "denied"))
			i.resize(ctx, large)
			shared.has(ctx, i.instance, large)
			i.closed(ctx)
		}},
		{"naming it in a resource that nobody composes", func(ctx context.Context, s *cloudScene) {
			i := ownInstance(ctx, "own-named")
			err := s.rogue.Patch(ctx, i.instance.DeepCopy(), named(s.victim))
			Expect(err).To(MatchError(And(ContainSubstring("what the object stands for outside"), ContainSubstring("Group platform-team may change it"))))
			Expect(i.by.Patch(ctx, i.instance.DeepCopy(), merge(sizeOf(i.instance, large)))).To(Succeed())
			shared.has(ctx, i.instance, large)
			i.closed(ctx)
			Expect(i.by.Delete(ctx, i.instance)).To(Succeed())
			shared.Gone(ctx, i.instance)
			i.mutated(ctx, cloud.Create, cloud.Update, cloud.Delete)
		}},
		{"calling what is composed otherwise", func(ctx context.Context, s *cloudScene) {
			i := provision(ctx, bypassGroup, claimKind, "")
			shared.steady(ctx, &governed{database: i.database, composite: i.composite, instance: i.instance, isClaim: true})
			called := merge(`{"metadata":{"annotations":{"crossplane.io/composition-resource-name":"other"}}}`)
			Expect(s.rogue.Patch(ctx, i.instance.DeepCopy(), called)).To(MatchError(And(
				ContainSubstring("changing metadata.annotations[crossplane.io/composition-resource-name]"), ContainSubstring("is not allowed by its parent"))))
			i.resize(ctx, large)
			shared.has(ctx, i.instance, large)
			i.closed(ctx)
		}},
		{"naming it in a composite resource that is new", func(ctx context.Context, s *cloudScene) {
			db := database(bypassNamingGroup, databaseKind, shared.MakeNamespace(ctx, nil), "main", medium)
			i := &gatedInstance{database: db, composite: db, by: shared.initiator()}
			Expect(i.by.Create(ctx, db)).To(Succeed())
			i.instance = shared.instanceOf(ctx, db, "instance")
			shared.has(ctx, i.instance, medium)
			shared.Becomes(ctx, i.instance, "Ready")
			audit := shared.WatchObjects(i.instance)
			Expect(s.rogue.Patch(ctx, db.DeepCopy(), named(s.victim))).To(Succeed())
			Eventually(ctx, func() []string { return audit.Refusals(crossplaneUser) }).
				Should(ContainElement(ContainSubstring("metadata.annotations[crossplane.io/external-name]")))
			i.resize(ctx, large)
			Consistently(ctx, func() []cloud.Verb { return shared.calls(ctx, i.instance).Mutations().Verbs() }).
				WithTimeout(poll).Should(Equal([]cloud.Verb{cloud.Create}))

			By("taking it back")
			Expect(s.rogue.Patch(ctx, db.DeepCopy(), merge(`{"metadata":{"annotations":{"crossplane.io/external-name":null}}}`))).To(Succeed())
			shared.has(ctx, i.instance, large)
		}},
		{"naming it while a resource is being deleted", func(ctx context.Context, s *cloudScene) {
			i := ownInstance(ctx, "own-deleted")
			Expect(shared.cloud().Inject(ctx, cloud.Fault{Name: i.instance.GetName(), Verb: cloud.Delete, Times: 1, Outcome: cloud.Refused, Delay: slow.Delay})).To(Succeed())
			Expect(i.by.Delete(ctx, i.instance)).To(Succeed())
			Eventually(ctx, func() cloud.Calls { return shared.calls(ctx, i.instance).Of(cloud.Delete) }).
				WithPolling(20 * time.Millisecond).Should(HaveLen(1))
			// It is put back before anybody is asked.
			renamed := i.instance.DeepCopy()
			Expect(s.rogue.Patch(ctx, renamed, named(s.victim))).To(Succeed())
			Expect(renamed.GetAnnotations()).To(HaveKeyWithValue("crossplane.io/external-name", i.instance.GetName()))
			shared.Gone(ctx, i.instance)
			i.mutated(ctx, cloud.Create, cloud.Delete, cloud.Delete)
		}},
		{"having other credentials used, or written elsewhere", func(ctx context.Context, _ *cloudScene) {
			outside, own := provision(ctx, bypassOutsideGroup, databaseKind, ""), ownInstance(ctx, "own-credentials")
			for _, i := range []*gatedInstance{outside, own} {
				rogue := shared.As(stage.MalloryName, "system:masters")
				Expect(rogue.Patch(ctx, i.instance.DeepCopy(), merge(`{"spec":{"providerConfigRef":{"kind":"ProviderConfig","name":"mallory"}}}`))).To(MatchError(stage.Denied, "denied"))
				Expect(rogue.Patch(ctx, i.instance.DeepCopy(), merge(`{"spec":{"writeConnectionSecretToRef":{"namespace":"mallory","name":"mallory"}}}`))).To(MatchError(stage.Denied, "denied"))
			}
			Expect(own.by.Patch(ctx, own.instance.DeepCopy(), merge(`{"spec":{"writeConnectionSecretToRef":{"namespace":"default","name":"own-credentials"}}}`))).To(Succeed())
		}},
	}
}

// namingMeanwhile returns the same without anybody who judges.
func namingMeanwhile() []bypass {
	return []bypass{
		{"naming it while nobody looks", func(ctx context.Context, s *cloudScene) {
			updated, deleted := ownInstance(ctx, "own-away"), ownInstance(ctx, "own-away-deleted")
			whileAway(ctx, func() {
				for _, i := range []*gatedInstance{updated, deleted} {
					Expect(s.rogue.Patch(ctx, i.instance.DeepCopy(), named(s.victim))).To(Succeed())
				}
			})
			for _, i := range []*gatedInstance{updated, deleted} {
				Eventually(ctx, func(g Gomega) {
					g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(i.instance), i.instance)).To(Succeed())
					g.Expect(stage.Condition(i.instance, v1alpha1.ConditionGate)).To(HaveKeyWithValue("message", ContainSubstring("another name")))
				}).Should(Succeed())
			}
			Expect(updated.by.Patch(ctx, updated.instance.DeepCopy(), merge(sizeOf(updated.instance, large)))).To(Succeed())
			Expect(deleted.by.Delete(ctx, deleted.instance)).To(Succeed())
			Consistently(ctx, func(Gomega) { s.untouched(ctx) }).WithTimeout(poll + time.Second).Should(Succeed())

			By("putting the name back")
			for _, i := range []*gatedInstance{updated, deleted} {
				Expect(i.by.Patch(ctx, i.instance.DeepCopy(), named(i.instance.GetName()))).To(Succeed())
			}
			shared.has(ctx, updated.instance, large)
			shared.Gone(ctx, deleted.instance)
			deleted.mutated(ctx, cloud.Create, cloud.Delete)
		}},
	}
}

// callingOneselfAuthor returns ways to lift the ceiling of management policies that an author
// has set, by a name that anybody may choose.
func callingOneselfAuthor() []bypass {
	return []bypass{
		{"applying under the field manager of Crossplane", func(ctx context.Context, s *cloudScene) {
			i := provision(ctx, bypassCeilingGroup, databaseKind, "")
			ceiling := i.instance.GetAnnotations()[v1alpha1.AnnotationGateCeiling]
			Expect(ceiling).NotTo(BeEmpty())
			// Crossplane puts its own back with its next apply.
			written := s.apply(ctx, i.instance, "apiextensions.crossplane.io/composed/x", "*")
			Expect(written.GetAnnotations()).To(HaveKeyWithValue(v1alpha1.AnnotationGateCeiling, ceiling))
			i.resize(ctx, large)
			shared.sized(ctx, i.instance, large)
			Expect(i.instance.GetAnnotations()).To(HaveKeyWithValue(v1alpha1.AnnotationGateCeiling, ceiling))
			Consistently(ctx, func() []cloud.Verb { return shared.calls(ctx, i.instance).Mutations().Verbs() }).
				WithTimeout(poll + time.Second).Should(Equal([]cloud.Verb{cloud.Create}))
		}},
		{"applying what nobody composes", func(ctx context.Context, s *cloudScene) {
			i := ownInstance(ctx, "own-ceiling", "Observe", "Create", "Update", "LateInitialize")
			ceiling := i.instance.GetAnnotations()[v1alpha1.AnnotationGateCeiling]
			own := i.instance.DeepCopy()
			own.Object = map[string]any{"apiVersion": own.Object["apiVersion"], "kind": own.Object["kind"], "metadata": map[string]any{"name": own.GetName()}, "spec": map[string]any{
				"managementPolicies": []any{"Observe", "Create", "Update", "LateInitialize"},
			}}
			Expect(i.by.Apply(ctx, client.ApplyConfigurationFromUnstructured(own), client.FieldOwner("git"), client.ForceOwnership)).To(Succeed())
			for _, manager := range []string{"mallory", "git", "apiextensions.crossplane.io/composed/x"} {
				written := s.apply(ctx, i.instance, manager, "*")
				Expect(s.rogue.Warned.Take()).To(And(ContainSubstring("counts for nothing"), ContainSubstring("Group platform-team may change it")))
				Expect(written.GetAnnotations()).To(HaveKeyWithValue(v1alpha1.AnnotationGateCeiling, ceiling))
			}
			Expect(s.rogue.Patch(ctx, i.instance.DeepCopy(), merge(`{"spec":{"managementPolicies":["*"]}}`))).To(Succeed())
			Expect(s.rogue.Warned.Take()).To(ContainSubstring("counts for nothing"))
			Expect(i.by.Delete(ctx, i.instance)).To(Succeed())
			shared.Gone(ctx, i.instance)
			i.mutated(ctx, cloud.Create)
			shared.has(ctx, i.instance, medium)
		}},
	}
}

// apply applies management policies as a field manager, and returns what was written.
func (s *cloudScene) apply(ctx context.Context, instance *unstructured.Unstructured, manager string, policies ...any) *unstructured.Unstructured {
	GinkgoHelper()
	applied := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"managementPolicies": policies}}}
	applied.SetGroupVersionKind(instance.GroupVersionKind())
	applied.SetNamespace(instance.GetNamespace())
	applied.SetName(instance.GetName())
	Expect(s.rogue.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner(manager), client.ForceOwnership)).To(Succeed())
	return applied
}

// ridingAlong returns ways to have one's own change carried out with somebody else's.
func ridingAlong() []bypass {
	return []bypass{
		{"riding along with an initiator's change of the same resource", func(ctx context.Context, s *cloudScene) {
			i := ownInstance(ctx, "own-ridden")
			Expect(s.rogue.Patch(ctx, i.instance.DeepCopy(), merge(`{"spec":{"forProvider":{"engine":"evil"}}}`))).To(Succeed())
			Expect(s.rogue.Warned.Take()).To(ContainSubstring("withheld"))
			Expect(i.by.Patch(ctx, i.instance.DeepCopy(), merge(sizeOf(i.instance, "db.t3.xlarge")))).To(Succeed())
			Consistently(ctx, func() []cloud.Verb { return shared.calls(ctx, i.instance).Mutations().Verbs() }).
				WithTimeout(poll + time.Second).Should(Equal([]cloud.Verb{cloud.Create}))

			By("taking it back")
			Expect(s.rogue.Patch(ctx, i.instance.DeepCopy(), merge(`{"spec":{"forProvider":{"engine":"postgres"}}}`))).To(Succeed())
			shared.has(ctx, i.instance, "db.t3.xlarge")
			i.closed(ctx)
			i.mutated(ctx, cloud.Create, cloud.Update)
		}},
	}
}

// claiming returns ways to have Crossplane write what somebody else's composite resource says.
func claiming() []bypass {
	return []bypass{
		{"claiming somebody else's composite resource", func(ctx context.Context, s *cloudScene) {
			alice := shared.initiator()
			free := database(bypassClaimGroup, compositeKind, "", "free", medium)
			Expect(alice.Create(ctx, free)).To(Succeed())
			instance := shared.instanceOf(ctx, free, "instance")
			shared.has(ctx, instance, medium)
			claim := database(bypassClaimGroup, claimKind, shared.MakeNamespace(ctx, nil), "grab", large)
			Expect(unstructured.SetNestedStringMap(claim.Object, map[string]string{
				"apiVersion": free.GetAPIVersion(), "kind": free.GetKind(), "name": free.GetName(),
			}, "spec", "resourceRef")).To(Succeed())
			audit := shared.WatchObjects(free)
			Expect(s.rogue.Create(ctx, claim)).To(Succeed())

			By("having Crossplane try")
			Eventually(ctx, func() []string { return audit.Refusals(theCore) }).ShouldNot(BeEmpty())
			claimed := merge(fmt.Sprintf(`{"spec":{"claimRef":{"apiVersion":%q,"kind":%q,"namespace":%q,"name":%q}}}`,
				claim.GetAPIVersion(), claim.GetKind(), claim.GetNamespace(), claim.GetName()))
			Expect(s.rogue.Patch(ctx, free.DeepCopy(), claimed)).To(MatchError(ContainSubstring("is for who may initiate on it")))
			Consistently(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(free), free)).To(Succeed())
				g.Expect(free.Object["spec"]).To(And(HaveKeyWithValue("size", medium), Not(HaveKey("claimRef"))))
			}).WithTimeout(poll + time.Second).Should(Succeed())
			shared.has(ctx, instance, medium)

			By("being asked to by who may")
			Expect(alice.Patch(ctx, free.DeepCopy(), claimed, client.DryRunAll)).To(Succeed())
		}},
	}
}

// composing returns ways to have Crossplane take somebody else's instance for what one composes.
func composing() []bypass {
	return []bypass{
		{"composing somebody else's managed resource", func(ctx context.Context, s *cloudScene) {
			i := ownInstance(ctx, "own-taken")
			composite := func(name, size string) *unstructured.Unstructured {
				db := database(bypassTakingGroup, compositeKind, "", name, size)
				db.SetAnnotations(map[string]string{takesAnnotation: i.instance.GetName()})
				return db
			}
			owners := func(g Gomega) []metav1.OwnerReference {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(i.instance), i.instance)).To(Succeed())
				return i.instance.GetOwnerReferences()
			}
			audit := shared.WatchObjects(i.instance)
			grabs := composite("grabs", "db.t3.nano")
			Expect(s.rogue.Create(ctx, grabs)).To(Succeed())

			By("having Crossplane try")
			Eventually(ctx, func() []string { return audit.Refusals(crossplaneUser) }).
				Should(ContainElement(ContainSubstring("giving RDSInstance own-taken the parent XDatabase grabs is for who may initiate on it")))
			Consistently(ctx, func(g Gomega) { g.Expect(owners(g)).To(BeEmpty()) }).WithTimeout(poll + time.Second).Should(Succeed())
			i.mutated(ctx, cloud.Create)

			By("deleting it")
			Expect(s.rogue.Delete(ctx, grabs)).To(Succeed())
			shared.Gone(ctx, grabs)
			shared.has(ctx, i.instance, medium)
			i.mutated(ctx, cloud.Create)

			By("composing it as who may")
			alices := composite("alices", large)
			Expect(i.by.Create(ctx, alices)).To(Succeed())
			taken := func() {
				GinkgoHelper()
				Eventually(ctx, func(g Gomega) {
					g.Expect(owners(g)).To(ConsistOf(And(HaveField("Name", "alices"), HaveField("Controller", HaveValue(BeTrue())))))
				}).Should(Succeed())
			}
			taken()
			Eventually(ctx, func(g Gomega) {
				owners(g)
				g.Expect(i.instance.Object["spec"]).To(HaveKeyWithValue("forProvider", HaveKeyWithValue("instanceClass", large)))
			}).Should(Succeed())

			By("having it taken again by what it was of, once that has settled")
			shared.steady(ctx, &governed{database: alices, composite: alices, instance: i.instance})
			Expect(i.by.Patch(ctx, i.instance.DeepCopy(), drop("/metadata/ownerReferences"))).To(Succeed())
			taken()
		}},
	}
}

// choosing returns ways to have another composition make what somebody else has asked for.
func choosing() []bypass {
	return []bypass{
		{"choosing a composition for somebody else's claim", func(ctx context.Context, s *cloudScene) {
			i := provision(ctx, bypassGroup, claimKind, "")
			composition := func(object *unstructured.Unstructured) string {
				GinkgoHelper()
				Expect(shared.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
				name, _, err := unstructured.NestedString(object.Object, "spec", "compositionRef", "name")
				Expect(err).NotTo(HaveOccurred())
				return name
			}
			chosen := composition(i.composite)
			Expect(chosen).NotTo(BeEmpty())
			other := copyOfComposition(ctx, chosen)
			choose := func(name string) client.Patch {
				return merge(fmt.Sprintf(`{"spec":{"compositionRef":{"name":%q}}}`, name))
			}
			audit := shared.WatchObjects(i.composite)
			Expect(s.rogue.Patch(ctx, i.database.DeepCopy(), choose(other))).To(Succeed())

			By("having Crossplane try")
			Eventually(ctx, func() []string { return audit.Refusals(theCore) }).Should(ContainElement(ContainSubstring("spec.compositionRef")))
			Consistently(ctx, func() string { return composition(i.composite) }).WithTimeout(poll + time.Second).Should(Equal(chosen))

			By("taking it back")
			Expect(s.rogue.Patch(ctx, i.database.DeepCopy(), choose(chosen))).To(Succeed())
			i.resize(ctx, large)
			shared.has(ctx, i.instance, large)
			i.closed(ctx)

			By("choosing it as who may")
			Expect(i.by.Patch(ctx, i.database.DeepCopy(), choose(other))).To(Succeed())
			Eventually(ctx, func() string { return composition(i.composite) }).Should(Equal(other))
		}},
		{"choosing a composition by a selector, and taking that back", func(ctx context.Context, s *cloudScene) {
			i := provision(ctx, bypassGroup, databaseKind, "")
			composition := func() string {
				GinkgoHelper()
				Expect(shared.Get(ctx, client.ObjectKeyFromObject(i.database), i.database)).To(Succeed())
				name, _, err := unstructured.NestedString(i.database.Object, "spec", "crossplane", "compositionRef", "name")
				Expect(err).NotTo(HaveOccurred())
				return name
			}
			chosen := composition()
			other := copyOfComposition(ctx, chosen, "example.org/selected")
			chooses := func(fields string) client.Patch { return merge(`{"spec":{"crossplane":` + fields + `}}`) }
			Expect(s.rogue.Patch(ctx, i.database.DeepCopy(),
				chooses(`{"compositionRef":null,"compositionSelector":{"matchLabels":{"example.org/selected":"true"}}}`))).To(Succeed())
			Eventually(ctx, composition).Should(Equal(other))
			Expect(s.rogue.Patch(ctx, i.database.DeepCopy(), chooses(`{"compositionSelector":null}`))).To(Succeed())
			i.resize(ctx, large)
			Consistently(ctx, func() []cloud.Verb { return shared.calls(ctx, i.instance).Mutations().Verbs() }).
				WithTimeout(poll + time.Second).Should(Equal([]cloud.Verb{cloud.Create}))

			By("choosing what was chosen")
			Expect(s.rogue.Patch(ctx, i.database.DeepCopy(), chooses(fmt.Sprintf(`{"compositionRef":{"name":%q}}`, chosen)))).To(Succeed())
			shared.has(ctx, i.instance, large)
			i.closed(ctx)
		}},
		{"choosing a composition, and taking that back, while an upgrade waits", func(ctx context.Context, s *cloudScene) {
			const group = "taken-back"
			db := database(bypassGroup, databaseKind, shared.MakeNamespace(ctx, nil), "main", medium)
			db.SetAnnotations(map[string]string{"jira": "INFRA-1"})
			db.SetLabels(map[string]string{groupLabel: group})
			i := provisioned(ctx, db)
			shared.steady(ctx, &governed{database: db, composite: db, instance: i.instance})
			Expect(shared.Get(ctx, client.ObjectKeyFromObject(db), db)).To(Succeed())
			const chosen = "databases." + bypassGroup
			first := composedBy(db)
			other, second := shared.copyWithWindow(ctx, chosen)
			agreed := shared.agree(ctx, group, func(u *v1alpha1.UpgradeAllowance) {
				u.Spec.Versions = []string{chosen + "-*"}
				u.Spec.Policies = []v1alpha1.PolicyEntry{instances("rds.aws.m.crossplane.io", "spec.forProvider"), {
					Target: v1alpha1.Target{External: map[string]string{"provider": "provider-aws"}}, Relation: v1alpha1.RelationExternal, Verbs: []string{"Update"},
				}}
			})
			audit := shared.WatchObjects(db, i.instance)

			Expect(s.rogue.Patch(ctx, db.DeepCopy(), choosesRevision(other, ""))).To(Succeed())
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(db), db)).To(Succeed())
				g.Expect(composedBy(db)).To(Equal(second))
			}).Should(Succeed())
			Eventually(ctx, func() []string { return audit.Refusals(crossplaneUser) }).ShouldNot(BeEmpty())
			Expect(s.rogue.Patch(ctx, db.DeepCopy(), choosesRevision(chosen, first))).To(Succeed())
			Expect(s.rogue.Patch(ctx, db.DeepCopy(), merge(`{"spec":{"engine":"mysql"}}`))).To(Succeed())
			Eventually(ctx, func() []string { return audit.Refusals(crossplaneUser) }).Should(ContainElement(SatisfyAll(
				ContainSubstring("spec.forProvider.engine"), ContainSubstring("UpgradeAllowance "+agreed.Name+" does not let it through: "),
				ContainSubstring("the parent was upgraded to CompositionRevision "+first+", or made by it"))))
			Consistently(ctx, func() []cloud.Verb { return shared.calls(ctx, i.instance).Mutations().Verbs() }).
				WithTimeout(poll + time.Second).Should(Equal([]cloud.Verb{cloud.Create}))
			Expect(shared.remembered(ctx, Default, db)).To(SatisfyAll(HaveField("Revision", first), HaveField("AlsoRevision", BeEmpty())))
			Expect(s.rogue.Patch(ctx, db.DeepCopy(), merge(`{"spec":{"engine":"postgres"}}`))).To(Succeed())
		}},
	}
}

// choosingMeanwhile returns the same without anybody who judges.
func choosingMeanwhile() []bypass {
	return []bypass{
		{"choosing a composition while nobody looks", func(ctx context.Context, s *cloudScene) {
			i := provision(ctx, bypassAwayGroup, claimKind, "")
			Expect(shared.Get(ctx, client.ObjectKeyFromObject(i.composite), i.composite)).To(Succeed())
			chosen, _, err := unstructured.NestedString(i.composite.Object, "spec", "compositionRef", "name")
			Expect(err).NotTo(HaveOccurred())
			other := copyOfComposition(ctx, chosen)
			choose := func(name string) client.Patch {
				return merge(fmt.Sprintf(`{"spec":{"compositionRef":{"name":%q},"compositionRevisionRef":null}}`, name))
			}
			shared.steady(ctx, &governed{database: i.database, composite: i.composite, instance: i.instance, isClaim: true})
			Eventually(ctx, func(g Gomega) {
				known := shared.Record(ctx, g, i.database).Status.Approved
				g.Expect(known).NotTo(BeNil())
				g.Expect(known.Digests).To(ContainElement(HaveField("Path", "spec.compositionRef")))
			}).Should(Succeed())
			whileAway(ctx, func() {
				Expect(s.rogue.Patch(ctx, i.database.DeepCopy(), choose(other))).To(Succeed())
			})
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(i.database), i.database)).To(Succeed())
				g.Expect(i.database.GetAnnotations()).To(HaveKey(v1alpha1.AnnotationApproved))
			}).Should(Succeed())
			i.resize(ctx, large)
			Consistently(ctx, func() []cloud.Verb { return shared.calls(ctx, i.instance).Mutations().Verbs() }).
				WithTimeout(poll + time.Second).Should(Equal([]cloud.Verb{cloud.Create}))

			By("choosing what was chosen")
			Expect(s.rogue.Patch(ctx, i.database.DeepCopy(), choose(chosen))).To(Succeed())
			shared.has(ctx, i.instance, large)
		}},
	}
}

// copyOfComposition makes a composition that composes the same, with labels, and returns its name.
func copyOfComposition(ctx context.Context, name string, labels ...string) string {
	GinkgoHelper()
	composition := &unstructured.Unstructured{}
	composition.SetAPIVersion("apiextensions.crossplane.io/v1")
	composition.SetKind("Composition")
	Expect(shared.Get(ctx, client.ObjectKey{Name: name}, composition)).To(Succeed())
	other := &unstructured.Unstructured{Object: map[string]any{"spec": composition.Object["spec"]}}
	other.SetGroupVersionKind(composition.GroupVersionKind())
	other.SetGenerateName("other-") // Several specs copy the same.
	other.SetLabels(map[string]string{})
	for _, label := range labels {
		other.SetLabels(map[string]string{label: "true"})
	}
	Expect(shared.Create(ctx, other)).To(Succeed())
	return other.GetName()
}
