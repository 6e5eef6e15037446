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
	"strings"
	"testing"
)

// deploymentObject returns a Deployment with the parts that these tests vary.
func deploymentObject(generation int, spec, status string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, generation: %d}
spec: %s
status: %s
`, generation, spec, status)
}

const (
	rollingTen = `{replicas: 10, progressDeadlineSeconds: 600, strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}}`
	pausedTen  = `{replicas: 10, paused: true, progressDeadlineSeconds: 600, strategy: {type: RollingUpdate}}`

	available        = `{type: Available, status: "True", reason: MinimumReplicasAvailable, message: Deployment has minimum availability.}`
	newRSAvailable   = `{type: Progressing, status: "True", reason: NewReplicaSetAvailable, message: ReplicaSet "web-7d4b9c" has successfully progressed.}`
	rsUpdated        = `{type: Progressing, status: "True", reason: ReplicaSetUpdated, message: ReplicaSet "web-7d4b9c" is progressing.}`
	pausedCondition  = `{type: Progressing, status: Unknown, reason: DeploymentPaused, message: Deployment is paused}`
	resumedCondition = `{type: Progressing, status: Unknown, reason: DeploymentResumed, message: Deployment is resumed}`
	timedOut         = `{type: Progressing, status: "False", reason: ProgressDeadlineExceeded, message: ReplicaSet "web-7d4b9c" has timed out progressing.}`
)

func deploymentStatus(observed, total, updated, ready int, conditions string) string {
	return fmt.Sprintf(`{observedGeneration: %d, replicas: %d, updatedReplicas: %d, readyReplicas: %d, availableReplicas: %d, terminatingReplicas: 0, conditions: [%s]}`,
		observed, total, updated, ready, ready, conditions)
}

func TestDeployment(t *testing.T) {
	runJudgements(t, map[string]judgement{
		"rolled out": {
			object: deploymentObject(2, rollingTen, deploymentStatus(2, 10, 10, 10, available+","+newRSAvailable)),
			want:   settledVerdict(whyReconciled, true),
		},
		"told to go back, and paused before that": {
			object: strings.Replace(deploymentObject(2, pausedTen, deploymentStatus(2, 10, 10, 10, available+","+pausedCondition)),
				"generation: 2", "generation: 2, annotations: {deprecated.deployment.rollback.to: \"1\"}", 1),
			want: workingVerdict(whyRollback),
		},
		"just created, without a status": {
			object: deploymentObject(1, rollingTen, `{}`),
			want:   workingVerdict(whyUnseen),
		},
		"complete counts without observedGeneration": {
			object: deploymentObject(1, rollingTen, fmt.Sprintf(`{replicas: 10, updatedReplicas: 10, readyReplicas: 10, availableReplicas: 10, conditions: [%s, %s]}`, available, newRSAvailable)),
			want:   workingVerdict(whyUnseen),
		},
		"complete, at the generation before": {
			object: deploymentObject(3, rollingTen, deploymentStatus(2, 10, 10, 10, available+","+newRSAvailable)),
			want:   workingVerdict(whyBehind),
		},
		"observed at the start of a rollout": {
			object: deploymentObject(3, rollingTen, deploymentStatus(3, 10, 0, 10, available+","+newRSAvailable)),
			want:   workingVerdict(whyWorking),
		},
		"in mid-rollout": {
			object: deploymentObject(3, rollingTen, deploymentStatus(3, 13, 5, 8, available+","+rsUpdated)),
			want:   workingVerdict(whyWorking),
		},
		"all updated, old replicas left": {
			object: deploymentObject(3, rollingTen, deploymentStatus(3, 11, 10, 11, available+","+rsUpdated)),
			want:   workingVerdict(whyWorking),
		},
		"all updated, the last one not available": {
			object: deploymentObject(3, rollingTen, deploymentStatus(3, 10, 10, 9, available+","+rsUpdated)),
			want:   workingVerdict(whyWorking),
		},
		"scaled down, surplus left": {
			object: deploymentObject(3, rollingTen, deploymentStatus(3, 12, 12, 12, available+","+newRSAvailable)),
			want:   workingVerdict(whyWorking),
		},
		"scaled up behind the first status": {
			object: deploymentObject(3, rollingTen, deploymentStatus(3, 7, 7, 7, available+","+newRSAvailable)),
			want:   workingVerdict(whyWorking),
		},
		"over the progress deadline": {
			object: deploymentObject(3, rollingTen, deploymentStatus(3, 13, 5, 8, available+","+timedOut)),
			want:   workingVerdict(whyFailed),
		},
		"without a progress deadline, complete": {
			object: deploymentObject(2, `{replicas: 3, progressDeadlineSeconds: 2147483647, strategy: {type: RollingUpdate}}`, deploymentStatus(2, 3, 3, 3, available)),
			want:   settledVerdict(whyReconciled, true),
		},
		"without a progress deadline, in mid-rollout": {
			object: deploymentObject(2, `{replicas: 3, progressDeadlineSeconds: 2147483647, strategy: {type: RollingUpdate}}`, deploymentStatus(2, 4, 1, 3, available)),
			want:   workingVerdict(whyWorking),
		},
		"replicas left to the default of one": {
			object: deploymentObject(2, `{progressDeadlineSeconds: 600}`, deploymentStatus(2, 1, 1, 1, available+","+newRSAvailable)),
			want:   settledVerdict(whyReconciled, true),
		},
		"complete, with Pods still terminating": {
			object: deploymentObject(2, rollingTen, fmt.Sprintf(`{observedGeneration: 2, replicas: 10, updatedReplicas: 10, readyReplicas: 10, availableReplicas: 10, terminatingReplicas: 3, conditions: [%s, %s]}`, available, newRSAvailable)),
			want:   settledVerdict(whyReconciled, true),
		},
		"scaled to zero": {
			object: deploymentObject(4, `{replicas: 0, progressDeadlineSeconds: 600, strategy: {type: RollingUpdate}}`, fmt.Sprintf(`{observedGeneration: 4, terminatingReplicas: 2, conditions: [%s, %s]}`, available, newRSAvailable)),
			want:   settledVerdict(whyReconciled, false),
		},
		"scaled to zero, replicas left": {
			object: deploymentObject(4, `{replicas: 0, progressDeadlineSeconds: 600, strategy: {type: RollingUpdate}}`, deploymentStatus(4, 2, 2, 2, available+","+newRSAvailable)),
			want:   workingVerdict(whyWorking),
		},
		"Recreate, scaled to zero with a new template, old Pods ending": {
			object: deploymentObject(4, `{replicas: 0, progressDeadlineSeconds: 600, strategy: {type: Recreate}}`, fmt.Sprintf(`{observedGeneration: 4, terminatingReplicas: 2, conditions: [%s, %s]}`, available, newRSAvailable)),
			want:   workingVerdict(whyTerminating),
		},
		"Recreate, scaled to zero, old Pods gone": {
			object: deploymentObject(4, `{replicas: 0, progressDeadlineSeconds: 600, strategy: {type: Recreate}}`, fmt.Sprintf(`{observedGeneration: 4, terminatingReplicas: 0, conditions: [%s, %s]}`, available, newRSAvailable)),
			want:   settledVerdict(whyReconciled, false),
		},
		"Recreate, between the old Pods and the new": {
			object: deploymentObject(4, `{replicas: 3, progressDeadlineSeconds: 600, strategy: {type: Recreate}}`, fmt.Sprintf(`{observedGeneration: 4, unavailableReplicas: 3, terminatingReplicas: 3, conditions: [%s]}`, rsUpdated)),
			want:   workingVerdict(whyWorking),
		},
		"paused with nothing to roll out": {
			object: deploymentObject(5, pausedTen, deploymentStatus(5, 10, 10, 10, available+","+pausedCondition)),
			want:   settledVerdict(whyPaused, true),
		},
		"paused, the pause not observed": {
			object: deploymentObject(5, pausedTen, deploymentStatus(4, 10, 10, 10, available+","+pausedCondition)),
			want:   workingVerdict(whyBehind),
		},
		"paused with a template that waits": {
			object: deploymentObject(6, pausedTen, deploymentStatus(6, 10, 0, 10, available+","+pausedCondition)),
			want:   workingVerdict(whyWorking),
		},
		"paused in mid-rollout": {
			object: deploymentObject(6, pausedTen, deploymentStatus(6, 12, 4, 10, available+","+pausedCondition)),
			want:   workingVerdict(whyWorking),
		},
		"paused, all updated, one not available": {
			object: deploymentObject(6, pausedTen, deploymentStatus(6, 10, 10, 9, available+","+pausedCondition)),
			want:   workingVerdict(whyWorking),
		},
		"paused, all updated and ready, one not available for long enough": {
			object: deploymentObject(6, pausedTen, fmt.Sprintf(`{observedGeneration: 6, replicas: 10, updatedReplicas: 10, readyReplicas: 10, availableReplicas: 9, conditions: [%s, %s]}`, available, pausedCondition)),
			want:   workingVerdict(whyWorking),
		},
		"paused after a failed rollout": {
			object: deploymentObject(6, pausedTen, deploymentStatus(6, 13, 5, 8, available+","+timedOut)),
			want:   workingVerdict(whyFailed),
		},
		"paused at zero replicas": {
			object: deploymentObject(6, `{replicas: 0, paused: true, progressDeadlineSeconds: 600}`, deploymentStatus(6, 0, 0, 0, available+","+pausedCondition)),
			want:   workingVerdict(whyPausedAtZero),
		},
		"paused at zero replicas without a progress deadline": {
			object: deploymentObject(6, `{replicas: 0, paused: true, progressDeadlineSeconds: 2147483647}`, deploymentStatus(6, 0, 0, 0, available)),
			want:   workingVerdict(whyPausedAtZero),
		},
		"resumed, not yet judged by its controller": {
			object: deploymentObject(7, rollingTen, deploymentStatus(7, 10, 10, 10, available+","+resumedCondition)),
			want:   workingVerdict(whyWorking),
		},
		"being deleted": {
			object: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, generation: 3, deletionTimestamp: "2026-03-01T10:00:00Z", finalizers: [foregroundDeletion]}
spec: ` + rollingTen + `
status: ` + deploymentStatus(3, 10, 10, 10, available+","+newRSAvailable),
			want: workingVerdict(whyDeleting),
		},
	})
}
