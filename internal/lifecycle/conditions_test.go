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

func customObject(spec, status string) string {
	return fmt.Sprintf(`
apiVersion: example.org/v1
kind: Widget
metadata: {name: blue, namespace: shop, generation: 4}
spec: %s
status: %s
`, spec, status)
}

func TestConditions(t *testing.T) {
	runJudgements(t, map[string]judgement{
		"no status": {
			object: `
apiVersion: example.org/v1
kind: Widget
metadata: {name: blue, generation: 4}
spec: {size: 3}
`,
			want: timedVerdict(whyNoConditions),
		},
		"no conditions": {
			object: customObject(`{}`, `{observedGeneration: 4, phase: Running}`),
			want:   timedVerdict(whyNoConditions),
		},
		"no conditions, and behind": {
			object: customObject(`{}`, `{observedGeneration: 3, phase: Running}`),
			want:   workingVerdict(whyBehind),
		},
		"conditions of its own only": {
			object: customObject(`{}`, `{conditions: [{type: Accepted, status: "True", observedGeneration: 4}]}`),
			want:   timedVerdict(whyNoConditions),
		},
		"conditions of another form": {
			object: customObject(`{}`, `{conditions: {Ready: "True"}}`),
			want:   timedVerdict(whyNoConditions),
		},
		"no generation in the object": {
			object: `
apiVersion: example.org/v1
kind: Widget
metadata: {name: blue}
status: {conditions: [{type: Ready, status: "True"}]}
`,
			want: timedVerdict(whyNoGeneration),
		},
		"Ready without any generation": {
			object: customObject(`{}`, `{conditions: [{type: Ready, status: "True"}]}`),
			want:   timedVerdict(whyNoGeneration),
		},
		"observedGeneration as a string": {
			object: customObject(`{}`, `{observedGeneration: "4", conditions: [{type: Ready, status: "True"}]}`),
			want:   settledVerdict(whyReady, true),
		},
		"Ready, current by its own generation": {
			object: customObject(`{}`, `{conditions: [{type: Ready, status: "True", observedGeneration: 4}]}`),
			want:   settledVerdict(whyReady, true),
		},
		"Ready, current by the generation of the status": {
			object: customObject(`{}`, `{observedGeneration: 4, conditions: [{type: Ready, status: "True"}]}`),
			want:   settledVerdict(whyReady, true),
		},
		"Ready at the generation before": {
			object: customObject(`{}`, `{conditions: [{type: Ready, status: "True", observedGeneration: 3}]}`),
			want:   workingVerdict(whyNotTrue),
		},
		"Ready at the generation before, the status current": {
			object: customObject(`{}`, `{observedGeneration: 4, conditions: [{type: Ready, status: "True", observedGeneration: 3}]}`),
			want:   workingVerdict(whyNotTrue),
		},
		"Ready current, the status at the generation before": {
			object: customObject(`{}`, `{observedGeneration: 3, conditions: [{type: Ready, status: "True", observedGeneration: 4}]}`),
			want:   workingVerdict(whyBehind),
		},
		"Ready at a generation restored from elsewhere": {
			object: customObject(`{}`, `{conditions: [{type: Ready, status: "True", observedGeneration: 9}]}`),
			want:   workingVerdict(whyNotTrue),
		},
		"not Ready": {
			object: customObject(`{}`, `{conditions: [{type: Ready, status: "False", observedGeneration: 4}]}`),
			want:   workingVerdict(whyNotTrue),
		},
		"Ready unknown": {
			object: customObject(`{}`, `{conditions: [{type: Ready, status: Unknown, observedGeneration: 4}]}`),
			want:   workingVerdict(whyNotTrue),
		},
		"Ready and Reconciling": {
			object: customObject(`{}`, `{conditions: [{type: Ready, status: "True", observedGeneration: 4}, {type: Reconciling, status: "True", observedGeneration: 4}]}`),
			want:   workingVerdict(whyWorking),
		},
		"Ready and Stalled": {
			object: customObject(`{}`, `{conditions: [{type: Ready, status: "True", observedGeneration: 4}, {type: Stalled, status: "True", observedGeneration: 4}]}`),
			want:   workingVerdict(whyFailed),
		},
		"Reconciling over, without Ready": {
			object: customObject(`{}`, `{observedGeneration: 4, conditions: [{type: Reconciling, status: "False"}]}`),
			want:   settledVerdict(whyReady, true),
		},
		"Reconciling over, but Stalled": {
			object: customObject(`{}`, `{observedGeneration: 4, conditions: [{type: Reconciling, status: "False"}, {type: Stalled, status: "True"}]}`),
			want:   workingVerdict(whyFailed),
		},
		"not Stalled, which alone says too little": {
			object: customObject(`{}`, `{observedGeneration: 4, conditions: [{type: Stalled, status: "False"}]}`),
			want:   timedVerdict(whyNoConditions),
		},
	})
}

func TestKroInstance(t *testing.T) {
	instance := func(conditions string) string {
		return fmt.Sprintf(`
apiVersion: kro.run/v1alpha1
kind: WebApp
metadata: {name: shop, generation: 2}
spec: {replicas: 3}
status: {state: ACTIVE, conditions: [%s]}
`, conditions)
	}
	runJudgements(t, map[string]judgement{
		"ready": {
			object: instance(`{type: InstanceManaged, status: "True", observedGeneration: 2}, {type: GraphResolved, status: "True", observedGeneration: 2}, {type: ResourcesReady, status: "True", observedGeneration: 2}, {type: Ready, status: "True", observedGeneration: 2}`),
			want:   settledVerdict(whyReady, true),
		},
		"a child was refused": {
			object: instance(`{type: InstanceManaged, status: "True", observedGeneration: 2}, {type: ResourcesReady, status: "False", observedGeneration: 2}, {type: Ready, status: "False", observedGeneration: 2}`),
			want:   workingVerdict(whyNotTrue),
		},
		"ready at the generation before": {
			object: instance(`{type: Ready, status: "True", observedGeneration: 1}`),
			want:   workingVerdict(whyNotTrue),
		},
	})
}
