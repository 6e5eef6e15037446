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
	"testing"
	"time"

	"kausality.io/operator/test/campaign/audit"
)

// What policies say of who may initiate further up, and of whoever a policy names, is not refused to them.
func TestOthers(t *testing.T) {
	type fields = map[string]any
	deletes := func(s *story, user, resource, name string) { s.refuse(user, audit.VerbDelete, resource, name, nil) }
	tests := map[string]struct {
		tell   func(*story)
		want   []Promise
		judged int
	}{
		"a Pod, two levels down":   {tell: func(s *story) { deletes(s, "alice", pods, "web-1-a") }, want: []Promise{Barred}, judged: 1},
		"a Pod, to a stranger":     {tell: func(s *story) { deletes(s, "mallory", pods, "web-1-a") }},
		"what no section is about": {tell: func(s *story) { deletes(s, "alice", replicaSets, "web-1") }, judged: 1},
		"a Pod, to a controller gone wrong": {tell: func(s *story) {
			s.posing = true
			deletes(s, replicaSetController, pods, "web-1-a")
		}, want: []Promise{Refused}, judged: 1},
		"a number that is not granted, to a controller gone wrong": {tell: func(s *story) {
			s.posing = true
			s.refuse(deploymentController, audit.VerbUpdate, replicaSets, "web-1", merged(s.objects["replicasets/web-1"], spec(fields{"replicas": 3})))
		}, judged: 1},
		"a number that is granted, to a controller gone wrong": {tell: func(s *story) {
			s.write("alice", audit.VerbPatch, deployments, "web", spec(fields{"replicas": 3}))
			s.posing = true
			s.refuse(deploymentController, audit.VerbUpdate, replicaSets, "web-1", merged(s.objects["replicasets/web-1"], spec(fields{"replicas": 3})))
		}, want: []Promise{Refused}, judged: 1},
		"a number with labels, to a controller gone wrong": {tell: func(s *story) {
			s.write("alice", audit.VerbPatch, deployments, "web", spec(fields{"replicas": 3}))
			s.posing = true
			s.refuse(deploymentController, audit.VerbUpdate, replicaSets, "web-1", merged(s.objects["replicasets/web-1"], merged(spec(fields{"replicas": 3}),
				fields{"metadata": fields{"labels": fields{"app": "other"}}})))
		}},
		"a Pod of which somebody has changed the owners": {tell: func(s *story) {
			s.write("alice", audit.VerbPatch, pods, "web-1-a", fields{"metadata": besides(audit.AsMap(s.objects["pods/web-1-a"]["metadata"]), "Deployment", "web")})
			s.later(time.Minute)
			deletes(s, "alice", pods, "web-1-a")
		}},
		"a Pod, while something is withheld above": {tell: func(s *story) {
			s.write("mallory", audit.VerbPatch, replicaSets, "web-1", spec(fields{"replicas": 3}))
			s.later(time.Minute)
			deletes(s, "alice", pods, "web-1-a")
		}, want: []Promise{Uncovered}, judged: 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			s.start(-2 * time.Hour)
			tc.tell(s)
			if report := s.finds(tc.want); report.Denials < tc.judged {
				t.Errorf("%d refusals were judged, want %d", report.Denials, tc.judged)
			}
		})
	}
}
