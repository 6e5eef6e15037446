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

import "testing"

func TestWellKnownKinds(t *testing.T) {
	runJudgements(t, map[string]judgement{
		"CronJob, whose status says no generation": {
			object: `
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, generation: 3}
spec: {schedule: "0 3 * * *"}
status: {lastScheduleTime: "2026-03-01T03:00:00Z", lastSuccessfulTime: "2026-03-01T03:04:00Z"}
`,
			want: timedVerdict(whyNoGeneration),
		},
		"ConfigMap, without generation and status": {
			object: `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {level: info}
`,
			want: timedVerdict(whyNoGeneration),
		},
		"Service, whose load balancer says no generation": {
			object: `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: LoadBalancer, clusterIP: 10.0.0.7}
status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}
`,
			want: timedVerdict(whyNoGeneration),
		},
		"PersistentVolumeClaim, bound": {
			object: `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
status: {phase: Bound}
`,
			want: timedVerdict(whyNoGeneration),
		},
		"PodDisruptionBudget, observed": {
			object: `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, generation: 2}
spec: {minAvailable: 1}
status: {observedGeneration: 2, currentHealthy: 3, desiredHealthy: 1, disruptionsAllowed: 2, expectedPods: 3}
`,
			want: settledVerdict(whyReconciled, true),
		},
		"PodDisruptionBudget, behind": {
			object: `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, generation: 3}
spec: {minAvailable: 1}
status: {observedGeneration: 2, currentHealthy: 3, desiredHealthy: 1, disruptionsAllowed: 2, expectedPods: 3}
`,
			want: workingVerdict(whyBehind),
		},
		"Pod, running and ready": {
			object: `
apiVersion: v1
kind: Pod
metadata: {name: web-1, generation: 1}
status: {observedGeneration: 1, phase: Running, conditions: [{type: Ready, status: "True", observedGeneration: 1}]}
`,
			want: settledVerdict(whyReconciled, true),
		},
		"Pod, in a crash loop": {
			object: `
apiVersion: v1
kind: Pod
metadata: {name: web-1, generation: 1}
status:
  observedGeneration: 1
  phase: Running
  conditions: [{type: Ready, status: "False", observedGeneration: 1}]
  containerStatuses: [{name: web, state: {waiting: {reason: CrashLoopBackOff}}}]
`,
			want: workingVerdict(whyFailed),
		},
		"CustomResourceDefinition, established before generations were told": {
			object: `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: apps.example.org, generation: 2}
status: {conditions: [{type: NamesAccepted, status: "True"}, {type: Established, status: "True"}]}
`,
			want: timedVerdict(whyNoGeneration),
		},
	})
}
