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

// Of several causes the first in the order of D2 counts.
func TestCauses(t *testing.T) {
	const subjects = `
for: {apiGroup: apps, apiVersion: v1, kind: ReplicaSet}
subjects:
- {kind: Group, name: platform-team, mayInitiate: true}
- {kind: ServiceAccount, namespace: ci, name: robot, mayInitiate: true}
- {kind: ServiceAccount, namespace: kube-system, name: replicaset-controller}
- {kind: User, name: helper}
`
	const pods = "{target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create, Delete]}"
	const through = "{target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create], " +
		"through: {apiGroup: apps, apiVersion: v1, resource: deployments, namedBy: [spec.config]}}"
	const bounded = "initializing: {policies: [" + pods + "]}\n"
	const rule = "rules: [{trigger: spec, policies: [" + pods + "]}]\n"
	web := []*policy.Policy{compile(t, "web", deploymentSpec)}
	helper := policy.Requester{Username: "helper"}
	deletion := &v1alpha1.Deletion{
		User: "dave", Initiator: "dave", Trace: []v1alpha1.TraceHop{{Kind: "Deployment", Name: "web", Field: v1alpha1.FieldDeleted}},
	}
	created := v1alpha1.Allowance{
		Kind: "*", Mutation: "*", Generation: 1, Initiator: "carol",
		Trace: []v1alpha1.TraceHop{{Kind: "ReplicaSet", Name: "web-1", Generation: 1, Field: v1alpha1.FieldCreated}},
	}
	covered := allowance("ReplicaSet", "spec.replicas", "spec.replicas")
	covered.Initiator = "bob"
	all := allowance("ReplicaSet", "*", "spec.template")
	all.Initiator = "bob"
	upgrade := Upgrade{Name: "v2", Initiator: "erin"}

	type test struct {
		who      policy.Requester
		op       Operation
		policies string
		with     func(*Input)
		allowed  []v1alpha1.Allowance
		verdict  Verdict
		approved bool
		insert   bool
		want     []string // the initiator and the fields of the trace; nil for no cause
	}
	isNew := func(in *Input) { in.Child.Ledger = in.Child.Ledger.Merge(created) }
	above := func(in *Input) { in.AncestorInitiator = true }
	glass := func(in *Input) { in.BreakGlass = "it burns" }
	gone := func(in *Input) { in.Deletion = deletion }
	tests := map[string]test{
		"a person who may, and an allowance":           {who: alice, allowed: []v1alpha1.Allowance{covered}, want: []string{"alice"}},
		"a service account that may, and an allowance": {who: robot, allowed: []v1alpha1.Allowance{covered}, want: []string{"bob", "spec.replicas"}},
		"a service account that may":                   {who: robot, want: []string{robot.Username}},
		"who may use it, and an allowance":             {who: deployer, allowed: []v1alpha1.Allowance{covered}, want: []string{"bob", "spec.replicas"}},
		"who may not use it, and an allowance":         {who: mallory, allowed: []v1alpha1.Allowance{covered}},
		"who may not":                                  {who: mallory},
		"who may above":                                {who: mallory, with: above},

		"an approval by a person who may":          {who: alice, approved: true, want: []string{"alice"}},
		"an approval by a service account":         {who: robot, approved: true, want: []string{robot.Username}},
		"an approval by who may above":             {who: mallory, with: above, approved: true, want: []string{"mallory"}},
		"an approval, and an allowance":            {who: deployer, approved: true, allowed: []v1alpha1.Allowance{covered}, want: []string{"bob", "spec.replicas"}},
		"an approval by who may not":               {who: mallory, approved: true, verdict: Verdict{Reason: ReasonMaintaining}},
		"an approval by who breaks the glass":      {who: mallory, approved: true, with: glass},
		"an approval while the parent is deleted":  {who: mallory, approved: true, with: gone, verdict: Verdict{Reason: ReasonDeleting}},
		"an approval of what the controller fills": {who: replicaer, approved: true, insert: true, with: isNew, policies: bounded + rule},

		"broken glass":                 {who: mallory, with: glass, want: []string{"mallory", "(breakglass)"}},
		"broken glass, for a deletion": {who: mallory, op: Delete, with: glass, want: []string{"mallory"}},
		"broken glass, while the parent is deleted": {
			who: mallory, with: func(in *Input) { glass(in); gone(in) }, verdict: Verdict{Reason: ReasonDeleting}, want: []string{"mallory", "(breakglass)"},
		},

		"a change while the parent is deleted":       {who: replicaer, with: gone, verdict: Verdict{Reason: ReasonDeleting}, want: []string{"dave", "(deleted)"}},
		"a change by who may, meanwhile":             {who: robot, with: gone, verdict: Verdict{Reason: ReasonDeleting}, want: []string{robot.Username}},
		"a deletion by who may, meanwhile":           {who: robot, op: Delete, with: gone, verdict: Verdict{Reason: ReasonDeleting}, want: []string{"dave", "(deleted)"}},
		"a deletion by a person who may":             {who: alice, op: Delete, with: gone, verdict: Verdict{Reason: ReasonDeleting}, want: []string{"alice"}},
		"a deletion by the garbage collector":        {who: collector, op: Delete, with: gone, verdict: Verdict{Reason: ReasonPlatform}, want: []string{"dave", "(deleted)"}},
		"a change by the garbage collector":          {who: collector, with: gone, verdict: Verdict{Reason: ReasonPlatform}},
		"a deletion that something else let through": {who: mallory, op: Delete, with: gone, verdict: Verdict{Reason: ReasonRoot}, want: []string{"mallory"}},

		"an upgrade":                {who: replicaer, verdict: Verdict{Reason: ReasonUpgrade, Upgrade: &upgrade}, want: []string{"erin", "(upgrade)", "(upgrade)"}},
		"an upgrade, and who may":   {who: robot, op: Create, verdict: Verdict{Reason: ReasonUpgrade, Upgrade: &upgrade}, want: []string{robot.Username}},
		"an upgrade of what is new": {who: replicaer, with: isNew, verdict: Verdict{Reason: ReasonUpgrade, Upgrade: &upgrade}, want: []string{"erin", "(upgrade)", "(upgrade)"}},

		"its controller fills in what is new":     {who: replicaer, insert: true, with: isNew, policies: bounded + rule, want: []string{"carol", "(created)"}},
		"its controller changes what is new":      {who: replicaer, with: isNew, policies: bounded + rule},
		"its controller fills in what is not new": {who: replicaer, insert: true, policies: bounded + rule},
		"a person fills in what is new":           {who: helper, insert: true, with: isNew, policies: bounded + rule},
		"another controller fills in what is new": {who: deployer, insert: true, with: isNew, policies: bounded + rule},
		"its controller creates what is below":    {who: replicaer, op: Create, insert: true, with: isNew, policies: bounded + rule, want: []string{replicaer.Username}},
		"its controller fills in what a provider may": {
			who: replicaer, insert: true, with: isNew,
			policies: bounded + "rules: [{trigger: spec, policies: [{target: {external: {kind: Bucket}}, relation: External, verbs: [Update]}]}]\n",
		},

		"its controller fills in what others read": {
			who: replicaer, insert: true, with: isNew, policies: bounded + "rules: [{trigger: spec, policies: [" + through + "]}]\n",
		},
		"what is new and read by others, without bounds": {who: mallory, with: isNew, policies: "rules: [{trigger: spec, policies: [" + through + "]}]\n"},
		"what is new, without bounds":                    {who: mallory, with: isNew, want: []string{"mallory", "(initializing)"}},
		"what is new, within bounds":                     {who: mallory, with: isNew, policies: bounded + rule},
		"a deletion of what is new":                      {who: mallory, op: Delete, with: isNew, want: []string{"mallory"}},
		"what a section lets through":                    {who: replicaer, verdict: Verdict{Reason: ReasonMaintaining}, want: []string{replicaer.Username, "(maintaining)"}},
		"what is adopted":                                {who: replicaer, verdict: Verdict{Reason: ReasonAdopting}, want: []string{replicaer.Username, "(adopted)"}},
		"what nothing lets through, as a creation":       {who: mallory, op: Create, want: []string{"mallory"}},
		"an allowance for all, as a deletion":            {who: deployer, op: Delete, allowed: []v1alpha1.Allowance{all}, want: []string{"bob", "spec.template"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.policies == "" {
				tc.policies = rule
			}
			if tc.op == "" {
				tc.op = Update
			}
			own := compile(t, "own", subjects+tc.policies)
			r := aRequest(tc.who, tc.op, replicaSetGVK, "web-1").governed(own).of(deploymentGVK, "web", web, tc.allowed...)
			if tc.with != nil {
				tc.with(&r.Input)
			}
			var got cause
			caused := true
			if tc.op == Update {
				c := change.Change{Path: mustPath(t, "spec.replicas"), Verb: change.Mutate, Old: int64(1), New: int64(2)}
				if tc.insert {
					c.Verb, c.Old = change.Insert, nil
				}
				g := granter{Input: &r.Input, verdict: tc.verdict, usable: r.usable()}
				got, caused = g.chain(own, c, tc.approved)
			} else {
				got = r.chainOfHolder(tc.op, tc.verdict)
			}
			var text []string
			if caused {
				text = append(text, got.initiator)
				for _, hop := range got.trace {
					text = append(text, hop.Field)
					if reason := hop.Attestations[BreakGlassAttestation]; (reason != "") != (hop.Field == fieldFor(ReasonBreakGlass)) || len(hop.Attestations) > 1 {
						t.Errorf("hop %s attests %q", hop.Field, hop.Attestations)
					}
				}
			}
			if diff := cmp.Diff(tc.want, text); diff != "" {
				t.Errorf("cause (-want +got):\n%s", diff)
			}
		})
	}
}
