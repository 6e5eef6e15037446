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
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// What is recorded is collected for a moment, and written together.
var _ = Describe("AllowanceRecords", func() {
	It("are written seldom, and soon", func(ctx SpecContext) {
		const (
			window = time.Second // what is collected together
			soon   = 3 * time.Second
		)
		ns := shared.newNamespace(ctx)
		owner := shared.alice()
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(10))
		audit := shared.watch(ns)
		start := audit.quietSince(ctx)
		owner.change(ctx, d, image("web:2"))
		shared.complete(ctx, d, "2")
		end := time.Now()
		audit.quietSince(ctx)

		decisions := 0
		for _, n := range audit.reasons() {
			decisions += n
		}
		Expect(decisions).To(BeNumerically(">", 20), "%v", audit.reasons())
		writes := audit.writes(controlplane.Since(start), controlplane.OfResource("kausality.io", "allowancerecords"))
		var report []string
		for _, event := range writes {
			report = append(report, fmt.Sprintf("\n%s %s", event.StageTimestamp.Format(time.RFC3339Nano), describeEvent(&event)))
			Expect(event.StageTimestamp.Time).To(BeTemporally("<", end.Add(soon)), "%v", report)
		}
		// Those of the Deployment and of two ReplicaSets, the creation of one and its first
		// status, and one for each further window that the rollout takes.
		const records = 3
		most := 2 + records*(2+int(end.Sub(start)/window))
		Expect(len(writes)).To(And(BeNumerically(">", records), BeNumerically("<=", most)), "%d decisions, %v", decisions, report)
	}, SpecTimeout(specTimeout))
})
