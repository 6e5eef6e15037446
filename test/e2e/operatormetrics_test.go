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
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/bench/metrics"
	"kausality.io/operator/test/builders"
)

// The audit log is the API server's, the metrics are the operator's.
var _ = Describe("Metrics", func() {
	It("tell the numbers that the audit log tells", func(ctx SpecContext) {
		ns := shared.newNamespaceFor(ctx, "measured")
		name := "measured-" + ns
		policy := parsePolicies(fmt.Sprintf(`
apiVersion: kausality.io/v1alpha1
kind: AllowancePolicy
metadata: {name: %s}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  namespaceSelector: {matchLabels: {%s: measured}}
  subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
  rules:
  - trigger: spec
    policies:
    - {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: ["*"]}
`, name, labelOwnPolicies))[0]
		shared.apply(ctx, policy)
		scraper := shared.scraper(ctx, ns)
		audit := shared.watch(ns)
		before := scraper.scrape(ctx)

		d := shared.alice().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		shared.alice().change(ctx, d, image("2"))
		shared.rolledOut(ctx, d)
		rs := shared.newestReplicaSet(ctx, d)
		const denials = 3
		for range denials {
			Expect(shared.mallory().try(ctx, rs, replicas(9))).To(MatchError(denied, "denied"))
		}

		var after families
		Eventually(ctx, func(g Gomega) {
			after = scraper.scrape(ctx)
			said := map[string]int{}
			for _, event := range audit.writes(byPolicy(name)) {
				said[event.Annotations[auditReason]]++
			}
			g.Expect(said).To(HaveKeyWithValue("Denied", denials))
			g.Expect(said).To(HaveKeyWithValue("Covered", BeNumerically(">=", 4)))
			for reason, times := range said {
				counted := after.sum("kausality_policy_decisions_total", "policy", name, "reason", reason)
				if reason == "Denied" {
					g.Expect(counted).To(BeEquivalentTo(times))
				}
				// A request that meets a newer object is admitted again.
				g.Expect(counted).To(And(BeNumerically(">=", times), BeNumerically("<=", 2*times)), reason)
			}
		}).Should(Succeed())
		Expect(after.sum("kausality_policy_decisions_total", "policy", name)).To(Equal(
			after.sum("kausality_policy_decisions_total", "policy", name, "resource", "replicasets.apps")))
		Expect(after.sum("kausality_policy_condition", "policy", name, "condition", "Enforced", "status", "True")).To(Equal(1.0))
		Expect(after).To(HaveKey("kausality_adopting_objects"))
		Expect(after.sum("kausality_adopting_objects", "policy", name)).To(BeZero())

		By("looking for what other specs move, too")
		more := func(name string, labels ...string) float64 {
			return after.sum(name, labels...) - before.sum(name, labels...)
		}
		Expect(more("kausality_admission_duration_seconds", "hook", "verdict", "outcome", "Denied")).To(BeNumerically(">=", denials))
		Expect(more("kausality_admission_duration_seconds", "hook", "grant", "outcome", "Granted")).To(BeNumerically(">=", 2))
		Expect(more("kausality_admission_live_reads_total", "cause", "Uncovered")).To(BeNumerically(">=", 2*denials))
		Expect(more("kausality_allowances_granted_total", "resource", "deployments.apps")).To(BeNumerically(">=", 2))
		Expect(more("kausality_ledger_entries")).To(BeNumerically(">=", 2))
		Expect(more("kausality_ledger_size_bytes")).To(BeNumerically(">=", 2))
		Expect(after.sum("kausality_holders_cached", "kind", "Deployment.apps")).To(BeNumerically(">=", 1))
		Eventually(ctx, func(g Gomega) {
			after = scraper.scrape(ctx)
			g.Expect(more("kausality_record_writes_total")).To(BeNumerically(">=", 1))
			g.Expect(more("kausality_record_lag_seconds")).To(BeNumerically(">=", 1))
		}).Should(Succeed())

		By("checking how they are named, and that they go with the policy")
		problems, err := promlint.NewWithMetricFamilies(after.ours()).Lint()
		Expect(err).NotTo(HaveOccurred())
		Expect(problems).To(BeEmpty())
		Expect(shared.Delete(ctx, policy)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(scraper.scrape(ctx).sum("kausality_policy_condition", "policy", name)).To(BeZero())
		}).Should(Succeed())
	}, SpecTimeout(specTimeout))
})

// byPolicy lets what a policy had a say in pass.
func byPolicy(name string) func(*auditv1.Event) bool {
	return func(event *auditv1.Event) bool { return event.Annotations[auditPolicies] == name }
}

// families are what the operator says, by name.
type families metrics.Families

// sum adds up the samples with the labels, given as names and values: what counters
// and gauges have, and how often histograms were observed.
func (m families) sum(name string, labels ...string) float64 {
	total := 0.0
	for _, metric := range m[name].GetMetric() {
		has := map[string]string{}
		for _, label := range metric.GetLabel() {
			has[label.GetName()] = label.GetValue()
		}
		matches := true
		for i := 0; i < len(labels); i += 2 {
			matches = matches && has[labels[i]] == labels[i+1]
		}
		if matches {
			total += metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return total
}

// ours returns the metrics that the operator adds to what its libraries have.
func (m families) ours() []*dto.MetricFamily {
	var out []*dto.MetricFamily
	for name, family := range m {
		if strings.HasPrefix(name, "kausality_") {
			out = append(out, family)
		}
	}
	return out
}

// scraper reads the metrics with a token.
type scraper struct{ *metrics.Scraper }

// scraper makes a service account that may read them.
func (c *cluster) scraper(ctx context.Context, namespace string) scraper {
	GinkgoHelper()
	made, err := metrics.NewScraper(ctx, c.Client, c.MetricsURL, namespace)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx context.Context) error { return client.IgnoreNotFound(c.Delete(ctx, made.Binding)) })
	return scraper{made}
}

// scrape reads all metrics.
func (s scraper) scrape(ctx context.Context) families {
	GinkgoHelper()
	all, err := s.Scrape(ctx)
	Expect(err).NotTo(HaveOccurred())
	return families(all)
}
