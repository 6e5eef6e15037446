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

func TestJob(t *testing.T) {
	object := func(suspend bool, status string) string {
		return fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata: {name: import, namespace: shop, generation: 2}
spec: {parallelism: 2, completions: 4, suspend: %t}
status: %s
`, suspend, status)
	}
	const (
		suspended = `{type: Suspended, status: "True", reason: JobSuspended, message: Job suspended}`
		resumed   = `{type: Suspended, status: "False", reason: JobResumed, message: Job resumed}`
	)
	runJudgements(t, map[string]judgement{
		"complete": {
			object: object(false, `{startTime: "2026-03-01T10:00:00Z", completionTime: "2026-03-01T10:05:00Z", succeeded: 4, ready: 0, terminating: 0, conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: "True"}]}`),
			want:   settledVerdict(whyFinished, true),
		},
		"failed": {
			object: object(false, `{startTime: "2026-03-01T10:00:00Z", failed: 7, conditions: [{type: FailureTarget, status: "True"}, {type: Failed, status: "True", reason: BackoffLimitExceeded}]}`),
			want:   settledVerdict(whyFinished, true),
		},
		"bound to fail, Pods still ending": {
			object: object(false, `{startTime: "2026-03-01T10:00:00Z", failed: 7, terminating: 1, conditions: [{type: FailureTarget, status: "True", reason: BackoffLimitExceeded}]}`),
			want:   workingVerdict(whyWorking),
		},
		"created": {
			object: object(false, `{}`),
			want:   workingVerdict(whyWorking),
		},
		"running, which kstatus calls Current": {
			object: object(false, `{startTime: "2026-03-01T10:00:00Z", active: 2, ready: 2, succeeded: 1, terminating: 0}`),
			want:   workingVerdict(whyWorking),
		},
		"created suspended": {
			object: object(true, fmt.Sprintf(`{conditions: [%s], ready: 0, terminating: 0}`, suspended)),
			want:   workingVerdict(whyNeverStarted),
		},
		"suspended after a start": {
			object: object(true, fmt.Sprintf(`{startTime: "2026-03-01T10:00:00Z", conditions: [%s], ready: 0, terminating: 0}`, suspended)),
			want:   settledVerdict(whySuspended, false),
		},
		"suspended after a start, startTime taken away": {
			object: object(true, fmt.Sprintf(`{succeeded: 1, conditions: [%s], ready: 0, terminating: 0}`, suspended)),
			want:   settledVerdict(whySuspended, false),
		},
		"suspended after a start of which the last Pods end": {
			object: object(true, fmt.Sprintf(`{conditions: [%s], ready: 0, terminating: 2}`, suspended)),
			want:   settledVerdict(whySuspended, false),
		},
		"suspended with active Pods": {
			object: object(true, fmt.Sprintf(`{startTime: "2026-03-01T10:00:00Z", active: 1, conditions: [%s]}`, suspended)),
			want:   workingVerdict(whyWorking),
		},
		"suspension not seen yet": {
			object: object(true, `{startTime: "2026-03-01T10:00:00Z", succeeded: 1}`),
			want:   workingVerdict(whyWorking),
		},
		"suspended once more, not seen yet": {
			object: object(true, fmt.Sprintf(`{startTime: "2026-03-01T10:00:00Z", succeeded: 1, conditions: [%s]}`, resumed)),
			want:   workingVerdict(whyWorking),
		},
		"resumed, not seen yet": {
			object: object(false, fmt.Sprintf(`{startTime: "2026-03-01T10:00:00Z", conditions: [%s]}`, suspended)),
			want:   workingVerdict(whyWorking),
		},
	})
}
