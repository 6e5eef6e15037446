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
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/crossplane"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/crossplane/provider/apis/instance"
	"kausality.io/operator/test/stage"
)

// All that is known about a gate is on the object, so that who dies while it is open
// begins again where it ended (D16).
var _ = Describe("While a gate is open", Serial, Ordered, func() {
	const group = "crashing.example.org"
	BeforeAll(func(ctx SpecContext) { closeGatesOf(ctx, group) }, NodeTimeout(specTimeout))

	// midway has the cloud at work on a change of an instance, whose gate is open.
	midway := func(ctx context.Context, traits string, fault cloud.Fault) *gatedInstance {
		GinkgoHelper()
		i := provision(ctx, group, databaseKind, traits)
		before := shared.current(ctx, i.instance)
		audit := shared.WatchObjects(i.instance)
		DeferCleanup(func(ctx SpecContext) {
			if CurrentSpecReport().Failed() {
				AddReportEntry("events", strings.Join(told(before, audit.Writes(controlplane.Succeeded)), "\n"))
				AddReportEntry("calls", fmt.Sprintf("%+v", shared.calls(ctx, i.instance).Mutations()))
			}
		})
		// Longer than anybody dies, on a busy machine as well.
		fault.Verb, fault.Times, fault.Delay = cloud.Update, 1, cloud.Duration(time.Hour)
		i.opened(ctx, fault)
		if traits == string(instance.Async) {
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(i.instance), i.instance)).To(Succeed())
				g.Expect(reasons(i.instance)).To(HaveKeyWithValue("AsyncOperation", "Ongoing"))
			}).WithPolling(20 * time.Millisecond).Should(Succeed())
		}
		return i
	}
	// survived tells that the change arrived by these calls, each of them while the
	// gate was open, and that the record knows of it.
	survived := func(ctx context.Context, i *gatedInstance, verbs ...cloud.Verb) {
		GinkgoHelper()
		shared.has(ctx, i.instance, large)
		i.closed(ctx)
		calls := shared.calls(ctx, i.instance).Mutations()
		Expect(calls.Verbs()).To(Equal(verbs))
		Expect(calls.With(cloud.Pending)).To(BeEmpty(), "closed while the cloud was at work")
		Eventually(ctx, func(g Gomega) {
			status := shared.Record(ctx, g, i.instance).Status
			g.Expect(status.Active).To(BeEmpty())
			g.Expect(stage.ConsumedOf(status)).To(ContainElement(And(HavePrefix(stage.AliceName+" Database/main spec.size"), HaveSuffix("spec.forProvider.instanceClass"))))
		}).Should(Succeed())
	}

	DescribeTable("the provider dies, and brings to an end what it began",
		func(ctx SpecContext, traits string, fault cloud.Fault, verbs ...cloud.Verb) {
			i := midway(ctx, traits, fault)
			Expect(members.Kill(crossplane.Provider)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(members.Restart(ctx, crossplane.Provider)).To(Succeed()) })
			By("being away while the cloud goes on")
			Expect(shared.calls(ctx, i.instance).Of(cloud.Update).With(cloud.Pending)).To(HaveLen(1))
			Expect(shared.cloud().Clear(ctx, i.instance.GetName())).To(Succeed())
			Eventually(ctx, func() cloud.Calls { return shared.calls(ctx, i.instance).With(cloud.Pending) }).Should(BeEmpty())
			Consistently(ctx, func(g Gomega) { g.Expect(i.gate(ctx, g)).To(ContainSubstring("Update")) }).
				WithTimeout(quietMoment).Should(Succeed(), "closed before the provider had its chance")
			By("coming back")
			Expect(members.Restart(ctx, crossplane.Provider)).To(Succeed())
			survived(ctx, i, verbs...)
		},
		Entry("though the cloud did what it was asked", SpecTimeout(specTimeout), "", cloud.Fault{}, cloud.Create, cloud.Update),
		Entry("though the cloud refused", SpecTimeout(specTimeout),
			"", cloud.Fault{Outcome: cloud.Refused}, cloud.Create, cloud.Update, cloud.Update),
		Entry("and it had not waited for the cloud", SpecTimeout(specTimeout),
			string(instance.AsyncSilent), cloud.Fault{}, cloud.Create, cloud.Update),
		Entry("and had said that it does not wait, which it never takes back", SpecTimeout(specTimeout),
			string(instance.Async), cloud.Fault{}, cloud.Create, cloud.Update),
	)

	It("the operator dies, and closes it when it is back", func(ctx SpecContext) {
		i := midway(ctx, string(instance.Async), cloud.Fault{})
		Expect(operator.Kill()).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(operator.Restart(ctx)).To(Succeed()) })
		By("being away when the provider is done")
		Expect(shared.cloud().Clear(ctx, i.instance.GetName())).To(Succeed())
		shared.has(ctx, i.instance, large)
		shared.Becomes(ctx, i.instance, "Synced", "Ready")
		Expect(i.gate(ctx, Default)).To(ContainSubstring("Update"))
		Expect(i.instance.GetAnnotations()).To(HaveKey(stage.LedgerKey(i.instance)))
		By("coming back")
		Expect(operator.Restart(ctx)).To(Succeed())
		survived(ctx, i, cloud.Create, cloud.Update)
		By("closing for good")
		Expect(shared.cloud().Drift(ctx, i.instance.GetName(), cloud.Parameters{"instanceClass": "db.t3.nano"})).To(Succeed())
		Consistently(ctx, func() []cloud.Verb { return shared.calls(ctx, i.instance).Mutations().Verbs() }).
			WithTimeout(poll + time.Second).Should(HaveLen(2))
	}, SpecTimeout(specTimeout))
})
