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
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/policy"
)

func TestCommand(t *testing.T) {
	partial := `
for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
subjects: [{kind: User, name: mallory, mayInitiate: true}, {kind: ServiceAccount, namespace: kube-system, name: deployment-controller}]
rules:
- trigger: "spec.template.spec.containers[*].image"
  policies: [{target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create]}]
`
	const scaling = "for: {apiGroup: apps, apiVersion: v1, kind: Deployment}\nsubjects: [{kind: Group, name: platform-team, mayInitiate: true}]\nrules: [{trigger: spec.replicas}]"
	const warning = "for: {apiGroup: apps, apiVersion: v1, kind: Deployment}\nsubjects: [{kind: Group, name: platform-team, mayInitiate: true}]\nrules: [{trigger: spec.template}]\nvalidationActions: [Warn]"
	tests := map[string]struct {
		requester policy.Requester
		specs     []string
		glass     string
		frozen    bool
		none      bool
		refused   bool
		want      []string
	}{
		"a stranger":                                   {requester: mallory, refused: true},
		"who may use allowances":                       {requester: deployer, refused: true},
		"an initiator":                                 {requester: alice, want: []string{"create", "spec.replicas"}},
		"a service account that may":                   {requester: robot, want: []string{"create", "spec.replicas"}},
		"an initiator whom a condition stops":          {requester: alice, frozen: true, refused: true},
		"who breaks the glass":                         {requester: mallory, glass: "it burns", want: []string{"create", "spec.replicas"}},
		"an initiator of a part":                       {requester: mallory, specs: []string{deploymentSpec, partial}, refused: true, want: []string{"create"}},
		"where no rule is about the template":          {requester: mallory, specs: []string{scaling}},
		"where nobody is refused":                      {requester: mallory, specs: []string{warning}},
		"a stranger who gives none":                    {requester: mallory, none: true},
		"where changes are refused that have no cause": {requester: mallory, specs: []string{"uncausedChanges: Refuse\n" + deploymentSpec}, refused: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.specs == nil {
				tc.specs = []string{deploymentSpec}
			}
			r := aRequest(tc.requester, Update, deploymentGVK, "web")
			for i, spec := range tc.specs {
				r = r.governed(append(r.OwnPolicies, compile(t, string(rune('a'+i)), spec))...)
			}
			r.BreakGlass = tc.glass
			if tc.frozen {
				r.Child.New = map[string]any{"metadata": map[string]any{"labels": map[string]any{"frozen": "yes"}}}
			}
			if command, _ := policy.CommandOf(deploymentGVK.GroupKind()); !tc.none {
				r.Command = &command
			}
			grant := Grants(t.Context(), &r.Input, Decide(t.Context(), &r.Input))
			var withheld []string
			for _, w := range grant.Withheld {
				withheld = append(withheld, w.Mutation+" by "+w.Initiator)
			}
			var wantWithheld []string
			if tc.refused {
				wantWithheld = []string{"spec.rollbackTo by " + tc.requester.Username}
			}
			if diff := cmp.Diff(wantWithheld, withheld); diff != "" || grant.Refuse != tc.refused {
				t.Errorf("refused: %v (-want +got):\n%s", grant.Refuse, diff)
			}
			if diff := cmp.Diff(tc.want, mutations(grant.Allowances)); diff != "" {
				t.Errorf("allowances (-want +got):\n%s", diff)
			}
			for _, a := range grant.Allowances {
				if last := a.Trace[len(a.Trace)-1]; last.Field != "spec.rollbackTo" {
					t.Errorf("the trace ends with %s", last.Field)
				}
			}
		})
	}
}

// TestObeys has what a controller carries out be caused by who gave the command, and by nobody
// where no allowance says so.
func TestObeys(t *testing.T) {
	commanded := allowance("ReplicaSet", "spec.replicas", "spec.rollbackTo")
	other := allowance("ReplicaSet", "create", "spec.template")
	tests := map[string]struct {
		requester policy.Requester
		path      string
		has       []v1alpha1.Allowance
		keeps     bool
		want      []string
	}{
		"its controller": {requester: deployer, has: []v1alpha1.Allowance{other, commanded}, want: []string{"alice", "spec.rollbackTo"}},
		"its controller, of a command nobody gave": {requester: deployer, has: []v1alpha1.Allowance{other}},
		"its controller, of something else":        {requester: deployer, has: []v1alpha1.Allowance{commanded}, path: "spec.replicas"},
		"its controller, which leaves the command": {requester: deployer, has: []v1alpha1.Allowance{commanded}, keeps: true},
		"a stranger":         {requester: mallory, has: []v1alpha1.Allowance{commanded}},
		"another controller": {requester: serviceAccount("shop", "other"), has: []v1alpha1.Allowance{commanded}},
		"an initiator, who starts a chain of her own": {requester: policy.Requester{Username: "carol", Groups: []string{"platform-team"}}, has: []v1alpha1.Allowance{commanded}, want: []string{"carol"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			own := compile(t, "web", deploymentSpec)
			r := aRequest(tc.requester, Update, deploymentGVK, "web").governed(own)
			r.Child.Ledger = r.Child.Ledger.Merge(tc.has...)
			if command, _ := policy.CommandOf(deploymentGVK.GroupKind()); !tc.keeps {
				r.Obeys = &command
			}
			if tc.path == "" {
				tc.path = "spec.template.spec.containers"
			}
			g := granter{Input: &r.Input, verdict: Verdict{Allowed: true, Reason: ReasonRoot}}
			var got []string
			if c, ok := g.chain(own, change.Change{Path: mustPath(t, tc.path), Verb: change.Mutate, Old: "1", New: "2"}, false); ok {
				got = []string{c.initiator}
				for _, hop := range c.trace {
					got = append(got, hop.Field)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("cause (-want +got):\n%s", diff)
			}
		})
	}
}
