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
	// leaves has mallory change a Deployment, and its policy go and come back, and something happen in between.
	leaves := func(s *story, between func()) {
		s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("zq7z:1")}))
		s.later(time.Minute)
		policy := s.objects["allowancepolicies/deployment"]
		s.remove("admin", policies, "deployment")
		s.later(time.Minute)
		between()
		s.govern("again", map[string]any{"metadata": map[string]any{}, "spec": policy["spec"]})
		s.later(time.Minute)
	}
	tests := map[string]struct {
		tell func(*story)
		want []Promise
	}{
		"what was withheld when a policy went is withheld when it is back": {tell: func(s *story) {
			leaves(s, func() {})
			rolls(s, "zq7z:1")
		}, want: []Promise{Uncovered, Smuggled}},
		"what was withheld is changed while the policy is away": {tell: func(s *story) {
			leaves(s, func() {
				s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("zq8z:1")}))
			})
			rolls(s, "zq8z:1")
		}},
		"what was withheld is carried out while the policy is away": {tell: func(s *story) {
			leaves(s, func() { rolls(s, "zq7z:1") })
			s.settle()
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 3}))
			s.write(deploymentController, audit.VerbUpdate, replicaSets, "web-2", spec(map[string]any{"replicas": 3}))
		}},
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
			s.finds(tc.want)
		})
	}
}

// Approving one path approves of nothing else, and a number is of the Pods whose turn it is.
func TestApprovals(t *testing.T) {
	// both has mallory change two fields, and alice approve.
	both := func(s *story, text string) {
		s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("zq7z:1"), "replicas": 3}))
		s.write("alice", audit.VerbPatch, deployments, "web", map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kausality.io/approve": text}}})
	}
	rolls := func(s *story) {
		s.write(deploymentController, audit.VerbCreate, replicaSets, "web-2", s.replicaSet("zq7z:1"))
	}
	// adopts has the Deployment adopt a stray, which alice approves of, and which grows.
	adopts := func(s *story, text string) {
		s.settle()
		free := s.replicaSet("web:1")
		audit.AsMap(free["metadata"])["ownerReferences"] = nil
		s.write("mallory", audit.VerbCreate, replicaSets, "stray", free)
		s.write(deploymentController, audit.VerbPatch, replicaSets, "stray", map[string]any{"metadata": s.owned("Deployment", "web")})
		s.write("alice", audit.VerbPatch, replicaSets, "stray", map[string]any{"metadata": map[string]any{"annotations": map[string]any{"replicaset.kausality.io/approve": text}}})
		s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 3}))
		s.write(deploymentController, audit.VerbUpdate, replicaSets, "stray", spec(map[string]any{"replicas": 3}))
	}
	// denied is an eviction that the operator denies, and forbidden one that the API server does.
	forbidden := func(s *story) {
		s.event("mallory", audit.VerbCreate, pods, audit.SubEviction, "web-1-a", 403, nil, map[string]any{"kind": "Status"})
	}
	denied := func(s *story) {
		s.message = `admission webhook "verdict.kausality.io" denied the request: it is not allowed`
		forbidden(s)
		s.message = ""
	}
	tests := map[string]struct {
		tell func(*story)
		want []Promise
	}{
		"all":                                  {tell: func(s *story) { both(s, "*"); rolls(s) }},
		"each path":                            {tell: func(s *story) { both(s, "spec.replicas,spec.template"); rolls(s) }},
		"what is above both":                   {tell: func(s *story) { both(s, "spec"); rolls(s) }},
		"one of two":                           {tell: func(s *story) { both(s, "spec.replicas@0123456789ab"); rolls(s) }, want: []Promise{Uncovered, Smuggled}},
		"the other of two":                     {tell: func(s *story) { both(s, "spec.template.spec.containers[0].image"); rolls(s) }, want: []Promise{Uncovered}},
		"a stray, with all":                    {tell: func(s *story) { adopts(s, "*") }},
		"a stray, by its owners":               {tell: func(s *story) { adopts(s, "metadata.ownerReferences") }},
		"something else of a stray":            {tell: func(s *story) { adopts(s, "spec.replicas") }, want: []Promise{Uncovered}},
		"an eviction that is denied":           {tell: func(s *story) { both(s, "spec.replicas"); denied(s) }, want: []Promise{Denied}},
		"an eviction without the right to any": {tell: func(s *story) { both(s, "spec.replicas"); forbidden(s) }},
		"an eviction that is denied of what ends later": {tell: func(s *story) {
			both(s, "spec.replicas")
			denied(s)
			s.remove("alice", pods, "web-1-a")
		}, want: []Promise{Denied}},
		"an eviction that is denied of what goes with its parent": {tell: func(s *story) {
			s.remove("system:serviceaccount:kube-system:generic-garbage-collector", replicaSets, "web-1")
			denied(s)
		}},
		"what was changed again, and taken out as a whole": {tell: func(s *story) {
			volumes := func(user string, all any) {
				s.write(user, audit.VerbPatch, deployments, "web", spec(map[string]any{"template": map[string]any{"spec": map[string]any{"volumes": all}}}))
			}
			volumes("mallory", []any{map[string]any{"name": "zq7z", "size": "1"}})
			volumes("mallory", []any{map[string]any{"name": "zq8z", "size": "1"}})
			volumes("mallory", nil)
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("web:2")}))
			s.write(deploymentController, audit.VerbCreate, replicaSets, "web-2", s.replicaSet("web:2"))
		}},
		"a Pod beyond what is approved": {tell: func(s *story) {
			s.set()
			s.write(controllers[kinds[statefulSets]], audit.VerbCreate, pods, "db-2", map[string]any{"metadata": s.owned("StatefulSet", "db"), "spec": template("db:1")["spec"]})
		}, want: []Promise{Uncovered}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			tc.tell(s)
			s.finds(tc.want)
		})
	}
}

// While an update strategy is withheld by which Pods come beside others, none does, nor any of what somebody else lets go on.
func TestSurges(t *testing.T) {
	for wanted, want := range map[int][]Promise{1: {Uncovered}, 2: nil} {
		s := begin(t)
		controller := controllers[kinds[daemonSets]]
		s.write("alice", audit.VerbCreate, daemonSets, "agent", map[string]any{"metadata": map[string]any{}, "spec": map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}, "template": template("agent:1"),
		}})
		makes := func(name string) {
			s.write("alice", audit.VerbCreate, pods, name, map[string]any{"metadata": s.owned("DaemonSet", "agent"), "spec": template("agent:1")["spec"]})
		}
		makes("agent-a")
		s.write(controller, audit.VerbUpdate, "daemonsets/status", "agent", map[string]any{"status": map[string]any{"observedGeneration": 1, "desiredNumberScheduled": wanted, "updatedNumberScheduled": wanted, "numberAvailable": wanted}})
		s.later(time.Minute)
		s.write("mallory", audit.VerbPatch, daemonSets, "agent", spec(map[string]any{"updateStrategy": map[string]any{"rollingUpdate": map[string]any{"maxSurge": 1}}}))
		makes("agent-b")
		s.finds(want)
	}
}

// What a controller does with a stray of its own: nothing but to get rid of it, also where it selects nothing.
func TestStrays(t *testing.T) {
	cronJobController := controllers[kinds[cronJobs]]
	adopted := func(s *story) {
		s.write("alice", audit.VerbCreate, cronJobs, "tick", map[string]any{"metadata": map[string]any{}, "spec": map[string]any{"schedule": "* * * * *"}})
		s.write(cronJobController, audit.VerbUpdate, "cronjobs/status", "tick", map[string]any{"status": map[string]any{"lastScheduleTime": "2026-01-01T00:00:00Z"}})
		s.later(time.Minute)
		s.write("alice", audit.VerbCreate, jobs, "batch", map[string]any{"metadata": map[string]any{}, "spec": map[string]any{"parallelism": 1}})
		s.write(cronJobController, audit.VerbPatch, jobs, "batch", map[string]any{"metadata": s.owned("CronJob", "tick")})
	}
	tests := map[string]struct {
		tell func(*story)
		want []Promise
	}{
		"it is deleted": {tell: func(s *story) { s.remove(cronJobController, jobs, "batch") }},
		"it is changed": {tell: func(s *story) {
			s.write(cronJobController, audit.VerbPatch, jobs, "batch", spec(map[string]any{"parallelism": 3}))
		}, want: []Promise{Uncovered}},
		"a stranger deletes it": {tell: func(s *story) { s.remove("mallory", jobs, "batch") }, want: []Promise{Uncovered}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			var p map[string]any
			if err := json.Unmarshal([]byte(`{"spec":{"for":{"kind":"CronJob"},"subjects":[{"kind":"User","name":"alice","mayInitiate":true},
				{"kind":"ServiceAccount","name":"cronjob-controller","namespace":"kube-system"}],
				"initializing":{"policies":[{"target":{"resource":"jobs"},"verbs":["Create"]}]},
				"rules":[{"trigger":"spec","policies":[{"target":{"resource":"jobs"},"verbs":["Create"]}]}]}}`), &p); err != nil {
				t.Fatal(err)
			}
			s.govern("cronjob", p)
			s.later(time.Minute)
			adopted(s)
			tc.tell(s)
			s.finds(tc.want)
		})
	}
}

// A record tells of a stray until somebody approves of who owns it, or of all of it.
func TestApprovedStrays(t *testing.T) {
	tests := map[string]struct {
		text, of string
		want     int
	}{
		"all":                   {"*", "uid-web", 1},
		"its owners":            {"metadata.ownerReferences", "uid-web", 1},
		"something else":        {"spec.replicas", "uid-web", 0},
		"nothing":               {"", "uid-web", 0},
		"of who wanted it, too": {"*", "uid-other", 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			s.settle()
			free := s.replicaSet("web:1")
			audit.AsMap(free["metadata"])["ownerReferences"] = nil
			s.write("mallory", audit.VerbCreate, replicaSets, "stray", free)
			adopted := s.at
			s.write(deploymentController, audit.VerbPatch, replicaSets, "stray", map[string]any{"metadata": s.owned("Deployment", "web")})
			strays := map[string]any{"spec": map[string]any{"targetRef": map[string]any{"uid": tc.of}}, "status": map[string]any{"strays": []any{map[string]any{"uid": "uid-stray", "time": adopted.Format(time.RFC3339)}}}}
			s.write(operatorUser, audit.VerbCreate, records, "of-web", strays)
			s.write("alice", audit.VerbPatch, replicaSets, "stray", map[string]any{"metadata": map[string]any{"annotations": map[string]any{"replicaset.kausality.io/approve": tc.text}}})
			s.write(operatorUser, audit.VerbUpdate, records+"/status", "of-web", strays)
			if got := s.judged().Findings; len(got) != tc.want || tc.want > 0 && got[0].Promise != Stuck {
				t.Errorf("findings %v, want %d", got, tc.want)
			}
		})
	}
}

// What was denied with a value is not carried out in the very moment in which it is taken back.
func TestDeniedBefore(t *testing.T) {
	s := begin(t)
	s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("zq7z:1")}))
	s.event(deploymentController, audit.VerbCreate, replicaSets, "", "web-2", 403, s.replicaSet("zq7z:1"), map[string]any{"kind": "Status"})
	s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("web:2")}))
	s.later(-9 * time.Second)
	s.write(deploymentController, audit.VerbCreate, replicaSets, "web-2", s.replicaSet("zq7z:1"))
	if got := s.judged(); len(got.Findings) != 1 || got.Findings[0].Promise != Smuggled || got.Known[Moment] > 0 {
		t.Errorf("findings %v, known %v", got.Findings, got.Known)
	}
}
