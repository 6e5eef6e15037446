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

// A record tells of its object as it is, of strays for as long as they are any, and of times at which something happened.
func TestStale(t *testing.T) {
	type fields = map[string]any
	record := func(s *story, status fields) {
		s.write(operatorUser, audit.VerbUpdate, records+"/status", "r", fields{"spec": fields{"targetRef": fields{"uid": "uid-web"}}, "status": status})
	}
	allowed := entry{
		Kind: "ReplicaSet", Mutation: "spec.replicas", Generation: 2, Initiator: "alice",
		Trace: []hop{{Kind: "Deployment", Name: "web", Generation: 2, Field: "spec.replicas"}},
	}
	scales := func(s *story, left ...entry) {
		s.write("alice", audit.VerbPatch, deployments, "web", merged(spec(fields{"replicas": 3}), ledgerNote(s.t, left...)))
	}
	strays := func(s *story) {
		s.write("mallory", audit.VerbCreate, replicaSets, "stray", merged(s.replicaSet("web:1"), fields{"metadata": fields{"ownerReferences": nil}}))
		s.later(-9 * time.Second) // It is adopted at once.
		s.reason = straying
		s.write(deploymentController, audit.VerbPatch, replicaSets, "stray", fields{"metadata": s.owned("Deployment", "web")})
		s.reason = ""
		record(s, fields{"phase": "Steady", "strays": []any{fields{"uid": "uid-stray", "time": s.at.Add(-10 * time.Second).Format(time.RFC3339)}}})
	}
	approves := func(s *story, text string) {
		s.write("alice", audit.VerbPatch, replicaSets, "stray", fields{"metadata": fields{"annotations": fields{"replicaset.kausality.io/approve": text}}})
	}
	goes := func(s *story, late time.Duration) {
		record(s, fields{"phase": "Steady"})
		s.write("alice", audit.VerbPatch, deployments, "web", fields{"metadata": fields{"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": []any{"kept"}}})
		s.later(late - 10*time.Second)
		record(s, fields{"phase": "Deleting"})
	}
	tests := map[string]struct {
		tell func(*story)
		want []Promise
	}{
		"steady":                    {tell: func(s *story) { record(s, fields{"phase": "Steady"}) }},
		"deleting, which it is not": {tell: func(s *story) { record(s, fields{"phase": "Deleting"}) }, want: []Promise{Stale}},
		"initializing for nothing":  {tell: func(s *story) { record(s, fields{"phase": "Initializing"}) }, want: []Promise{Stale}},
		"steady, though going": {tell: func(s *story) {
			record(s, fields{"phase": "Steady"})
			s.write("alice", audit.VerbPatch, deployments, "web", fields{"metadata": fields{"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": []any{"kept"}}})
		}, want: []Promise{Stale}},
		"steady, going for some seconds": {tell: func(s *story) { goes(s, 5*time.Second) }},
		"steady, going for longer":       {tell: func(s *story) { goes(s, 10*time.Second) }, want: []Promise{Stale}},
		"what it is allowed": {tell: func(s *story) {
			scales(s, allowed)
			record(s, fields{"phase": "Steady", "active": []any{allowed}, "activeCount": 1})
		}},
		"what it was allowed": {tell: func(s *story) {
			scales(s, allowed)
			record(s, fields{"phase": "Steady", "active": []any{allowed}, "activeCount": 1})
			scales(s)
		}, want: []Promise{Stale}},
		"that it waits, which has settled": {tell: func(s *story) {
			record(s, fields{"phase": "Steady", "blocked": fields{"since": "2026-01-01T00:00:00Z"}})
		}, want: []Promise{Stale}},
		"that it waits, at work": {tell: func(s *story) {
			scales(s)
			record(s, fields{"phase": "Steady", "blocked": fields{"since": "2026-01-01T00:00:00Z"}})
		}},
		"that it waits for what is withheld no more": {tell: func(s *story) {
			scales(s)
			record(s, fields{"phase": "Steady", "blocked": fields{"since": "2026-01-01T00:00:00Z", "withheld": []any{"spec.template"}}})
		}, want: []Promise{Stale}},
		"a time": {tell: func(s *story) {
			record(s, fields{"history": []any{fields{"event": "Withheld", "time": s.at.Format(time.RFC3339)}}})
		}},
		"a time that is over": {tell: func(s *story) {
			record(s, fields{"phase": "Steady"})
			record(s, fields{"phase": "Steady", "history": []any{fields{"event": "Withheld", "time": s.at.Add(-time.Minute).Format(time.RFC3339)}}})
		}, want: []Promise{Stale}},
		"a time that is to come": {tell: func(s *story) {
			record(s, fields{"history": []any{fields{"event": "Withheld", "time": s.at.Add(time.Minute).Format(time.RFC3339)}}})
		}, want: []Promise{Stale}},
		"no stray any more, which was approved": {tell: func(s *story) { strays(s); approves(s, "*"); record(s, fields{"strays": nil}) }},
		"no stray any more, of which a part was approved": {tell: func(s *story) {
			strays(s)
			approves(s, "spec.replicas")
			record(s, fields{"strays": nil})
		}, want: []Promise{Stale}},
		"no stray any more, of which a part was approved, and that goes then": {tell: func(s *story) {
			strays(s)
			approves(s, "spec.replicas")
			record(s, fields{"strays": nil})
			s.remove(deploymentController, replicaSets, "stray")
		}, want: []Promise{Stale}},
		"no stray any more, which went": {tell: func(s *story) {
			strays(s)
			s.remove(deploymentController, replicaSets, "stray")
			record(s, fields{"strays": nil})
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			s.start(-time.Minute)
			tc.tell(s)
			s.later(20 * time.Second)
			s.write("alice", audit.VerbPatch, daemonSets, "other", map[string]any{"metadata": map[string]any{}})
			s.finds(tc.want)
		})
	}
}

// An adoption that nothing has caused is taken for one, whatever the parent is allowed.
func TestAdopted(t *testing.T) {
	for reason, want := range map[string][]Promise{"Stray": nil, "": nil, "Covered": {Uncovered}, "Maintaining": {Uncovered}} {
		t.Run(reason, func(t *testing.T) {
			s := begin(t)
			s.write("mallory", audit.VerbCreate, replicaSets, "stray", merged(s.replicaSet("web:1"), map[string]any{"metadata": map[string]any{"ownerReferences": nil}}))
			s.reason = reason
			s.write(deploymentController, audit.VerbPatch, replicaSets, "stray", map[string]any{"metadata": s.owned("Deployment", "web")})
			s.finds(want)
		})
	}
}
