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

// bar is a request of somebody that the operator denies, also for the scale of a Deployment.
func (s *story) bar(user, verb, resource, name string, with map[string]any) {
	s.t.Helper()
	s.message = `admission webhook "verdict.kausality.io" denied the request: it is not allowed`
	sub := ""
	if resource == "deployments/scale" {
		resource, sub = deployments, audit.SubScale
	}
	s.event(user, verb, resource, sub, name, 403, with, map[string]any{"kind": "Status"})
	s.message = ""
}

// What may wait, or is theirs, nobody is refused.
func TestPeople(t *testing.T) {
	type fields = map[string]any
	templates := spec(fields{"template": template("web:2")})
	tests := map[string]struct {
		tell func(*story)
		want []Promise
	}{
		"an initiator": {tell: func(s *story) { s.bar("alice", audit.VerbPatch, deployments, "web", templates) }, want: []Promise{Barred}},
		"an initiator, who updates": {tell: func(s *story) {
			s.bar("alice", audit.VerbUpdate, deployments, "web", merged(s.objects["deployments/web"], templates))
		}, want: []Promise{Barred}},
		"an initiator, who scales":  {tell: func(s *story) { s.bar("alice", audit.VerbUpdate, "deployments/scale", "web", nil) }, want: []Promise{Barred}},
		"an initiator, who deletes": {tell: func(s *story) { s.bar("alice", audit.VerbDelete, deployments, "web", nil) }, want: []Promise{Barred}},
		"an initiator, as nobody can judge": {tell: func(s *story) {
			s.reason = couldNotTell
			s.bar("alice", audit.VerbDelete, deployments, "web", nil)
		}},
		"an initiator, by labels": {tell: func(s *story) {
			s.bar("alice", audit.VerbPatch, deployments, "web", fields{"metadata": fields{"labels": fields{"a": "b"}}})
		}},
		"an initiator, of a child": {tell: func(s *story) { s.bar("alice", audit.VerbPatch, replicaSets, "web-1", spec(fields{"replicas": 3})) }},
		"an initiator of one field": {tell: func(s *story) {
			s.share()
			s.bar("bob", audit.VerbPatch, deployments, "web", spec(fields{"revisionHistoryLimit": 1}))
		}},
		"a stranger, who may wait": {tell: func(s *story) { s.bar("mallory", audit.VerbPatch, deployments, "web", templates) }, want: []Promise{Barred}},
		"a stranger, of no rule": {tell: func(s *story) {
			s.bar("mallory", audit.VerbPatch, deployments, "web", spec(fields{"minReadySeconds": 3}))
		}, want: []Promise{Barred}},
		"a stranger, who cannot wait": {tell: func(s *story) {
			s.bar("mallory", audit.VerbPatch, deployments, "web", spec(fields{"revisionHistoryLimit": 1}))
		}},
		"a stranger, who scales": {tell: func(s *story) { s.bar("mallory", audit.VerbUpdate, "deployments/scale", "web", nil) }},
		"a stranger, as a policy comes": {tell: func(s *story) {
			s.share()
			s.later(-88 * time.Second)
			s.bar("mallory", audit.VerbPatch, deployments, "web", templates)
		}},
		"a stranger, who makes something": {tell: func(s *story) {
			s.bar("mallory", audit.VerbCreate, deployments, "other", merged(fields{"metadata": fields{"name": "other"}}, templates))
		}, want: []Promise{Barred}},
		"a stranger, who makes a child": {tell: func(s *story) { s.bar("mallory", audit.VerbCreate, replicaSets, "web-2", s.replicaSet("web:2")) }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			tc.tell(s)
			s.finds(tc.want)
		})
	}
}
