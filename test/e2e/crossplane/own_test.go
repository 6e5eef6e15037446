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
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/crossplane/provider/apis/cluster"
	"kausality.io/operator/test/stage"
)

// What an initiator writes about the management policies of what nobody composes is its ceiling (D16).
var _ = Describe("The management policies of an instance that nobody composes", Ordered, ContinueOnFailure, func() {
	BeforeAll(func(ctx SpecContext) {
		shared.Apply(ctx, stage.ParsePolicies(strings.ReplaceAll(ownPolicies, "GROUP", "importing"))...)
	})

	DescribeTable("are for who may initiate on it",
		func(ctx SpecContext, name string, write func(context.Context, *gatedInstance, ...string)) {
			_, err := shared.cloud().Do(ctx, cloud.Create, name, cloud.Parameters{"instanceClass": medium, "engine": "postgres"})
			Expect(err).NotTo(HaveOccurred())
			mr := managed(cluster.GroupVersion, name)
			mr.SetLabels(map[string]string{ownLabel: "true"})
			mr.SetAnnotations(map[string]string{"crossplane.io/external-name": name})
			Expect(unstructured.SetNestedStringSlice(mr.Object, []string{"Observe"}, "spec", "managementPolicies")).To(Succeed())
			i := &gatedInstance{instance: mr, by: shared.initiator()}
			Expect(i.by.Create(ctx, mr)).To(Succeed())
			Expect(i.by.Warned.Take()).To(tellsOf("Observe"))
			shared.Becomes(ctx, mr, "Ready")
			i.limited(ctx, `["Observe"]`, "Observe")

			By("taking over, for which its creation may still create it")
			write(ctx, i, "*")
			i.closed(ctx)
			i.limited(ctx, "", stage.Observing)
			shared.quiet(ctx, i.instance)

			By("saying so once more")
			write(ctx, i, "*") // It gets to own the field that the operator has closed.
			i.limited(ctx, "", stage.Observing)
			version := i.instance.GetResourceVersion()
			write(ctx, i, "*")
			i.limited(ctx, "", stage.Observing)
			Expect(i.instance.GetResourceVersion()).To(Equal(version))

			By("going back, and taking over again")
			write(ctx, i, "Observe", "Create")
			i.limited(ctx, `["Observe","Create"]`, "Observe")
			write(ctx, i)
			i.limited(ctx, "", stage.Observing)

			By("changing and deleting it")
			Expect(i.by.Patch(ctx, i.instance.DeepCopy(), merge(sizeOf(i.instance, large)))).To(Succeed())
			shared.has(ctx, i.instance, large)
			i.closed(ctx)
			Expect(i.by.Delete(ctx, i.instance)).To(Succeed())
			shared.Gone(ctx, i.instance)
			i.mutated(ctx, cloud.Create, cloud.Update, cloud.Delete)
		},
		Entry("by an apply", SpecTimeout(specTimeout), "own-applied", applies),
		Entry("by kubectl apply", SpecTimeout(specTimeout), "own-kubectl", appliesByKubectl),
		Entry("by a patch", SpecTimeout(specTimeout), "own-patched", patches),
		Entry("by an update", SpecTimeout(specTimeout), "own-updated", updates),
	)

	DescribeTable("are so, whatever the gate is open for",
		func(ctx SpecContext, name string, write func(context.Context, *gatedInstance, ...string)) {
			i := ownInstance(ctx, name)
			fault := slow
			fault.Name, fault.Verb, fault.Times = name, cloud.Update, 1
			Expect(shared.cloud().Inject(ctx, fault)).To(Succeed())
			Expect(i.by.Patch(ctx, i.instance.DeepCopy(), merge(sizeOf(i.instance, large)))).To(Succeed())
			Expect(i.gate(ctx, Default)).To(Equal("Observe,Update,LateInitialize"))
			write(ctx, i, "Observe", "Update", "LateInitialize")
			i.gate(ctx, Default) // kubectl may take longer than the cloud
			Expect(i.instance.GetAnnotations()).To(HaveKeyWithValue(v1alpha1.AnnotationGateCeiling, `["Observe","Update","LateInitialize"]`))
			shared.has(ctx, i.instance, large)
			i.closed(ctx)
			i.by.Warned.Take()
			Expect(i.by.Delete(ctx, i.instance)).To(Succeed())
			Expect(i.by.Warned.Take()).To(ContainSubstring("what it stands for outside stays, though it might be deleted as well"))
			shared.Gone(ctx, i.instance)
			Expect(i.outside(ctx)).To(BeEmpty())
		},
		Entry("by an apply", SpecTimeout(specTimeout), "own-open-applied", applies),
		Entry("by kubectl apply", SpecTimeout(specTimeout), "own-open-kubectl", appliesByKubectl),
	)
})

// limited checks which ceiling the instance has, and how its gate is set.
func (i *gatedInstance) limited(ctx context.Context, ceiling, set string) {
	GinkgoHelper()
	Expect(i.gate(ctx, Default)).To(Equal(set))
	Expect(i.instance.GetAnnotations()[v1alpha1.AnnotationGateCeiling]).To(Equal(ceiling))
	Expect(i.instance.GetAnnotations()).NotTo(HaveKey(v1alpha1.AnnotationGateRequested))
}

// whole returns all that alice says of an instance that nobody composes; no policies is
// nothing about them.
func (i *gatedInstance) whole(policies []string) *unstructured.Unstructured {
	GinkgoHelper()
	mr := managed(cluster.GroupVersion, i.instance.GetName())
	class, _, err := unstructured.NestedString(i.instance.Object, "spec", "forProvider", "instanceClass")
	Expect(err).NotTo(HaveOccurred())
	Expect(unstructured.SetNestedField(mr.Object, class, "spec", "forProvider", "instanceClass")).To(Succeed())
	mr.SetLabels(map[string]string{ownLabel: "true"})
	mr.SetAnnotations(map[string]string{"crossplane.io/external-name": i.instance.GetName()})
	if len(policies) > 0 {
		Expect(unstructured.SetNestedStringSlice(mr.Object, policies, "spec", "managementPolicies")).To(Succeed())
	}
	return mr
}

func applies(ctx context.Context, i *gatedInstance, policies ...string) {
	GinkgoHelper()
	Expect(i.by.Apply(ctx, client.ApplyConfigurationFromUnstructured(i.whole(policies)), client.FieldOwner("git"), client.ForceOwnership)).To(Succeed())
	Expect(i.by.Warned.Take()).To(tellsOf(policies...))
}

func appliesByKubectl(ctx context.Context, i *gatedInstance, policies ...string) {
	GinkgoHelper()
	raw, err := i.whole(policies).MarshalJSON()
	Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(GinkgoT().TempDir(), "instance.json")
	Expect(os.WriteFile(file, raw, 0o600)).To(Succeed())
	out, err := i.by.RunKubectl(ctx, "apply", "-f", file)
	Expect(err).NotTo(HaveOccurred(), out)
	Expect(out).To(tellsOfLimit(policies...))
}

// tellsOf matches what somebody is warned of who sets a ceiling, and nothing where it limits nothing.
func tellsOf(policies ...string) OmegaMatcher {
	if isLimit(policies) {
		return tellsOfLimit(policies...)
	}
	return BeEmpty()
}

// tellsOfLimit matches a text that tells of that, or not.
func tellsOfLimit(policies ...string) OmegaMatcher {
	limit := ContainSubstring("is let through to what it stands for outside, whatever is allowed, and that stays when the object is deleted")
	if isLimit(policies) {
		return limit
	}
	return Not(ContainSubstring("kausality"))
}

func isLimit(policies []string) bool { return len(policies) > 0 && policies[0] != "*" }

func patches(ctx context.Context, i *gatedInstance, policies ...string) {
	GinkgoHelper()
	value := "null"
	if len(policies) > 0 {
		value = `["` + strings.Join(policies, `","`) + `"]`
	}
	Expect(i.by.Patch(ctx, i.instance.DeepCopy(), merge(fmt.Sprintf(`{"spec":{"managementPolicies":%s}}`, value)))).To(Succeed())
	Expect(i.by.Warned.Take()).To(tellsOf(policies...))
}

func updates(ctx context.Context, i *gatedInstance, policies ...string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(i.instance), i.instance)).To(Succeed())
		mr := i.instance.DeepCopy()
		unstructured.RemoveNestedField(mr.Object, "spec", "managementPolicies")
		if len(policies) > 0 {
			g.Expect(unstructured.SetNestedStringSlice(mr.Object, policies, "spec", "managementPolicies")).To(Succeed())
		}
		g.Expect(i.by.Update(ctx, mr)).To(Succeed())
	}).Should(Succeed())
	Expect(i.by.Warned.Take()).To(tellsOf(policies...))
}
