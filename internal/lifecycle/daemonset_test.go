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

package lifecycle

import (
	"fmt"
	"testing"
)

func TestDaemonSet(t *testing.T) {
	object := func(generation int, strategy string, observed, desired, current, updated, ready, misscheduled int) string {
		return fmt.Sprintf(`
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: shop, generation: %d}
spec: {updateStrategy: {type: %s}}
status: {observedGeneration: %d, desiredNumberScheduled: %d, currentNumberScheduled: %d, updatedNumberScheduled: %d, numberReady: %d, numberAvailable: %d, numberMisscheduled: %d}
`, generation, strategy, observed, desired, current, updated, ready, ready, misscheduled)
	}
	runJudgements(t, map[string]judgement{
		"on all nodes": {
			object: object(2, "RollingUpdate", 2, 4, 4, 4, 4, 0),
			want:   settledVerdict(whyReconciled, true),
		},
		"just created": {
			object: `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, generation: 1}
spec: {updateStrategy: {type: RollingUpdate}}
status: {currentNumberScheduled: 0, desiredNumberScheduled: 0, numberMisscheduled: 0, numberReady: 0}
`,
			want: workingVerdict(whyUnseen),
		},
		"complete, at the generation before": {
			object: object(3, "RollingUpdate", 2, 4, 4, 4, 4, 0),
			want:   workingVerdict(whyBehind),
		},
		"in mid-rollout": {
			object: object(3, "RollingUpdate", 3, 4, 4, 2, 3, 0),
			want:   workingVerdict(whyWorking),
		},
		"OnDelete, old Pods left": {
			object: object(3, "OnDelete", 3, 4, 4, 3, 4, 0),
			want:   workingVerdict(whyWorking),
		},
		"OnDelete, all replaced": {
			object: object(3, "OnDelete", 3, 4, 4, 4, 4, 0),
			want:   settledVerdict(whyReconciled, true),
		},
		"on all nodes, and for good on one tainted since": {
			object: object(3, "RollingUpdate", 3, 4, 4, 4, 4, 1),
			want:   settledVerdict(whyReconciled, false),
		},
		"to run nowhere, Pods left": {
			object: object(4, "RollingUpdate", 4, 0, 0, 0, 0, 300),
			want:   workingVerdict(whyMisscheduled),
		},
		"to run nowhere, all gone": {
			object: object(4, "RollingUpdate", 4, 0, 0, 0, 0, 0),
			want:   settledVerdict(whyReconciled, false),
		},
	})
}
