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
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/stage"
)

// deletionGroup is the group of the databases that go. What they are in the cloud goes
// too where they have the label goesLabel; with dropsLabel replicas may go in the
// cluster, and nothing in the cloud.
const (
	deletionGroup = "deletion.example.org"
	goesLabel     = "example.org/goes"
	dropsLabel    = "example.org/drops"
)

// deletionPolicies let the platform team have databases, and delete what they are in
// the cloud where these are labeled.
const deletionPolicies = `
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
  - trigger: spec.replica
    policies:
    - target: {apiGroup: GROUP, apiVersion: v1alpha1, resource: xdatabases}
      relation: ControllerChild
      mutations: [{jsonPath: spec.replica}]
---
metadata: {name: composite.GROUP}
spec:
  for: {apiGroup: GROUP, apiVersion: v1alpha1, kind: XDatabase}
  failurePolicy: Fail
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
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
  rules: # So that instances are bounded after that, too.
  - trigger: spec.size
    policies:
    - target: {apiGroup: rds.aws.crossplane.io, apiVersion: v1alpha1, resource: rdsinstances}
      relation: ControllerChild
      mutations: [{jsonPath: spec.forProvider.instanceClass}]
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
`

// externalDeletion is a policy that lets what labeled objects of a kind are in the
// cloud go with them.
const externalDeletion = `
metadata: {name: LOWER.goes.GROUP}
spec:
  for: {apiGroup: GROUP, apiVersion: v1alpha1, kind: KIND}
  failurePolicy: Fail
  objectSelector: {matchLabels: {example.org/goes: "true"}}
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, namespace: crossplane-system, name: crossplane}
  deleting:
    policies:
    - target: {external: {provider: provider-aws}}
      relation: External
      verbs: [Delete]
`

// governDeletions applies the policies of the databases that go.
func (w *world) governDeletions(ctx context.Context) {
	GinkgoHelper()
	texts := []string{deletionPolicies, replicaDeletion}
	for _, kind := range []string{claimKind, compositeKind, databaseKind} {
		texts = append(texts, strings.NewReplacer("KIND", kind, "LOWER", strings.ToLower(kind)).Replace(externalDeletion))
	}
	w.Apply(ctx, stage.ParsePolicies(strings.ReplaceAll(strings.Join(texts, "---"), "GROUP", deletionGroup))...)
}

// replicaDeletion is a policy that lets labeled composite resources do without their
// replicas.
const replicaDeletion = `
metadata: {name: replica.goes.GROUP}
spec:
  for: {apiGroup: GROUP, apiVersion: v1alpha1, kind: XDatabase}
  failurePolicy: Fail
  objectSelector: {matchLabels: {example.org/goes: "true"}}
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, namespace: crossplane-system, name: crossplane}
  rules:
  - trigger: spec.replica
    policies:
    - target: {apiGroup: rds.aws.crossplane.io, apiVersion: v1alpha1, resource: rdsinstances}
      relation: ControllerChild
      verbs: [Delete]
    - target: {external: {provider: provider-aws}}
      relation: External
      verbs: [Delete]
---
metadata: {name: replica.drops.GROUP}
spec:
  for: {apiGroup: GROUP, apiVersion: v1alpha1, kind: XDatabase}
  failurePolicy: Fail
  objectSelector: {matchLabels: {example.org/drops: "true"}}
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, namespace: crossplane-system, name: crossplane}
  rules:
  - trigger: spec.replica
    policies:
    - target: {apiGroup: rds.aws.crossplane.io, apiVersion: v1alpha1, resource: rdsinstances}
      relation: ControllerChild
      verbs: [Delete]
`

// doomed returns a database that is to go. What it is in the cloud is to go
// along where goes is set.
func doomed(ctx context.Context, kind, namespace, name string, goes bool) *gatedInstance {
	GinkgoHelper()
	db := database(deletionGroup, kind, namespace, name, medium)
	if goes {
		db.SetLabels(map[string]string{goesLabel: "true"})
	}
	return provisioned(ctx, db)
}

// held waits until the deletion of the instance is held back, and says so.
func (i *gatedInstance) held(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(i.instance), i.instance)).To(Succeed())
		g.Expect(i.instance.GetDeletionTimestamp()).NotTo(BeNil())
		g.Expect(stage.Condition(i.instance, v1alpha1.ConditionGate)).To(HaveKeyWithValue("reason", "Held"))
	}).Should(Succeed(), i.instance.GetName())
	Expect(i.explain(ctx)).To(And(MatchRegexp(`Its deletion by \S+`), ContainSubstring(v1alpha1.AnnotationOrphan+"=true")))
}

// explain returns what is told of the instance to who asks what it waits for.
func (i *gatedInstance) explain(ctx context.Context) string {
	GinkgoHelper()
	args := []string{
		"--kubeconfig=" + shared.Kubeconfig,
		"--cache-dir=" + filepath.Join(filepath.Dir(shared.Kubeconfig), "kubectl"),
		"explain", "rdsinstances." + i.instance.GroupVersionKind().Group + "/" + i.instance.GetName(),
	}
	if namespace := i.instance.GetNamespace(); namespace != "" {
		args = append(args, "--namespace="+namespace)
	}
	out, err := exec.CommandContext(ctx, *pluginBin, args...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
	return string(out)
}

// letGo has the instance go without what it is in the cloud, and all that waits for it.
func (i *gatedInstance) letGo(ctx context.Context) {
	GinkgoHelper()
	Expect(i.outside(ctx)).To(BeEmpty())
	Expect(i.by.Patch(ctx, i.instance.DeepCopy(), orphan())).To(Succeed())
	shared.Gone(ctx, i.instance, i.composite, i.database)
	Expect(i.outside(ctx)).To(BeEmpty())
	shared.has(ctx, i.instance, medium)
}

// outside returns what the cloud was asked to delete.
func (i *gatedInstance) outside(ctx context.Context) []cloud.Verb {
	GinkgoHelper()
	return shared.calls(ctx, i.instance).Of(cloud.Delete).Verbs()
}

var _ = Describe("The deletion", func() {
	It("of a namespace takes what is in the cloud along where that is allowed, and waits where it is not", func(ctx SpecContext) {
		goingNamespace, namespace := shared.MakeNamespace(ctx, nil), shared.MakeNamespace(ctx, nil)
		going := []*gatedInstance{
			doomed(ctx, claimKind, goingNamespace, "claim", true),
			doomed(ctx, databaseKind, goingNamespace, "database", true),
		}
		staying := []*gatedInstance{
			doomed(ctx, claimKind, namespace, "claim", false),
			doomed(ctx, databaseKind, namespace, "database", false),
		}
		for _, name := range []string{goingNamespace, namespace} {
			Expect(shared.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
		}
		for _, i := range going {
			i.goes(ctx)
		}
		shared.namespaceGone(ctx, goingNamespace)
		for _, i := range staying {
			i.held(ctx)
		}
		for _, i := range staying {
			Expect(i.outside(ctx)).To(BeEmpty())
			shared.has(ctx, i.instance, medium)
		}

		By("letting them go")
		for _, i := range staying {
			i.letGo(ctx)
		}
		shared.namespaceGone(ctx, namespace)
	}, SpecTimeout(specTimeout))

	It("in the foreground waits for the cloud, or for somebody to say that it stays", func(ctx SpecContext) {
		namespace := shared.MakeNamespace(ctx, nil)
		var going, staying []*gatedInstance
		for _, kind := range []string{databaseKind, claimKind} {
			going = append(going, doomed(ctx, kind, namespace, "goes", true))
			staying = append(staying, doomed(ctx, kind, namespace, "stays", false))
		}
		for _, i := range append(going, staying...) {
			if i.database.GetKind() == claimKind {
				Expect(i.by.Patch(ctx, i.database, merge(`{"spec":{"compositeDeletePolicy":"Foreground"}}`))).To(Succeed())
			}
			Expect(i.by.Delete(ctx, i.database, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		}
		for _, i := range going {
			i.goes(ctx)
		}
		for _, i := range staying {
			i.held(ctx)
		}
		for _, i := range staying {
			i.letGo(ctx)
		}
	}, SpecTimeout(specTimeout))

	It("of an instance alone is refused, whoever asks for it", func(ctx SpecContext) {
		i := doomed(ctx, databaseKind, shared.MakeNamespace(ctx, nil), "main", true)
		for _, who := range []*stage.Actor{shared.stranger(), i.by} {
			Expect(who.Delete(ctx, i.instance.DeepCopy())).To(MatchError(And(ContainSubstring("is not allowed by its parent Database main"), ContainSubstring("no rule allows that"))))
		}
		i.closed(ctx)
		Expect(i.instance.GetAnnotations()).NotTo(HaveKey(v1alpha1.AnnotationGateHeld))
		Expect(i.instance.GetDeletionTimestamp()).To(BeNil())
		i.mutated(ctx, cloud.Create)
	}, SpecTimeout(specTimeout))

	It("of what a database is not composed of any more loses nothing in the cloud that may not go", func(ctx SpecContext) {
		namespace := shared.MakeNamespace(ctx, nil)
		staying, going, dropped := replicated(ctx, namespace, "stays", ""), replicated(ctx, namespace, "goes", goesLabel), replicated(ctx, namespace, "dropped", dropsLabel)
		for _, i := range []*gatedInstance{staying, going, dropped} {
			Expect(i.by.Patch(ctx, i.database, merge(`{"spec":{"replica":false}}`))).To(Succeed())
		}
		shared.Gone(ctx, going.instance)
		going.mutated(ctx, cloud.Create, cloud.Delete)
		shared.Becomes(ctx, going.composite, "Synced", "Ready")

		By("refusing it, which the composite resource says")
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(staying.composite), staying.composite)).To(Succeed())
			g.Expect(stage.Condition(staying.composite, "Synced")).To(And(
				HaveKeyWithValue("status", "False"), HaveKeyWithValue("message", ContainSubstring("cannot garbage collect"))))
			g.Expect(staying.composite.GetAnnotations()).To(HaveKeyWithValue(v1alpha1.ConditionBlocked, HavePrefix("Delete of RDSInstance "+staying.instance.GetName())))
		}).Should(Succeed())

		By("letting it go in the cluster only")
		dropped.held(ctx)
		Expect(dropped.by.Patch(ctx, dropped.instance.DeepCopy(), orphan())).To(Succeed())
		shared.Gone(ctx, dropped.instance)
		Expect(dropped.outside(ctx)).To(BeEmpty())
		shared.has(ctx, dropped.instance, medium)
		shared.Becomes(ctx, dropped.composite, "Synced", "Ready")

		By("taking it back")
		uid := staying.instance.GetUID()
		Expect(staying.by.Patch(ctx, staying.database, merge(`{"spec":{"replica":true}}`))).To(Succeed())
		shared.Becomes(ctx, staying.composite, "Synced", "Ready")
		Expect(shared.instanceOf(ctx, staying.composite, "replica").GetUID()).To(Equal(uid))
		staying.closed(ctx)
		staying.mutated(ctx, cloud.Create)
	}, SpecTimeout(specTimeout))
})

// replicated returns a database with a label and a replica, which is the instance of it that
// counts.
func replicated(ctx context.Context, namespace, name, label string) *gatedInstance {
	GinkgoHelper()
	db := database(deletionGroup, claimKind, namespace, name, medium)
	if label != "" {
		db.SetLabels(map[string]string{label: "true"})
	}
	Expect(unstructured.SetNestedField(db.Object, true, "spec", "replica")).To(Succeed())
	i := provisioned(ctx, db)
	i.instance = shared.instanceOf(ctx, i.composite, "replica")
	i.closed(ctx)
	return i
}

// goes waits until the instance has gone with all that waits for it, in the cloud too.
func (i *gatedInstance) goes(ctx context.Context) {
	GinkgoHelper()
	shared.Gone(ctx, i.instance, i.composite, i.database)
	i.mutated(ctx, cloud.Create, cloud.Delete)
}

// namespaceGone waits until nothing is left of a namespace.
func (w *world) namespaceGone(ctx context.Context, name string) {
	GinkgoHelper()
	Eventually(ctx, func() error { return w.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{}) }).
		Should(MatchError(apierrors.IsNotFound, "not found"))
}
