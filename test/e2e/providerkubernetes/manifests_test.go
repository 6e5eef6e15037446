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

package providerkubernetes

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// What is outside need not look like what was asked for, and the provider writes some of
// what it is asked for itself.
var _ = DescribeTableSubtree("The gate of an Object", func(flags ...string) {
	BeforeEach(func(ctx SpecContext) { provide(ctx, flags...) })

	It("closes though the API server writes its fields in another way", func(ctx SpecContext) {
		s := planned(objectKind, group, shared.MakeNamespace(ctx, nil), "main")
		s.asks(`
apiVersion: apps/v1
kind: Deployment
spec:
  replicas: 0
  selector: {matchLabels: {app: main}}
  template:
    metadata: {labels: {app: main}}
    spec:
      containers:
      - name: main
        image: example.org/main:1
        resources: {requests: {cpu: 500m, memory: 512Mi}}
`)
		s.submit(ctx)
		settings{s}.closed(ctx)
		settings{s}.mutated(ctx, create)
		s.settled(ctx)
		Expect(s.by.Patch(ctx, s.written, merge(`{"spec":{"forProvider":{"manifest":{"spec":{"template":{"spec":{"containers":[
			{"name":"main","image":"example.org/main:1","resources":{"requests":{"cpu":"1000m","memory":"1024Mi"}}}]}}}}}}}`))).To(Succeed())
		settings{s}.mutated(ctx, create, update)
		settings{s}.closed(ctx)
		s.settled(ctx)
		settings{s}.mutated(ctx, create, update)
	}, SpecTimeout(specTimeout))

	It("opens for what the provider takes from elsewhere, and stays closed when that changes", func(ctx SpecContext) {
		s := planned(objectKind, group, shared.MakeNamespace(ctx, nil), "main")
		source := s.refers(ctx, `{apiVersion: v1, kind: ConfigMap, data: {other: text}}`)
		s.submit(ctx)
		s.is(ctx, first)
		settings{s}.closed(ctx)
		settings{s}.mutated(ctx, create)
		s.settled(ctx)
		settings{s}.rest(ctx, func() {
			Expect(shared.stranger().Patch(ctx, source, merge(`{"data":{"value":"forged"}}`))).To(Succeed())
		})
		s.is(ctx, first)
		settings{s}.mutated(ctx, create)
	}, SpecTimeout(specTimeout))
}, inBothWays)

// asks has an Object ask for what a manifest says, in the place of the ConfigMap.
func (s *setting) asks(manifest string) {
	GinkgoHelper()
	var content map[string]any
	Expect(yaml.Unmarshal([]byte(manifest), &content)).To(Succeed())
	content["metadata"] = map[string]any{"namespace": s.key().Namespace, "name": s.key().Name}
	Expect(unstructured.SetNestedMap(s.written.Object, content, "spec", "forProvider", "manifest")).To(Succeed())
}

// refers has an Object ask for what a manifest says, and for a value that the provider
// is to take from a ConfigMap, which it returns.
func (s *setting) refers(ctx context.Context, manifest string) *corev1.ConfigMap {
	GinkgoHelper()
	s.asks(manifest)
	source := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.key().Namespace, Name: "source"}, Data: map[string]string{"value": first}}
	Expect(shared.Create(ctx, source)).To(Succeed())
	Expect(unstructured.SetNestedSlice(s.written.Object, []any{map[string]any{"patchesFrom": map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "namespace": source.Namespace, "name": source.Name, "fieldPath": "data.value",
	}}}, "spec", "references")).To(Succeed())
	return source
}

// submit has the platform team create an Object, and returns when the provider is done.
func (s *setting) submit(ctx context.Context) {
	GinkgoHelper()
	s.audit = shared.Watch()
	Expect(s.by.Create(ctx, s.written)).To(Succeed())
	s.composite, s.object = s.written, s.written
	shared.Becomes(ctx, s.written, "Synced", "Ready")
	Expect(shared.Get(ctx, client.ObjectKeyFromObject(s.written), s.written)).To(Succeed())
}
