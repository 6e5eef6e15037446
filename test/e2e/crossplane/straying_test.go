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

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/stage"
)

// straying returns ways to have what somebody makes in the place of something that was lost go to the cloud in the name of
// who may.
func straying() []bypass {
	return []bypass{
		{"making anew what was lost, as what somebody else has in the cloud", func(ctx context.Context, s *cloudScene) {
			i := provision(ctx, bypassGroup, claimKind, "")
			shared.steady(ctx, &governed{database: i.database, composite: i.composite, instance: i.instance, isClaim: true})
			lost := i.instance.DeepCopy()
			parameters, err := shared.cloud().Peek(ctx, lost.GetAnnotations()["crossplane.io/external-name"])
			Expect(err).NotTo(HaveOccurred())
			bob := shared.As("bob-on-call", "system:masters")
			Expect(bob.Patch(ctx, lost.DeepCopy(), merge(`{"metadata":{"annotations":{"rdsinstance.kausality.io/break-glass":"delete: INC-1"}}}`))).To(Succeed())
			Expect(bob.Delete(ctx, lost.DeepCopy())).To(Succeed())
			shared.Gone(ctx, lost)

			By("making it anew")
			// While nobody owns it, it may change what it stands for, which is as it says here.
			others := s.victim + "-alike"
			_, err = shared.cloud().Do(ctx, cloud.Create, others, parameters)
			Expect(err).NotTo(HaveOccurred())
			stray := managed(lost.GroupVersionKind().GroupVersion(), lost.GetName())
			stray.SetLabels(lost.GetLabels())
			stray.SetAnnotations(map[string]string{
				"crossplane.io/composition-resource-name": "instance", "crossplane.io/external-name": others,
			})
			stray.Object["spec"] = map[string]any{"forProvider": lost.DeepCopy().Object["spec"].(map[string]any)["forProvider"]} //nolint:errcheck // it has one
			Expect(s.rogue.Create(ctx, stray)).To(Succeed())
			Eventually(ctx, func(g Gomega) {
				g.Expect(s.rogue.Patch(ctx, i.composite.DeepCopy(), merge(`{"metadata":{"annotations":{"example.org/poke":"`+string(stray.GetUID())+`"}}}`))).To(Succeed())
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(stray), stray)).To(Succeed())
				g.Expect(stray.GetOwnerReferences()).To(ContainElement(HaveField("UID", i.composite.GetUID())))
			}).Should(Succeed())
			i.instance = stray

			By("being deleted as who may")
			Expect(i.by.Delete(ctx, i.database)).To(Succeed())
			shared.Gone(ctx, i.database, i.composite)
			i.held(ctx)
			Expect(stage.Condition(i.instance, "kausality.io/Gate")).To(HaveKeyWithValue("message", And(
				ContainSubstring("adopted it without a cause"), ContainSubstring("something outside that is not called like it"))))

			By("letting it go")
			Expect(i.by.Patch(ctx, i.instance.DeepCopy(), orphan())).To(Succeed())
			shared.Gone(ctx, i.instance)
			calls, err := shared.cloud().Calls(ctx, others)
			Expect(err).NotTo(HaveOccurred())
			Expect(calls.Mutations().Verbs()).To(Equal([]cloud.Verb{cloud.Create}))
		}},
	}
}
