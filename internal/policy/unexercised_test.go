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

func TestUnexercised(t *testing.T) {
	const (
		replicaSet = "{apiGroup: apps, apiVersion: v1, resource: replicasets}"
		xdatabase  = "{apiGroup: example.com, apiVersion: v1, resource: xdatabases}"
		told       = "spec.subjects: ServiceAccount kube-system/deployment-controller makes the ReplicaSet objects of a Deployment, and is no subject: what it does to them will be denied"
		bounded    = "  rules: [{trigger: spec.template, policies: [{target: " + replicaSet + ", relation: ControllerChild}]}]\n"
		someone    = "  - {kind: Group, name: platform-team, mayInitiate: true}\n"
		right      = "  - {kind: ServiceAccount, namespace: kube-system, name: deployment-controller}\n"
	)
	subjects := func(of string) string { return "  subjects:\n" + someone + of }
	for name, tc := range map[string]struct {
		policy string
		others []string
		want   []string
	}{
		"it is a subject":               {policy: forDeployments(subjects(right) + bounded)},
		"any controller may":            {policy: forDeployments(subjects("") + bounded)},
		"it is misspelled":              {policy: forDeployments(subjects("  - {kind: ServiceAccount, namespace: kube-system, name: deploment-controller}\n") + bounded), want: []string{told}},
		"in another namespace":          {policy: forDeployments(subjects("  - {kind: ServiceAccount, namespace: default, name: deployment-controller}\n") + bounded), want: []string{told}},
		"as a user":                     {policy: forDeployments(subjects("  - {kind: User, name: deployment-controller}\n") + bounded), want: []string{told}},
		"by its user name":              {policy: forDeployments(subjects("  - {kind: User, name: 'system:serviceaccount:kube-system:deployment-controller'}\n") + bounded)},
		"all controllers are one user":  {policy: forDeployments(subjects("  - {kind: User, name: 'system:kube-controller-manager'}\n") + bounded)},
		"all accounts of its namespace": {policy: forDeployments(subjects("  - {kind: Group, name: 'system:serviceaccounts:kube-system'}\n") + bounded)},
		"nothing that it makes":         {policy: forDeployments(subjects("  - {kind: User, name: bob}\n") + "  rules: [{trigger: spec, policies: [{target: " + xdatabase + ", relation: ControllerChild}]}]\n")},
		"a policy for the children has it": {
			policy: forDeployments(subjects("  - {kind: User, name: bob}\n") + bounded),
			others: []string{"spec: {for: {apiGroup: apps, apiVersion: v1, kind: ReplicaSet}, subjects: [{kind: ServiceAccount, namespace: kube-system, name: deployment-controller}]}"},
		},
		"another one for the parents has it": {
			policy: forDeployments(subjects("  - {kind: User, name: bob}\n") + bounded),
			others: []string{forDeployments(subjects(right))},
		},
		"one for the children names others": {
			policy: forDeployments(subjects("") + bounded),
			others: []string{"spec: {for: {apiGroup: apps, apiVersion: v1, kind: ReplicaSet}, subjects: [{kind: ServiceAccount, namespace: kube-system, name: replicaset-controller}]}"},
			want:   []string{told},
		},
		"one for the children has it that leaves these namespaces out": {
			policy: forDeployments("  namespaceSelector: {matchLabels: {own: c3}}\n" + subjects("  - {kind: User, name: bob}\n") + bounded),
			others: []string{"spec: {for: {apiGroup: apps, apiVersion: v1, kind: ReplicaSet}, namespaceSelector: {matchExpressions: [{key: own, operator: DoesNotExist}]}, subjects: [{kind: ServiceAccount, namespace: kube-system, name: deployment-controller}]}"},
			want:   []string{told},
		},
		"one for the children has it that may select these namespaces": {
			policy: forDeployments("  namespaceSelector: {matchLabels: {own: c3}}\n" + subjects("  - {kind: User, name: bob}\n") + bounded),
			others: []string{"spec: {for: {apiGroup: apps, apiVersion: v1, kind: ReplicaSet}, namespaceSelector: {matchExpressions: [{key: own, operator: Exists}, {key: team, operator: In, values: [a]}]}, subjects: [{kind: ServiceAccount, namespace: kube-system, name: deployment-controller}]}"},
		},
		"another one for the parents has it that leaves these namespaces out": {
			policy: forDeployments("  namespaceSelector: {matchExpressions: [{key: env, operator: In, values: [a, b]}]}\n" + subjects("  - {kind: User, name: bob}\n") + bounded),
			others: []string{forDeployments("  namespaceSelector: {matchExpressions: [{key: env, operator: NotIn, values: [a, b, c]}]}\n" + subjects(right))},
			want:   []string{told},
		},
		"another one for the parents has it that leaves some of these namespaces out": {
			policy: forDeployments("  namespaceSelector: {matchExpressions: [{key: env, operator: In, values: [a, b]}]}\n" + subjects("  - {kind: User, name: bob}\n") + bounded),
			others: []string{forDeployments("  namespaceSelector: {matchExpressions: [{key: env, operator: NotIn, values: [a]}]}\n" + subjects(right))},
		},
		"one for the namespaces of people, which kube-system is none of": {
			policy: forDeployments("  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}\n" + subjects("  - {kind: User, name: bob}\n") + bounded),
			others: []string{forDeployments(subjects(right))},
			want:   []string{told},
		},
		"one for other kinds": {
			policy: forDeployments(subjects("  - {kind: User, name: bob}\n") + bounded),
			others: []string{"spec: {for: {apiGroup: batch, apiVersion: v1, kind: Job}, subjects: [{kind: ServiceAccount, namespace: kube-system, name: deployment-controller}]}"},
			want:   []string{told},
		},
		"nothing is known of the kind": {
			policy: "spec: {for: {apiGroup: example.com, apiVersion: v1, kind: Widget}, subjects: [{kind: User, name: bob}], rules: [{trigger: spec, policies: [{target: " + replicaSet + ", relation: ControllerChild}]}]}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			others := make([]*Policy, 0, len(tc.others))
			for _, other := range tc.others {
				others = append(others, compile(t, other))
			}
			if diff := cmp.Diff(tc.want, compile(t, tc.policy).Unexercised(others)); diff != "" {
				t.Errorf("Unexercised() (-want +got):\n%s", diff)
			}
		})
	}
}
