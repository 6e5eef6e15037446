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

package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	hans = Requester{Username: "hans@example.com", Groups: []string{"system:authenticated", "platform-team"}}
	eve  = Requester{Username: "eve@example.com", Groups: []string{"system:authenticated"}}
	// robot is a service account that the policies of these tests name.
	robot = Requester{
		Username: "system:serviceaccount:ci:robot",
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:ci", "system:authenticated"},
	}
	// stranger is one that they do not name.
	stranger   = Requester{Username: "system:serviceaccount:ci:robots"}
	controller = Requester{Username: "system:kube-controller-manager"}
)

func TestSubjects(t *testing.T) {
	tests := map[string]struct {
		subjects         string
		names, initiates []Requester
		initiators       []string
		exercisers       bool
	}{
		"none": {subjects: "[]"},
		"user": {
			subjects: "[{kind: User, name: hans@example.com}]",
			names:    []Requester{hans}, exercisers: true,
		},
		"group that may initiate": {
			subjects: "[{kind: Group, name: platform-team, mayInitiate: true}]",
			names:    []Requester{hans}, initiates: []Requester{hans},
			initiators: []string{"Group platform-team"},
		},
		"service account": {
			subjects: "[{kind: ServiceAccount, name: robot, namespace: ci, mayInitiate: true}]",
			names:    []Requester{robot}, initiates: []Requester{robot},
			initiators: []string{"ServiceAccount ci/robot"},
		},
		"service account of another namespace": {
			subjects:   "[{kind: ServiceAccount, name: robot, namespace: c, mayInitiate: true}]",
			initiators: []string{"ServiceAccount c/robot"},
		},
		"service account by its user name": {
			subjects: "[{kind: User, name: 'system:serviceaccount:ci:robot'}]",
			names:    []Requester{robot}, exercisers: true,
		},
		"service accounts of a namespace": {
			subjects: "[{kind: Group, name: 'system:serviceaccounts:ci'}]",
			names:    []Requester{robot}, exercisers: true,
		},
		"several": {
			subjects: "[{kind: User, name: eve@example.com}, {kind: Group, name: platform-team, mayInitiate: true}, {kind: User, name: ops, mayInitiate: true}]",
			names:    []Requester{hans, eve}, initiates: []Requester{hans},
			initiators: []string{"Group platform-team", "User ops"}, exercisers: true,
		},
		"a user named as a group": {subjects: "[{kind: User, name: platform-team}]", exercisers: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := compile(t, forDeployments("  subjects: "+tc.subjects))
			var names, initiates []Requester
			for _, r := range []Requester{hans, eve, robot, stranger, controller} {
				if p.Names(r) {
					names = append(names, r)
				}
				if p.MayInitiate(r) {
					initiates = append(initiates, r)
				}
			}
			if diff := cmp.Diff(tc.names, names); diff != "" {
				t.Errorf("named (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.initiates, initiates); diff != "" {
				t.Errorf("may initiate (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.initiators, p.Initiators()); diff != "" {
				t.Errorf("Initiators() (-want +got):\n%s", diff)
			}
			if p.HasInitiator() != (len(tc.initiators) > 0) || p.NamesExercisers() != tc.exercisers {
				t.Errorf("HasInitiator() = %t, NamesExercisers() = %t", p.HasInitiator(), p.NamesExercisers())
			}
		})
	}
}

func TestMayExercise(t *testing.T) {
	initiators := compile(t, forDeployments("  subjects: [{kind: Group, name: platform-team, mayInitiate: true}]"))
	named := compile(t, forDeployments("  subjects: [{kind: ServiceAccount, name: robot, namespace: ci}]"))
	tests := map[string]struct {
		parents, own []*Policy
		want         []Requester
	}{
		"nobody named":             {want: []Requester{robot, stranger, controller}},
		"only initiators named":    {parents: []*Policy{initiators}, want: []Requester{hans, robot, stranger, controller}},
		"named for the parent":     {parents: []*Policy{named}, want: []Requester{robot}},
		"named for the child":      {own: []*Policy{named}, want: []Requester{robot}},
		"initiator of the child":   {parents: []*Policy{named}, own: []*Policy{initiators}, want: []Requester{hans, robot}},
		"initiator and exerciser":  {parents: []*Policy{initiators, named}, want: []Requester{hans, robot}},
		"initiator of the parent ": {parents: []*Policy{initiators}, own: []*Policy{named}, want: []Requester{hans, robot}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []Requester
			for _, r := range []Requester{hans, eve, robot, stranger, controller} {
				if MayExercise(r, tc.parents, tc.own) {
					got = append(got, r)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("may exercise (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRetries(t *testing.T) {
	p := compile(t, forDeployments(`  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: User, name: external-controller}
  - {kind: Group, name: controllers}`))
	initiates := Requester{Username: "alice", Groups: []string{"platform-team"}}
	tests := map[string]struct {
		requester    Requester
		parents, own []*Policy
		want         bool
	}{
		"a person":                         {requester: Requester{Username: "mallory"}, parents: []*Policy{p}},
		"a person who may initiate":        {requester: initiates, parents: []*Policy{p}, own: []*Policy{p}},
		"a service account":                {requester: Requester{Username: "system:serviceaccount:ci:robot"}, want: true},
		"all controllers as one":           {requester: Requester{Username: "system:kube-controller-manager"}, want: true},
		"a kubelet":                        {requester: Requester{Username: "system:node:one", Groups: []string{"system:nodes"}}, want: true},
		"a controller by its certificate":  {requester: Requester{Username: "external-controller"}, parents: []*Policy{p}, want: true},
		"the same, of the child's policy":  {requester: Requester{Username: "external-controller"}, own: []*Policy{p}, want: true},
		"the same, of nobody's":            {requester: Requester{Username: "external-controller"}},
		"one of a group that acts":         {requester: Requester{Username: "other", Groups: []string{"controllers"}}, parents: []*Policy{p}, want: true},
		"the administrator of a k3s":       {requester: Requester{Username: "system:admin", Groups: []string{"system:masters"}}, parents: []*Policy{p}},
		"who did not say who they are":     {requester: Requester{Username: "system:anonymous"}},
		"a person of all cluster's rights": {requester: Requester{Username: "kubernetes-admin", Groups: []string{"system:masters"}}, parents: []*Policy{p}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Retries(tt.requester, tt.parents, tt.own); got != tt.want {
				t.Errorf("Retries = %t, want %t", got, tt.want)
			}
		})
	}
}

func TestMaintainingSubjects(t *testing.T) {
	p := compile(t, forDeployments(`  maintaining:
    policies:
    - target: {apiVersion: v1, resource: pods}
      relation: ControllerChild
      verbs: [Create]
      subjects: [{kind: ServiceAccount, name: robot, namespace: ci}]`))
	m := p.Maintaining[0]
	if !m.MatchesSubject(robot) || m.MatchesSubject(stranger) || m.MatchesSubject(hans) {
		t.Error("the entry must match its own subject and nobody else")
	}
}
