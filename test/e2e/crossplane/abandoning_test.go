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
	"os/exec"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/test/crossplane/cloud"
)

// abandoning returns ways to have a composite resource stay without its claim, where the policies for that bound it no more.
func abandoning() []bypass {
	return []bypass{
		{"letting a claim go without its composite resource", func(ctx context.Context, s *cloudScene) {
			i := provision(ctx, bypassGroup, claimKind, "")
			paused := merge(`{"metadata":{"annotations":{"crossplane.io/paused":"true"}}}`)
			resumed := merge(`{"metadata":{"annotations":{"crossplane.io/paused":null}}}`)
			Expect(s.rogue.Patch(ctx, i.database.DeepCopy(), merge(`{"metadata":{"annotations":{"crossplane.io/paused":"true"},"finalizers":null}}`))).To(Succeed())
			Expect(s.rogue.Delete(ctx, i.database.DeepCopy())).To(MatchError(And(
				ContainSubstring("by which Crossplane deletes XDatabase "+i.composite.GetName()+" first"),
				ContainSubstring("Group platform-team may let the claim go without"))))
			out, err := exec.CommandContext(ctx, *pluginBin, "--kubeconfig="+shared.Kubeconfig, "why", "-n", i.database.GetNamespace(),
				"databaseclaim."+bypassGroup+"/"+i.database.GetName()).CombinedOutput()
			Expect(err).NotTo(HaveOccurred(), "%s", out)
			Expect(string(out)).To(ContainSubstring("DatabaseClaim/main is paused"))

			By("once Crossplane has put its finalizer back")
			Expect(s.rogue.Patch(ctx, i.database.DeepCopy(), resumed)).To(Succeed())
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(i.database), i.database)).To(Succeed())
				g.Expect(i.database.GetFinalizers()).To(ContainElement(lineage.ClaimFinalizer))
			}).Should(Succeed())
			Expect(s.rogue.Patch(ctx, i.database.DeepCopy(), paused)).To(Succeed())
			Expect(i.by.Delete(ctx, i.database.DeepCopy())).To(Succeed())
			Expect(s.rogue.Patch(ctx, i.database.DeepCopy(), merge(`{"metadata":{"finalizers":null}}`))).To(
				MatchError(ContainSubstring("Group platform-team may let the claim go without")))

			By("leaving it to Crossplane")
			Expect(s.rogue.Patch(ctx, i.database.DeepCopy(), resumed)).To(Succeed())
			shared.Gone(ctx, i.database, i.composite, i.instance)
			i.mutated(ctx, cloud.Create, cloud.Delete)
		}},
	}
}
