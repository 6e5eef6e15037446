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
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

const (
	// silence is how long nothing may be written once a story is over.
	silence = time.Minute
	// settling is how long the operator may take to prune and to record after the
	// last step of a story.
	settling = 5 * time.Second
	// mostWrites is how many times the writes of a story there may be with
	// Kausality, compared with the same story without.
	mostWrites = 1.3
)

// What Kausality costs is told by the audit log: how much is written while things
// happen, and that nothing is when they do not.
var _ = Describe("Between rollouts", func() {
	It("is quiet, and during them not much is written", func(ctx SpecContext) {
		ns := shared.newNamespace(ctx)
		without := shared.newNamespaceFor(ctx, "none")
		audit, plain := shared.watch(ns), shared.watch(without)

		By("playing a story with Kausality")
		shared.marked(ctx, story(ctx, ns))
		last := audit.quietSince(ctx)

		By("playing the same story without")
		story(ctx, without)

		By("waiting for the silence to have lasted")
		Eventually(ctx, time.Now).WithTimeout(2 * silence).WithPolling(time.Second).
			Should(BeTemporally(">", last.Add(silence)))
		var written []string
		for _, event := range audit.writes(controlplane.Since(last), before(last.Add(silence))) {
			written = append(written, describeEvent(&event))
		}
		Expect(written).To(BeEmpty(), "something was written after all was done")

		By("counting")
		got, want := audit.writes(toWorkloads), plain.writes(toWorkloads)
		report := fmt.Sprintf("%d writes with Kausality, %d without; by who wrote what:\nwith: %v\nwithout: %v",
			len(got), len(want), tally(got), tally(want))
		AddReportEntry("writes", ReportEntryVisibilityFailureOrVerbose, report)
		Expect(len(want)).To(BeNumerically(">", 100), "the story without Kausality was not played")
		Expect(float64(len(got))).To(BeNumerically("<=", mostWrites*float64(len(want))), report)
		Expect(audit.refusals()).To(BeEmpty())
	}, SpecTimeout(4*time.Minute))
})

// story returns what people do with a Deployment in the course of its life.
func story(ctx context.Context, ns string) *appsv1.Deployment {
	GinkgoHelper()
	owner := shared.alice()
	kubectl := func(args ...string) {
		GinkgoHelper()
		out, err := owner.kubectl(ctx, append([]string{"--namespace=" + ns}, args...)...)
		Expect(err).NotTo(HaveOccurred(), out)
	}
	d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(10).RevisionHistoryLimit(2))
	owner.change(ctx, d, image("web:2"))
	shared.complete(ctx, d, "2")
	owner.change(ctx, d, replicas(12))
	shared.complete(ctx, d, "2")
	owner.change(ctx, d, replicas(6))
	shared.complete(ctx, d, "2")
	kubectl("rollout", "undo", "deployment/web")
	shared.complete(ctx, d, "3")
	kubectl("rollout", "restart", "deployment/web")
	shared.complete(ctx, d, "4")
	owner.change(ctx, d, paused(true), image("web:3"), image("web:4"), paused(false))
	shared.complete(ctx, d, "5")
	owner.change(ctx, d, image("web:"+unready))
	Eventually(ctx, func(g Gomega) {
		g.Expect(shared.pods(ctx, g, ns)).To(HaveKeyWithValue("web:"+unready, 3))
	}).Should(Succeed())
	owner.change(ctx, d, image("web:5"))
	shared.complete(ctx, d, "7")
	owner.change(ctx, d, patch(`{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}`), image("web:6"))
	shared.complete(ctx, d, "8")
	return d
}

// quietSince returns the time of the last write, when there was none for as long
// as the operator may take to prune and to record.
func (w witness) quietSince(ctx context.Context) time.Time {
	GinkgoHelper()
	var last time.Time
	Eventually(ctx, func(g Gomega) {
		events := w.writes()
		g.Expect(events).NotTo(BeEmpty())
		for _, event := range events {
			if answered := event.StageTimestamp.Time; answered.After(last) {
				last = answered
			}
		}
		g.Expect(time.Since(last)).To(BeNumerically(">", settling), "%s", describeEvent(&events[len(events)-1]))
	}).WithTimeout(30 * time.Second).WithPolling(time.Second).Should(Succeed())
	return last
}

func before(t time.Time) controlplane.AuditFilter {
	return func(event *auditv1.Event) bool { return event.RequestReceivedTimestamp.Time.Before(t) }
}

// toWorkloads wants writes to Deployments, ReplicaSets and Pods, their
// sub-resources included, that were carried out.
func toWorkloads(event *auditv1.Event) bool {
	return controlplane.Succeeded(event) && sets.New("deployments", "replicasets", "pods").Has(event.ObjectRef.Resource)
}

// tally counts writes by who wrote what, one a line.
func tally(events controlplane.AuditEvents) map[string]int {
	counts := map[string]int{}
	for key, n := range events.Tally() {
		counts[fmt.Sprintf("\n%s %s %s/%s", key.User, key.Verb, key.Resource, key.Subresource)] += n
	}
	return counts
}
