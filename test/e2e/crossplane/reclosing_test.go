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
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/stage"
)

// outsidePolicies bound what happens outside, and nothing of the instances themselves.
const outsidePolicies = `
metadata: {name: GROUP}
spec:
  for: {apiGroup: GROUP, apiVersion: v1alpha1, kind: Database}
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, namespace: crossplane-system, name: crossplane}
  initializing:
    policies:
    - {target: {external: {provider: provider-aws}}, relation: External, verbs: [Create]}
  rules:
  - trigger: spec.size
    policies:
    - {target: {external: {provider: provider-aws}}, relation: External, verbs: [Update]}
`

// refusedAtFirst is a cloud that thinks for a moment before it refuses, so that the
// provider has to try again.
var refusedAtFirst = cloud.Fault{Verb: cloud.Update, Times: 1, Outcome: cloud.Refused, Delay: cloud.Duration(1500 * time.Millisecond)}

// opened has the cloud at work on a change of an instance, whose gate is open.
func (i *gatedInstance) opened(ctx context.Context, fault cloud.Fault) {
	GinkgoHelper()
	fault.Name = i.instance.GetName()
	Expect(shared.cloud().Inject(ctx, fault)).To(Succeed())
	i.resize(ctx, large)
	Eventually(ctx, func() cloud.Calls { return shared.calls(ctx, i.instance).Of(cloud.Update).With(cloud.Pending) }).
		WithPolling(20 * time.Millisecond).Should(HaveLen(1))
	Expect(i.gate(ctx, Default)).To(ContainSubstring("Update"))
}

// An open gate is open for one content of its object (D16).
var _ = Describe("A gate that is open for a change", func() {
	It("is closed by another one that nobody allowed, until that is taken back", func(ctx SpecContext) {
		const group = "outside.example.org"
		shared.offer(ctx, group)
		shared.Apply(ctx, stage.ParsePolicies(strings.ReplaceAll(outsidePolicies, "GROUP", group))...)
		i := provision(ctx, group, databaseKind, "")
		i.opened(ctx, refusedAtFirst)

		By("changing the instance as a stranger")
		stranger := shared.As(stage.MalloryName, "system:masters")
		written := i.instance.DeepCopy()
		Expect(stranger.Patch(ctx, written, merge(`{"spec":{"forProvider":{"backupWindow":"03:00-04:00"}}}`))).To(Succeed())
		Expect(stage.PoliciesOf(written)).To(Equal(stage.Observing), "open after the write that nobody allowed")
		Eventually(ctx, func(g Gomega) {
			g.Expect(i.gate(ctx, g)).To(Equal(stage.Observing))
			g.Expect(stage.Condition(i.instance, v1alpha1.ConditionGate)).To(HaveKeyWithValue("message", And(
				ContainSubstring("What "+stage.AliceName+" allowed"), ContainSubstring("take it back"))))
		}).Should(Succeed())
		Expect(i.instance.GetAnnotations()).To(HaveKey(stage.LedgerKey(i.instance)), "the allowance is lost")
		Consistently(ctx, func() []cloud.Verb { return shared.calls(ctx, i.instance).Mutations().Verbs() }).
			WithTimeout(poll + time.Second).Should(Equal([]cloud.Verb{cloud.Create, cloud.Update}))

		By("taking that back")
		Expect(stranger.Patch(ctx, written, merge(`{"spec":{"forProvider":{"backupWindow":null}}}`))).To(Succeed())
		Expect(stage.PoliciesOf(written)).To(ContainSubstring("Update"), "closed for what is allowed")
		shared.has(ctx, i.instance, large)
		i.closed(ctx)
		i.mutated(ctx, cloud.Create, cloud.Update, cloud.Update)
	}, SpecTimeout(specTimeout))

	It("stays so though a stranger asks for another one above, and lets only the first through", func(ctx SpecContext) {
		const group = "another.example.org"
		closeGatesOf(ctx, group)
		i := provision(ctx, group, databaseKind, "")
		i.opened(ctx, refusedAtFirst)
		stranger := shared.As(stage.MalloryName, "system:masters")
		Expect(stranger.Patch(ctx, i.database.DeepCopy(), resize("db.t3.xlarge"))).To(Succeed())
		Expect(stranger.Warned.Take()).To(ContainSubstring("withheld"))
		shared.has(ctx, i.instance, large)
		i.closed(ctx)
		i.mutated(ctx, cloud.Create, cloud.Update, cloud.Update)

		By("approving it")
		// For some seconds after a kind was defined the API server cannot yet apply
		// admission policies to annotations of ours, and says so.
		Eventually(ctx, func() error {
			return i.by.Patch(ctx, i.database, merge(`{"metadata":{"annotations":{"`+v1alpha1.AnnotationApprove+`":"spec.size"}}}`))
		}).Should(Succeed())
		shared.has(ctx, i.instance, "db.t3.xlarge")
		i.closed(ctx)
		i.mutated(ctx, cloud.Create, cloud.Update, cloud.Update, cloud.Update)
	}, SpecTimeout(specTimeout))
})
