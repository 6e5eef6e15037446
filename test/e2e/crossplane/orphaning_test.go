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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/stage"
)

// orphaning returns ways to open a gate by taking away the parent because of which it is one.
func orphaning() []bypass {
	return []bypass{
		{"deleting what composes a resource, and leaving that behind", func(ctx context.Context, s *cloudScene) {
			i := provision(ctx, bypassOutsideGroup, databaseKind, "")
			Expect(s.rogue.Delete(ctx, i.database.DeepCopy(), client.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
			shared.Gone(ctx, i.database)
			i.orphaned(ctx, s)

			By("freeing it as who may")
			Expect(i.by.Patch(ctx, i.instance.DeepCopy(), released())).To(Succeed())
			Expect(i.by.Warned.Take()).To(ContainSubstring("the gate of RDSInstance " + i.instance.GetName() + " goes"))
			i.mutated(ctx, cloud.Create, cloud.Update)
			shared.has(ctx, i.instance, medium)
			Expect(i.gate(ctx, Default)).To(Equal("*"))
			Expect(i.instance.GetAnnotations()).NotTo(Or(HaveKey(v1alpha1.AnnotationReleaseGate), HaveKey(v1alpha1.AnnotationGateParent), HaveKey(v1alpha1.AnnotationGateContent)))
		}},
		{"taking a resource away from what composes it", func(ctx context.Context, s *cloudScene) {
			i := provision(ctx, bypassOutsideGroup, databaseKind, "")
			// While that is paused Crossplane does not take the resource back at once.
			Expect(i.by.Patch(ctx, i.database.DeepCopy(), merge(`{"metadata":{"annotations":{"crossplane.io/paused":"true"}}}`))).To(Succeed())
			Expect(i.by.Patch(ctx, i.instance.DeepCopy(), drop("/metadata/ownerReferences"))).To(Succeed())
			i.orphaned(ctx, s)

			By("having it taken back")
			Expect(i.by.Patch(ctx, i.database.DeepCopy(), merge(`{"metadata":{"annotations":{"crossplane.io/paused":null}}}`))).To(Succeed())
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(i.instance), i.instance)).To(Succeed())
				g.Expect(metav1.GetControllerOf(i.instance)).NotTo(BeNil())
				g.Expect(stage.Condition(i.instance, v1alpha1.ConditionGate)).To(HaveKeyWithValue("message", Not(ContainSubstring(gate.Lost))))
			}).Should(Succeed())
			i.closed(ctx)
			i.mutated(ctx, cloud.Create)
			i.resize(ctx, large)
			shared.has(ctx, i.instance, large)
			i.closed(ctx)
		}},
	}
}

// orphaned sees that the gate of an instance that has lost its parent stays, whatever a stranger says.
func (i *gatedInstance) orphaned(ctx context.Context, s *cloudScene) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(i.instance), i.instance)).To(Succeed())
		g.Expect(i.instance.GetOwnerReferences()).To(BeEmpty())
	}).Should(Succeed())
	Expect(shared.cloud().Drift(ctx, i.instance.GetName(), cloud.Parameters{"instanceClass": "db.t3.nano"})).To(Succeed())
	s.rogue.Warned.Take()
	Expect(s.rogue.Patch(ctx, i.instance.DeepCopy(), released())).To(Succeed())
	Expect(s.rogue.Warned.Take()).To(ContainSubstring("it is for who may initiate on it, or on its former parent"))
	Consistently(ctx, func() []cloud.Verb { return shared.calls(ctx, i.instance).Mutations().Verbs() }).
		WithTimeout(releaseTime).Should(Equal([]cloud.Verb{cloud.Create}))
	Eventually(ctx, func(g Gomega) {
		g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(i.instance), i.instance)).To(Succeed())
		g.Expect(stage.Condition(i.instance, v1alpha1.ConditionGate)).To(And(HaveKeyWithValue("reason", "Closed"), HaveKeyWithValue("message", ContainSubstring(gate.Lost))))
	}).Should(Succeed())
	Expect(i.explain(ctx)).To(And(ContainSubstring(gate.Lost), ContainSubstring(v1alpha1.AnnotationReleaseGate)))
}

// released returns a patch that frees an instance of the gate that it has kept.
func released() client.Patch {
	return merge(`{"metadata":{"annotations":{"` + v1alpha1.AnnotationReleaseGate + `":"true"}}}`)
}
