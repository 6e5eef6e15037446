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

// No autoscaler goes on from a number that waits, whichever of both comes first.
func TestGoesOn(t *testing.T) {
	type fields = map[string]any
	more, fewer := spec(fields{"replicas": 3}), spec(fields{"replicas": 2})
	scales := func(s *story, user, kind string) {
		s.write(user, audit.VerbCreate, autoscalers, "hpa", spec(fields{"maxReplicas": 5, "scaleTargetRef": fields{"kind": kind, "name": "web"}}))
		s.later(time.Minute)
	}
	wants := func(s *story, user string, what fields) {
		s.write(user, audit.VerbPatch, deployments, "web", what)
		s.later(time.Minute)
	}
	approves := fields{"metadata": fields{"annotations": fields{"kausality.io/approve": "spec.replicas"}}}
	tests := map[string]struct {
		tell func(*story)
		want []Promise
	}{
		"nothing waits":              {tell: func(s *story) { scales(s, "alice", "Deployment") }},
		"a number waits":             {tell: func(s *story) { wants(s, "mallory", more); scales(s, "alice", "Deployment") }, want: []Promise{GoesOn}},
		"a number waits, lower case": {tell: func(s *story) { wants(s, "mallory", more); scales(s, "alice", "deployment") }, want: []Promise{GoesOn}},
		"a number waits of another":  {tell: func(s *story) { wants(s, "mallory", more); scales(s, "alice", "StatefulSet") }},
		"a number was put back": {tell: func(s *story) {
			wants(s, "mallory", more)
			wants(s, "mallory", fewer)
			scales(s, "alice", "Deployment")
		}},
		"a number was approved": {tell: func(s *story) {
			wants(s, "mallory", more)
			wants(s, "alice", approves)
			scales(s, "alice", "Deployment")
		}},
		"something else waits": {tell: func(s *story) {
			wants(s, "mallory", spec(fields{"minReadySeconds": 3}))
			scales(s, "alice", "Deployment")
		}},
		"it is changed while a number waits": {tell: func(s *story) {
			wants(s, "mallory", more)
			scales(s, "alice", "StatefulSet")
			s.write("alice", audit.VerbPatch, autoscalers, "hpa", spec(fields{"scaleTargetRef": fields{"kind": "Deployment", "name": "web"}}))
		}, want: []Promise{GoesOn}},
		"a number comes":            {tell: func(s *story) { scales(s, "alice", "Deployment"); wants(s, "mallory", more) }, want: []Promise{GoesOn}},
		"a number comes of another": {tell: func(s *story) { scales(s, "alice", "StatefulSet"); wants(s, "mallory", more) }},
		"a number comes by who may": {tell: func(s *story) { scales(s, "alice", "Deployment"); wants(s, "alice", more) }},
		"something else comes": {tell: func(s *story) {
			scales(s, "alice", "Deployment")
			wants(s, "mallory", spec(fields{"minReadySeconds": 3}))
		}},
		"a number comes once it scales none": {tell: func(s *story) {
			scales(s, "alice", "Deployment")
			s.remove("alice", autoscalers, "hpa")
			s.later(time.Minute)
			wants(s, "mallory", more)
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
