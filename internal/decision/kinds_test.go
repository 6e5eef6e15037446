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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/policy"
)

const actedSpec = `
knowledge: {actions: [{path: status.promote}, {path: status.stop}]}
for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
subjects:
- {kind: Group, name: platform-team, mayInitiate: true}
- {kind: ServiceAccount, namespace: kube-system, name: deployment-controller}
`

const actedRules = `
rules:
- trigger: spec.replicas
  policies:
  - {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, mutations: [{jsonPath: spec.replicas}]}
`

// What people do through the status is refused, or allows what is said of it.
func TestActions(t *testing.T) {
	const hers = `
for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
subjects: [{kind: User, name: mallory, mayInitiate: true}]
knowledge: {actions: [{path: status.promote}, {path: status.stop}]}
`
	tests := map[string]struct {
		spec        string
		requester   policy.Requester
		above       bool
		glass       string
		let         Reason
		operator    bool
		besides     string // the spec of another policy
		reports     bool
		wantRefused bool
		want        []string
	}{
		"a stranger":                                     {requester: mallory, wantRefused: true},
		"a stranger's service account":                   {requester: robot, wantRefused: true},
		"an initiator":                                   {requester: alice, want: []string{"spec.replicas"}},
		"an initiator above":                             {requester: mallory, above: true, want: []string{"spec.replicas"}},
		"the operator":                                   {requester: robot, operator: true, reports: true},
		"who reports, and may initiate above":            {requester: deployer, above: true, want: []string{"spec.replicas"}},
		"rules of another action, and nobody is refused": {spec: "validationActions: [Warn]\nrules: [{trigger: status.stop}]", requester: mallory},
		"a stranger, whom another policy lets initiate":  {requester: mallory, besides: hers + actedRules, want: []string{"spec.replicas"}},
		"a stranger, whom a policy for other actions lets initiate": {
			spec: "rules: [{trigger: status.stop}]", requester: mallory, besides: hers + actedRules, want: []string{"spec.replicas"}, wantRefused: true,
		},
		"who breaks the glass":              {requester: mallory, glass: "it burns", want: []string{"spec.replicas"}},
		"who reports":                       {requester: deployer, reports: true},
		"a stranger, and nobody is refused": {spec: "validationActions: [Warn]" + actedRules, requester: mallory},
		"a rule of its own": {
			spec:      actedRules + "- trigger: status.promote\n  policies:\n  - {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Create]}\n",
			requester: alice, want: []string{"create"},
		},
		"a rule that nobody's change meets": {
			spec: strings.Replace(actedRules, "policies:", "conditions: [\"false\"]\n  policies:", 1), requester: alice, wantRefused: true,
		},
		"a rule that nobody's change meets, and who breaks the glass": {
			spec: strings.Replace(actedRules, "policies:", "conditions: [\"false\"]\n  policies:", 1), requester: mallory, glass: "it burns",
			want: []string{"spec.replicas"},
		},
		"rules that ask for different things, of which one is not there": {
			spec:      actedRules + "- trigger: spec.template\n  conditions: [\"false\"]\n  policies:\n  - {target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create]}\n",
			requester: alice, wantRefused: true, want: []string{"spec.replicas"},
		},
		"rules for the same target, of which one holds": {
			spec:      actedRules + "- trigger: spec.template\n  conditions: [\"false\"]\n  policies:\n  - {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Create]}\n",
			requester: alice, want: []string{"spec.replicas"},
		},
		"rules of another action, and an initiator": {spec: "rules: [{trigger: status.stop}]", requester: alice},
		"rules of another action, and a stranger":   {spec: "rules: [{trigger: status.stop}]", requester: mallory, wantRefused: true},
		"no rules": {spec: "rules: []", requester: mallory},
		// What was let through of a child has to go on below it, and what people may do of what is
		// new they may not do through its status.
		"a stranger, of a child whose parent's policy warns":    {requester: mallory, let: ReasonWarned, want: []string{"spec.replicas"}},
		"a stranger, of a child whose parent is new":            {requester: mallory, let: ReasonInitializing, wantRefused: true},
		"a stranger, of a child that is maintained":             {requester: mallory, let: ReasonMaintaining, wantRefused: true},
		"a stranger, of a child whose parent is adopting":       {requester: mallory, let: ReasonAdopting, wantRefused: true},
		"a service account, of a child whose parent is new":     {requester: robot, let: ReasonInitializing, want: []string{"spec.replicas"}},
		"a service account, of a child that is maintained":      {requester: robot, let: ReasonMaintaining, want: []string{"spec.replicas"}},
		"a service account, of a child with an adopting parent": {requester: robot, let: ReasonAdopting, want: []string{"spec.replicas"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.spec == "" {
				tc.spec = actedRules
			}
			r := aRequest(tc.requester, Update, deploymentGVK, "web").governed(compile(t, "web", actedSpec+tc.spec))
			if tc.besides != "" {
				r.OwnPolicies = append(r.OwnPolicies, compile(t, "besides", tc.besides))
			}
			r.AncestorInitiator, r.BreakGlass, r.Operator = tc.above, tc.glass, tc.operator
			if got := r.ReportsStatus(); got != tc.reports {
				t.Fatalf("reports: %v, want %v", got, tc.reports)
			}
			if !tc.reports {
				r.Actions = []change.Change{{Path: mustPath(t, "status.promote"), Verb: change.Insert, New: true}}
			}
			verdict := Decide(t.Context(), &r.Input)
			if tc.let != "" {
				verdict = Verdict{Allowed: true, Reason: tc.let}
			}
			grant := Grants(t.Context(), &r.Input, verdict)
			if actions := len(r.Actions) > 0 && !strings.Contains(tc.spec, "rules: []"); grant.Incomplete() != (actions && (tc.wantRefused || len(tc.want) == 0)) {
				t.Errorf("incomplete: %v, with actions %v", grant.Incomplete(), actions)
			}
			if grant.Refuse != tc.wantRefused || len(grant.Withheld) > 0 != tc.wantRefused {
				t.Errorf("refused: %v (%v), want %v", grant.Refuse, grant.Withheld, tc.wantRefused)
			}
			if diff := cmp.Diff(tc.want, mutations(grant.Allowances)); diff != "" {
				t.Errorf("allowances (-want +got):\n%s", diff)
			}
			for _, a := range grant.Allowances {
				if last := a.Trace[len(a.Trace)-1]; last.Field != "status.promote" {
					t.Errorf("the trace ends with %s, want the action", last.Field)
				}
			}
		})
	}
}

// What is new for as long as nobody can tell frees no people.
func TestBlind(t *testing.T) {
	created := allowance("*", "*", v1alpha1.FieldCreated)
	tests := map[string]struct {
		requester policy.Requester
		blind     bool
		wantCause bool
		wantChild Reason
	}{
		"a stranger, and the status tells": {requester: mallory, wantCause: true, wantChild: ReasonInitializing},
		"a stranger":                       {requester: mallory, blind: true, wantChild: ReasonDenied},
		"its controller":                   {requester: deployer, blind: true, wantCause: true, wantChild: ReasonInitializing},
		"an initiator":                     {requester: alice, blind: true, wantCause: true, wantChild: ReasonInitializing},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			web := compile(t, "web", deploymentSpec)
			r := aRequest(tc.requester, Update, deploymentGVK, "web").governed(web).holding(created).
				changing(t, int64(1), int64(2), "spec.replicas")
			r.Child.Blind = tc.blind
			grant := Grants(t.Context(), &r.Input, Verdict{Allowed: true, Reason: ReasonRoot})
			if got := len(grant.Withheld) == 0; got != tc.wantCause {
				t.Errorf("has a cause: %v, want %v", got, tc.wantCause)
			}
			child := aRequest(tc.requester, Delete, replicaSetGVK, "web-1").of(deploymentGVK, "web", []*policy.Policy{web}, created)
			child.Parent.Blind = tc.blind
			if v := Decide(t.Context(), &child.Input); v.Reason != tc.wantChild {
				t.Errorf("verdict on a child is %s, want %s", v.Reason, tc.wantChild)
			}
		})
	}
}

// What is withheld of a parent does not show in the metadata of its children.
func TestCarried(t *testing.T) {
	const parent = `
for: {apiGroup: cloud.example.com, apiVersion: v1, kind: Bucket}
subjects:
- {kind: Group, name: platform-team, mayInitiate: true}
- {kind: ServiceAccount, namespace: kube-system, name: deployment-controller}
rules:
- trigger: spec
  policies:
  - {target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Update]}
`
	annotation := func(key string, before, after any) change.Change {
		return change.Change{Path: change.Path{}.Field("metadata").Field("annotations").Field(key), Verb: change.Mutate, Old: before, New: after}
	}
	withheld := map[string]any{"annotations": map[string]any{"example.org/team": "their-team", "example.org/n": "12", "example.org/short": "blue"}}
	r := aRequest(deployer, Update, podGVK, "a").of(bucketGVK, "b", []*policy.Policy{compile(t, "b", parent)})
	r.beingOf(map[string]any{"spec": map[string]any{"secretTemplate": map[string]any{"annotations": map[string]any{"example.org/owner": "our-team"}}}}, map[string]any{"spec": map[string]any{"secretTemplate": withheld}})
	if !r.CarriesMetadata() {
		t.Fatal("its metadata does not count")
	}
	tests := map[string]struct {
		change change.Change
		want   bool
	}{
		"its key and value":          {annotation("example.org/team", nil, "their-team"), true},
		"its key":                    {annotation("example.org/team", "ours", nil), true},
		"its value under another":    {annotation("copied/team", nil, "of their-team"), true},
		"its value, taken back":      {annotation("copied", "their-team", nil), true},
		"the value that was there":   {annotation("copied", nil, "our-team"), true},
		"the key that was there":     {annotation("example.org/owner", nil, "us"), true},
		"a short text":               {annotation("copied", nil, "blue"), true},
		"a short text within others": {annotation("books", nil, "blueprints of 13"), false},
		"a text that is too short":   {annotation("books", nil, "12"), false},
		"something else":             {annotation("deployment.kubernetes.io/revision", "1", "2"), false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := len(r.Carried([]change.Change{tc.change})) > 0; got != tc.want {
				t.Errorf("shows what is withheld: %v, want %v", got, tc.want)
			}
		})
	}
	for name, who := range map[string]policy.Requester{"an initiator": alice, "a stranger": mallory} {
		if r.Requester = who; r.CarriesMetadata() {
			t.Errorf("the metadata that %s writes counts", name)
		}
	}
	if r.Requester, r.ParentState = deployer, ParentGone; r.CarriesMetadata() {
		t.Error("the metadata counts of a child whose parent is gone")
	}
	asApproved := aRequest(deployer, Update, podGVK, "a").of(bucketGVK, "b", []*policy.Policy{compile(t, "b", parent)})
	if asApproved.CarriesMetadata() {
		t.Error("the metadata counts of a child whose parent is as approved")
	}
	deployment := aRequest(deployer, Update, replicaSetGVK, "a").of(deploymentGVK, "web", []*policy.Policy{compile(t, "web", deploymentSpec)}).
		ofWithheld(t, "spec.replicas", nil)
	if deployment.CarriesMetadata() {
		t.Error("the metadata of what is made of a template counts")
	}
}
