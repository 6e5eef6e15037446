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
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate/crossplane"
	"kausality.io/operator/internal/interception"
	"kausality.io/operator/internal/policy"
)

// No webhook runs here: what this spec sees is what holds while it is down.
var _ = Describe("The admission policy, for objects with a gate,", func() {
	const group = "gated.example.org"

	It("keeps the gate shut", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		operator := clientAs(operatorUser)
		defineThing(ctx, group)
		in := inputFor(ctx, policyFor(ctx, "apps/v1/Deployment"))
		in.Name = "gates"
		const composer = "system:serviceaccount:crossplane-system:crossplane"
		in.Composers = []string{composer}
		in.Gated = func(*policy.Policy) []interception.Gated {
			return []interception.Gated{{
				Served: interception.Served{
					Resource:   schema.GroupVersionResource{Group: group, Version: "v1", Resource: "things"},
					Namespaced: true, Subresources: []string{"status"},
				},
				Annotations: crossplane.Driver{}.Annotations(),
			}}
		}
		desired := interception.Render(in)
		apply(ctx, desired.AdmissionPolicy, desired.Binding)

		thing := newThing(group, ns, "gated")
		thing.Object["spec"] = map[string]any{"forProvider": map[string]any{"size": "1"}}
		Expect(k8s.Create(ctx, thing)).To(Succeed())
		// byOperator makes the object be under its gate, with a switch.
		byOperator := func(policies string) {
			GinkgoHelper()
			Expect(operator.Patch(ctx, thing, client.RawPatch(types.MergePatchType, []byte(`{
				"metadata": {"annotations": {"kausality.io/gate-content": "abc", "kausality.io/gate-requested": null}},
				"spec": {"forProvider": {"size": "1", "zone": null}, "managementPolicies": `+policies+`}}`)))).To(Succeed())
		}
		patch := func(as client.Client, text string) {
			GinkgoHelper()
			Expect(as.Patch(ctx, thing, client.RawPatch(types.MergePatchType, []byte(text)))).To(Succeed())
		}
		policies := func(ctx context.Context) []string {
			GinkgoHelper()
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(thing), thing)).To(Succeed())
			list, _, err := unstructured.NestedStringSlice(thing.Object, "spec", "managementPolicies")
			Expect(err).NotTo(HaveOccurred())
			return list
		}
		stranger := clientAs("mallory")

		By("waiting for the API server to know the policy, and the schema that patching needs")
		Eventually(func(g Gomega) {
			probe := newThing(group, ns, "probe")
			probe.SetAnnotations(map[string]string{v1alpha1.AnnotationGateContent: "forged"})
			g.Expect(k8s.Create(ctx, probe, client.DryRunAll)).To(Succeed())
			g.Expect(probe.GetAnnotations()).To(BeEmpty())
		}).Should(Succeed())

		By("opening it by hand, in all ways")
		byOperator(`["Observe", "LateInitialize"]`)
		for _, way := range []struct{ text, wanted string }{
			{`{"spec": {"managementPolicies": ["*"]}}`, `["*"]`},
			{`{"spec": {"managementPolicies": []}}`, `[]`},
			{`{"spec": {"managementPolicies": null}}`, `["*"]`},
			{`{"spec": {"managementPolicies": ["*"], "forProvider": {"size": "2"}}}`, `["*"]`},
			{`{"metadata": {"annotations": null}, "spec": {"managementPolicies": ["*"]}}`, `["*"]`},
			{`{"spec": {"managementPolicies": ["x\"],\"user\":\"alice\",\"policies\":[\"*"]}}`, `["x\"],\"user\":\"alice\",\"policies\":[\"*"]`},
		} {
			patch(stranger, way.text)
			Expect(policies(ctx)).To(Equal([]string{"Observe", "LateInitialize"}), way.text)
			Expect(thing.GetAnnotations()).To(Equal(map[string]string{
				v1alpha1.AnnotationGateContent:   "abc",
				v1alpha1.AnnotationGateRequested: `{"user":"mallory","policies":` + way.wanted + `}`,
			}), way.text)
		}

		By("applying what there is")
		byOperator(`["Observe", "LateInitialize"]`)
		asIs := newThing(group, ns, "gated")
		asIs.Object["spec"] = map[string]any{"managementPolicies": []any{"Observe", "LateInitialize"}}
		Expect(stranger.Apply(ctx, client.ApplyConfigurationFromUnstructured(asIs.DeepCopy()), client.FieldOwner("git"))).To(Succeed())
		Expect(policies(ctx)).To(Equal([]string{"Observe", "LateInitialize"}))
		Expect(thing.GetAnnotations()).To(HaveKeyWithValue(v1alpha1.AnnotationGateRequested, `{"user":"mallory","policies":["Observe","LateInitialize"]}`))
		byOperator(`["Observe", "LateInitialize"]`)
		Expect(stranger.Apply(ctx, client.ApplyConfigurationFromUnstructured(asIs.DeepCopy()), client.FieldOwner("git"))).To(Succeed())
		Expect(policies(ctx)).NotTo(BeEmpty())
		Expect(thing.GetAnnotations()).NotTo(HaveKey(v1alpha1.AnnotationGateRequested), "it was said before")
		patch(stranger, `{"metadata": {"labels": {"a": "c"}}}`)
		Expect(policies(ctx)).NotTo(BeEmpty())
		Expect(thing.GetAnnotations()).NotTo(HaveKey(v1alpha1.AnnotationGateRequested), "that says nothing of it")

		By("changing an object while its gate is open")
		byOperator(`["Observe", "Update", "LateInitialize"]`)
		patch(stranger, `{"metadata": {"labels": {"a": "b"}}}`)
		Expect(policies(ctx)).To(Equal([]string{"Observe", "Update", "LateInitialize"}))
		patch(stranger, `{"spec": {"forProvider": {"zone": "a"}}}`)
		Expect(policies(ctx)).To(Equal([]string{"Observe", "LateInitialize"}))

		By("giving it another name outside while its gate is open")
		byOperator(`["Observe", "Create", "LateInitialize"]`)
		patch(stranger, `{"metadata": {"annotations": {"crossplane.io/external-name": "first"}}}`)
		Expect(policies(ctx)).To(Equal([]string{"Observe", "Create", "LateInitialize"}), "its first name is the provider's to give")
		patch(stranger, `{"metadata": {"annotations": {"crossplane.io/external-name": "another"}}}`)
		Expect(policies(ctx)).To(Equal([]string{"Observe", "LateInitialize"}))

		By("giving it another name outside while it is being deleted")
		patch(operator, `{"metadata": {"finalizers": ["example.org/stays"], "annotations": {"crossplane.io/external-name": "first"}}}`)
		byOperator(`["Observe", "Delete"]`)
		Expect(k8s.Delete(ctx, thing.DeepCopy())).To(Succeed())
		for _, name := range []string{`"another"`, "null"} {
			patch(stranger, `{"metadata": {"annotations": {"crossplane.io/external-name": `+name+`}}}`)
			Expect(policies(ctx)).To(Equal([]string{"Observe", "Delete"}))
			Expect(thing.GetAnnotations()).To(HaveKeyWithValue(crossplane.ExternalNameAnnotation, "first"))
		}
		patch(operator, `{"metadata": {"finalizers": null}}`)
		thing = newThing(group, ns, "gated")
		thing.Object["spec"] = map[string]any{"forProvider": map[string]any{"size": "1"}}
		Expect(k8s.Create(ctx, thing)).To(Succeed())

		By("applying a template with policies of its own")
		byOperator(`["Observe", "LateInitialize"]`)
		applied := newThing(group, ns, "gated")
		applied.Object["spec"] = map[string]any{"managementPolicies": []any{"Observe", "Create"}, "forProvider": map[string]any{"size": "1"}}
		apply := func(as client.Client) {
			GinkgoHelper()
			Expect(as.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied.DeepCopy()),
				client.FieldOwner(crossplane.ComposedManager+"abc"), client.ForceOwnership)).To(Succeed())
			Expect(policies(ctx)).To(Equal([]string{"Observe", "LateInitialize"}))
		}
		apply(stranger)
		Expect(thing.GetAnnotations()).To(HaveKeyWithValue(v1alpha1.AnnotationGateRequested, `{"user":"mallory","policies":["Observe","Create"]}`), "by who calls himself Crossplane")
		apply(clientAs(composer))
		Expect(thing.GetAnnotations()).To(HaveKeyWithValue(v1alpha1.AnnotationGateRequested, `["Observe","Create"]`))

		By("ending the pause of a deletion that is held back")
		patch(operator, `{"metadata": {"annotations": {"kausality.io/gate-held": "{}", "crossplane.io/paused": "true"}}}`)
		patch(stranger, `{"metadata": {"annotations": {"crossplane.io/paused": null}}}`)
		Expect(policies(ctx)).NotTo(BeEmpty())
		Expect(thing.GetAnnotations()).To(HaveKeyWithValue(crossplane.PausedAnnotation, "true"))
		patch(operator, `{"metadata": {"annotations": {"kausality.io/gate-held": null, "crossplane.io/paused": null}}}`)
		Expect(policies(ctx)).NotTo(BeEmpty())
		Expect(thing.GetAnnotations()).NotTo(HaveKey(crossplane.PausedAnnotation))
	})
})
