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

package checker

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/test/campaign/audit"
)

// What is changed around the coming of a policy is doubtful, what is changed later is not, and when a
// Deployment has settled.
func TestModel(t *testing.T) {
	// comes has another policy for Deployments come.
	comes := func(s *story) {
		var p map[string]any
		if err := json.Unmarshal([]byte(sharedWithBob), &p); err != nil {
			s.t.Fatal(err)
		}
		s.govern("users", p)
	}
	rolls := func(s *story, image string) {
		s.write(deploymentController, audit.VerbCreate, replicaSets, "web-2", s.replicaSet(image))
	}
	// recreated is a Deployment of alice's without replicas whose old Pods end, or have ended.
	recreated := func(s *story, terminating int) {
		s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{
			"replicas": 0, "strategy": map[string]any{"type": "Recreate"}, "template": template("web:2"),
		}))
		s.write(deploymentController, audit.VerbUpdate, "deployments/status", "web", map[string]any{"status": map[string]any{
			"observedGeneration": 2, "replicas": 0, "updatedReplicas": 0, "availableReplicas": 0, "terminatingReplicas": terminating,
		}})
		s.later(time.Minute)
		rolls(s, "web:2")
	}
	tests := map[string]struct {
		tell func(*story)
		want []Promise
	}{
		"a stranger takes back what she changed as a policy came": {tell: func(s *story) {
			comes(s)
			s.later(-9 * time.Second)
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("zq7z:1")}))
			s.later(time.Minute)
			s.settle()
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("web:1")}))
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 3}))
			s.write(deploymentController, audit.VerbUpdate, replicaSets, "web-1", spec(map[string]any{"replicas": 3}))
		}},
		"a stranger takes back what was withheld before a policy came": {tell: func(s *story) {
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("zq7z:1")}))
			s.later(time.Minute)
			comes(s)
			s.later(time.Minute)
			s.settle()
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("web:1")}))
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 3}))
			s.write(deploymentController, audit.VerbUpdate, replicaSets, "web-1", spec(map[string]any{"replicas": 3}))
		}},
		"a stranger changes it long after a policy came": {tell: func(s *story) {
			comes(s)
			s.later(time.Minute)
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("zq7z:1")}))
			s.later(time.Minute)
			rolls(s, "zq7z:1")
		}, want: []Promise{Uncovered, Smuggled}},
		"Recreate without replicas, as old Pods end": {tell: func(s *story) { recreated(s, 1) }},
		"Recreate without replicas, all have ended":  {tell: func(s *story) { recreated(s, 0) }, want: []Promise{Uncovered}},
		"a controller takes a second reference to the owner away": {tell: func(s *story) {
			s.write("mallory", audit.VerbPatch, replicaSets, "web-1", map[string]any{"metadata": besides(s.owned("Deployment", "web"), "Deployment", "web")})
			s.write(deploymentController, audit.VerbPatch, replicaSets, "web-1", map[string]any{"metadata": s.owned("Deployment", "web")})
		}},
		"a controller has a reference control it no more": {tell: func(s *story) {
			both := besides(s.owned("Deployment", "web"), "Deployment", "web")
			s.write("mallory", audit.VerbPatch, replicaSets, "web-1", map[string]any{"metadata": both})
			s.write(deploymentController, audit.VerbPatch, replicaSets, "web-1", map[string]any{"metadata": besides(map[string]any{}, "Deployment", "web")})
		}, want: []Promise{Uncovered}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			tc.tell(s)
			report := s.judged()
			var got []Promise
			for _, f := range report.Findings {
				got = append(got, f.Promise)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s%v", diff, report.Findings)
			}
		})
	}
}
