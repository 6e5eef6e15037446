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
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/stage"
)

// adoptedGroup is the group of the settings that are there before their policies.
const adoptedGroup = "adopted.example.org"

// Without policies the provider puts right what differs: so what it leaves alone with
// them, it leaves alone because of them.
var _ = DescribeTableSubtree("Policies that come to a provider", func(flags ...string) {
	BeforeEach(func(ctx SpecContext) { provide(ctx, flags...) })

	It("close what was open without a change outside, and open it again when they go", func(ctx SpecContext) {
		all := ofAllKinds(ctx, adoptedGroup, "main")
		all.created(ctx)
		for _, s := range all {
			Expect(stage.PoliciesOf(s.object)).To(Equal("*"))
		}
		all.drift(ctx)
		all.are(ctx, first)
		all.mutated(ctx, create, update)

		By("coming")
		audit := shared.Watch()
		policies := policiesFor(adoptedGroup)
		shared.Apply(ctx, policies...)
		all.closed(ctx)
		for _, s := range all {
			Expect(audit.Writes(stage.Failed, stage.OfAny(s.written, s.composite, s.object))).
				To(BeEmpty())
		}
		all.rest(ctx, func() { all.drift(ctx) })
		all.are(ctx, drifted)
		all.mutated(ctx, create, update)

		By("being in effect")
		all.set(ctx, second)
		all.closed(ctx)
		all.mutated(ctx, create, update, update)
		all.drift(ctx)

		By("going")
		for _, p := range policies {
			Expect(shared.Delete(ctx, p)).To(Succeed())
		}
		all.are(ctx, second)
		for _, s := range all {
			Expect(shared.Get(ctx, client.ObjectKeyFromObject(s.object), s.object)).To(Succeed())
			Expect(stage.PoliciesOf(s.object)).To(Equal("*"))
		}
	}, SpecTimeout(specTimeout))
}, inBothWays)
