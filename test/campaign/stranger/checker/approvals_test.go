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

// What was approved is withheld no more.
func TestClung(t *testing.T) {
	withheld := entry{Relation: withheldRelation, Mutation: "spec.minReadySeconds", Generation: 2, Initiator: "mallory", Content: "0123456789ab"}
	tests := map[string]struct {
		by, what string
		left     []entry
		want     []Promise
	}{
		"all of it":                 {by: "alice", what: "*"},
		"all of it, in vain":        {by: "alice", what: "*", left: []entry{withheld}, want: []Promise{Clung}},
		"another field":             {by: "alice", what: "spec.replicas", left: []entry{withheld}},
		"what is above it, in vain": {by: "alice", what: "spec", left: []entry{withheld}, want: []Promise{Clung}},
		"it, in vain":               {by: "alice", what: "spec.minReadySeconds", left: []entry{withheld}, want: []Promise{Clung}},
		"it as it is, in vain":      {by: "alice", what: "spec.minReadySeconds@0123456789ab", left: []entry{withheld}, want: []Promise{Clung}},
		"it as it was":              {by: "alice", what: "spec.minReadySeconds@ba9876543210", left: []entry{withheld}},
		"what is not there":         {by: "alice", what: "spec.template.spec.minReadySeconds", left: []entry{withheld}},
		"all of it, by a stranger":  {by: "mallory", what: "*", left: []entry{withheld}},
		"all of it that bob may":    {by: "bob", what: "*", left: []entry{withheld}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			if tc.by == "bob" {
				s.share()
			}
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"minReadySeconds": 3}))
			s.write(tc.by, audit.VerbPatch, deployments, "web", merged(ledgerNote(t, tc.left...), map[string]any{"metadata": map[string]any{
				"annotations": map[string]any{"kausality.io/approve": tc.what},
			}}))
			s.finds(tc.want)
		})
	}
}

// What somebody has changed since it was looked at is not approved.
func TestUnseen(t *testing.T) {
	held := func(content string) entry {
		return entry{Relation: withheldRelation, Mutation: "spec.minReadySeconds", Generation: 2, Initiator: "mallory", Content: content}
	}
	tests := map[string]struct {
		what string
		left []entry
		want []Promise
	}{
		"as it is":                         {what: "spec.minReadySeconds@222222222222"},
		"as it was":                        {what: "spec.minReadySeconds@111111111111", want: []Promise{Unseen}},
		"as it was, which is no approval":  {what: "spec.minReadySeconds@111111111111", left: []entry{held("222222222222")}},
		"as nobody knows":                  {what: "spec.minReadySeconds@333333333333"},
		"as it was, and whatever it is":    {what: "spec.minReadySeconds@111111111111,spec.minReadySeconds"},
		"as it was, and all that is there": {what: "spec.minReadySeconds@111111111111,*"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			for i, content := range []string{"111111111111", "222222222222"} {
				s.write("mallory", audit.VerbPatch, deployments, "web", merged(spec(map[string]any{"minReadySeconds": 3 + i}), ledgerNote(t, held(content))))
			}
			s.write("alice", audit.VerbPatch, deployments, "web", merged(ledgerNote(t, tc.left...), map[string]any{"metadata": map[string]any{
				"annotations": map[string]any{"kausality.io/approve": tc.what},
			}}))
			s.finds(tc.want)
		})
	}
}
