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

// What is new takes over what was left behind for it, and not what somebody makes for it meanwhile.
func TestYounger(t *testing.T) {
	creates := func(s *story) {
		s.write("alice", audit.VerbCreate, deployments, "new", spec(map[string]any{
			"replicas": 1, "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}, "template": template("web:1"),
		}))
	}
	stray := func(s *story, by string) {
		s.write(by, audit.VerbCreate, replicaSets, "stray", merged(s.replicaSet("web:1"), map[string]any{"metadata": map[string]any{"ownerReferences": nil}}))
	}
	adopts := func(s *story, reason string) {
		s.reason = reason
		s.write(deploymentController, audit.VerbPatch, replicaSets, "stray", map[string]any{"metadata": s.owned("Deployment", "new")})
		s.reason = ""
	}
	tests := map[string]struct {
		tell func(*story)
		want []Promise
	}{
		"left behind":          {tell: func(s *story) { stray(s, "mallory"); creates(s); adopts(s, "Initializing") }},
		"made for it":          {tell: func(s *story) { creates(s); s.later(-7 * time.Second); stray(s, "mallory"); adopts(s, "Initializing") }, want: []Promise{Uncovered}},
		"made for it, a stray": {tell: func(s *story) { creates(s); s.later(-7 * time.Second); stray(s, "mallory"); adopts(s, "Stray") }},
		"made for it within a second": {tell: func(s *story) {
			creates(s)
			s.later(-9500 * time.Millisecond)
			stray(s, "mallory")
			adopts(s, "Initializing")
		}},
		"made for it by who may": {tell: func(s *story) { creates(s); s.later(-7 * time.Second); stray(s, "alice"); adopts(s, "Initializing") }},
		"made for it, and made to grow": {tell: func(s *story) {
			creates(s)
			s.later(time.Second)
			stray(s, "mallory")
			adopts(s, "Stray")
			s.write(deploymentController, audit.VerbUpdate, replicaSets, "stray", spec(map[string]any{"replicas": 5}))
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

// What is suspended goes on for nobody but who may have it go on.
func TestSuspended(t *testing.T) {
	controller := controllers[kinds[cronJobs]]
	runs := func(s *story) {
		s.write(controller, audit.VerbCreate, jobs, "tick-1", merged(spec(map[string]any{"parallelism": 1}), map[string]any{"metadata": s.owned("CronJob", "tick")}))
	}
	says := func(s *story, user string, what map[string]any) {
		s.write(user, audit.VerbPatch, cronJobs, "tick", spec(what))
	}
	resumes, changes := map[string]any{"suspend": false}, map[string]any{"schedule": "* * * * *"}
	tests := map[string]struct {
		suspended bool
		tell      func(*story)
		want      []Promise
	}{
		"on time":                       {tell: runs},
		"resumed by who may":            {suspended: true, tell: func(s *story) { says(s, "alice", resumes); runs(s) }},
		"resumed by a stranger":         {suspended: true, tell: func(s *story) { says(s, "mallory", resumes); runs(s) }, want: []Promise{Uncovered}},
		"resumed by both":               {suspended: true, tell: func(s *story) { says(s, "mallory", resumes); s.later(time.Second); approveAll(s); runs(s) }},
		"changed by a stranger":         {tell: func(s *story) { says(s, "mallory", changes); runs(s) }},
		"suspended, and changed by her": {suspended: true, tell: func(s *story) { says(s, "mallory", changes); s.later(time.Minute); runs(s) }, want: []Promise{Uncovered}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			create := map[string]any{"policies": []any{map[string]any{"target": map[string]any{"resource": "jobs"}, "verbs": []any{"Create"}}}}
			s.govern("cronjob", map[string]any{"metadata": map[string]any{}, "spec": map[string]any{
				"for": map[string]any{"kind": "CronJob"}, "initializing": create, "maintaining": create,
				"subjects": []any{
					map[string]any{"kind": "User", "name": "alice", "mayInitiate": true},
					map[string]any{"kind": "ServiceAccount", "name": "cronjob-controller", "namespace": "kube-system"},
				},
				"rules": []any{map[string]any{"trigger": "spec", "policies": create["policies"]}},
			}})
			s.later(time.Minute)
			s.write("alice", audit.VerbCreate, cronJobs, "tick", spec(map[string]any{"suspend": tc.suspended}))
			s.later(time.Minute)
			tc.tell(s)
			s.finds(tc.want)
		})
	}
}

func approveAll(s *story) {
	s.write("alice", audit.VerbPatch, cronJobs, "tick", map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kausality.io/approve": "*"}}})
}

// What its parent selects who may initiate above that may have it let go of, by its labels, and nobody else.
func TestSetAside(t *testing.T) {
	for user, want := range map[string][]Promise{"alice": nil, "mallory": {Uncovered}, deploymentController: {Uncovered}} {
		t.Run(user, func(t *testing.T) {
			s := begin(t)
			s.write(user, audit.VerbPatch, replicaSets, "web-1", map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "other"}}})
			s.finds(want)
		})
	}
}

// Who may initiate above what a child was below when it was made may make it, whatever becomes of that.
func TestOrphanedLater(t *testing.T) {
	s := begin(t)
	s.write("alice", audit.VerbCreate, pods, "hers", s.pod())
	s.later(time.Minute)
	s.write("system:serviceaccount:kube-system:generic-garbage-collector", audit.VerbPatch, replicaSets, "web-1", map[string]any{"metadata": map[string]any{"ownerReferences": nil}})
	s.finds(nil)
}
