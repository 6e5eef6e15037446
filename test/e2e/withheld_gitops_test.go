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
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
)

// A tool that applies what is in Git again and again costs nobody an approval, and heals
// what a stranger has changed (D20). Whoever lets it start chains names it in a policy; it
// does neither here.
var _ = Describe("A tool that applies a manifest again and again", func() {
	DescribeTable("has nothing withheld, and takes back what somebody else changed",
		func(ctx SpecContext, args ...string) {
			ns := shared.newNamespace(ctx)
			audit := shared.watch(ns)
			owner, stranger := shared.alice(), shared.mallory()
			tool := shared.as("gitops", developers)
			d := builders.MakeDeployment(ns, "web").Obj()
			applied := func(ctx context.Context, who *actor) {
				GinkgoHelper()
				Expect(who.byKubectl(ctx, d, 3, args...)).To(Succeed())
				Expect(withheldOf(d)).To(BeEmpty())
			}
			applied(ctx, owner)
			shared.complete(ctx, d, "1")
			By("applying it as it is")
			applied(ctx, tool) // What a manager applies is noted as its own, once.
			// The controller says in the status that it is done some time after it is.
			Eventually(ctx, func(g Gomega) {
				resting := d.ResourceVersion
				for range 5 {
					applied(ctx, tool)
				}
				g.Expect(d.ResourceVersion).To(Equal(resting), "written to at rest")
			}).Should(Succeed())
			Expect(tool.warned.take()).NotTo(ContainSubstring("withheld"))

			By("applying it over what a stranger has changed")
			stranger.change(ctx, d, image("web:evil"), replicas(9))
			Expect(withheldOf(d)).NotTo(BeEmpty())
			applied(ctx, tool)
			Expect(tool.warned.take()).NotTo(ContainSubstring("withheld"))
			shared.withholdsNothing(ctx, d)
			shared.hasPods(ctx, ns, map[string]int{"web:1": 3})

			By("changing it afterwards as who may")
			owner.change(ctx, d, image("web:2"))
			shared.complete(ctx, d, "2")
			Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:2": 3}))
			audit.madeNone(ctx, replicaSetController, "web:evil")
		},
		Entry("by kubectl apply", SpecTimeout(specTimeout), "apply"),
		Entry("in the API server", SpecTimeout(specTimeout), "apply", "--server-side", "--force-conflicts", "--field-manager=gitops"),
	)

	// Tolerations have no keys by which one is told from another.
	It("rolls out what who may applies in the place of what a stranger has added", func(ctx SpecContext) {
		ns := shared.newNamespace(ctx)
		owner, stranger := shared.alice(), shared.mallory()
		tolerating := func(keys ...string) patch {
			tolerations := make([]string, 0, len(keys))
			for _, key := range keys {
				tolerations = append(tolerations, fmt.Sprintf(`{"key":%q,"operator":"Exists","effect":"NoSchedule"}`, key))
			}
			return patch(fmt.Sprintf(`{"spec":{"template":{"spec":{"tolerations":[%s]}}}}`, strings.Join(tolerations, ",")))
		}
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web"))
		owner.change(ctx, d, tolerating("a"))
		shared.complete(ctx, d, "2")
		stranger.change(ctx, d, tolerating("a", "evil"))
		Expect(withheldOf(d)).NotTo(BeEmpty())
		owner.warned.take()
		owner.change(ctx, d, tolerating("b", "a"))
		Expect(owner.warned.take()).NotTo(ContainSubstring("withheld"))
		Expect(withheldOf(d)).To(BeEmpty())
		shared.complete(ctx, d, "3")
	}, SpecTimeout(specTimeout))

	It("leaves alone what it does not name", func(ctx SpecContext) {
		ns := shared.newNamespace(ctx)
		owner, tool := shared.alice(), shared.as("gitops", developers)
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		owner.change(ctx, d, replicas(4))
		shared.complete(ctx, d, "1")
		apply := func() {
			GinkgoHelper()
			manifest := builders.MakeDeployment(ns, "web").Obj()
			manifest.APIVersion, manifest.Kind = appsv1.SchemeGroupVersion.String(), "Deployment"
			manifest.Spec.Replicas = nil // An autoscaler's.
			//nolint:staticcheck // A whole manifest is what tools apply.
			Expect(tool.Patch(ctx, manifest, client.Apply, client.FieldOwner("gitops"), client.ForceOwnership)).To(Succeed())
			Expect(withheldOf(manifest)).To(BeEmpty())
			Expect(*manifest.Spec.Replicas).To(Equal(int32(4)))
		}
		for range 3 {
			apply()
		}
		Expect(tool.warned.take()).NotTo(ContainSubstring("withheld"))
		shared.withholdsNothing(ctx, d)
		shared.hasPods(ctx, ns, map[string]int{"web:1": 4})
	}, SpecTimeout(specTimeout))

	DescribeTable("tells whoever may approve that the value stays withheld which a stranger has set",
		func(ctx SpecContext, args ...string) {
			ns := shared.newNamespace(ctx)
			audit := shared.watch(ns)
			owner, stranger := shared.alice(), shared.mallory()
			d := builders.MakeDeployment(ns, "web").Obj()
			Expect(owner.byKubectl(ctx, d, 2, args...)).To(Succeed())
			shared.complete(ctx, d, "1")
			stranger.change(ctx, d, replicas(3))
			Expect(withheldOf(d)).NotTo(BeEmpty())
			owner.warned.take()

			By("applying that value")
			Expect(owner.byKubectl(ctx, d, 3, args...)).To(Succeed())
			warning := owner.warned.take()
			Expect(warning).To(SatisfyAll(ContainSubstring("stays withheld"), ContainSubstring("to write the same value does not approve it"),
				ContainSubstring(v1alpha1.AnnotationApprove+"=")))
			Expect(withheldOf(d)).NotTo(BeEmpty())

			By("writing something else that counts for nothing")
			owner.change(ctx, d, `{"metadata":{"annotations":{"example.org/note":"x"}}}`)
			Expect(owner.warned.take()).To(ContainSubstring("stays withheld"))
			stranger.warned.take()
			stranger.change(ctx, d, `{"metadata":{"annotations":{"example.org/note":"y"}}}`)
			Expect(stranger.warned.take()).NotTo(ContainSubstring("withheld"))
			audit.madeNone(ctx, replicaSetController, "web:2")
			Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:1": 2}))

			By("approving it")
			owner.change(ctx, d, approve(v1alpha1.Any))
			shared.hasPods(ctx, ns, map[string]int{"web:1": 3})
		},
		Entry("by kubectl apply", SpecTimeout(specTimeout), "apply"),
		Entry("in the API server", SpecTimeout(specTimeout), "apply", "--server-side", "--force-conflicts", "--field-manager=gitops"),
	)
})
