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

func statefulSetObject(generation int, spec, status string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop, generation: %d}
spec: %s
status: %s
`, generation, spec, status)
}

func statefulSetStatus(observed, total, ready, current, updated int, currentRevision, updateRevision string) string {
	return fmt.Sprintf(`{observedGeneration: %d, replicas: %d, readyReplicas: %d, availableReplicas: %d, currentReplicas: %d, updatedReplicas: %d, currentRevision: %s, updateRevision: %s, collisionCount: 0}`,
		observed, total, ready, ready, current, updated, currentRevision, updateRevision)
}

func TestStatefulSet(t *testing.T) {
	const (
		rolling   = `{replicas: 5, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}}`
		canary    = `{replicas: 5, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 3}}}`
		beyondAll = `{replicas: 5, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 9}}}`
		onDelete  = `{replicas: 3, updateStrategy: {type: OnDelete}}`
	)
	runJudgements(t, map[string]judgement{
		"rolled out": {
			object: statefulSetObject(2, rolling, statefulSetStatus(2, 5, 5, 5, 5, "db-b", "db-b")),
			want:   settledVerdict(whyReconciled, true),
		},
		"just created": {
			object: statefulSetObject(1, rolling, `{replicas: 0, availableReplicas: 0}`),
			want:   workingVerdict(whyUnseen),
		},
		"complete, at the generation before": {
			object: statefulSetObject(3, rolling, statefulSetStatus(2, 5, 5, 5, 5, "db-b", "db-b")),
			want:   workingVerdict(whyBehind),
		},
		"first Pod of five": {
			object: statefulSetObject(1, rolling, statefulSetStatus(1, 1, 0, 1, 1, "db-a", "db-a")),
			want:   workingVerdict(whyWorking),
		},
		"new template seen, nothing replaced": {
			object: statefulSetObject(2, rolling, statefulSetStatus(2, 5, 5, 5, 0, "db-a", "db-b")),
			want:   workingVerdict(whyWorking),
		},
		"in mid-rollout": {
			object: statefulSetObject(2, rolling, statefulSetStatus(2, 5, 4, 3, 2, "db-a", "db-b")),
			want:   workingVerdict(whyWorking),
		},
		"scaled down, condemned Pods left": {
			object: statefulSetObject(3, rolling, statefulSetStatus(3, 6, 6, 6, 6, "db-b", "db-b")),
			want:   workingVerdict(whyWorking),
		},
		"no Pods wanted": {
			object: statefulSetObject(3, `{replicas: 0, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}}`, statefulSetStatus(3, 0, 0, 0, 0, "db-b", "db-b")),
			want:   settledVerdict(whyReconciled, false),
		},
		"settled behind a partition": {
			object: statefulSetObject(2, canary, statefulSetStatus(2, 5, 5, 3, 2, "db-a", "db-b")),
			want:   settledVerdict(whyReconciled, false),
		},
		"rolling above a partition": {
			object: statefulSetObject(2, canary, statefulSetStatus(2, 5, 4, 4, 1, "db-a", "db-b")),
			want:   workingVerdict(whyWorking),
		},
		"partition beyond all Pods": {
			object: statefulSetObject(2, beyondAll, statefulSetStatus(2, 5, 5, 5, 0, "db-a", "db-b")),
			want:   settledVerdict(whyReconciled, false),
		},
		"partition without anything to roll": {
			object: statefulSetObject(2, canary, statefulSetStatus(2, 5, 5, 5, 5, "db-a", "db-a")),
			want:   settledVerdict(whyReconciled, true),
		},
		"canary taken back, canary Pods still there": {
			object: statefulSetObject(3, canary, statefulSetStatus(3, 5, 5, 3, 3, "db-a", "db-a")),
			want:   workingVerdict(whyOldRevision),
		},
		"canary replaced by another that has a Pod of the first": {
			object: statefulSetObject(4, canary, statefulSetStatus(4, 5, 5, 2, 2, "db-a", "db-c")),
			want:   workingVerdict(whyOldRevision),
		},
		"partition lowered, all updated, revision not completed": {
			object: statefulSetObject(4, canary, statefulSetStatus(4, 5, 5, 0, 5, "db-a", "db-b")),
			want:   settledVerdict(whyReconciled, false),
		},
		"OnDelete, all at the update revision": {
			object: statefulSetObject(2, onDelete, statefulSetStatus(2, 3, 3, 0, 3, "db-a", "db-b")),
			want:   settledVerdict(whyReconciled, true),
		},
		"OnDelete, one at the old revision": {
			object: statefulSetObject(2, onDelete, statefulSetStatus(2, 3, 3, 1, 2, "db-a", "db-b")),
			want:   workingVerdict(whyOldRevision),
		},
		"OnDelete, one missing": {
			object: statefulSetObject(2, onDelete, statefulSetStatus(2, 2, 2, 0, 2, "db-a", "db-b")),
			want:   workingVerdict(whyReplicas),
		},
		"OnDelete, one not ready": {
			object: statefulSetObject(2, onDelete, statefulSetStatus(2, 3, 2, 0, 3, "db-a", "db-b")),
			want:   workingVerdict(whyReplicas),
		},
	})
}
