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
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"kausality.io/operator/api/v1alpha1"
	protection "kausality.io/operator/config/record-protection"
	"kausality.io/operator/internal/controller/recordprotection"
)

// An operator that OLM has installed protects its records itself (D25).
var _ = Describe("Protection of records that the operator keeps", func() {
	const user = "system:serviceaccount:operators:safety"
	key := client.ObjectKey{Name: protection.Name}

	It("lets only the operator write, undoes changes, and goes with the installation", func(ctx SpecContext) {
		meta := metav1.ObjectMeta{Name: protection.Name}
		policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: meta}
		binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta}
		DeferCleanup(func(ctx SpecContext) { // once the manager has stopped, which may see what is installed again
			for _, object := range []client.Object{binding, policy} {
				Expect(client.IgnoreNotFound(k8s.Delete(ctx, object))).To(Succeed())
			}
		})
		mgr, err := manager.New(config, manager.Options{
			Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Cache: cache.Options{ByObject: recordprotection.Caches()},
		})
		Expect(err).NotTo(HaveOccurred())
		Expect((&recordprotection.Reconciler{Client: mgr.GetClient(), User: user}).SetupWithManager(mgr)).To(Succeed())
		run(ctx, mgr)

		By("protecting")
		record := func() *v1alpha1.AllowanceRecord {
			return &v1alpha1.AllowanceRecord{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "forged-"},
				Spec:       v1alpha1.AllowanceRecordSpec{TargetRef: v1alpha1.TargetReference{Version: "v1", Kind: "ConfigMap", Name: "c", UID: "u"}},
			}
		}
		write := func(ctx context.Context, as string) error {
			return clientAs(as).Create(ctx, record(), client.DryRunAll)
		}
		Eventually(ctx, func() error { return write(ctx, "mallory") }).Should(MatchError(ContainSubstring("only Kausality writes AllowanceRecords")))
		Expect(write(ctx, user)).To(Succeed())
		Expect(write(ctx, "system:serviceaccount:kausality-system:kausality-controller-manager")).NotTo(Succeed())

		Expect(k8s.Get(ctx, key, policy)).To(Succeed())
		Expect(k8s.Get(ctx, key, binding)).To(Succeed())
		ours := HaveField("Kind", "ValidatingWebhookConfiguration")
		Expect(policy.OwnerReferences).To(ConsistOf(ours))
		Expect(binding.OwnerReferences).To(ConsistOf(ours))

		By("writing nothing where nothing differs")
		unchanged := func(ctx context.Context) []string {
			GinkgoHelper()
			p, b := &admissionregistrationv1.ValidatingAdmissionPolicy{}, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
			Expect(k8s.Get(ctx, key, p)).To(Succeed())
			Expect(k8s.Get(ctx, key, b)).To(Succeed())
			return []string{p.ResourceVersion, b.ResourceVersion}
		}
		policy.Annotations = map[string]string{"example.org/seen": "yes"} // has it looked at
		Expect(k8s.Update(ctx, policy)).To(Succeed())
		before := unchanged(ctx)
		Consistently(ctx, func() []string { return unchanged(ctx) }).Should(Equal(before))

		By("undoing what somebody changes")
		policy.Spec.MatchConstraints.ResourceRules[0].Operations = []admissionregistrationv1.OperationType{"CREATE"}
		Expect(k8s.Update(ctx, policy)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(k8s.Get(ctx, key, policy)).To(Succeed())
			g.Expect(policy.Spec.MatchConstraints.ResourceRules[0].Operations).To(HaveLen(3))
		}).Should(Succeed())
		Expect(k8s.Get(ctx, key, binding)).To(Succeed())
		binding.Spec.ValidationActions = []admissionregistrationv1.ValidationAction{admissionregistrationv1.Warn}
		Expect(k8s.Update(ctx, binding)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(k8s.Get(ctx, key, binding)).To(Succeed())
			g.Expect(binding.Spec.ValidationActions).To(ConsistOf(admissionregistrationv1.Deny))
		}).Should(Succeed())
		Expect(k8s.Delete(ctx, policy)).To(Succeed())
		Eventually(ctx, func() error { return k8s.Get(ctx, key, policy) }).Should(Succeed())

		By("ending with the installation")
		switchOff(ctx)
		Eventually(ctx, func() []bool {
			return slices.Concat(
				[]bool{apierrors.IsNotFound(k8s.Get(ctx, key, policy))}, []bool{apierrors.IsNotFound(k8s.Get(ctx, key, binding))},
			)
		}).Should(Equal([]bool{true, true}))
	})
})

// switchOff deletes the installed configuration, and has it installed again afterwards.
func switchOff(ctx context.Context) {
	GinkgoHelper()
	Expect(k8s.Delete(ctx, newInstalled())).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(k8s.Create(ctx, newInstalled())).To(Succeed()) })
}
