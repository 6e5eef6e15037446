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
	"maps"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/builders"
)

// graph is a kind that kro serves, as its definition says, with an instance of alice's that
// has settled, and a child of that in another namespace.
type graph struct {
	group    string
	alice    *actor
	kro      *actor
	instance *unstructured.Unstructured
	// ns is where the instance is, elsewhere where its children are.
	ns, elsewhere string
	child         *corev1.ConfigMap
}

const kroUser = "system:serviceaccount:kro-system:kro"

// setGraph makes one. kro itself is an identity only: what it does is what the specs do.
func setGraph(ctx context.Context) *graph {
	GinkgoHelper()
	g := &graph{alice: shared.as(alice, platformTeam, "system:masters"), kro: shared.as(kroUser, "system:masters")}
	g.group = shared.defineThings(ctx, func(definition *apiextensionsv1.CustomResourceDefinition) {
		definition.Labels = map[string]string{"kro.run/owned": "true"}
	})
	policies := parsePolicies(strings.ReplaceAll(`
apiVersion: kausality.io/v1alpha1
kind: AllowancePolicy
metadata: {name: kro-GROUP}
spec:
  for: {apiGroup: GROUP, apiVersion: v1, kind: Thing}
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, name: kro, namespace: kro-system}
  initializing:
    policies:
    - {target: {apiVersion: v1, resource: configmaps}, relation: ControllerChild, verbs: [Create, Update]}
  maintaining:
    policies:
    - {target: {apiVersion: v1, resource: serviceaccounts}, relation: ControllerChild, verbs: [Update], mutations: [{jsonPath: metadata.uid}]}
  rules:
  - trigger: spec.config
    policies:
    - {target: {apiVersion: v1, resource: configmaps}, relation: ControllerChild, mutations: [{jsonPath: "data[config]"}]}
---
apiVersion: kausality.io/v1alpha1
kind: AllowancePolicy
metadata: {name: configmaps-GROUP}
spec:
  for: {apiVersion: v1, kind: ConfigMap}
  objectSelector: {matchLabels: {guarded: GROUP}}
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  rules:
  - trigger: data
    policies:
    - {target: {apiVersion: v1, resource: secrets}, relation: ControllerChild}
`, "GROUP", g.group))
	shared.apply(ctx, policies...)
	g.ns, g.elsewhere = shared.newNamespace(ctx), shared.newNamespace(ctx)
	g.instance = g.made(ctx, g.alice, "app")
	g.child = g.childOf(g.instance, "app")
	Expect(g.kro.Create(ctx, g.child)).To(Succeed())
	g.settle(ctx, g.instance)
	return g
}

// made returns an instance that somebody makes.
func (g *graph) made(ctx context.Context, who *actor, name string) *unstructured.Unstructured {
	GinkgoHelper()
	instance := builders.MakeThing(g.group, g.ns, name)
	instance.Object["spec"] = map[string]any{"config": "a"}
	Expect(who.Create(ctx, instance)).To(Succeed())
	return instance
}

// settle has kro report that nothing is left to do.
func (g *graph) settle(ctx context.Context, instance *unstructured.Unstructured) {
	GinkgoHelper()
	Expect(g.kro.patchStatus(ctx, instance, fmt.Sprintf(
		`{"state":"ACTIVE","conditions":[{"type":"ResourcesReady","status":"True","observedGeneration":%[1]d},{"type":"Ready","status":"True","observedGeneration":%[1]d}]}`,
		instance.GetGeneration()))).To(Succeed())
	shared.over(ctx, instance)
}

// childOf returns what kro makes of an instance.
func (g *graph) childOf(instance *unstructured.Unstructured, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: g.elsewhere, Name: name, Labels: g.labels(instance), Annotations: map[string]string{"internal.kro.run/apply-order": "1"},
		},
		Data: map[string]string{"config": "a"},
	}
}

// labels returns the labels that kro gives to the children of an instance.
func (g *graph) labels(instance *unstructured.Unstructured) map[string]string {
	kind := instance.GroupVersionKind()
	return map[string]string{
		"kro.run/instance-id": string(instance.GetUID()), "kro.run/instance-group": kind.Group, "kro.run/instance-version": kind.Version,
		"kro.run/instance-kind": kind.Kind, "kro.run/instance-namespace": instance.GetNamespace(), "kro.run/instance-name": instance.GetName(),
		"kro.run/node-id": "config", "kro.run/owned": "true", "kro.run/kro-version": "v0.9.4", "applyset.kubernetes.io/part-of": "applyset-" + string(instance.GetUID()),
	}
}

// mark merges into the metadata of a child.
func (g *graph) mark(ctx context.Context, who *actor, metadata string) error {
	return who.Patch(ctx, g.child.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":`+metadata+`}`)))
}

// label sets a label of a child.
func (g *graph) label(ctx context.Context, who *actor, key, value string) error {
	return g.mark(ctx, who, fmt.Sprintf(`{"labels":{%q:%q}}`, key, value))
}

// configure writes into a child.
func configure(ctx context.Context, who *actor, child *corev1.ConfigMap, value string) error {
	return who.Patch(ctx, child.DeepCopy(), client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"data":{"config":%q}}`, value)))
}

// namedByLabels returns the ways to take a child away from a parent that labels name, or to give
// it something.
func namedByLabels() []bypass {
	const id = "metadata.labels[kro.run/instance-id]"
	return []bypass{
		{"changing a child that labels name, in another namespace", func(ctx context.Context, s *scene) {
			g := setGraph(ctx)
			refuse(configure(ctx, s.rogue, g.child, "theirs"), "data[config]")
			refuse(configure(ctx, g.kro, g.child, "b"), "data[config]")
			refuse(s.rogue.Delete(ctx, g.child.DeepCopy()))

			By("the controller doing what an initiator wants, and no more when kro has said that it is done")
			g.alice.setThing(ctx, g.instance, `{"config":"b"}`)
			Expect(configure(ctx, g.kro, g.child, "b")).To(Succeed())
			g.settle(ctx, g.instance)
			refuse(configure(ctx, g.kro, g.child, "c"), "data[config]")
		}},
		{"taking the labels off a child that name its parent", func(ctx context.Context, s *scene) {
			g := setGraph(ctx)
			refuse(g.mark(ctx, s.rogue, `{"labels":{"kro.run/instance-id":null}}`), id)
			refuse(g.mark(ctx, s.rogue, `{"labels":null}`), id)
			refuse(g.label(ctx, s.rogue, "kro.run/instance-kind", "ConfigMap"), id)
			Expect(g.label(ctx, s.rogue, "kro.run/kro-version", "v0.9.5")).To(Succeed(), "it counts for nothing")
			Expect(g.label(ctx, s.rogue, "kro.run/collection-size", "2")).To(Succeed(), "it counts for nothing")
		}},
		{"giving a child to an instance of one's own by its labels", func(ctx context.Context, s *scene) {
			g := setGraph(ctx)
			own := g.made(ctx, s.rogue, "own")
			child := g.child.DeepCopy()
			child.Labels, child.ResourceVersion = g.labels(own), ""
			refuse(s.rogue.Update(ctx, child.DeepCopy()), id)
			refuse(g.kro.Update(ctx, child), id)
		}},
		{"naming the parent of a child otherwise by its labels", func(ctx context.Context, s *scene) {
			g := setGraph(ctx)
			refuse(g.label(ctx, s.rogue, "kro.run/instance-name", "other"), "metadata.labels[kro.run/instance-name]")
			refuse(g.label(ctx, s.rogue, "kro.run/instance-namespace", g.elsewhere), "metadata.labels[kro.run/instance-namespace]")

			By("creating one that is named otherwise")
			other := g.childOf(g.instance, "other")
			other.Labels["kro.run/instance-name"] = "other"
			refuse(s.rogue.Create(ctx, other))
		}},
		{"having a child not found by its labels when it is deleted", func(ctx context.Context, s *scene) {
			g := setGraph(ctx)
			refuse(g.label(ctx, s.rogue, "applyset.kubernetes.io/part-of", "applyset-other"), "metadata.labels[applyset.kubernetes.io/part-of]")
			refuse(g.label(ctx, s.rogue, "kro.run/node-id", "other"), "metadata.labels[kro.run/node-id]")
			order := `{"annotations":{"internal.kro.run/apply-order":"7"}}`
			refuse(g.mark(ctx, s.rogue, order), "metadata.annotations[internal.kro.run/apply-order]")
			Expect(g.mark(ctx, g.kro, order)).To(Succeed(), "kro says when it is deleted")
		}},
		{"giving somebody's instance a child by its labels", func(ctx context.Context, s *scene) {
			g := setGraph(ctx)
			refuse(s.rogue.Create(ctx, g.childOf(g.instance, "forged")))
			free := g.childOf(g.instance, "free")
			free.Labels = nil
			Expect(s.rogue.Create(ctx, free)).To(Succeed())
			free.Labels = g.labels(g.instance)
			refuse(s.rogue.Update(ctx, free), id)
		}},
		{"changing, or deleting, a child that nothing of its instance reaches", func(ctx context.Context, s *scene) {
			g := setGraph(ctx)
			child := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: g.elsewhere, Name: "fixed", Labels: g.labels(g.instance)}}
			refuse(g.kro.Create(ctx, child.DeepCopy()))
			g.instance = g.made(ctx, g.alice, "new")
			child.Labels = g.labels(g.instance)
			Expect(g.kro.Create(ctx, child)).To(Succeed(), "its instance is new")
			g.settle(ctx, g.instance)
			unmounted := client.RawPatch(types.MergePatchType, []byte(`{"automountServiceAccountToken":false}`))
			for _, who := range []*actor{s.rogue, g.kro, g.alice} {
				refuse(who.Patch(ctx, child.DeepCopy(), unmounted), "automountServiceAccountToken")
				refuse(who.Delete(ctx, child.DeepCopy()))
			}
		}},
		{"naming a parent by labels that is none of kro's", func(ctx context.Context, s *scene) {
			free := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "named"}, Data: map[string]string{"config": "a"}}
			named := (&graph{}).labels(&unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "apps/v1", "kind": "Deployment",
				"metadata": map[string]any{"namespace": s.ns, "name": s.d.Name, "uid": string(s.d.UID)},
			}})
			free.Labels = named
			Expect(s.rogue.Create(ctx, free)).To(Succeed())
			rs := s.another("named", "")
			rs.OwnerReferences, rs.Spec.Replicas = nil, new(int32(0))
			rs.Labels["app"] = "named"
			rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "named"}}
			rs.Spec.Template.Labels = rs.Spec.Selector.MatchLabels
			maps.Copy(rs.Labels, named)
			Expect(s.rogue.Create(ctx, rs)).To(Succeed(), "the Deployment does not bound it")
			Expect(s.rogue.Delete(ctx, rs)).To(Succeed())
		}},
		{"having kro take somebody's object for an instance of one's own", func(ctx context.Context, s *scene) {
			g := setGraph(ctx)
			theirs := &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: g.elsewhere, Name: "theirs", Labels: map[string]string{"guarded": g.group}},
				Data:       map[string]string{"config": "a"},
			}
			Expect(g.alice.Create(ctx, theirs)).To(Succeed())
			own := g.made(ctx, s.rogue, "own")
			taken := theirs.DeepCopy()
			taken.Labels = g.labels(own)
			taken.Labels["guarded"], taken.Data["config"] = g.group, "theirs"
			refused(g.kro.Update(ctx, taken.DeepCopy()), "is for who may initiate on it", "Group platform-team")

			By("who may doing so, after which it is kro's to change")
			taken.Data["config"] = "a"
			Expect(g.alice.Update(ctx, taken)).To(Succeed())
			Expect(configure(ctx, g.kro, taken, "b")).To(Succeed())
		}},
	}
}
