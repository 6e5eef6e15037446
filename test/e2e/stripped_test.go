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

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/test/builders"
)

// stripping returns a MutatingAdmissionPolicy that takes all annotations of Kausality from the Deployments of a
// namespace, and what binds it.
func stripping(namespace string) (*admissionregistrationv1.MutatingAdmissionPolicy, *admissionregistrationv1.MutatingAdmissionPolicyBinding) {
	meta := metav1.ObjectMeta{Name: "strips-" + namespace}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}
	return &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			ReinvocationPolicy: admissionregistrationv1.IfNeededReinvocationPolicy,
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: selector,
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
				}}},
			},
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType: admissionregistrationv1.PatchTypeJSONPatch,
				JSONPatch: &admissionregistrationv1.JSONPatch{Expression: `has(object.metadata.annotations) ?
				object.metadata.annotations.filter(k, k.contains("kausality.io/")).map(k,
					JSONPatch{op: "remove", path: "/metadata/annotations/" + jsonpatch.escapeKey(k)}) : []`},
			}},
		}}, &admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{
			PolicyName: meta.Name,
		}}
}

var _ = Describe("The kubectl plugin, where something takes annotations away", func() {
	It("approves nothing and says so", func(ctx SpecContext) {
		ns := shared.newNamespace(ctx)
		owner, stranger := shared.alice(), shared.mallory()
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(1))
		stranger.change(ctx, d, image("web:2"))
		policy, binding := stripping(ns)
		Expect(shared.Create(ctx, policy)).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return shared.Delete(ctx, policy) })
		Expect(shared.Create(ctx, binding)).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return shared.Delete(ctx, binding) })

		// The API server takes a moment to notice the policy: until then a dry run is what it always is.
		Eventually(ctx, func(g Gomega) {
			out, err := owner.kausality(ctx, ns, "approve", "deployment/web", "--dry-run")
			g.Expect(err).To(HaveOccurred(), out)
			g.Expect(out).To(SatisfyAll(ContainSubstring("nothing is approved"), ContainSubstring("is still withheld")))
		}).Should(Succeed())
		out, err := owner.kausality(ctx, ns, "approve", "deployment/web", "--yes")
		Expect(err).To(HaveOccurred(), out)
		Expect(out).To(SatisfyAll(ContainSubstring("nothing is approved"), ContainSubstring("is still withheld"), Not(ContainSubstring("Approved"))))
	}, SpecTimeout(specTimeout))
})
