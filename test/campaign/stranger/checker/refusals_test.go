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
	"fmt"
	"testing"
	"time"

	"kausality.io/operator/test/campaign/audit"
)

// refuse is a request that the operator denies.
func (s *story) refuse(user, verb, resource, name string, with map[string]any) {
	s.t.Helper()
	s.message = `admission webhook "verdict.kausality.io" denied the request: it is not allowed`
	s.event(user, verb, resource, "", name, 403, with, map[string]any{"kind": "Status"})
	s.message = ""
}

// start notes that an operator starts, some time from now.
func (s *story) start(after time.Duration) {
	s.said += fmt.Sprintf(`{"level":"info","ts":%q,"msg":"Starting Kausality"}`+"\n", s.at.Add(after).Format(time.RFC3339))
}

// What the model certainly lets happen is not refused to controllers.
func TestRefusals(t *testing.T) {
	rolls := func(s *story) {
		s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("web:2")}))
	}
	creates := func(s *story) {
		s.refuse(deploymentController, audit.VerbCreate, replicaSets, "web-2", s.replicaSet("web:2"))
	}
	disturbs := func(s *story) {
		s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"minReadySeconds": 3}))
	}
	const approving = "kausality.io/approve"
	// quickly has a rollout settle within a second, as it does where nothing runs for real, with a refusal in between that
	// says which version it is about. The ledger of the Deployment has an entry, or not.
	quickly := func(s *story, entries ...entry) {
		s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"minReadySeconds": 3}))
		s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"minReadySeconds": nil}))
		s.later(time.Minute)
		change := merged(spec(map[string]any{"template": template("web:2")}), ledgerNote(s.t, entries...))
		s.write("alice", audit.VerbPatch, deployments, "web", change)
		s.later(-9900 * time.Millisecond)
		creates(s)
		s.later(-9900 * time.Millisecond)
		s.write(deploymentController, audit.VerbCreate, replicaSets, "web-2", s.replicaSet("web:2"))
		s.later(-9900 * time.Millisecond)
		s.settle()
	}
	rollout := entry{
		Kind: "ReplicaSet", Mutation: "create", Generation: 4, Initiator: "alice",
		Trace: []hop{{Kind: "Deployment", Name: "web", Generation: 4, Field: "spec.template.spec.containers[0].image"}},
	}
	tests := map[string]struct {
		tell  func(*story)
		want  []Promise
		known int
		// judged is how many refusals the model can judge at least.
		judged int
	}{
		"of a rollout that settles at once, as the ledger allows it":        {tell: func(s *story) { quickly(s, rollout) }, want: []Promise{Refused}, judged: 1},
		"of a rollout that settles at once, which the ledger does not know": {tell: func(s *story) { quickly(s) }},
		"of a rollout that settles at once, while the ledger withholds": {tell: func(s *story) {
			quickly(s, rollout, entry{Relation: withheldRelation, Mutation: "spec.minReadySeconds", Generation: 2, Initiator: "mallory"})
		}},
		"of a rollout that settles at once, soon after the ledger withheld": {tell: func(s *story) {
			withheld := entry{Relation: withheldRelation, Mutation: "spec.minReadySeconds", Generation: 4, Initiator: "mallory"}
			s.write("mallory", audit.VerbPatch, deployments, "web", merged(spec(map[string]any{"minReadySeconds": 3}), ledgerNote(s.t, withheld)))
			s.write("mallory", audit.VerbPatch, deployments, "web", merged(spec(map[string]any{"minReadySeconds": nil}), ledgerNote(s.t)))
			s.later(20 * time.Second)
			s.write("alice", audit.VerbPatch, deployments, "web", merged(spec(map[string]any{"template": template("web:2")}), ledgerNote(s.t, rollout)))
			s.later(-9900 * time.Millisecond)
			creates(s)
		}},
		"of what nothing allows": {tell: func(s *story) { s.later(time.Minute); creates(s) }, judged: 1},
		"of nothing":             {tell: func(s *story) { creates(s) }},
		"of a rollout":           {tell: func(s *story) { rolls(s); creates(s) }, want: []Promise{Refused}},
		"of a scale": {tell: func(s *story) {
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 3}))
			s.refuse(deploymentController, audit.VerbUpdate, replicaSets, "web-1", merged(s.objects["replicasets/web-1"], spec(map[string]any{"replicas": 3})))
		}, want: []Promise{Refused}},
		"of more than a scale": {tell: func(s *story) {
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 3}))
			s.refuse(deploymentController, audit.VerbUpdate, replicaSets, "web-1", merged(s.objects["replicasets/web-1"], spec(map[string]any{"replicas": 3, "minReadySeconds": 3})))
		}},
		"of what was done": {tell: func(s *story) { rolls(s); s.settle(); creates(s) }},
		"of what a section lets through": {tell: func(s *story) {
			s.remove(replicaSetController, pods, "web-1-a")
			s.refuse(replicaSetController, audit.VerbCreate, pods, "web-1-c", s.pod())
		}, want: []Promise{Refused}},
		"of what a kind that is not known may have ended": {tell: func(s *story) {
			s.thing()
			s.later(-4 * time.Second)
			s.refuse(controllers[kinds[things]], audit.VerbUpdate, configMaps, "app-config", merged(s.objects["configmaps/app-config"], map[string]any{"data": map[string]any{"n": "1"}}))
		}},
		"of what was approved when it had been reported done": {tell: func(s *story) {
			s.thing()
			s.write("mallory", audit.VerbPatch, things, "app", spec(map[string]any{"config": "c"}))
			s.write(controllers[kinds[things]], audit.VerbUpdate, "things/status", "app", map[string]any{"status": map[string]any{"observedGeneration": 3}})
			s.later(time.Minute)
			s.write("alice", audit.VerbPatch, things, "app", map[string]any{"metadata": map[string]any{"annotations": map[string]any{approving: "*"}}})
			s.refuse(controllers[kinds[things]], audit.VerbUpdate, configMaps, "app-config", merged(s.objects["configmaps/app-config"], map[string]any{"data": map[string]any{"n": "1"}}))
		}, want: []Promise{Refused}},
		"to a stranger": {tell: func(s *story) {
			rolls(s)
			s.refuse("mallory", audit.VerbCreate, replicaSets, "web-2", s.replicaSet("web:2"))
		}},
		"to a controller gone wrong": {tell: func(s *story) {
			rolls(s)
			s.posing = true
			creates(s)
		}},
		"while something is withheld": {tell: func(s *story) { rolls(s); s.settle(); disturbs(s); rolls(s); creates(s) }},
		"when somebody may have changed it too": {tell: func(s *story) {
			rolls(s)
			disturbs(s)
			s.settle()
			s.later(-9 * time.Second)
			rolls(s)
			creates(s)
		}},
		"after all of it was approved": {tell: func(s *story) {
			disturbs(s)
			s.write("alice", audit.VerbPatch, deployments, "web", map[string]any{"metadata": map[string]any{"annotations": map[string]any{approving: "*"}}})
			creates(s)
		}, want: []Promise{Refused}},
		"after a part of it was approved": {tell: func(s *story) {
			disturbs(s)
			s.write("alice", audit.VerbPatch, deployments, "web", map[string]any{"metadata": map[string]any{"annotations": map[string]any{approving: "spec.template"}}})
			creates(s)
		}},
		"when somebody else has reported it done": {tell: func(s *story) {
			rolls(s)
			s.posing = true
			s.write(deploymentController, audit.VerbUpdate, "deployments/status", "web", map[string]any{"status": map[string]any{"observedGeneration": 2}})
			s.posing = false
			creates(s)
		}},
		"while it is paused": {tell: func(s *story) {
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("web:2"), "paused": true}))
			creates(s)
		}},
		"as a policy comes": {tell: func(s *story) { rolls(s); s.share(); rolls(s); creates(s) }},
		"as the operator was killed": {tell: func(s *story) {
			rolls(s)
			s.start(-8 * time.Second)
			creates(s)
		}, known: 1},
		"as the operator was killed later": {tell: func(s *story) {
			rolls(s)
			s.start(-5 * time.Second)
			creates(s)
		}, want: []Promise{Refused}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			s.start(-2 * time.Hour)
			tc.tell(s)
			report := s.finds(tc.want)
			if report.Known[Forgotten] != tc.known {
				t.Errorf("%d refusals are known, want %d", report.Known[Forgotten], tc.known)
			}
			if report.Denials < tc.judged {
				t.Errorf("%d refusals were judged, want %d", report.Denials, tc.judged)
			}
		})
	}
}
