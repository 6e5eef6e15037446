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
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"kausality.io/operator/test/campaign/badinput/runner"
	"kausality.io/operator/test/controlplane"
)

// "make campaign-badinput" tries more, in another order for each seed.
// Alone: some of its policies are accepted, and with them what the API server asks about
// ConfigMaps, of which other specs are too, changes.
var _ = Describe("Bad input", alone, func() {
	It("is accepted or refused, soon, and harms nobody", func(ctx SpecContext) {
		const (
			seed    = 1
			changes = 10  // of each kind of object
			items   = 300 // of lists
			most    = 512 << 20
		)
		ns := shared.newNamespace(ctx)
		scraper := shared.scraper(ctx, ns)
		before := scraper.scrape(ctx)

		report, err := (&runner.Runner{
			Admin: shared.Config, Namespace: ns, Group: "badinput.example.org", Seed: seed, Least: changes, Items: items,
			Operator: controlplane.OperatorUser,
		}).Run(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(report.Findings).To(BeEmpty())
		Expect(report.Accepted).To(BeNumerically(">", changes))
		Expect(report.Refused).To(BeNumerically(">", changes))
		GinkgoWriter.Printf("%d requests, %d accepted; the longest took %s: %s\n", report.Requests, report.Accepted, report.Duration.Round(time.Millisecond), report.Longest)

		after := scraper.scrape(ctx)
		for _, started := range []string{"process_start_time_seconds", "controller_runtime_webhook_panics_total", "controller_runtime_reconcile_panics_total"} {
			Expect(after).To(HaveKey(started))
			Expect(after.sum(started)).To(Equal(before.sum(started)), started)
		}
		Expect(after.sum("process_resident_memory_bytes")).To(BeNumerically("<", most))
	}, SpecTimeout(specTimeout))
})
