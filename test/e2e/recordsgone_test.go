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
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// A grant that only a record can carry is refused where there are none, whatever the
// failurePolicy: a scale whose grant is lost would pass, and nothing would follow (D2).
var _ = Describe("While the definition of records is gone", func() {
	It("no rollout and no scale loses its allowance in silence", func(ctx SpecContext) {
		cp, _ := startCluster(ctx, controlplane.Options{})
		c := connect(cp)
		c.apply(ctx, c.samplePoliciesFor(ctx, "gone")...)
		ns := c.newNamespaceFor(ctx, "gone")
		alice := c.alice()
		d := alice.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		rs := c.newestReplicaSet(ctx, d)

		definition := c.undefine(ctx, recordsDefinition)

		By("scaling, which only a record carries")
		Eventually(ctx, func() error { return alice.scale(ctx, d, 4) }).Should(MatchError(ContainSubstring("allowancerecords.kausality.io is gone, install it again")))
		expectForbidden(c.mallory().try(ctx, rs, replicas(9)), "spec.replicas", "Deployment web")

		By("installing it again")
		c.define(ctx, definition)
		Eventually(ctx, func() error { return alice.scale(ctx, d, 4) }).Should(Succeed())
		c.hasPods(ctx, ns, map[string]int{"web:1": 4})
		alice.change(ctx, d, image("web:2"))
		c.complete(ctx, d, "2")
	}, SpecTimeout(2*startTimeout))
})
