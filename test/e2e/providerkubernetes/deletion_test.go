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
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/stage"
)

var _ = DescribeTableSubtree("The deletion by a provider", func(flags ...string) {
	BeforeEach(func(ctx SpecContext) { provide(ctx, flags...) })

	It("happens outside where that is allowed, and nowhere else", func(ctx SpecContext) {
		going, staying := ofAllKinds(ctx, group, "goes"), ofAllKinds(ctx, group, "stays")
		for _, s := range going {
			labels := map[string]string{goesLabel: "true"}
			maps.Copy(labels, s.written.GetLabels())
			s.written.SetLabels(labels)
		}
		all := slices.Concat(going, staying)
		all.created(ctx)
		all.closed(ctx)
		for _, s := range all {
			Expect(s.by.Delete(ctx, s.written)).To(Succeed())
		}

		By("going")
		for _, s := range going {
			shared.Gone(ctx, s.object, s.composite, s.written)
			s.vanished(ctx)
		}
		going.mutated(ctx, create, remove)

		By("staying")
		for _, s := range staying {
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(s.object), s.object)).To(Succeed())
				g.Expect(s.object.GetDeletionTimestamp()).NotTo(BeNil())
				g.Expect(stage.Condition(s.object, v1alpha1.ConditionGate)).To(HaveKeyWithValue("reason", "Held"))
			}).Should(Succeed(), s.written.GetKind())
		}
		Expect(members.Restart(ctx, provider)).To(Succeed())
		Consistently(ctx, func(g Gomega) {
			for _, s := range staying {
				g.Expect(mutations(s.audit, s.key().Namespace)).To(Equal([]string{create}), s.written.GetKind())
			}
		}).WithTimeout(twoLooks).Should(Succeed())
		staying.are(ctx, first)

		By("being let go")
		for _, s := range staying {
			Expect(s.by.Patch(ctx, s.object.DeepCopy(), merge(`{"metadata":{"annotations":{"`+v1alpha1.AnnotationOrphan+`":"true"}}}`))).To(Succeed())
		}
		for _, s := range staying {
			shared.Gone(ctx, s.object, s.composite, s.written)
		}
		staying.are(ctx, first)
		staying.mutated(ctx, create)
	}, SpecTimeout(specTimeout))
}, inBothWays)
