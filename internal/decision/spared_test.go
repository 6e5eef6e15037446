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
	"kausality.io/operator/internal/policy"
)

func TestSpared(t *testing.T) {
	denying := compile(t, "denying", deploymentSpec)
	warning := compile(t, "warning", deploymentSpec+"validationActions: [Warn]\n")
	auditing := compile(t, "auditing", deploymentSpec+"validationActions: [Audit]\n")
	refusing := compile(t, "refusing", deploymentSpec+"validationActions: [Warn]\nuncausedChanges: Refuse\n")
	secrets := compile(t, "secrets", `
for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
subjects: [{kind: User, name: mallory, mayInitiate: true}]
rules:
- trigger: spec.replicas
  policies: [{target: {apiVersion: v1, resource: secrets}, relation: ControllerChild, verbs: ["*"]}]
validationActions: [Audit]
`)
	type spared struct {
		Action   v1alpha1.ValidationAction
		Policies []string
		Paths    []string
		Refused  bool
	}
	scaling := func(who policy.Requester, policies ...*policy.Policy) *request {
		return aRequest(who, Update, deploymentGVK, "web").changing(t, int64(3), int64(5), "spec.replicas").governed(policies...)
	}
	warned := &spared{Action: v1alpha1.ActionWarn, Policies: []string{"warning"}, Paths: []string{"spec.replicas"}}
	tests := map[string]struct {
		request *request
		want    *spared
	}{
		"a stranger, under one that warns": {request: scaling(mallory, warning), want: warned},
		"a stranger, under one that audits": {
			request: scaling(mallory, auditing),
			want:    &spared{Action: v1alpha1.ActionAudit, Policies: []string{"auditing"}, Paths: []string{"spec.replicas"}},
		},
		"a stranger, under both": {
			request: scaling(mallory, auditing, warning),
			want:    &spared{Action: v1alpha1.ActionWarn, Policies: []string{"auditing", "warning"}, Paths: []string{"spec.replicas"}},
		},
		"a stranger, under one that would refuse": {
			request: scaling(mallory, refusing),
			want:    &spared{Action: v1alpha1.ActionWarn, Policies: []string{"refusing"}, Paths: []string{"spec.replicas"}, Refused: true},
		},
		"a condition that does not hold": {
			request: aRequest(alice, Update, deploymentGVK, "web").changing(t, "a", "b", imagePath).having(t, "metadata.labels[frozen]", "yes").governed(warning),
			want:    &spared{Action: v1alpha1.ActionWarn, Policies: []string{"warning"}, Paths: []string{imagePath}},
		},
		"what another one withholds is told of that": {request: scaling(mallory, denying, warning)},
		"an initiator": {request: scaling(alice, warning)},
		"an initiator by one that denies answers for the same targets": {
			request: scaling(alice, denying, compile(t, "hers-not", othersSpec)),
		},
		"an initiator by one that denies does not answer for others": {
			request: scaling(alice, denying, secrets),
			want:    &spared{Action: v1alpha1.ActionAudit, Policies: []string{"secrets"}, Paths: []string{"spec.replicas"}},
		},
		"what no rule is about": {
			request: aRequest(mallory, Update, deploymentGVK, "web").changing(t, nil, true, "spec.paused").governed(warning),
		},
		"under one that denies": {request: scaling(mallory, denying)},
		"a creation":            {request: aRequest(mallory, Create, deploymentGVK, "web").governed(warning)},
		"a deletion":            {request: aRequest(mallory, Delete, deploymentGVK, "web").governed(warning)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := &tc.request.Input
			grant := Grants(t.Context(), in, Decide(t.Context(), in))
			var got *spared
			if s := grant.Spared; s != nil {
				got = &spared{Action: s.Action, Paths: s.Paths, Refused: s.Refused}
				for _, p := range s.Policies {
					got.Policies = append(got.Policies, p.Name)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("spared (-want +got):\n%s", diff)
			}
		})
	}
}

// othersSpec is a policy that warns, with a rule about the same targets as deploymentSpec, for somebody else.
const othersSpec = `
for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
subjects: [{kind: User, name: mallory, mayInitiate: true}]
rules:
- trigger: spec
  policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: ["*"]}]
validationActions: [Warn]
`
