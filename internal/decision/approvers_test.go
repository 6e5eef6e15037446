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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/internal/policy"
)

// Who is named as an approver may approve: no rule of another policy is left without a cause.
func TestApprovers(t *testing.T) {
	rule := func(trigger string, resources ...string) string {
		var b strings.Builder
		b.WriteString("- trigger: " + trigger + "\n  policies:\n")
		for _, r := range resources {
			group := map[bool]string{true: "apps"}[r == "replicasets"]
			fmt.Fprintf(&b, "  - {target: {apiGroup: %q, apiVersion: v1, resource: %s}, relation: ControllerChild, verbs: [Create]}\n", group, r)
		}
		return b.String()
	}
	spec := func(user, action, rules string) string {
		subjects := "[]"
		if user != "" {
			subjects = "[{kind: User, name: " + user + ", mayInitiate: true}]"
		}
		return fmt.Sprintf("for: {apiGroup: apps, apiVersion: v1, kind: Deployment}\nvalidationActions: [%s]\nsubjects: %s\nrules:\n%s", action, subjects, rules)
	}
	above := []string{"Group above"}
	tests := map[string]struct {
		policies []string
		above    []string
		paths    []string
		want     []string
	}{
		"of the one rule": {
			policies: []string{spec("alice", "Deny", rule("spec", "replicasets"))}, paths: []string{"spec.replicas"}, want: []string{"User alice"},
		},
		"none of another field": {
			policies: []string{spec("alice", "Deny", rule("spec", "replicasets")), spec("bob", "Deny", rule("metadata.labels", "replicasets"))},
			paths:    []string{"spec.replicas"}, want: []string{"User alice"},
		},
		"either of two rules about the same children": {
			policies: []string{spec("alice", "Deny", rule("spec", "replicasets")), spec("bob", "Deny", rule("spec.replicas", "replicasets"))},
			paths:    []string{"spec.replicas"}, want: []string{"User alice", "User bob"},
		},
		"the one whose rule is about all the children": {
			policies: []string{spec("alice", "Deny", rule("spec", "replicasets", "pods")), spec("bob", "Deny", rule("spec.replicas", "replicasets"))},
			paths:    []string{"spec.replicas"}, want: []string{"User alice"},
		},
		"none who only warns": {
			policies: []string{spec("alice", "Deny", rule("spec", "replicasets")), spec("bob", "Warn", rule("spec.replicas", "replicasets"))},
			paths:    []string{"spec.replicas"}, want: []string{"User alice"},
		},
		"both, where each rule is about other children": {
			policies: []string{spec("alice", "Deny", rule("spec", "pods")), spec("bob", "Deny", rule("spec.replicas", "replicasets"))},
			paths:    []string{"spec.replicas"}, want: []string{"whoever is User alice as well as User bob"},
		},
		"those above, where each rule is about other children": {
			policies: []string{spec("alice", "Deny", rule("spec", "pods")), spec("bob", "Deny", rule("spec.replicas", "replicasets"))},
			above:    above, paths: []string{"spec.replicas"}, want: above,
		},
		"those above, where the rule names nobody": {
			policies: []string{spec("", "Deny", rule("spec", "replicasets")), spec("bob", "Deny", rule("metadata.labels", "replicasets"))},
			above:    above, paths: []string{"spec.replicas"}, want: above,
		},
		"those above, where one of the rules names nobody": {
			policies: []string{spec("", "Deny", rule("spec", "pods")), spec("bob", "Deny", rule("spec.replicas", "replicasets"))},
			above:    above, paths: []string{"spec.replicas"}, want: above,
		},
		"of several fields, who may approve all": {
			policies: []string{spec("alice", "Deny", rule("spec", "replicasets", "pods")), spec("bob", "Deny", rule("spec.replicas", "replicasets", "pods"))},
			paths:    []string{"spec.replicas", "spec.paused"}, want: []string{"User alice"},
		},
		"of several fields, who may approve each": {
			policies: []string{spec("alice", "Deny", rule("spec.paused", "replicasets")), spec("bob", "Deny", rule("spec.replicas", "replicasets"))},
			paths:    []string{"spec.replicas", "spec.paused"}, want: []string{"User alice", "User bob"},
		},
		"of fields that are told of as one": {
			policies: []string{spec("alice", "Deny", rule("spec.paused", "pods")), spec("bob", "Deny", rule("spec.replicas", "replicasets"))},
			paths:    []string{"spec"}, want: []string{"User alice", "User bob"},
		},
		"of something that is no path": {
			policies: []string{spec("alice", "Deny", rule("spec", "replicasets"))}, paths: []string{"*"}, want: []string{"User alice"},
		},
		"of nothing": {policies: []string{spec("alice", "Deny", rule("spec", "replicasets"))}, above: above},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var policies []*policy.Policy
			for i, text := range tt.policies {
				policies = append(policies, compile(t, fmt.Sprint("p", i), text))
			}
			if diff := cmp.Diff(tt.want, Approvers(policies, tt.above, tt.paths...)); diff != "" {
				t.Errorf("approvers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTogether(t *testing.T) {
	tests := map[string]struct {
		each [][]string
		want []string
	}{
		"of none":              {},
		"of one":               {each: [][]string{{"a", "b"}}, want: []string{"a", "b"}},
		"who is in all":        {each: [][]string{{"a", "b"}, {"b", "c"}}, want: []string{"b"}},
		"who has to be both":   {each: [][]string{{"a", "b"}, {"c"}, {"c"}}, want: []string{"whoever is a or b as well as c"}},
		"where one names none": {each: [][]string{{"a"}, {}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Together(tt.each...)); diff != "" {
				t.Errorf("together (-want +got):\n%s", diff)
			}
		})
	}
}
