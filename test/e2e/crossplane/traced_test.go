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
	"encoding/json"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/crossplane"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/stage"
)

// theCore is who makes composite resources of claims and composes them.
var theCore = serviceaccount.MakeUsername(crossplane.Namespace, crossplane.ServiceAccount)

// The example of the specification: the size of a database that a platform team
// changes, with a ticket, from the claim down to the cloud.
var _ = Describe("A claim whose size is changed", func() {
	It("by a platform team with a ticket is traced into the cloud, and nobody else's is", func(ctx SpecContext) {
		ns := shared.MakeNamespace(ctx, nil)
		owner := shared.initiator()
		stranger := shared.stranger()
		audit := shared.Watch()

		By("creating it")
		claim := database(crossplane.DatabaseGroup, claimKind, ns, "main", medium)
		Expect(owner.Create(ctx, claim)).To(Succeed())
		composite := shared.CompositeOf(ctx, claim)
		shared.Becomes(ctx, claim, "Synced", "Ready")
		instance := shared.instanceOf(ctx, composite, "instance")
		shared.has(ctx, instance, medium)
		shared.settled(ctx, claim, composite)

		By("changing it without a right to, and without a ticket")
		Expect(stranger.Patch(ctx, claim, resize(large))).To(Succeed())
		Expect(stranger.Warned.Take()).To(ContainSubstring("withheld"))
		for _, object := range []*unstructured.Unstructured{composite, instance} {
			err := stranger.Patch(ctx, object.DeepCopy(), merge(sizeOf(object, large)))
			Expect(err).To(MatchError(stage.Denied, "denied"), object.GetKind())
		}
		Expect(owner.Patch(ctx, claim, resize("db.t3.small"))).To(Succeed())
		Expect(owner.Warned.Take()).To(ContainSubstring("ticket"))
		Consistently(ctx, func() []cloud.Verb { return shared.calls(ctx, instance).Mutations().Verbs() }).
			Should(Equal([]cloud.Verb{cloud.Create}))

		By("changing it with a ticket")
		Expect(owner.Patch(ctx, claim, client.RawPatch(types.MergePatchType, fmt.Appendf(nil,
			`{"metadata":{"annotations":{"ticket":"OPS-7"}},"spec":{"size":%q}}`, large)))).To(Succeed())
		approved := time.Now()
		shared.has(ctx, instance, large)
		Expect(shared.calls(ctx, instance).Mutations().Verbs()).To(Equal([]cloud.Verb{cloud.Create, cloud.Update}))
		shared.settled(ctx, claim, composite) // the audit log may be behind the provider
		for _, hop := range []struct {
			object *unstructured.Unstructured
			kinds  []string
		}{
			{composite, []string{claimKind}},
			{instance, []string{claimKind, compositeKind}},
		} {
			Expect(traceOf(audit, hop.object)).To(Equal(hop.kinds), "of what let %s change", hop.object.GetKind())
		}
		// Others are refused things.
		Expect(audit.Only(controlplane.Since(approved), stage.OfAny(claim, composite, instance)).Refusals("system:serviceaccount:" + crossplane.Namespace + ":")).To(BeEmpty())
	}, SpecTimeout(specTimeout))
})

// sizeOf sets the size in a composite resource, and what it becomes in an instance.
func sizeOf(object *unstructured.Unstructured, size string) string {
	if object.GetKind() == compositeKind {
		return fmt.Sprintf(`{"spec":{"size":%q}}`, size)
	}
	return fmt.Sprintf(`{"spec":{"forProvider":{"instanceClass":%q}}}`, size)
}

// traceOf returns the kinds that the trace of the last write of an object by Crossplane
// leads through that needed an allowance, each with the ticket where it began.
func traceOf(audit stage.Witness, object *unstructured.Unstructured) []string {
	GinkgoHelper()
	traces := audit.TracesOf(controlplane.ByUser(theCore), controlplane.Succeeded, stage.OfAny(object))
	trace := traces[len(traces)-1]
	Expect(trace).To(HavePrefix(stage.AliceName + " "))
	var hops []v1alpha1.TraceHop
	Expect(json.Unmarshal([]byte(trace[len(stage.AliceName)+1:]), &hops)).To(Succeed(), trace)
	var kinds []string
	for _, hop := range hops {
		Expect(hop.Field).To(Equal("spec.size"), trace)
		kinds = append(kinds, hop.Kind)
	}
	Expect(hops[0].Attestations).To(HaveKeyWithValue("metadata.annotations[ticket]", "OPS-7"))
	return kinds
}

// settled waits until nothing is allowed any more by what people changed.
func (w *world) settled(ctx context.Context, holders ...*unstructured.Unstructured) {
	GinkgoHelper()
	for _, holder := range holders {
		Eventually(ctx, func(g Gomega) {
			rec := w.Record(ctx, g, holder)
			g.Expect(rec.Status.Phase).To(Equal(v1alpha1.PhaseSteady), holder.GetKind())
			g.Expect(rec.Status.ActiveCount).To(BeZero(), holder.GetKind())
		}).Should(Succeed())
	}
}
