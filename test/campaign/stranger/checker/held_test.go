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

// What is withheld is in the ledger until somebody who may has approved of it, or it is put back.
func TestDropped(t *testing.T) {
	withheld := entry{Relation: withheldRelation, Mutation: "spec.replicas", Generation: 2, Initiator: "mallory"}
	disturbs := func(s *story, left ...entry) {
		s.write("mallory", audit.VerbPatch, deployments, "web", merged(spec(map[string]any{"replicas": 3}), ledgerNote(s.t, left...)))
	}
	rolls := func(s *story, left ...entry) {
		s.write("alice", audit.VerbPatch, deployments, "web", merged(spec(map[string]any{"paused": true}), ledgerNote(s.t, left...)))
	}
	tests := map[string]struct {
		tell func(*story)
		want []Promise
	}{
		"it is there":    {tell: func(s *story) { disturbs(s, withheld) }},
		"it never came":  {tell: func(s *story) { disturbs(s) }, want: []Promise{Dropped}},
		"it came late":   {tell: func(s *story) { disturbs(s); s.later(-9 * time.Second); rolls(s, withheld) }},
		"what is around": {tell: func(s *story) { disturbs(s, entry{Relation: withheldRelation, Mutation: "spec", Initiator: "mallory"}) }},
		"another change took it out": {tell: func(s *story) {
			disturbs(s, withheld)
			rolls(s)
		}, want: []Promise{Dropped}},
		"it was put back": {tell: func(s *story) {
			disturbs(s, withheld)
			s.write("mallory", audit.VerbPatch, deployments, "web", merged(spec(map[string]any{"replicas": 2}), ledgerNote(s.t)))
		}},
		"it was approved": {tell: func(s *story) {
			disturbs(s, withheld)
			s.write("alice", audit.VerbPatch, deployments, "web", merged(ledgerNote(s.t), map[string]any{"metadata": map[string]any{
				"annotations": map[string]any{"kausality.io/approve": "spec.replicas"},
			}}))
		}},
		"an operator was started": {tell: func(s *story) { disturbs(s); s.start(-8 * time.Second); rolls(s, withheld) }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			s.kept = true
			s.start(-time.Minute)
			tc.tell(s)
			s.later(20 * time.Second)
			s.write("alice", audit.VerbPatch, deployments, "web", map[string]any{"metadata": map[string]any{"annotations": map[string]any{"looked": "at"}}})
			s.finds(tc.want)
		})
	}
}
