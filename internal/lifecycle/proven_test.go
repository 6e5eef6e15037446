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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestProven shows of which fields a status proves that they are carried out: a kind of
// which nothing is known proves nothing, whatever it says of itself.
func TestProven(t *testing.T) {
	const done = `
metadata: {generation: 4}
spec: {replicas: 2}
status:
  observedGeneration: 4
  replicas: 2
  currentReplicas: 2
  updatedReplicas: 2
  readyReplicas: 2
  availableReplicas: 2
  currentRevision: web-1
  updateRevision: web-1
  conditions: [{type: Available, status: "True"}, {type: Ready, status: "True", observedGeneration: 4}]
`
	set := `
metadata: {generation: 4}
status: {observedGeneration: 4, desiredNumberScheduled: 2, currentNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 2, numberReady: 2}
`
	tests := map[string]struct {
		obj  string
		want []string
		over bool
	}{
		"a Deployment": {obj: "{apiVersion: apps/v1, kind: Deployment}" + done, want: []string{"spec.template", "spec.replicas"}},
		"a Deployment at work": {obj: "{apiVersion: apps/v1, kind: Deployment}" +
			strings.Replace(done, "updatedReplicas: 2", "updatedReplicas: 1", 1)},
		"a Deployment whose status is older": {obj: "{apiVersion: apps/v1, kind: Deployment}" +
			strings.Replace(done, "observedGeneration: 4\n  replicas", "observedGeneration: 3\n  replicas", 1)},
		"a StatefulSet": {obj: "{apiVersion: apps/v1, kind: StatefulSet}" + done, want: []string{"spec.template", "spec.replicas"}},
		"a DaemonSet":   {obj: "{apiVersion: apps/v1, kind: DaemonSet}" + set, want: []string{"spec.template"}},
		"a ReplicaSet":  {obj: "{apiVersion: apps/v1, kind: ReplicaSet}" + done},
		"a Job that is over": {obj: "{apiVersion: batch/v1, kind: Job}\nmetadata: {generation: 4}\n" +
			`status: {conditions: [{type: Complete, status: "True"}]}`, want: []string{"spec"}, over: true},
		"a Job that has failed": {obj: "{apiVersion: batch/v1, kind: Job}\nmetadata: {generation: 4}\n" +
			`status: {conditions: [{type: Failed, status: "True"}]}`, want: []string{"spec"}, over: true},
		"a Job at work":     {obj: "{apiVersion: batch/v1, kind: Job}\nmetadata: {generation: 4}\nstatus: {active: 1}\n"},
		"a Certificate":     {obj: "{apiVersion: cert-manager.io/v1, kind: Certificate}" + done},
		"a custom resource": {obj: "{apiVersion: example.org/v1, kind: Widget}" + done},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			head, rest, _ := strings.Cut(tc.obj, "}")
			obj := parse(t, strings.ReplaceAll(strings.TrimPrefix(head, "{"), ", ", "\n")+"\n"+rest)
			var got []string
			for _, p := range Proven(obj, nil) {
				got = append(got, p.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("proven (-want +got):\n%s", diff)
			}
			if over := IsOver(obj, nil); over != tc.over {
				t.Errorf("over: %v, want %v", over, tc.over)
			}
		})
	}
}
