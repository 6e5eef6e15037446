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
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/crossplane/provider/apis/cluster"
	"kausality.io/operator/test/stage"
)

// nestedGroup is the group of databases that are composed of other databases, and againGroup
// part of the label of instances that are deleted twice.
const (
	nestedGroup = "nested.example.org"
	againGroup  = "again.example.org"
)

// nestedComposition composes a database of another one.
const nestedComposition = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: outer.GROUP}
spec:
  compositeTypeRef: {apiVersion: GROUP/v1alpha1, kind: Database}
  mode: Pipeline
  pipeline:
  - step: compose
    functionRef: {name: compose}
    input:
      apiVersion: compose.example.org/v1
      kind: Input
      resources:
      - name: sub
        base: {apiVersion: GROUP/v1alpha1, kind: Database, spec: {}}
        patches:
        - {from: spec.size, to: spec.size}
        - {from: spec.engine, to: spec.engine}
`

// nestedPolicies let databases be composed of others, and go with all that they are in the cloud.
const nestedPolicies = `
metadata: {name: database.GROUP}
spec:
  for: {apiGroup: GROUP, apiVersion: v1alpha1, kind: Database}
  failurePolicy: Fail
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, namespace: crossplane-system, name: crossplane}
  initializing:
    policies:
    - {target: {apiGroup: GROUP, apiVersion: v1alpha1, resource: databases}, relation: ControllerChild, verbs: [Create], mutations: [{jsonPath: "*"}]}
    - {target: {apiGroup: rds.aws.m.crossplane.io, apiVersion: v1alpha1, resource: rdsinstances}, relation: ControllerChild, verbs: [Create], mutations: [{jsonPath: "*"}]}
    - {target: {external: {provider: provider-aws}}, relation: External, verbs: [Create]}
  deleting:
    policies:
    - {target: {apiGroup: GROUP, apiVersion: v1alpha1, resource: databases}, relation: ControllerChild, verbs: ["*"]}
    - {target: {apiGroup: rds.aws.m.crossplane.io, apiVersion: v1alpha1, resource: rdsinstances}, relation: ControllerChild, verbs: ["*"]}
    - {target: {external: {provider: provider-aws}}, relation: External, verbs: [Delete]}
`

var _ = Describe("Deleting", func() {
	It("a database of databases is not held on its way", func(ctx SpecContext) {
		shared.offer(ctx, nestedGroup)
		compositions, err := controlplane.Decode([]byte(strings.ReplaceAll(nestedComposition, "GROUP", nestedGroup)))
		Expect(err).NotTo(HaveOccurred())
		for _, c := range compositions {
			Expect(shared.Create(ctx, c)).To(Succeed())
		}
		shared.Apply(ctx, stage.ParsePolicies(strings.ReplaceAll(nestedPolicies, "GROUP", nestedGroup))...)
		ns, alice := shared.MakeNamespace(ctx, nil), shared.initiator()
		main := database(nestedGroup, databaseKind, ns, "main", medium)
		Expect(unstructured.SetNestedField(main.Object, "outer."+nestedGroup, "spec", "crossplane", "compositionRef", "name")).To(Succeed())
		Expect(alice.Create(ctx, main)).To(Succeed())
		sub := &unstructured.UnstructuredList{}
		sub.SetGroupVersionKind(main.GroupVersionKind())
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.List(ctx, sub, client.InNamespace(ns), client.MatchingLabels{"crossplane.io/composite": "main"})).To(Succeed())
			sub.Items = slices.DeleteFunc(sub.Items, func(d unstructured.Unstructured) bool { return d.GetName() == "main" })
			g.Expect(sub.Items).NotTo(BeEmpty())
		}).Should(Succeed())
		i := &gatedInstance{database: main, composite: &sub.Items[0], by: alice}
		i.instance = shared.instanceOf(ctx, main, "instance") // labels name the outermost
		shared.has(ctx, i.instance, medium)
		i.closed(ctx)
		shared.Becomes(ctx, main, "Synced", "Ready")

		Expect(alice.Delete(ctx, main)).To(Succeed())
		i.goes(ctx)
		out, err := alice.RunKubectl(ctx, "get", "events", "-n", ns, "-o", "jsonpath={.items[*].reason}")
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(out).To(ContainSubstring("DeletionAllowed"))
		Expect(out).NotTo(ContainSubstring("DeletionHeld"))
	}, SpecTimeout(specTimeout))

	It("again what a stranger has deleted takes the cloud along", func(ctx SpecContext) {
		own := strings.NewReplacer("example.org/own", "example.org/again", "GROUP", againGroup).Replace(ownPolicies)
		shared.Apply(ctx, stage.ParsePolicies(own)...)
		mr := managed(cluster.GroupVersion, "own-again")
		mr.SetLabels(map[string]string{"example.org/again": "true"})
		i := &gatedInstance{instance: mr, by: shared.initiator()}
		Expect(i.by.Create(ctx, mr)).To(Succeed())
		shared.has(ctx, mr, medium)
		i.closed(ctx)

		stranger := shared.As(stage.MalloryName, "system:masters")
		Expect(stranger.Delete(ctx, mr.DeepCopy())).To(Succeed())
		i.held(ctx)
		Expect(stage.Condition(i.instance, v1alpha1.ConditionGate)).To(HaveKeyWithValue("message", ContainSubstring("Once somebody who may initiate on the object deletes it as well")))
		Expect(stranger.Delete(ctx, mr.DeepCopy())).To(Succeed())
		Consistently(ctx, func() cloud.Calls { return shared.calls(ctx, mr).Of(cloud.Delete) }).WithTimeout(poll).Should(BeEmpty())

		Expect(i.by.Delete(ctx, mr.DeepCopy())).To(Succeed())
		shared.Gone(ctx, mr)
		i.mutated(ctx, cloud.Create, cloud.Delete)
	}, SpecTimeout(specTimeout))
})
