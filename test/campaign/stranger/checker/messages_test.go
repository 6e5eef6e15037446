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

	"kausality.io/operator/test/campaign/audit"
)

// Values of strangers are in nothing that the operator tells people, and names may be.
func TestMessages(t *testing.T) {
	const denied = `admission webhook "verdict-fail.kausality.io" denied the request: `
	refused := func(s *story, message string) {
		s.message = message
		s.event("mallory", audit.VerbPatch, replicaSets, "", "web-1", 403, spec(map[string]any{"paused": "zq8z"}), map[string]any{"kind": "Status"})
	}
	tests := map[string]struct {
		tell func(*story)
		want []Promise
	}{
		"nothing": {tell: func(*story) {}},
		"an Event": {tell: func(s *story) {
			s.write(operatorUser, audit.VerbCreate, events, "e", map[string]any{"note": "the image is zq7z:1"})
		}, want: []Promise{Told}},
		"an Event of somebody else": {tell: func(s *story) {
			s.write("system:node:one", audit.VerbCreate, events, "e", map[string]any{"note": "the image is zq7z:1"})
		}},
		"an Event that says a name": {tell: func(s *story) {
			s.write("mallory", audit.VerbPatch, configMaps, "app", map[string]any{"data": map[string]any{"zq7z": "a"}})
			s.write(operatorUser, audit.VerbCreate, events, "e", map[string]any{"note": "data[zq7z]"})
		}},
		"a refusal":                     {tell: func(s *story) { refused(s, denied+"it is zq8z") }, want: []Promise{Told}},
		"a refusal of the API server's": {tell: func(s *story) { refused(s, `spec.paused: Invalid value: "zq8z"`) }},
		"a record": {tell: func(s *story) {
			s.write(operatorUser, audit.VerbCreate, records, "r", map[string]any{"status": map[string]any{"lastDenial": map[string]any{"message": "zq7z"}}})
		}, want: []Promise{Told}},
		"a ledger that is kept raw": {tell: func(s *story) {
			s.write(operatorUser, audit.VerbCreate, records, "r", map[string]any{"status": map[string]any{"rawLedger": "zq7z"}})
		}},
		"a condition": {tell: func(s *story) {
			s.write(operatorUser, audit.VerbPatch, "deployments/status", "web", map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"message": "zq7z"}}}})
		}, want: []Promise{Told}},
		"what was approved": {tell: func(s *story) {
			s.write(operatorUser, audit.VerbPatch, deployments, "web", map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kausality.io/approved": "zq7z"}}})
		}},
		"the audit log": {tell: func(s *story) {
			s.notes = map[string]any{"verdict-fail.kausality.io/uncovered": "spec.replicas is 7000006"}
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 7000006}))
		}, want: []Promise{Told}},
		"what the API server says that the operator wrote": {tell: func(s *story) {
			s.notes = map[string]any{"patch.webhook.admission.k8s.io/round_0_index_0": "zq7z"}
			s.write("mallory", audit.VerbPatch, deployments, "web", map[string]any{})
		}},
		"the operator's log": {tell: func(s *story) {
			s.said = `{"level":"info","ts":"2026-01-01T00:00:42Z","msg":"it is zq7z"}` + "\n"
		}, want: []Promise{Told}},
		"the operator's log says what nobody wrote": {tell: func(s *story) { s.said = "zq99z" }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("zq7z:1")}))
			tc.tell(s)
			s.finds(tc.want)
		})
	}
}
