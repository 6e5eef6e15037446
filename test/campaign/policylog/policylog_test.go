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

package policylog

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/test/campaign/audit"
)

// An entry lets happen what it names, and nothing else.
func TestPermissionLets(t *testing.T) {
	const text = `{"target":{"resource":"replicasets"},"verbs":["Create"],"mutations":[{"jsonPath":"spec.replicas","verbs":["Mutate"]},{"jsonPath":"spec.items[*].size"}]}`
	var p Permission
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	path := func(text, verb string) audit.Change { return audit.Change{Path: PathOf(text), Verb: verb} }
	tests := map[string]struct {
		resource string
		change   audit.Change
		want     bool
	}{
		"creation":           {"replicasets", audit.Change{Verb: audit.Makes}, true},
		"deletion":           {"replicasets", audit.Change{Verb: audit.Ends}, false},
		"a field":            {"replicasets", path("spec.replicas", audit.Mutates), true},
		"by another verb":    {"replicasets", path("spec.replicas", audit.Drops), false},
		"another field":      {"replicasets", path("spec.template", audit.Mutates), false},
		"one of a list":      {"replicasets", path("spec.items[3].size", audit.Mutates), true},
		"another of a list":  {"replicasets", path("spec.items[3].name", audit.Mutates), false},
		"a longer name":      {"replicasets", path("spec.replicasAndMore", audit.Mutates), false},
		"another resource":   {"pods", audit.Change{Verb: audit.Makes}, false},
		"what is above both": {"replicasets", path("spec", audit.Mutates), false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := p.Lets(tc.resource, tc.change); got != tc.want {
				t.Errorf("Lets() = %t, want %t", got, tc.want)
			}
		})
	}
}

// When policies are in effect follows from what was written, and from nothing before that.
func TestRead(t *testing.T) {
	at := func(second int) string {
		return time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC).Format("2006-01-02T15:04:05.000000Z07:00")
	}
	event := func(second int, verb, sub, answer string) string {
		return `{"verb":"` + verb + `","user":{"username":"admin"},"requestURI":"/apis","responseStatus":{"code":200},` +
			`"objectRef":{"resource":"allowancepolicies","subresource":"` + sub + `","name":"web"},` +
			`"requestReceivedTimestamp":"` + at(second) + `","stageTimestamp":"` + at(second) + `","responseObject":` + answer + "}\n"
	}
	version := func(uid, revision, generation, enforced string) string {
		return `{"kind":"AllowancePolicy","metadata":{"name":"web","uid":"` + uid + `","resourceVersion":"` + revision + `","generation":` + generation + `},` +
			`"spec":{"for":{"kind":"Deployment"},"subjects":[{"kind":"User","name":"alice","mayInitiate":true}]},` +
			`"status":{"conditions":[{"type":"Enforced","status":"True","observedGeneration":` + enforced + `}]}}`
	}
	text := event(10, "create", "", version("a", "1", "1", "0")) + event(12, "patch", "status", version("a", "2", "1", "1")) +
		event(20, "patch", "", version("a", "3", "2", "1")) + event(22, "patch", "status", version("a", "4", "2", "2")) +
		event(30, "delete", "", `{"kind":"Status","details":{"uid":"a"}}`) +
		event(40, "create", "", version("b", "5", "1", "0")) + event(42, "patch", "status", version("b", "6", "1", "1"))
	log, err := audit.Read(strings.NewReader(text), audit.Kinds{"allowancepolicies": "AllowancePolicy"})
	if err != nil {
		t.Fatal(err)
	}
	lives := audit.Lives(log.Writes)
	policies, err := Read([]*audit.Life{lives["a"], lives["b"]}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for second, want := range map[int]bool{5: false, 11: false, 15: true, 21: true, 25: true, 35: false, 41: false, 45: true} {
		now := time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC)
		if got := policies.Standing("Deployment", "deployments", now, now); len(got) > 0 != want {
			t.Errorf("%d policies stand in second %d, want any: %t", len(got), second, want)
		}
	}
}

// Which policies are in effect, by whatever edit, and which only go on with what others begin.
func TestLog(t *testing.T) {
	at := func(second int) time.Time { return time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC) }
	above := &Policy{Name: "above", Since: at(0), From: at(5), Unbroken: at(5), Until: at(20), Subjects: []Subject{{MayInitiate: true}}}
	above.For.Kind = "Deployment"
	entry := Permission{}
	entry.Target.Resource = "replicasets"
	above.Rules = []Rule{{Trigger: "spec", Policies: []Permission{entry}}}
	edited := &Policy{Name: "edited", Since: at(20), From: at(25), Unbroken: at(5), Until: audit.Forever, Subjects: above.Subjects, Rules: above.Rules}
	edited.For.Kind = "Deployment"
	below := &Policy{Name: "below", Since: at(0), From: at(6), Unbroken: at(6), Until: audit.Forever}
	below.For.Kind = "ReplicaSet"
	policies := Log{above, edited, below}

	names := func(all []*Policy) []string {
		out := []string{}
		for _, p := range all {
			out = append(out, p.Name)
		}
		return out
	}
	tests := map[string]struct{ got, want []string }{
		"in effect":                    {names(policies.During("Deployment", false, at(10), at(15))), []string{"above"}},
		"not yet":                      {names(policies.During("Deployment", false, at(3), at(15))), []string{}},
		"while an edit is on its way":  {names(policies.During("Deployment", false, at(21), at(22))), []string{}},
		"what both say, meanwhile":     {names(policies.Standing("Deployment", "deployments", at(21), at(22))), []string{"edited"}},
		"what both say, all the while": {names(policies.Standing("Deployment", "deployments", at(10), at(30))), []string{"edited"}},
		"with what is above it":        {names(policies.Standing("ReplicaSet", "replicasets", at(10), at(15))), []string{"below"}},
		"which names other resources":  {names(policies.Standing("ReplicaSet", "jobs", at(10), at(15))), []string{}},
		"maybe in effect":              {names(policies.Ever("Deployment", at(21), at(22))), []string{"above", "edited"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Errorf("policies (-want +got):\n%s", diff)
			}
		})
	}
}
