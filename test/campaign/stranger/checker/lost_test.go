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

// What who may changes allows something until it has settled.
func TestLost(t *testing.T) {
	allowed := entry{
		Kind: "ReplicaSet", Mutation: "spec.replicas", Generation: 2, Initiator: "alice",
		Trace: []hop{{Kind: "Deployment", Name: "web", Generation: 2, Field: "spec.replicas"}},
	}
	notes := func(s *story, user string, left ...entry) {
		s.write(user, audit.VerbPatch, deployments, "web", merged(ledgerNote(s.t, left...), map[string]any{"metadata": map[string]any{"annotations": map[string]any{"a": "b"}}}))
	}
	tests := map[string]struct {
		by   string
		left []entry
		then func(*story)
		want []Promise
	}{
		"it does":                   {by: "alice", left: []entry{allowed}},
		"it does not":               {by: "alice", want: []Promise{Lost}},
		"a stranger's":              {by: "mallory"},
		"of part of it":             {by: "bob"},
		"until it has settled":      {by: "alice", left: []entry{allowed}, then: func(s *story) { s.settle(); notes(s, operatorUser) }},
		"until somebody else comes": {by: "alice", left: []entry{allowed}, then: func(s *story) { notes(s, "bob") }, want: []Promise{Lost}},
		"until it is done again": {by: "alice", left: []entry{allowed}, then: func(s *story) {
			again := allowed
			again.Generation = 3
			again.Trace = []hop{{Kind: "Deployment", Name: "web", Generation: 3, Field: "spec.replicas"}}
			s.write("alice", audit.VerbPatch, deployments, "web", merged(spec(map[string]any{"replicas": 4}), ledgerNote(s.t, again)))
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			s.kept = true
			if tc.by == "bob" {
				s.share()
			}
			s.write(tc.by, audit.VerbPatch, deployments, "web", merged(spec(map[string]any{"replicas": 3}), ledgerNote(t, tc.left...)))
			if tc.then != nil {
				tc.then(s)
			}
			s.later(time.Second)
			s.finds(tc.want)
		})
	}
}
