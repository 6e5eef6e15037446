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
	"slices"
	"testing"
	"time"

	"kausality.io/operator/test/campaign/audit"
)

// What controllers let go of by a patch they are not refused, nor people what they make below what is theirs, nor anybody what is
// below nothing.
func TestPatched(t *testing.T) {
	type fields = map[string]any
	// aside has alice set a Pod aside by its label, a minute ago.
	aside := func(s *story) {
		s.write("alice", audit.VerbPatch, pods, "web-1-a", fields{"metadata": fields{"labels": fields{"app": "aside"}}})
		s.later(time.Minute)
	}
	lets := func(s *story, user string) {
		s.refuse(user, audit.VerbPatch, pods, "web-1-a", fields{"metadata": fields{"ownerReferences": []any{fields{"$patch": "delete", "uid": "uid-web-1"}}, "uid": "uid-web-1-a"}})
	}
	below := func(s *story, owner string) fields {
		pod := s.pod()
		audit.AsMap(pod["metadata"])["ownerReferences"] = []any{fields{"kind": "ReplicaSet", "apiVersion": "apps/v1", "name": "web-1", "uid": owner, "controller": true}}
		return pod
	}
	tests := map[string]struct {
		tell func(*story)
		want []Promise
	}{
		"what it does not select": {tell: func(s *story) { aside(s); lets(s, replicaSetController) }, want: []Promise{Refused}},
		"what it selects":         {tell: func(s *story) { lets(s, replicaSetController) }},
		"a stranger":              {tell: func(s *story) { aside(s); lets(s, "mallory") }},
		"while something is withheld": {tell: func(s *story) {
			aside(s)
			s.write("mallory", audit.VerbPatch, replicaSets, "web-1", spec(fields{"replicas": 5}))
			lets(s, replicaSetController)
		}, want: []Promise{Uncovered}},
		"made below what is hers":    {tell: func(s *story) { s.refuse("alice", audit.VerbCreate, pods, "web-1-z", below(s, "uid-web-1")) }, want: []Promise{Barred}},
		"made below somebody else's": {tell: func(s *story) { s.refuse("mallory", audit.VerbCreate, pods, "web-1-z", below(s, "uid-web-1")) }},
		"made below nothing":         {tell: func(s *story) { s.refuse("mallory", audit.VerbCreate, pods, "web-1-z", below(s, "uid-of-nothing")) }, want: []Promise{Barred}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			s.start(-5 * time.Minute)
			s.later(time.Minute)
			tc.tell(s)
			s.later(time.Minute)
			s.write("alice", audit.VerbPatch, daemonSets, "other", fields{"metadata": fields{}})
			s.finds(tc.want)
		})
	}
}

// Of several allowances for the same the newest is the cause.
func TestOlder(t *testing.T) {
	allowed := func(initiator string, generation int64) entry {
		return entry{
			Kind: "ReplicaSet", Mutation: "create", Generation: generation, Initiator: initiator,
			Trace: []hop{{Kind: "Deployment", Name: "web", Generation: generation, Field: "spec.template.spec.containers[0].image"}},
		}
	}
	for generation, want := range map[int64][]Promise{2: {Forged}, 3: nil} {
		s := begin(t)
		s.write("alice", audit.VerbPatch, deployments, "web", merged(spec(map[string]any{"template": template("web:2")}), ledgerNote(t, allowed("alice", 2))))
		s.write("alice", audit.VerbPatch, deployments, "web", merged(spec(map[string]any{"template": template("web:3")}), ledgerNote(t, allowed("alice", 2), allowed("alice", 3))))
		set := s.replicaSet("web:3")
		trace := slices.Concat(allowed("alice", generation).Trace, []hop{{Kind: "ReplicaSet", Name: "web-3", Generation: 1, Field: created}})
		note := ledgerNote(t, entry{Kind: "Pod", Mutation: "create", Generation: 1, Initiator: "alice", Trace: trace})
		annotations := map[string]any{}
		for _, text := range audit.AsMap(audit.AsMap(note["metadata"])["annotations"]) {
			annotations["replicaset.kausality.io/allowances"] = text
		}
		s.write(deploymentController, audit.VerbCreate, replicaSets, "web-3", merged(set, map[string]any{"metadata": map[string]any{"annotations": annotations}}))
		s.finds(want)
	}
}
