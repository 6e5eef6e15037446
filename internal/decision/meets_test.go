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
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/internal/policy"
)

// TestNotMet names the conditions because of which an object cannot be approved as it is.
func TestNotMet(t *testing.T) {
	rule := func(trigger, resource, conditions string) string {
		group := map[bool]string{true: "apps"}[resource == "replicasets"]
		return fmt.Sprintf("- trigger: %s\n  conditions: [%s]\n  policies:\n  - {target: {apiGroup: %q, apiVersion: v1, resource: %s}, relation: ControllerChild, verbs: [Create]}\n",
			trigger, conditions, group, resource)
	}
	spec := func(action, rules string) string {
		return fmt.Sprintf("for: {apiGroup: apps, apiVersion: v1, kind: Deployment}\nvalidationActions: [%s]\nsubjects: [{kind: User, name: alice, mayInitiate: true}]\nrules:\n%s", action, rules)
	}
	const (
		ticket  = `"has(object.metadata.annotations['ticket'])"`
		few     = `"object.spec.replicas < 10"`
		failing = `"object.spec.absent < 10"`
		changed = `"object.spec.replicas != oldObject.spec.replicas"`
		update  = `"request.operation == 'UPDATE' && request.name == 'web' && request.namespace == 'shop'"`
		person  = `"request.user.username == 'alice'"`
	)
	tests := map[string]struct {
		policies []string
		paths    []string
		want     []string
	}{
		"all that do not hold": {
			policies: []string{spec("Deny", rule("spec", "replicasets", ticket+", "+few+", "+failing))},
			want: []string{
				"has(object.metadata.annotations['ticket']) (AllowancePolicy p0)",
				"object.spec.absent < 10 (AllowancePolicy p0), which fails for this object: a field that it needs is absent or of another type",
			},
		},
		"asked of the object as it is": {
			policies: []string{spec("Deny", rule("spec", "replicasets", changed))},
			want:     []string{"object.spec.replicas != oldObject.spec.replicas (AllowancePolicy p0)"},
		},
		"none that holds for an approval":   {policies: []string{spec("Deny", rule("spec", "replicasets", update))}},
		"none that depends on who approves": {policies: []string{spec("Deny", rule("spec", "replicasets", person))}},
		"none of another field":             {policies: []string{spec("Deny", rule("spec.paused", "replicasets", ticket))}},
		"none of a policy that only warns":  {policies: []string{spec("Warn", rule("spec", "replicasets", ticket))}},
		"none of what is no path":           {policies: []string{spec("Deny", rule("spec", "replicasets", ticket))}, paths: []string{"*"}},
		"none where another rule answers": {
			policies: []string{spec("Deny", rule("spec", "replicasets", ticket)), spec("Deny", rule("spec.replicas", "replicasets", few))},
		},
		"where the other rule is about other children": {
			policies: []string{spec("Deny", rule("spec", "replicasets", ticket)), spec("Deny", rule("spec.replicas", "pods", few))},
			want:     []string{"has(object.metadata.annotations['ticket']) (AllowancePolicy p0)"},
		},
		"once for several fields": {
			policies: []string{spec("Deny", rule("spec", "replicasets", ticket))}, paths: []string{"spec.replicas", "spec.paused"},
			want: []string{"has(object.metadata.annotations['ticket']) (AllowancePolicy p0)"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var policies []*policy.Policy
			for i, text := range tt.policies {
				policies = append(policies, compile(t, fmt.Sprint("p", i), text))
			}
			paths := tt.paths
			if paths == nil {
				paths = []string{"spec.replicas"}
			}
			object := Child{Namespace: "shop", Name: "web", New: map[string]any{"spec": map[string]any{"replicas": int64(3)}}}
			got := NotMet(t.Context(), policies, object, paths...)
			if len(got) == 0 {
				got = nil
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("not met (-want +got):\n%s", diff)
			}
		})
	}
}
