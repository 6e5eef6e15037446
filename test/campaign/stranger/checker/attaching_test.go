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

// Nobody but who may begin something with an object gives it a parent that bounds it.
func TestAttaching(t *testing.T) {
	entries := []any{map[string]any{"target": map[string]any{"resource": "jobs"}, "verbs": []any{"Create"}}}
	// begun has a Job of alice's, and a CronJob of mallory's with a policy that names Jobs.
	begun := func(s *story) {
		s.govern("queue", map[string]any{"metadata": map[string]any{}, "spec": map[string]any{
			"for":      map[string]any{"kind": "Job"},
			"subjects": []any{map[string]any{"kind": "User", "name": "alice", "mayInitiate": true}},
			"rules":    []any{map[string]any{"trigger": "spec", "policies": []any{map[string]any{"target": map[string]any{"resource": "pods"}, "verbs": []any{"Create"}}}}},
		}})
		s.govern("cronjob", map[string]any{"metadata": map[string]any{}, "spec": map[string]any{
			"for": map[string]any{"kind": "CronJob"},
			"subjects": []any{
				map[string]any{"kind": "User", "name": "mallory", "mayInitiate": true},
				map[string]any{"kind": "ServiceAccount", "name": "cronjob-controller", "namespace": "kube-system"},
			},
			"initializing": map[string]any{"policies": entries},
			"rules":        []any{map[string]any{"trigger": "spec", "policies": entries}},
		}})
		s.later(time.Minute)
		s.write("alice", audit.VerbCreate, jobs, "batch", map[string]any{"metadata": map[string]any{}, "spec": map[string]any{"parallelism": 1}})
		s.write("mallory", audit.VerbCreate, cronJobs, "tick", map[string]any{"metadata": map[string]any{}, "spec": map[string]any{"schedule": "* * * * *"}})
		s.later(time.Minute)
	}
	owner := func(kind, name string) map[string]any {
		return map[string]any{"metadata": map[string]any{"ownerReferences": []any{
			map[string]any{"apiVersion": "batch/v1", "kind": kind, "name": name, "uid": "uid-" + name},
		}}}
	}
	tests := map[string]struct {
		tell func(*story)
		want []Promise
	}{
		"by mallory":                 {tell: func(s *story) { s.write("mallory", audit.VerbPatch, jobs, "batch", owner("CronJob", "tick")) }, want: []Promise{Attached}},
		"by alice":                   {tell: func(s *story) { s.write("alice", audit.VerbPatch, jobs, "batch", owner("CronJob", "tick")) }},
		"to what is not there":       {tell: func(s *story) { s.write("mallory", audit.VerbPatch, jobs, "batch", owner("CronJob", "tock")) }},
		"to what bounds other kinds": {tell: func(s *story) { s.write("mallory", audit.VerbPatch, jobs, "batch", owner("Deployment", "web")) }},
		"to what is gone": {tell: func(s *story) {
			s.remove("mallory", cronJobs, "tick")
			s.later(time.Minute)
			s.write("mallory", audit.VerbPatch, jobs, "batch", owner("CronJob", "tick"))
		}},
		"what nobody says who may": {tell: func(s *story) {
			s.write("alice", audit.VerbCreate, configMaps, "free", map[string]any{"metadata": map[string]any{}})
			s.write("mallory", audit.VerbPatch, configMaps, "free", owner("CronJob", "tick"))
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			begun(s)
			tc.tell(s)
			s.finds(tc.want)
		})
	}
}
