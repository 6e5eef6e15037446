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
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/stage"
)

var _ = Describe("Broken glass deletes what is in the cloud", Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		shared.Apply(ctx, stage.ParsePolicies(strings.ReplaceAll(ownPolicies, "GROUP", "glass"))...)
	})

	DescribeTable("of an instance that nobody composes, and is told",
		func(ctx SpecContext, name string, heldBefore bool) {
			i := ownInstance(ctx, name)
			uid := i.instance.GetUID()
			bob := shared.As("bob-on-call", "system:masters")
			if heldBefore {
				Expect(shared.stranger().Delete(ctx, i.instance.DeepCopy())).To(Succeed())
				i.held(ctx)
			}
			Expect(bob.Patch(ctx, i.instance.DeepCopy(), merge(`{"metadata":{"annotations":{"kausality.io/break-glass":"delete: INC-7"}}}`))).To(Succeed())
			Expect(bob.Warned.Take()).To(ContainSubstring("serves its deletion only"))
			Expect(bob.Delete(ctx, i.instance.DeepCopy())).To(Succeed())
			Expect(bob.Warned.Take()).To(ContainSubstring("the glass is broken: deletion of RDSInstance " + name))
			shared.Gone(ctx, i.instance)
			Expect(i.outside(ctx)).To(Equal([]cloud.Verb{cloud.Delete}))
			Eventually(ctx, func(g Gomega) {
				var list corev1.EventList
				g.Expect(shared.List(ctx, &list)).To(Succeed())
				g.Expect(list.Items).To(ContainElement(SatisfyAll(HaveField("InvolvedObject.UID", uid),
					HaveField("Reason", "BreakGlass"), HaveField("Message", ContainSubstring("INC-7")))))
				var records v1alpha1.AllowanceRecordList
				g.Expect(shared.List(ctx, &records)).To(Succeed())
				g.Expect(records.Items).To(ContainElement(SatisfyAll(HaveField("Spec.TargetRef.UID", uid),
					HaveField("Status.History", ContainElement(SatisfyAll(HaveField("Event", v1alpha1.EventBreakGlass), HaveField("User", "bob-on-call")))))))
			}).WithTimeout(20 * time.Second).Should(Succeed())
		},
		Entry("before its deletion", SpecTimeout(specTimeout), "glass-before", false),
		Entry("that is held already", SpecTimeout(specTimeout), "glass-held", true),
	)
})
