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
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// What is recorded is collected for a moment, and written together.
var _ = Describe("AllowanceRecords", func() {
	It("are written seldom, and soon", func(ctx SpecContext) {
		const (
			window = time.Second // what is collected together, and a half of it more
			soon   = 3 * time.Second
		)
		ns := shared.newNamespace(ctx)
		owner := shared.alice()
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(10))
		audit := shared.watch(ns)
		start := audit.quietSince(ctx)
		for _, revision := range []string{"2", "3", "4"} { // so that records are written more than once
			owner.change(ctx, d, image("web:"+revision))
			shared.complete(ctx, d, revision)
			audit.quietSince(ctx) // so that its records are written before the next
		}

		decisions := 0
		for _, n := range audit.reasons() {
			decisions += n
		}
		Expect(decisions).To(BeNumerically(">", 20), "%v", audit.reasons())
		var report []string
		written := map[string][]time.Time{}
		changes := audit.writes(controlplane.Since(start), toWorkloads)
		for _, event := range audit.writes(controlplane.Since(start), controlplane.OfResource("kausality.io", "allowancerecords")) {
			at := event.StageTimestamp.Time
			report = append(report, fmt.Sprintf("\n%s %s", at.Format(time.RFC3339Nano), describeEvent(&event)))
			if event.ObjectRef.Subresource == "status" {
				written[event.ObjectRef.Name] = append(written[event.ObjectRef.Name], at)
			}
			Expect(slices.ContainsFunc(changes, func(change auditv1.Event) bool {
				return !change.RequestReceivedTimestamp.After(at) && at.Before(change.StageTimestamp.Add(soon))
			})).To(BeTrue(), "nothing happened shortly before the last of %v", report)
		}
		Expect(written).To(HaveLen(5), "those of the Deployment and of four ReplicaSets: %v", report)
		compared := 0
		for name, times := range written {
			// The first one of a record may come with its creation.
			for i := 2; i < len(times); i++ {
				Expect(times[i].Sub(times[i-1])).To(BeNumerically(">=", window), "%s is written once for each window: %v", name, report)
				compared++
			}
		}
		Expect(compared).NotTo(BeZero(), "no record was written three times: %v", report)
	}, SpecTimeout(specTimeout))
})
