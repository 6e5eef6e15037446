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

package controllers

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controllers"
	"kausality.io/operator/test/stage"
)

var configMapKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

// withNote adds a ConfigMap to the sample that has nothing to do with what else is in it.
func withNote(graph *unstructured.Unstructured) {
	resources, _, _ := unstructured.NestedSlice(graph.Object, "spec", "resources")
	note := map[string]any{"id": "note", "template": map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "${schema.metadata.name}-note"},
		"data":     map[string]any{"text": "${schema.spec.text}"},
	}}
	Expect(unstructured.SetNestedSlice(graph.Object, append(resources, note), "spec", "resources")).To(Succeed())
	Expect(unstructured.SetNestedField(graph.Object, `string | default="none"`, "spec", "schema", "spec", "text")).To(Succeed())
}

// deniedEvents counts the Events that tell of denials in the namespace.
func (s *scene) deniedEvents(ctx context.Context) int {
	GinkgoHelper()
	var list eventsv1.EventList
	Expect(shared.List(ctx, &list, client.InNamespace(s.namespace))).To(Succeed())
	denied := 0
	for _, event := range list.Items {
		if event.Reason == "Denied" {
			denied++
		}
	}
	return denied
}

// serveOuter has kro serve a graph of which an instance makes one of another graph, what has no
// namespace, and what is in a namespace that it names.
func serveOuter(ctx context.Context, kind, inner string) *unstructured.Unstructured {
	GinkgoHelper()
	graph := &unstructured.Unstructured{}
	Expect(yaml.Unmarshal([]byte(`
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: `+strings.ToLower(kind)+`}
spec:
  schema:
    apiVersion: v1alpha1
    kind: `+kind+`
    group: example.com
    spec: {image: string, elsewhere: string}
  resources:
  - id: inner
    template:
      apiVersion: example.com/v1alpha1
      kind: `+inner+`
      metadata: {name: "${schema.metadata.name}-inner"}
      spec: {name: "${schema.metadata.name}-inner", image: "${schema.spec.image}", replicas: 1}
  - id: role
    template:
      apiVersion: rbac.authorization.k8s.io/v1
      kind: ClusterRole
      metadata: {name: "${schema.metadata.namespace}-${schema.metadata.name}"}
      rules:
      - {apiGroups: [""], resources: [pods], resourceNames: ["${schema.spec.image}"], verbs: [get]}
  - id: note
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${schema.metadata.name}-note", namespace: "${schema.spec.elsewhere}"}
      data: {image: "${schema.spec.image}"}
`), &graph.Object)).To(Succeed())
	Expect(shared.Create(ctx, graph)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(shared.Delete(ctx, graph))).To(Succeed()) })
	serving(ctx, graph)
	return graph
}

var _ = Describe("An instance of kro", Label(controllers.Kro.Name), func() {
	It("goes on with its other children while one is refused, which costs next to nothing, and ends with its namespace", func(ctx SpecContext) {
		graph := serve(ctx, "NotedApp", withNote)
		governs(ctx, graph, "")
		s := setScene(ctx, false)
		web := s.instance(ctx, "NotedApp", "web")
		// While something of the instance is withheld, nothing passes; this is none of it.
		merge(ctx, s.alice, s.ref(deploymentKind, "web"), `{"metadata":{"annotations":{"kausality.io/break-glass":"to see what kro may do about it"}},
			"spec":{"replicas":4}}`)
		s.refusedFor(ctx, web)
		merge(ctx, s.alice, web, `{"spec":{"text":"ours"}}`)
		note := s.ref(configMapKind, "web-note")
		Eventually(ctx, func(g Gomega) {
			live(ctx, g, note)
			text, _, _ := unstructured.NestedString(note.Object, "data", "text")
			g.Expect(text).To(Equal("ours"))
		}).WithTimeout(within).Should(Succeed())
		s.has(ctx, "web", "web:1", 4)

		By("trying again and again")
		s.look()
		Eventually(ctx, func() []string { return s.refusals() }).WithTimeout(within).Should(HaveLen(2))
		denied := s.deniedEvents(ctx)
		Expect(denied).To(BeNumerically(">=", 1))
		s.look()
		Eventually(ctx, func() []string { return s.refusals() }).WithTimeout(within).Should(HaveLen(4))
		Expect(s.deniedEvents(ctx)).To(Equal(denied))
		Expect(describe(s.counted())).To(HaveEach(ContainSubstring(kroUser)), "others write while nothing happens")

		By("approving it")
		approve(ctx, s.alice, web)
		s.carriedOut(ctx, web)
		s.has(ctx, "web", "web:1", 1)

		By("deleting the namespace")
		s.look()
		Expect(s.alice.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}})).To(Succeed())
		Eventually(ctx, func() error { return shared.Get(ctx, client.ObjectKey{Name: s.namespace}, &corev1.Namespace{}) }).
			WithTimeout(2 * within).Should(MatchError(apierrors.IsNotFound, "not found"))
		Expect(s.refusals()).To(BeEmpty())
	}, SpecTimeout(specTimeout))

	It("bounds what it makes without a namespace, in another one, and through an instance of another graph", func(ctx SpecContext) {
		governs(ctx, serve(ctx, "InnerApp"), "")
		governs(ctx, serveOuter(ctx, "OuterApp", "InnerApp"), "")
		s, elsewhere := setScene(ctx, false), setScene(ctx, false)
		outer := s.object(`
apiVersion: example.com/v1alpha1
kind: OuterApp
metadata: {name: shop}
spec: {image: "web:1", elsewhere: ` + elsewhere.namespace + `}
`)
		Expect(s.alice.Create(ctx, outer)).To(Succeed())
		s.carriedOut(ctx, outer)
		role := s.ref(schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}, s.namespace+"-shop")
		role.SetNamespace("")
		note, inner := elsewhere.ref(configMapKind, "shop-note"), s.ref(outer.GroupVersionKind().GroupVersion().WithKind("InnerApp"), "shop-inner")
		follows := func(image string) {
			GinkgoHelper()
			Eventually(ctx, func(g Gomega) {
				live(ctx, g, role)
				rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
				g.Expect(rules).To(ConsistOf(HaveKeyWithValue("resourceNames", ConsistOf(image))))
				live(ctx, g, note)
				said, _, _ := unstructured.NestedString(note.Object, "data", "image")
				g.Expect(said).To(Equal(image))
				g.Expect(s.pods(ctx, g)).To(Equal(map[string]int{image: 1}))
			}).WithTimeout(within).Should(Succeed())
			s.carriedOut(ctx, inner)
			s.carriedOut(ctx, outer)
		}
		follows("web:1")

		By("an initiator changing it")
		s.look()
		merge(ctx, s.alice, outer, `{"spec":{"image":"web:2"}}`)
		follows("web:2")
		s.causedThrough("deployments", stage.AliceName, "OuterApp", "patch")
		Expect(s.refusals()).To(BeEmpty())

		By("a stranger changing what it has made")
		for object, change := range map[*unstructured.Unstructured]string{
			role: `{"rules":[]}`, note: `{"data":{"image":"web:theirs"}}`, inner: `{"spec":{"image":"web:theirs"}}`,
			s.ref(deploymentKind, "shop-inner"): `{"spec":{"replicas":7}}`,
		} {
			refused(patch(ctx, s.mallory, object.DeepCopy(), change))
			Expect(s.mallory.Delete(ctx, object.DeepCopy())).To(MatchError(ContainSubstring("kausality.io")), object.GetKind())
		}

		By("deleting it")
		Expect(s.alice.Delete(ctx, outer)).To(Succeed())
		shared.Gone(ctx, outer, inner, role, note)
	}, SpecTimeout(specTimeout))

	It("is bound by nothing any more when its graph is deleted", func(ctx SpecContext) {
		graph := serve(ctx, "EndedApp")
		governs(ctx, graph, "")
		s := setScene(ctx, false)
		s.instance(ctx, "EndedApp", "web")
		deployment := s.ref(deploymentKind, "web")
		refused(patch(ctx, s.mallory, deployment, `{"spec":{"replicas":2}}`))
		Expect(s.alice.Delete(ctx, graph)).To(Succeed())
		Eventually(ctx, func() error {
			return shared.Get(ctx, client.ObjectKey{Name: "kro-" + graph.GetName()}, &v1alpha1.AllowancePolicy{})
		}).
			WithTimeout(within).Should(MatchError(apierrors.IsNotFound, "not found"))
		Eventually(ctx, func() error { return patch(ctx, s.mallory, deployment, `{"spec":{"replicas":2}}`) }).WithTimeout(within).Should(Succeed())
	}, SpecTimeout(specTimeout))

	// It ends a process, which only the process of the suite can that has started it.
	It("is carried out by a kro that was killed, as far as somebody may cause it", Serial, func(ctx SpecContext) {
		governs(ctx, serve(ctx, "KilledApp"), "")
		s := setScene(ctx, false)
		var all []*unstructured.Unstructured
		for _, name := range []string{"one", "two", "three"} {
			all = append(all, s.instance(ctx, "KilledApp", name))
		}
		s.look()
		for _, instance := range all {
			merge(ctx, s.alice, instance, `{"spec":{"image":"web:2"}}`)
		}
		Expect(members.Kill(controllers.Kro.Name)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(members.Restart(ctx, controllers.Kro.Name)).To(Succeed()) })
		merge(ctx, s.alice, all[0], `{"spec":{"replicas":2}}`)
		merge(ctx, s.mallory, all[1], `{"spec":{"replicas":5}}`)
		Expect(members.Restart(ctx, controllers.Kro.Name)).To(Succeed())
		s.carriedOut(ctx, all[0])
		s.has(ctx, "one", "web:2", 2)
		s.carriedOut(ctx, all[2])
		s.has(ctx, "three", "web:2", 1)
		s.refusedFor(ctx, all[1])
		deployment := s.ref(deploymentKind, "two")
		live(ctx, Default, deployment)
		replicas, _, _ := unstructured.NestedInt64(deployment.Object, "spec", "replicas")
		Expect(replicas).To(Equal(int64(1)))
		merge(ctx, s.mallory, all[1], `{"spec":{"replicas":1}}`)
		s.carriedOut(ctx, all[1])
		s.has(ctx, "two", "web:2", 1)
		s.caused("deployments", stage.AliceName, "patch")
	}, SpecTimeout(specTimeout+time.Minute))
})
