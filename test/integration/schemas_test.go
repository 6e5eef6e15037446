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

package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/discovery"
)

// changesOf returns the changes between two versions of the spec of a kind, as
// schemas have them.
func changesOf(served *discovery.Resolver, kind schema.GroupVersionKind, before, after map[string]any) []string {
	GinkgoHelper()
	declared := served.Schema(kind)
	if declared == nil {
		return []string{"no schema"}
	}
	spec := func(spec map[string]any) map[string]any { return map[string]any{"spec": spec} }
	var out []string
	for _, c := range change.Find(spec(before), spec(after), change.Options{Schema: declared}) {
		out = append(out, string(c.Verb)+" "+c.Path.String())
	}
	return out
}

var _ = Describe("What the API server declares about fields", func() {
	type fields = map[string]any
	list := func(items ...any) []any { return items }

	It("says what a change of its own kinds is", func(ctx SpecContext) {
		apps := appsv1.SchemeGroupVersion
		served := serves(ctx, apps)
		container := func(ports []any, memory string) fields {
			return fields{"template": fields{"spec": fields{"containers": list(fields{
				"name": "a", "ports": ports, "resources": fields{"limits": fields{"example": memory}},
			})}}}
		}
		dns := fields{"containerPort": int64(53), "protocol": "UDP"}
		Expect(changesOf(served, apps.WithKind("Deployment"),
			container(list(dns), "1Gi"),
			container(list(fields{"containerPort": int64(53), "protocol": "TCP"}, dns), "1024Mi"),
		)).To(Equal([]string{"Insert spec.template.spec.containers[0].ports[0]"}))
	})

	It("says what a change of a custom resource is, and follows its definition", func(ctx SpecContext) {
		const group = "schemas.example.com"
		thing := schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Thing"}
		definition := thingDefinition(group)
		rules := apiextensionsv1.JSONSchemaProps{
			Type: "array", XListType: new("map"), XListMapKeys: []string{"id"},
			Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{
				Type: "object", Required: []string{"id", "zone"},
				Properties: map[string]apiextensionsv1.JSONSchemaProps{
					"id": {Type: "string"}, "zone": {Type: "string"}, "v": {Type: "string"},
				},
			}},
		}
		declare := func() {
			definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties = map[string]apiextensionsv1.JSONSchemaProps{
				"spec": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"rules": rules}},
			}
		}
		declare()
		apply(ctx, definition)
		waitServed(ctx, group)
		served := newResolver()
		update := func() error {
			served.Invalidate(group)
			_, err := served.Update(ctx, []schema.GroupVersion{thing.GroupVersion()})
			return err
		}
		Expect(update()).To(Succeed())

		before := fields{"rules": list(fields{"id": "1", "zone": "a", "v": "x"}, fields{"id": "2", "zone": "b", "v": "x"})}
		after := fields{"rules": list(fields{"id": "2", "zone": "c", "v": "y"})}
		changes := func() []string { return changesOf(served, thing, before, after) }
		Eventually(func(g Gomega) {
			g.Expect(update()).To(Succeed())
			g.Expect(changes()).To(Equal([]string{"Delete spec.rules[0]", "Mutate spec.rules[0].v", "Mutate spec.rules[0].zone"}))
		}).Should(Succeed())

		By("changing the keys")
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(definition), definition)).To(Succeed())
		rules.XListMapKeys = []string{"id", "zone"}
		declare()
		Expect(k8s.Update(ctx, definition)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(update()).To(Succeed())
			g.Expect(changes()).To(Equal([]string{"Delete spec.rules[0]", "Insert spec.rules[0]", "Delete spec.rules[1]"}))
		}).Should(Succeed())
	})
})
