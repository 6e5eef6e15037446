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
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// auditUncaused is where the audit log tells of what policies that only warn or audit would withhold.
const auditUncaused = "verdict.kausality.io/uncaused"

// Policies are tried with Warn or Audit first: whose changes they would not let go on has to show, and nothing waits.
var _ = Describe("A policy on trial", func() {
	for action, event := range map[v1alpha1.ValidationAction]v1alpha1.HistoryEvent{
		v1alpha1.ActionWarn: v1alpha1.EventWarned, v1alpha1.ActionAudit: v1alpha1.EventAudited,
	} {
		It("tells of a stranger's change that it would withhold, and holds nothing up, with "+string(action), func(ctx SpecContext) {
			policies := "trial-" + strings.ToLower(string(action))
			all := kindPoliciesFor(policies, "statefulset")
			for _, p := range all {
				p.Spec.ValidationActions = []v1alpha1.ValidationAction{action}
			}
			shared.apply(ctx, all...)
			ns := shared.newNamespaceFor(ctx, policies)
			set := builders.MakeStatefulSet(ns, "web", 2)
			Expect(shared.alice().Create(ctx, set)).To(Succeed())
			shared.hasPods(ctx, ns, map[string]int{"web:1": 2})
			shared.ended(ctx, set)

			stranger, audit := shared.mallory(), shared.watch(ns)
			stranger.change(ctx, set, image("web:2"))
			told := SatisfyAll(ContainSubstring("would be withheld if AllowancePolicy "+all[0].Name+" said Deny"),
				ContainSubstring(mallory+" may not initiate it"), ContainSubstring(platformTeam))
			if action == v1alpha1.ActionAudit {
				told = BeEmpty()
			}
			Expect(stranger.warned.take()).To(told)
			shared.hasPods(ctx, ns, map[string]int{"web:2": 2})
			const path = "spec.template.spec.containers[0].image"
			Expect(audit.writes(controlplane.OfResource("apps", "statefulsets"), controlplane.ByUser(mallory))).To(ConsistOf(
				HaveField("Annotations", HaveKeyWithValue(auditUncaused, string(event)+" "+all[0].Name+": "+path))))
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.record(ctx, g, set).Status.History).To(ContainElement(SatisfyAll(HaveField("Event", event),
					HaveField("User", mallory), HaveField("Kind", ""), HaveField("Paths", ConsistOf(path)))))
			}).Should(Succeed())
			reader := shared.as("reader", "system:masters")
			reader.reads(ctx, ns, lines("Let through", "asked by +"+mallory, "of +"+path), "why", "statefulset/web")
			reader.reads(ctx, ns, lines(mallory, "StatefulSet/web  "+path), "trace", "statefulset/web")

			By("not telling of an initiator's")
			Expect(shared.Get(ctx, client.ObjectKeyFromObject(set), set)).To(Succeed())
			owner := shared.alice()
			owner.change(ctx, set, image("web:3"))
			Expect(owner.warned.take()).To(BeEmpty())
			shared.hasPods(ctx, ns, map[string]int{"web:3": 2})
		}, SpecTimeout(specTimeout))
	}
})
