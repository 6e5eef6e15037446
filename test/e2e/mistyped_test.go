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
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/builders"
)

// The API server takes away what means nothing before the webhook is asked, which yet has to tell of it.
var _ = Describe("A command with a mistyped name", func() {
	It("is answered by the name that is meant, whoever sends it and however, and leaves nothing", func(ctx SpecContext) {
		owner, rogue := shared.alice(), shared.mallory()
		d := owner.deploy(ctx, builders.MakeDeployment(shared.newNamespace(ctx), "web").Replicas(2))
		for who, how := range map[*actor]types.PatchType{owner: types.MergePatchType, rogue: types.StrategicMergePatchType} {
			By(fmt.Sprintf("%s of one who may approve: %t", how, who == owner))
			who.warned.take()
			Expect(who.Patch(ctx, d, client.RawPatch(how, []byte(`{"metadata":{"annotations":{"kausality.io/aprove":"*","team":"shop"}}}`)))).To(Succeed())
			Expect(who.warned.take()).To(SatisfyAll(
				ContainSubstring("the annotation kausality.io/aprove means nothing to Kausality, and is taken off Deployment web"),
				ContainSubstring("did you mean kausality.io/approve?")))
			Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
			Expect(d.Annotations).To(SatisfyAll(HaveKeyWithValue("team", "shop"),
				Not(HaveKey("kausality.io/aprove")), Not(HaveKey("kausality.io/dropped"))))
		}

		By("one on an object with an owner, where it has another key")
		rs := shared.newestReplicaSet(ctx, d)
		Expect(owner.Patch(ctx, rs, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"kausality.io/aprove":"*"}}}`)))).To(Succeed())
		Expect(owner.warned.take()).To(ContainSubstring("did you mean replicaset.kausality.io/approve?"))
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(rs), rs)).To(Succeed())
		Expect(rs.Annotations).To(SatisfyAll(Not(HaveKey("kausality.io/aprove")), Not(HaveKey("kausality.io/dropped"))))
	}, SpecTimeout(specTimeout))
})
