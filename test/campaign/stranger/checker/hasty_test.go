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

const policyOfJobs = `{"metadata":{},"spec":{"for":{"kind":"Job"},
	"subjects":[{"kind":"User","name":"alice","mayInitiate":true},{"kind":"ServiceAccount","name":"job-controller","namespace":"kube-system"}],
	"initializing":{"policies":[{"target":{"resource":"pods"},"verbs":["Create","Delete"]}]},
	"rules":[{"trigger":"spec","policies":[{"target":{"resource":"pods"},"verbs":["Create","Delete"]}]}]}}`

// job is a Job of alice's that is at work.
func (s *story) job() {
	s.t.Helper()
	var p map[string]any
	if err := json.Unmarshal([]byte(policyOfJobs), &p); err != nil {
		s.t.Fatal(err)
	}
	s.govern("job", p)
	s.later(time.Minute)
	s.write("alice", audit.VerbCreate, jobs, "batch", map[string]any{"metadata": map[string]any{}, "spec": map[string]any{"parallelism": 1}})
}

// ends has somebody say that the Job has failed for a reason.
func (s *story) ends(user, reason string) {
	s.write(user, audit.VerbUpdate, "jobs/status", "batch", map[string]any{"status": map[string]any{
		"conditions": []any{map[string]any{"type": "Failed", "status": "True", "reason": reason}},
	}})
}

// What cannot wait is refused, and what is withheld ends nothing.
func TestHasty(t *testing.T) {
	controller := controllers[kinds[jobs]]
	deadline := spec(map[string]any{"activeDeadlineSeconds": 1})
	limits := spec(map[string]any{"revisionHistoryLimit": 0})
	tests := map[string]struct {
		tell func(*story)
		want []Promise
	}{
		"alice limits the history of a set":      {tell: func(s *story) { s.set(); s.write("alice", audit.VerbPatch, statefulSets, "db", limits) }},
		"a stranger limits the history of a set": {tell: func(s *story) { s.set(); s.write("mallory", audit.VerbPatch, statefulSets, "db", limits) }, want: []Promise{Hasty}},
		"a stranger has its claims deleted": {tell: func(s *story) {
			s.set()
			s.write("mallory", audit.VerbPatch, statefulSets, "db", spec(map[string]any{"persistentVolumeClaimRetentionPolicy": map[string]any{"whenScaled": "Delete"}}))
		}, want: []Promise{Hasty}},
		"a stranger changes what can wait": {tell: func(s *story) {
			s.set()
			s.write("mallory", audit.VerbPatch, statefulSets, "db", spec(map[string]any{"minReadySeconds": 5}))
		}},
		"of what no rule is about": {tell: func(s *story) { s.write("mallory", audit.VerbPatch, deployments, "web", limits) }},
		"of bob, who may change something else": {tell: func(s *story) {
			s.govern("users", map[string]any{"metadata": map[string]any{}, "spec": map[string]any{
				"for": map[string]any{"kind": "StatefulSet"}, "subjects": []any{map[string]any{"kind": "User", "name": "bob", "mayInitiate": true}},
				"rules": []any{map[string]any{"trigger": "spec.replicas"}},
			}})
			s.later(time.Minute)
			s.set()
			s.write("bob", audit.VerbPatch, statefulSets, "db", limits)
		}, want: []Promise{Hasty}},
		"a stranger's deadline": {tell: func(s *story) {
			s.job()
			s.write("mallory", audit.VerbPatch, jobs, "batch", deadline)
			s.ends(controller, "DeadlineExceeded")
		}, want: []Promise{Hasty, Hasty}},
		"a stranger's deadline that was approved": {tell: func(s *story) {
			s.job()
			s.write("mallory", audit.VerbPatch, jobs, "batch", deadline)
			s.write("alice", audit.VerbPatch, jobs, "batch", map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kausality.io/approve": "*"}}})
			s.ends(controller, "DeadlineExceeded")
		}, want: []Promise{Hasty}},
		"alice's deadline": {tell: func(s *story) {
			s.job()
			s.write("alice", audit.VerbPatch, jobs, "batch", deadline)
			s.ends(controller, "DeadlineExceeded")
		}},
		"a stranger's deadline, and something else": {tell: func(s *story) {
			s.job()
			s.write("mallory", audit.VerbPatch, jobs, "batch", deadline)
			s.ends(controller, "PodFailurePolicy")
		}, want: []Promise{Hasty}},
		"a stranger says that it has failed": {tell: func(s *story) {
			s.job()
			s.write("mallory", audit.VerbPatch, jobs, "batch", deadline)
			s.ends("mallory", "DeadlineExceeded")
		}, want: []Promise{Hasty}},
		"a stranger's fewer completions": {tell: func(s *story) {
			s.job()
			s.write("mallory", audit.VerbPatch, jobs, "batch", spec(map[string]any{"completions": 1}))
		}, want: []Promise{Hasty}},
		"a stranger counts what ends as failed": {tell: func(s *story) {
			s.job()
			s.write("mallory", audit.VerbPatch, jobs, "batch", spec(map[string]any{"podReplacementPolicy": "TerminatingOrFailed"}))
		}, want: []Promise{Hasty}},
		"a stranger suspends it": {tell: func(s *story) {
			s.job()
			s.write("mallory", audit.VerbPatch, jobs, "batch", spec(map[string]any{"suspend": true}))
		}, want: []Promise{Hasty}},
		"a controller that may carry it out fills in how long it stays": {tell: func(s *story) {
			s.job()
			s.write(controller, audit.VerbPatch, jobs, "batch", spec(map[string]any{"ttlSecondsAfterFinished": 5}))
			s.write(controller, audit.VerbCreate, pods, "batch-a", map[string]any{"metadata": s.owned("Job", "batch"), "spec": template("job:1")["spec"]})
			s.remove(controller, pods, "batch-a")
		}},
		"a controller changes how long it stays": {tell: func(s *story) {
			s.job()
			s.write("alice", audit.VerbPatch, jobs, "batch", spec(map[string]any{"ttlSecondsAfterFinished": 5}))
			s.write(controller, audit.VerbPatch, jobs, "batch", spec(map[string]any{"ttlSecondsAfterFinished": 6}))
		}, want: []Promise{Hasty}},
		"another controller fills in how long it stays": {tell: func(s *story) {
			s.job()
			s.write(deploymentController, audit.VerbPatch, jobs, "batch", spec(map[string]any{"ttlSecondsAfterFinished": 5}))
		}, want: []Promise{Hasty}},
		"a controller fills in how long what has ended stays": {tell: func(s *story) {
			s.job()
			s.ends(controller, "PodFailurePolicy")
			s.write(controller, audit.VerbPatch, jobs, "batch", spec(map[string]any{"ttlSecondsAfterFinished": 5}))
		}, want: []Promise{Hasty}},
		"a stranger has less of it at once": {tell: func(s *story) {
			s.job()
			s.write("mallory", audit.VerbPatch, jobs, "batch", spec(map[string]any{"parallelism": 0}))
		}, want: []Promise{Hasty}},
		"a stranger has less of it at once than had waited": {tell: func(s *story) {
			s.job()
			s.write("mallory", audit.VerbPatch, jobs, "batch", spec(map[string]any{"parallelism": 7}))
			s.write("mallory", audit.VerbPatch, jobs, "batch", spec(map[string]any{"parallelism": 5}))
		}},
		"a stranger has less of it at once than was approved, while more of it waits": {tell: func(s *story) {
			s.job()
			s.write("mallory", audit.VerbPatch, jobs, "batch", spec(map[string]any{"parallelism": 7}))
			s.write("mallory", audit.VerbPatch, jobs, "batch", spec(map[string]any{"parallelism": 0}))
		}, want: []Promise{Hasty}},
		"a stranger has less of it at once than alice has approved of": {tell: func(s *story) {
			s.job()
			s.write("mallory", audit.VerbPatch, jobs, "batch", spec(map[string]any{"parallelism": 7}))
			s.write("alice", audit.VerbPatch, jobs, "batch", map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kausality.io/approve": "*"}}})
			s.write("mallory", audit.VerbPatch, jobs, "batch", spec(map[string]any{"parallelism": 5}))
		}, want: []Promise{Hasty}},
		"alice has less of it at once": {tell: func(s *story) {
			s.job()
			s.write("alice", audit.VerbPatch, jobs, "batch", spec(map[string]any{"parallelism": 0}))
		}},
		"a stranger has more of it at once": {tell: func(s *story) {
			s.job()
			s.write("mallory", audit.VerbPatch, jobs, "batch", spec(map[string]any{"parallelism": 7}))
		}},
		"a stranger changes what can wait of what has ended": {tell: func(s *story) {
			s.job()
			s.write(controller, audit.VerbCreate, pods, "batch-a", map[string]any{"metadata": s.owned("Job", "batch"), "spec": template("job:1")["spec"]})
			s.ends(controller, "PodFailurePolicy")
			s.write("mallory", audit.VerbPatch, jobs, "batch", spec(map[string]any{"parallelism": 7000005}))
			s.write("alice", audit.VerbPatch, jobs, "batch", spec(map[string]any{"suspend": true}))
			s.remove(controller, pods, "batch-a")
		}},
		"a stranger's deadline of what has ended": {tell: func(s *story) {
			s.job()
			s.ends(controller, "PodFailurePolicy")
			s.write("mallory", audit.VerbPatch, jobs, "batch", deadline)
		}, want: []Promise{Hasty}},
		"a stranger has what has ended go": {tell: func(s *story) {
			s.job()
			s.ends(controller, "PodFailurePolicy")
			s.write("mallory", audit.VerbPatch, jobs, "batch", spec(map[string]any{"ttlSecondsAfterFinished": 0}))
			s.remove("system:serviceaccount:kube-system:ttl-after-finished-controller", jobs, "batch")
		}, want: []Promise{Hasty, Hasty}},
		"a stranger has it go": {tell: func(s *story) {
			s.job()
			s.write("mallory", audit.VerbPatch, jobs, "batch", spec(map[string]any{"ttlSecondsAfterFinished": 0}))
			s.remove("system:serviceaccount:kube-system:ttl-after-finished-controller", jobs, "batch")
		}, want: []Promise{Hasty, Hasty}},
		"a stranger takes back a deadline of when a policy came": {tell: func(s *story) {
			s.job()
			s.ends(controller, "PodFailurePolicy")
			s.later(time.Minute)
			s.govern("others", map[string]any{"metadata": map[string]any{}, "spec": map[string]any{
				"for": map[string]any{"kind": "Job"}, "subjects": []any{map[string]any{"kind": "User", "name": "bob", "mayInitiate": true}},
			}})
			s.later(-9 * time.Second)
			s.write("mallory", audit.VerbPatch, jobs, "batch", deadline)
			s.later(time.Minute)
			s.write("mallory", audit.VerbPatch, jobs, "batch", spec(map[string]any{"activeDeadlineSeconds": nil}))
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			tc.tell(s)
			s.finds(tc.want)
		})
	}
}
