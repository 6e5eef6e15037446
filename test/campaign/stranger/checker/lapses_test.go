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

// rolledOut has alice make a StatefulSet that has rolled out.
func (s *story) rolledOut(name string) {
	s.write("alice", audit.VerbCreate, statefulSets, name, spec(map[string]any{"replicas": 1, "template": template("db:1")}))
	s.write(controllers[kinds[statefulSets]], audit.VerbUpdate, "statefulsets/status", name, map[string]any{"status": map[string]any{
		"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1,
	}})
}

// What is changed while nobody is asked is withheld soon after somebody is asked again.
func TestLapses(t *testing.T) {
	withheld := entry{Relation: withheldRelation, Mutation: "spec.minReadySeconds", Generation: 2}
	changes := func(s *story, user string) {
		s.write(user, audit.VerbPatch, statefulSets, "db", spec(map[string]any{"minReadySeconds": 7000007}))
	}
	tells := func(s *story, left ...entry) {
		s.write(operatorUser, audit.VerbPatch, statefulSets, "db", ledgerNote(s.t, left...))
	}
	tests := map[string]struct {
		asked   bool
		changes func(*story)
		then    func(*story)
		want    []Promise
	}{
		"it is told of": {changes: func(s *story) { changes(s, "mallory") }, then: func(s *story) { tells(s, withheld) }},
		"it is not":     {changes: func(s *story) { changes(s, "mallory") }, then: func(*story) {}, want: []Promise{Unnoticed}},
		"by who may":    {changes: func(s *story) { changes(s, "alice") }, then: func(*story) {}},
		"it is put back": {changes: func(s *story) { changes(s, "mallory") }, then: func(s *story) {
			s.write("mallory", audit.VerbPatch, statefulSets, "db", spec(map[string]any{"minReadySeconds": nil}))
		}},
		"an operator starts":  {changes: func(s *story) { changes(s, "mallory") }, then: func(s *story) { s.start(-10 * time.Second) }},
		"something else":      {changes: func(s *story) { changes(s, "mallory") }, then: func(s *story) { tells(s, entry{Relation: withheldRelation, Mutation: "spec.paused"}) }, want: []Promise{Forged, Unnoticed}},
		"a child goes":        {changes: func(s *story) { s.remove("mallory", pods, "web-1-a") }, then: func(*story) {}},
		"a child goes, asked": {asked: true, changes: func(s *story) { s.later(time.Minute); s.remove("mallory", pods, "web-1-a") }, then: func(*story) {}, want: []Promise{Uncovered}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			s.kept = true
			s.start(-time.Hour)
			s.rolledOut("db")
			s.write(operatorUser, audit.VerbCreate, validatingWebhooks, "ours", map[string]any{})
			s.later(time.Minute)
			if !tc.asked {
				s.remove("admin", validatingWebhooks, "ours")
			}
			tc.changes(s)
			s.write(operatorUser, audit.VerbCreate, validatingWebhooks, "ours", map[string]any{})
			tc.then(s)
			s.later(time.Minute)
			s.write("admin", audit.VerbPatch, statefulSets, "db", map[string]any{"metadata": map[string]any{"annotations": map[string]any{"looked": "at"}}})
			s.finds(tc.want)
		})
	}
}

// Each parent of a child lets its controller end it, or not.
func TestSharers(t *testing.T) {
	controller := controllers[kinds[statefulSets]]
	tests := map[string]struct {
		waits, by string
		free      bool
		want      []Promise
	}{
		"both heal":                                       {by: controller},
		"something waits of the second":                   {waits: "second", by: controller, want: []Promise{Uncovered}},
		"something waits of the second, her":              {waits: "second", by: "alice"},
		"something waits of one that does not control it": {waits: "second", by: controller, free: true, want: []Promise{Uncovered}},
		"something waits of another":                      {waits: "third", by: controller},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			for _, name := range []string{"first", "second", "third"} {
				s.rolledOut(name)
			}
			s.write(controller, audit.VerbCreate, pods, "first-0", map[string]any{
				"metadata": besides(s.owned("StatefulSet", "first"), "StatefulSet", "second"), "spec": template("db:1")["spec"],
			})
			s.later(time.Minute)
			if tc.waits != "" {
				s.write("mallory", audit.VerbPatch, statefulSets, tc.waits, spec(map[string]any{"minReadySeconds": 3}))
			}
			s.later(time.Minute)
			if tc.free {
				s.reason = releasing
				s.write(controller, audit.VerbPatch, pods, "first-0", map[string]any{"metadata": map[string]any{"ownerReferences": []any{
					map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "second", "uid": "uid-second"},
				}}})
				s.reason = ""
				s.later(time.Minute)
			}
			s.remove(tc.by, pods, "first-0")
			s.finds(tc.want)
		})
	}
}
