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

func replicaSetObject(generation, replicas int, status string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-7d4b9c, namespace: shop, generation: %d}
spec: {replicas: %d, minReadySeconds: 5}
status: %s
`, generation, replicas, status)
}

func TestReplicaSet(t *testing.T) {
	runJudgements(t, map[string]judgement{
		"all available": {
			object: replicaSetObject(2, 3, `{observedGeneration: 2, replicas: 3, fullyLabeledReplicas: 3, readyReplicas: 3, availableReplicas: 3, terminatingReplicas: 0}`),
			want:   settledVerdict(whyReconciled, false),
		},
		"just created": {
			object: replicaSetObject(1, 3, `{replicas: 0}`),
			want:   workingVerdict(whyUnseen),
		},
		"created empty and not yet seen": {
			object: replicaSetObject(1, 0, `{replicas: 0}`),
			want:   workingVerdict(whyUnseen),
		},
		"complete, at the generation before": {
			object: replicaSetObject(3, 3, `{observedGeneration: 2, replicas: 3, fullyLabeledReplicas: 3, readyReplicas: 3, availableReplicas: 3}`),
			want:   workingVerdict(whyBehind),
		},
		"scaled up, the status from before the Pods were made": {
			object: replicaSetObject(3, 5, `{observedGeneration: 3, replicas: 3, fullyLabeledReplicas: 3, readyReplicas: 3, availableReplicas: 3}`),
			want:   workingVerdict(whyWorking),
		},
		"scaled down, the status from before the Pods were deleted": {
			object: replicaSetObject(3, 1, `{observedGeneration: 3, replicas: 3, fullyLabeledReplicas: 3, readyReplicas: 3, availableReplicas: 3}`),
			want:   workingVerdict(whyWorking),
		},
		"ready, not for long enough": {
			object: replicaSetObject(2, 3, `{observedGeneration: 2, replicas: 3, fullyLabeledReplicas: 3, readyReplicas: 3, availableReplicas: 2}`),
			want:   workingVerdict(whyWorking),
		},
		"scaled to zero, Pods terminating": {
			object: replicaSetObject(4, 0, `{observedGeneration: 4, replicas: 0, terminatingReplicas: 3}`),
			want:   settledVerdict(whyReconciled, false),
		},
		"Pods refused": {
			object: replicaSetObject(2, 3, `{observedGeneration: 2, replicas: 3, fullyLabeledReplicas: 3, readyReplicas: 3, availableReplicas: 3, conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate, message: exceeded quota}]}`),
			want:   workingVerdict(whyWorking),
		},
		"conditions of another form": {
			object: replicaSetObject(2, 0, `{observedGeneration: 2, replicas: 0, conditions: none}`),
			want:   workingVerdict(whyWorking),
		},
	})
}
