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

package decision

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/internal/policy"
)

// manyChanges returns a request that changes thousands of fields, each of which triggers
// a rule whose condition is about all of them.
func manyChanges(tb testing.TB, who policy.Requester, condition string) *Input {
	tb.Helper()
	p := compile(tb, "wide", fmt.Sprintf(`
for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
rules:
- trigger: spec
  conditions: [%q]
  policies:
  - {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Create], mutations: [{jsonPath: spec}]}
`, condition))
	before, after := map[string]any{}, map[string]any{}
	for i := range 5000 {
		before[fmt.Sprint("f", i)], after[fmt.Sprint("f", i)] = "a", "b"
	}
	return &aRequest(who, Update, deploymentGVK, "web").governed(p).
		replacing(map[string]any{"spec": before}, map[string]any{"spec": after}).Input
}

const aboutAll = "object.spec.all(f, object.spec[f] == 'b')"

func TestManyChanges(t *testing.T) {
	in := manyChanges(t, alice, aboutAll)
	got := inShort(Grants(t.Context(), in, Decide(t.Context(), in)))
	want := outcome{Granted: []string{"ReplicaSet create by alice", "ReplicaSet spec by alice"}, Trace: []string{"Deployment/web spec.f0"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("grant (-want +got):\n%s", diff)
	}
	in = manyChanges(t, mallory, aboutAll)
	if diff := cmp.Diff([]string{"spec"}, mutations(Grants(t.Context(), in, Decide(t.Context(), in)).Withheld)); diff != "" {
		t.Errorf("withheld (-want +got):\n%s", diff)
	}
}

// Of several conditions each has to hold.
func TestAllConditionsHold(t *testing.T) {
	const ticket, reviewed = "has(object.metadata.labels['ticket'])", "has(object.metadata.labels['reviewed'])"
	p := compile(t, "reviewed", fmt.Sprintf(`
for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
rules:
- trigger: spec.replicas
  conditions: [%q, %q]
  policies:
  - {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Delete]}
`, ticket, reviewed))
	for name, tc := range map[string]struct {
		labels []string
		// glass is the reason for which it is broken; approves is true where the request changes nothing, and approves.
		glass         string
		approves      bool
		granted, held []string
		problem       string
	}{
		"both hold":                 {labels: []string{"ticket", "reviewed"}, granted: []string{"ReplicaSet delete by alice"}},
		"only the first":            {labels: []string{"ticket"}, held: []string{"spec.replicas"}, problem: reviewed},
		"only the second":           {labels: []string{"reviewed"}, held: []string{"spec.replicas"}, problem: ticket},
		"neither":                   {held: []string{"spec.replicas"}, problem: ticket},
		"who breaks the glass":      {glass: "it burns", granted: []string{"ReplicaSet delete by alice"}},
		"what is there already":     {glass: "it burns", approves: true, problem: ticket},
		"both hold, with the glass": {labels: []string{"ticket", "reviewed"}, glass: "it burns", granted: []string{"ReplicaSet delete by alice"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := aRequest(alice, Update, deploymentGVK, "web").changing(t, int64(3), int64(5), "spec.replicas").governed(p)
			for _, label := range tc.labels {
				r.having(t, "metadata.labels["+label+"]", "yes")
			}
			r.BreakGlass = tc.glass
			if tc.approves {
				r.Approved, r.OwnChanges = r.OwnChanges, nil
			}
			got := Grants(t.Context(), &r.Input, Decide(t.Context(), &r.Input))
			if diff := cmp.Diff(tc.granted, inShort(got).Granted); diff != "" {
				t.Errorf("granted (-want +got):\n%s", diff)
			}
			for _, a := range got.Allowances {
				if reason := a.Trace[0].Attestations[BreakGlassAttestation]; (reason != "") != (tc.glass != "" && len(tc.labels) == 0) {
					t.Errorf("the trace says that the glass was broken for %q", reason)
				}
			}
			if diff := cmp.Diff(tc.held, mutations(got.Withheld)); diff != "" {
				t.Errorf("withheld (-want +got):\n%s", diff)
			}
			problem := ""
			if len(got.Problems) > 0 {
				problem = got.Problems[0].Expression
			}
			if diff := cmp.Diff(tc.problem, problem); diff != "" {
				t.Errorf("problem (-want +got):\n%s", diff)
			}
		})
	}
}

// Conditions that each cost all that one may leave nothing for those that come after.
func TestConditionsShareABudget(t *testing.T) {
	for name, tc := range map[string]struct {
		costly int
		want   []string
	}{
		"enough is left":  {costly: 2, want: []string{"ReplicaSet delete by alice"}},
		"nothing is left": {costly: 3},
	} {
		t.Run(name, func(t *testing.T) {
			var spec strings.Builder
			rule := func(condition string) {
				fmt.Fprintf(&spec, `
- trigger: spec
  conditions: [%q]
  policies:
  - {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Delete]}`, condition)
			}
			spec.WriteString(`
for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
rules:`)
			for i := range tc.costly {
				rule(fmt.Sprintf("object.list.all(a, object.list.all(b, object.list.all(c, object.list.all(d, a + b + c + d >= -%d))))", i))
			}
			rule("object.spec.size() > 0")
			in := manyChanges(t, alice, "true")
			in.Child.New["list"] = slices.Repeat([]any{int64(1)}, 200)
			in.OwnPolicies = []*policy.Policy{compile(t, "costly", spec.String())}
			got := inShort(Grants(t.Context(), in, Decide(t.Context(), in)))
			if diff := cmp.Diff(tc.want, got.Granted); diff != "" {
				t.Errorf("granted (-want +got):\n%s", diff)
			}
		})
	}
}

func BenchmarkManyChanges(b *testing.B) {
	in := manyChanges(b, alice, aboutAll)
	b.ReportAllocs()
	for b.Loop() {
		Grants(b.Context(), in, Decide(b.Context(), in))
	}
}
