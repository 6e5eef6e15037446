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

// What has settled is adopting no more.
func TestAdoptions(t *testing.T) {
	adopting := func(s *story, is bool) {
		s.write(operatorUser, audit.VerbUpdate, records, "r", map[string]any{
			"spec": map[string]any{"targetRef": map[string]any{"uid": "uid-web"}}, "status": map[string]any{"adopting": is},
		})
	}
	tests := map[string]struct {
		tell func(*story)
		want []Promise
	}{
		"for long":         {tell: func(s *story) { s.later(time.Minute) }, want: []Promise{Unending}},
		"and not any more": {tell: func(s *story) { adopting(s, false); s.later(time.Minute) }},
		"at the end":       {tell: func(*story) {}},
		"while it is changed": {tell: func(s *story) {
			s.later(-8 * time.Second)
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 3}))
			s.later(time.Minute)
		}},
		"while no operator runs": {tell: func(s *story) { s.start(-5 * time.Second); s.later(time.Minute) }},
		"of what goes":           {tell: func(s *story) { s.remove("alice", deployments, "web"); s.later(time.Minute) }},
		"as a policy comes":      {tell: func(s *story) { s.share(); adopting(s, false); s.later(time.Minute) }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			s.start(-2 * time.Hour)
			adopting(s, true)
			tc.tell(s)
			s.write("alice", audit.VerbCreate, configMaps, "last", map[string]any{})
			s.finds(tc.want)
		})
	}
}
