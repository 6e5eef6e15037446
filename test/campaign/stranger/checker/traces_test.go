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
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/test/campaign/audit"
)

// noted is a ledger as the annotation of a Deployment has it.
func noted(t *testing.T, entries ...entry) map[string]any {
	t.Helper()
	raw, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kausality.io/allowances": string(raw)}}}
}

// What ledgers say of who did what is so, field by field.
func TestLedgers(t *testing.T) {
	withheld := func(user, field string) entry {
		return entry{Relation: withheldRelation, Mutation: field, Generation: 2, Initiator: user}
	}
	allows := func(mutation, field string) entry {
		return entry{
			Kind: "ReplicaSet", Mutation: mutation, Generation: 2, Initiator: "alice",
			Trace: []hop{{Kind: "Deployment", Name: "web", Generation: 2, Field: field}},
		}
	}
	approved := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kausality.io/approve": "spec.replicas@0123456789ab"}}}
	scales := spec(map[string]any{"replicas": 3})
	tests := map[string]struct {
		by   string
		with map[string]any
		note entry
		// later is a change by alice after it.
		later map[string]any
		// restarted is true where an operator was started after it.
		restarted, known bool
		want             []Promise
	}{
		"withheld":                          {by: "mallory", with: scales, note: withheld("mallory", "spec.replicas")},
		"withheld, in a part":               {by: "mallory", with: spec(map[string]any{"template": template("x:1")}), note: withheld("mallory", "spec.template.spec.containers[name=main].image")},
		"withheld, of somebody else":        {by: "mallory", with: scales, note: withheld("bob", "spec.replicas"), want: []Promise{Forged}},
		"withheld, of who may":              {by: "alice", with: scales, note: withheld("alice", "spec.replicas"), want: []Promise{Forged}},
		"withheld, another field":           {by: "mallory", with: scales, note: withheld("mallory", "spec.template"), want: []Promise{Forged}},
		"withheld, nobody named":            {by: "mallory", with: scales, note: withheld("", "spec.replicas"), known: true, want: []Promise{Forged}},
		"withheld, nobody was there":        {by: "mallory", with: scales, note: withheld("", "spec.replicas"), known: true, restarted: true},
		"allowed":                           {by: "alice", with: scales, note: allows("spec.replicas", "spec.replicas")},
		"allowed, for another field":        {by: "alice", with: scales, note: allows("spec.replicas", "spec.template"), want: []Promise{Forged}},
		"allowed, what no rule allows":      {by: "alice", with: scales, note: allows("create", "spec.replicas"), want: []Promise{Forged}},
		"allowed, what a section allows":    {by: "alice", with: scales, note: allows("create", "(initializing)")},
		"approved":                          {by: "mallory", with: scales, note: allows("spec.replicas", "spec.replicas"), later: approved},
		"another field approved":            {by: "mallory", with: scales, note: allows("spec.replicas", "spec.template"), later: approved, want: []Promise{Forged}},
		"allowed, to who was overruled":     {by: "mallory", with: scales, note: allows("spec.replicas", "spec.replicas"), want: []Promise{Forged}},
		"allowed, of a kind that is not it": {by: "alice", with: scales, note: func() entry { e := allows("spec.replicas", "spec.replicas"); e.Kind = "Pod"; return e }(), want: []Promise{Forged}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			s.write(tc.by, audit.VerbPatch, deployments, "web", tc.with)
			if tc.later != nil {
				s.write("alice", audit.VerbPatch, deployments, "web", tc.later)
			}
			if tc.known {
				s.start(-2 * time.Hour)
			}
			if tc.restarted {
				s.start(-5 * time.Second)
			}
			s.write(operatorUser, audit.VerbPatch, deployments, "web", noted(t, tc.note))
			var got []Promise
			for _, f := range s.judged().Findings {
				got = append(got, f.Promise)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFieldPath(t *testing.T) {
	for text, want := range map[string][]string{
		"spec":                               {"spec"},
		"spec.containers[0].image":           {"spec", "containers", "0", "image"},
		"metadata.labels[app.example.org/a]": {"metadata", "labels", "app.example.org/a"},
		"data['a.b'].c":                      {"data", "a.b", "c"},
		"spec.containers[name=main].image":   {"spec", "containers", "name=main", "image"},
	} {
		if diff := cmp.Diff(want, fieldPath(text)); diff != "" {
			t.Errorf("fieldPath(%q) (-want +got):\n%s", text, diff)
		}
	}
}
