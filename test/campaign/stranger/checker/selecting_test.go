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

// What a policy selects by labels is bounded while it has these, and leaves it by who may alone.
func TestSelecting(t *testing.T) {
	labeled := func(labels map[string]any) map[string]any {
		return map[string]any{"metadata": map[string]any{"labels": labels}}
	}
	// queue is a Job of alice's, in a namespace with a label, and a policy for Jobs that have one.
	queue := func(s *story, namespace any, labels map[string]any) {
		s.write("admin", audit.VerbCreate, namespaces, "ns", map[string]any{"metadata": map[string]any{"labels": map[string]any{"governed": namespace}}})
		s.govern("queue", map[string]any{"metadata": map[string]any{}, "spec": map[string]any{
			"for":               map[string]any{"kind": "Job"},
			"namespaceSelector": map[string]any{"matchLabels": map[string]any{"governed": "yes"}},
			"objectSelector":    map[string]any{"matchExpressions": []any{map[string]any{"key": "free", "operator": "DoesNotExist"}}},
			"subjects": []any{
				map[string]any{"kind": "User", "name": "alice", "mayInitiate": true},
				map[string]any{"kind": "ServiceAccount", "namespace": "kube-system", "name": "job-controller"},
			},
			"initializing": map[string]any{"policies": []any{map[string]any{"target": map[string]any{"resource": "pods"}, "verbs": []any{"Create"}}}},
			"rules":        []any{map[string]any{"trigger": "spec", "policies": []any{map[string]any{"target": map[string]any{"resource": "pods"}, "verbs": []any{"Create"}}}}},
		}})
		s.later(time.Minute)
		s.write("alice", audit.VerbCreate, jobs, "batch", map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"parallelism": 1}})
		s.ends(controllers[kinds[jobs]], "PodFailurePolicy")
		s.later(time.Minute)
	}
	// comes has somebody have the Job come under its policy by its label, and change it in the same request; its ledger then
	// has some entries. Later alice wishes for more, and its controller makes a Pod.
	comes := func(s *story, user, ledger, image string) {
		queue(s, "yes", map[string]any{"free": "yes"})
		s.write(user, audit.VerbPatch, jobs, "batch", map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"free": nil}, "annotations": map[string]any{"kausality.io/allowances": ledger}},
			"spec":     map[string]any{"template": template(image)},
		})
		s.later(time.Minute)
		s.write("alice", audit.VerbPatch, jobs, "batch", spec(map[string]any{"parallelism": 2}))
		s.write(controllers[kinds[jobs]], audit.VerbCreate, pods, "batch-a", map[string]any{"metadata": s.owned("Job", "batch"), "spec": template(image)["spec"]})
	}
	makes := func(s *story) {
		s.write("mallory", audit.VerbCreate, pods, "batch-a", map[string]any{"metadata": s.owned("Job", "batch"), "spec": template("job:1")["spec"]})
	}
	const begun = `[{"kind":"Pod","mutation":"create","generation":2,"initiator":"alice","trace":[{"kind":"Job","name":"batch","generation":2,"field":"spec.template"}]}]`
	tests := map[string]struct {
		tell func(*story)
		want []Promise
	}{
		"in a namespace that is selected": {tell: func(s *story) { queue(s, "yes", nil); makes(s) }, want: []Promise{Uncovered}},
		"in another one":                  {tell: func(s *story) { queue(s, "no", nil); makes(s) }},
		"in one that has left": {tell: func(s *story) {
			queue(s, "yes", nil)
			s.write("admin", audit.VerbPatch, namespaces, "ns", labeled(map[string]any{"governed": "no"}))
			makes(s)
		}},
		"in one that has come": {tell: func(s *story) {
			queue(s, "no", nil)
			s.write("admin", audit.VerbPatch, namespaces, "ns", labeled(map[string]any{"governed": "yes"}))
			s.later(time.Minute)
			makes(s)
		}, want: []Promise{Uncovered}},
		"what is refused in one that has left": {tell: func(s *story) {
			queue(s, "yes", nil)
			s.write("admin", audit.VerbPatch, namespaces, "ns", labeled(map[string]any{"governed": "no"}))
			s.later(time.Minute)
			s.refuse("mallory", audit.VerbDelete, jobs, "batch", nil)
		}, want: []Promise{Barred}},
		"what is refused just as it leaves": {tell: func(s *story) {
			queue(s, "yes", nil)
			s.write("admin", audit.VerbPatch, namespaces, "ns", labeled(map[string]any{"governed": "no"}))
			s.refuse("mallory", audit.VerbDelete, jobs, "batch", nil)
		}},
		"what is refused of what is not selected by its labels": {tell: func(s *story) {
			queue(s, "yes", map[string]any{"free": "yes"})
			s.refuse("mallory", audit.VerbDelete, jobs, "batch", nil)
		}},
		"what is not selected": {tell: func(s *story) { queue(s, "yes", map[string]any{"free": "yes"}); makes(s) }},
		"what alice has leave": {tell: func(s *story) {
			queue(s, "yes", nil)
			s.write("alice", audit.VerbPatch, jobs, "batch", labeled(map[string]any{"free": "yes"}))
			makes(s)
		}},
		"what mallory has leave": {tell: func(s *story) {
			queue(s, "yes", nil)
			s.write("mallory", audit.VerbPatch, jobs, "batch", labeled(map[string]any{"free": "yes"}))
		}, want: []Promise{Escaped}},
		"what who may by another policy has leave": {tell: func(s *story) {
			queue(s, "yes", nil)
			s.govern("others", map[string]any{"metadata": map[string]any{}, "spec": map[string]any{
				"for": map[string]any{"kind": "Job"}, "subjects": []any{map[string]any{"kind": "User", "name": "bob", "mayInitiate": true}},
			}})
			s.later(time.Minute)
			s.ends(controllers[kinds[jobs]], "PodFailurePolicy")
			s.write("bob", audit.VerbPatch, jobs, "batch", labeled(map[string]any{"free": "yes"}))
		}, want: []Promise{Escaped}},
		"what mallory labels otherwise": {tell: func(s *story) {
			queue(s, "yes", nil)
			s.write("mallory", audit.VerbPatch, jobs, "batch", labeled(map[string]any{"app": "other"}))
		}},
		"what mallory has come": {tell: func(s *story) {
			queue(s, "yes", map[string]any{"free": "yes"})
			s.write("mallory", audit.VerbPatch, jobs, "batch", labeled(map[string]any{"free": nil}))
			s.later(time.Minute)
			makes(s)
		}, want: []Promise{Uncovered}},
		"what mallory has come, and changes":                        {tell: func(s *story) { comes(s, "mallory", "", "zq7z:1") }, want: []Promise{Uncovered, Smuggled}},
		"what alice has come, and changes, which its ledger has":    {tell: func(s *story) { comes(s, "alice", begun, "zq7z:1") }},
		"what alice has come, and changes, of which it has nothing": {tell: func(s *story) { comes(s, "alice", "", "zq7z:1") }, want: []Promise{Lost}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			tc.tell(s)
			s.finds(tc.want)
		})
	}
}
