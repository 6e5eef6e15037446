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
	"context"
	"encoding/json"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// inBothWays are those in which the provider works: it patches what differs from what it
// remembers to have applied, or has the API server compare and apply; then it also
// watches what it manages.
var inBothWays = []TableEntry{
	Entry("that remembers what it applied"),
	Entry("that has the API server apply", "--enable-server-side-apply", "--enable-watches"),
}

var _ = DescribeTableSubtree("The gate of a provider", func(flags ...string) {
	BeforeEach(func(ctx SpecContext) { provide(ctx, flags...) })

	It("lets through what was allowed, once, and nothing else", func(ctx SpecContext) {
		all := ofAllKinds(ctx, group, "main")
		all.created(ctx)
		all.closed(ctx)
		all.mutated(ctx, create)
		for _, s := range all {
			Expect(s.openedFor(first)).To(Equal(stage.Opening{Policies: "Create,LateInitialize,Observe", Trace: s.creation()}))
			s.settled(ctx)
		}

		By("changing it as who may")
		all.set(ctx, second)
		all.closed(ctx)
		all.mutated(ctx, create, update)
		for _, s := range all {
			Expect(s.openedFor(second)).To(Equal(stage.Opening{Policies: "LateInitialize,Observe,Update", Trace: s.change()}))
			s.consumed(ctx, s.change())
		}

		By("changing it as who may not")
		all.rest(ctx, func() {
			for _, s := range all {
				s.forge(ctx)
			}
		})
		all.are(ctx, second)

		By("changing it behind the provider's back")
		all.rest(ctx, func() { all.drift(ctx) })

		By("starting the provider again")
		all.rest(ctx, func() { Expect(members.Restart(ctx, provider)).To(Succeed()) })
		all.are(ctx, drifted)
		all.mutated(ctx, create, update)

		By("changing it as who may, again")
		all.set(ctx, third)
		all.closed(ctx)
		all.mutated(ctx, create, update, update)

		By("losing it outside")
		all.rest(ctx, func() {
			for _, s := range all {
				Expect(shared.stranger().Delete(ctx, s.outside())).To(Succeed())
			}
		})
		for _, s := range all {
			s.vanished(ctx)
		}
		all.mutated(ctx, create, update, update)
	}, SpecTimeout(specTimeout))
}, inBothWays)

// forge changes a setting, and what it is composed of, as who may not.
func (s *setting) forge(ctx context.Context) {
	GinkgoHelper()
	mallory := shared.stranger()
	Expect(mallory.Patch(ctx, s.written.DeepCopy(), s.patch(forged))).To(Succeed())
	Expect(mallory.Warned.Take()).To(ContainSubstring("withheld"))
	if s.written.GetKind() != objectKind {
		Expect(mallory.Patch(ctx, s.object.DeepCopy(), setObject(forged))).To(MatchError(stage.Denied, "denied"))
	}
	Expect(mallory.Patch(ctx, s.object.DeepCopy(), merge(`{"spec":{"managementPolicies":["*"]}}`))).To(Succeed())
	Expect(mallory.Patch(ctx, s.object.DeepCopy(), merge(
		`{"metadata":{"annotations":{"kausality.io/gate-content":null,"kausality.io/allowances":"[]"}}}`))).To(Succeed())
}

// creation and change say who caused what the gate was opened for, and the way to the
// managed resource.
func (s *setting) creation() string { return s.way(v1alpha1.FieldCreated, v1alpha1.FieldCreated) }

func (s *setting) change() string {
	return s.way("spec.value", "spec.forProvider.manifest.data[value]")
}

func (s *setting) way(written, managed string) string {
	hops := []string{objectKind + "/" + s.object.GetName() + " " + managed}
	for _, holder := range []*unstructured.Unstructured{s.composite, s.written} {
		hop := holder.GetKind() + "/" + holder.GetName() + " " + written
		if holder.GetKind() != objectKind && hops[0] != hop {
			hops = append([]string{hop}, hops...)
		}
	}
	return stage.AliceName + ": " + strings.Join(hops, ", ")
}

// openedFor returns how the gate was set by the write that gave the managed resource a value.
func (s *setting) openedFor(value string) stage.Opening {
	GinkgoHelper()
	gvk := s.object.GroupVersionKind()
	for _, event := range s.audit.Writes(controlplane.Succeeded, stage.OfAny(s.object),
		controlplane.OfResource(gvk.Group, "objects"), controlplane.OfSubresource("")) {
		written := &unstructured.Unstructured{}
		Expect(json.Unmarshal(event.ResponseObject.Raw, written)).To(Succeed())
		got, _, _ := unstructured.NestedString(written.Object, "spec", "forProvider", "manifest", "data", "value")
		if got == value {
			return stage.OpeningOf(written)
		}
	}
	return stage.Opening{}
}

// outside returns the ConfigMap.
func (s *setting) outside() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.key().Namespace, Name: s.key().Name}}
}

// settled waits until nothing is allowed any more by what people did.
func (s *setting) settled(ctx context.Context) {
	GinkgoHelper()
	for _, holder := range []*unstructured.Unstructured{s.written, s.composite, s.object} {
		Eventually(ctx, func(g Gomega) {
			rec := shared.Record(ctx, g, holder)
			g.Expect(rec.Status.Phase).To(Equal(v1alpha1.PhaseSteady), holder.GetKind())
			g.Expect(rec.Status.ActiveCount).To(BeZero(), holder.GetKind())
		}).Should(Succeed())
	}
}

// consumed waits until the record of the managed resource says that what led there has
// done what it was for.
func (s *setting) consumed(ctx context.Context, trace string) {
	GinkgoHelper()
	s.settled(ctx)
	Expect(stage.ConsumedOf(shared.Record(ctx, Default, s.object).Status)).
		To(ContainElement(strings.NewReplacer(": ", " ", ", ", " ").Replace(trace)))
}
