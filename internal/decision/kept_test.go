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

	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/policy"
)

// What is withheld stays so when somebody changes it again while no rule in effect withholds that.
func TestChangedAgainWhileNoRuleWithholds(t *testing.T) {
	const (
		good  = `[{name: a, image: a1}, {name: b, image: b1}]`
		evil  = `[{name: a, image: a1}, {name: b, image: evil1}]`
		again = `[{name: a, image: a1}, {name: b, image: evil2}]`
		other = `[{name: a, image: a2}, {name: b, image: evil1}]`
	)
	strict := compile(t, "deployment", deploymentSpec)
	const bobs = `
for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
subjects: [{kind: User, name: bob, mayInitiate: true}]
rules: [{trigger: spec.replicas}]
`
	others := func(spec string) *policy.Policy { return compile(t, "other", spec) }
	warning := deploymentSpec + "validationActions: [Warn]\n"
	without, _, _ := strings.Cut(deploymentSpec, "- trigger: spec.template")
	below := without + "- {trigger: spec.template.metadata, policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Update]}]}\n"
	gone, warns := compile(t, "deployment", without), compile(t, "deployment", warning)
	bob := policy.Requester{Username: "bob"}
	web := func(list string) map[string]any { return containers(t, list) }
	held := []string{second + ".image was b1"}

	for name, tc := range map[string]struct {
		who      policy.Requester
		policies []*policy.Policy
		// after is evil at first.
		after map[string]any
		// approve is a path that the request approves.
		approve string
		want    []string
	}{
		"its policy warns":                      {who: mallory, policies: []*policy.Policy{warns}, after: web(again), want: held},
		"its policy audits":                     {who: mallory, policies: []*policy.Policy{compile(t, "deployment", strings.Replace(warning, "Warn", "Audit", 1))}, after: web(again), want: held},
		"the rule is gone":                      {who: mallory, policies: []*policy.Policy{gone}, after: web(again), want: held},
		"the rule is about something else":      {who: mallory, policies: []*policy.Policy{compile(t, "deployment", below)}, after: web(again), want: held},
		"another policy is in effect":           {who: mallory, policies: []*policy.Policy{others(bobs)}, after: web(again), want: held},
		"another policy only warns of it":       {who: mallory, policies: []*policy.Policy{others(bobs), warns}, after: web(again), want: held},
		"the item moves as well":                {who: mallory, policies: []*policy.Policy{gone}, after: web(`[{name: x}, {name: b, image: evil2}, {name: a, image: a1}]`), want: []string{"spec.template.spec.containers was [map[image:a1 name:a] map[image:b1 name:b]]"}},
		"the item moves back":                   {who: mallory, policies: []*policy.Policy{gone}, after: web(`[{name: b, image: evil2}]`), want: []string{first + ".image was b1"}},
		"the item gets another name":            {who: mallory, policies: []*policy.Policy{gone}, after: web(`[{name: a, image: a1}, {name: c, image: evil2}]`), want: []string{second + " was map[image:b1 name:b]", second + " was <nil>"}},
		"the item is taken out":                 {who: mallory, policies: []*policy.Policy{gone}, after: web(`[{name: a, image: a1}]`), want: []string{second + " was map[image:b1 name:b]"}},
		"all of it is taken out":                {who: mallory, policies: []*policy.Policy{gone}, after: object(t, "spec: {}"), want: []string{"spec.template was map[spec:map[containers:[map[image:a1 name:a] map[image:b1 name:b]]]]"}},
		"it is put back":                        {who: mallory, policies: []*policy.Policy{gone}, after: web(good)},
		"it is put back while its policy warns": {who: mallory, policies: []*policy.Policy{warns}, after: web(good)},
		"another field is changed":              {who: mallory, policies: []*policy.Policy{gone}, after: web(other), want: held},
		"an initiator changes it":               {who: alice, policies: []*policy.Policy{gone}, after: web(again)},
		"an initiator changes something else":   {who: alice, policies: []*policy.Policy{gone}, after: web(other), want: held},
		"an initiator is warned of nothing":     {who: alice, policies: []*policy.Policy{warns}, after: web(again)},
		"an initiator of a policy that denies":  {who: bob, policies: []*policy.Policy{others(bobs), gone}, after: web(again)},
		"an initiator of another policy than the one that warns": {
			who: bob, policies: []*policy.Policy{others(bobs), warns}, after: web(again), want: held,
		},
		"an initiator of less than what denies": {
			who: bob, policies: []*policy.Policy{others(bobs + "validationActions: [Warn]\n"), gone}, after: web(again), want: held,
		},
		"an initiator without what a condition asks for": {
			who: alice, policies: []*policy.Policy{compile(t, "deployment", strings.Replace(warning, `"!has(object.metadata.labels['frozen'])"`, `"false"`, 1))}, after: web(again), want: held,
		},
		"an initiator approves it": {
			who: alice, policies: []*policy.Policy{warns}, after: web(evil), approve: "spec.template",
		},
		"an initiator of another policy approves it": {
			who: bob, policies: []*policy.Policy{others(bobs), warns}, after: web(evil), approve: "spec.template", want: held,
		},
		"an initiator approves what it is no rule about": {
			who: alice, policies: []*policy.Policy{gone}, after: web(evil), approve: "spec.template", want: held,
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := &aRequest(tc.who, Update, deploymentGVK, "web").governed(tc.policies...).replacing(web(evil), tc.after).Input
			if tc.approve != "" {
				in.Approved = []change.Change{{Path: mustPath(t, tc.approve), Verb: change.Mutate}}
			}
			in.Child.Standing = standing(in.Child.UID, in.OwnPolicies, web(good), in.Child.Old)
			got := Grants(t.Context(), in, Decide(t.Context(), in))
			if len(got.Withheld) > 0 || got.Refuse {
				t.Errorf("the request is told that it is withheld: %v, refused: %t", mutations(got.Withheld), got.Refuse)
			}
			stored, err := approved.Decode(got.Standing.State().Encode(in.Child.UID))
			if err != nil {
				t.Fatal(err)
			}
			back := got.Standing.Object
			back.Triggers, back.Concerns = Withholds([]*policy.Policy{strict}, nil), Concerns([]*policy.Policy{strict})
			if diff := cmp.Diff(tc.want, left(Grant{Standing: approved.Now(stored, approved.Pending{}, back)})); diff != "" {
				t.Errorf("withheld when the rule is back (-want +got):\n%s", diff)
			}
		})
	}
}

// What waits for a rule counts as just changed by who approves it, by whatever name: it earns what a change of it does.
func TestApprovedWhileNoRuleWithholds(t *testing.T) {
	warns := compile(t, "deployment", deploymentSpec+"validationActions: [Warn]\n")
	good, evil := containers(t, `[{name: a, image: a1}]`), containers(t, `[{name: a, image: evil}]`)
	earned := map[string][]string{}
	for _, path := range []string{"spec", "spec.template", "spec.template.spec.containers[0].image"} {
		in := &aRequest(alice, Update, deploymentGVK, "web").governed(warns).replacing(evil, evil).Input
		in.Approved = []change.Change{{Path: mustPath(t, path), Verb: change.Mutate}}
		in.Child.Standing = standing(in.Child.UID, in.OwnPolicies, good, evil)
		got := Grants(t.Context(), in, Decide(t.Context(), in))
		if diff := cmp.Diff([]string(nil), left(got)); diff != "" {
			t.Errorf("%s leaves withheld (-want +got):\n%s", path, diff)
		}
		earned[path] = mutations(got.Allowances)
		if diff := cmp.Diff(earned["spec"], earned[path]); diff != "" || len(earned[path]) == 0 {
			t.Errorf("%s earns otherwise (-spec +%s):\n%s", path, path, diff)
		}
	}
}
