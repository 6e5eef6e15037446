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
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/change"
)

// declarations are of an API server on which XDatabases are in no namespace, and
// Deployments have one field.
type declarations struct{}

func (declarations) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
	kind, ok := served[resource]
	return resource.GroupVersion().WithKind(kind), ok
}

func (declarations) Namespaced(kind schema.GroupVersionKind) (namespaced, known bool) {
	return kind.Kind != "XDatabase", kind.Kind != "Service"
}

func (declarations) Undeclared(kind schema.GroupVersionKind, pattern change.Pattern) string {
	if kind.Kind == "Deployment" && pattern.String() != "spec.replicas" {
		return "there is no field " + pattern.String()
	}
	if kind.Kind == "XDatabase" && kind.Version == "v1" && pattern.String() != "spec.claimRef" {
		return "there is no field " + pattern.String()
	}
	if kind.Kind == "ReplicaSet" && pattern.String() == "spec.dead" {
		return "spec.dead is a list"
	}
	return ""
}

func (declarations) TypeOf(kind schema.GroupVersionKind, pattern change.Pattern) change.ValueType {
	if kind.Kind != "Deployment" {
		return ""
	}
	return map[string]change.ValueType{
		"spec.replicas": change.ValueNumber, "spec.paused": change.ValueBool, "spec.items": change.ValueList, "spec.items.*.name": change.ValueText,
		"spec.items[*].name": change.ValueText, "spec.items[*].size": change.ValueNumber, "metadata.name": change.ValueText,
		"metadata.labels": change.ValueMap, "metadata.labels[*]": change.ValueText, "metadata.labels[tier]": change.ValueText,
		"status.observedGeneration": change.ValueText, "status.limit": "",
	}[pattern.String()]
}

func TestUnmatched(t *testing.T) {
	const replicaSet, xdatabase = "{apiGroup: apps, apiVersion: v1, resource: replicasets}", "{apiGroup: example.com, apiVersion: v1alpha1, resource: xdatabases}"
	tests := map[string]struct {
		policy string
		want   []string
	}{
		"all of it may match": {policy: forDeployments(`  rules:
  - trigger: spec.replicas
    policies: [{target: ` + replicaSet + `, relation: ControllerChild, mutations: [{jsonPath: spec.replicas}, {jsonPath: "*"}]}]
`)},
		"fields of the parent": {
			policy: forDeployments("  rules: [{trigger: spec.replicas, capture: [spec.replicas, spec.a]}, {trigger: spec.b}]\n"),
			want: []string{
				"spec.rules[0].capture[1]: in kind Deployment, there is no field spec.a",
				"spec.rules[1].trigger: in kind Deployment, there is no field spec.b",
			},
		},
		"fields of children, in all sections": {
			policy: forDeployments(`  initializing: {policies: [{target: ` + replicaSet + `, relation: ControllerChild, mutations: [{jsonPath: spec.dead}]}]}
  deleting: {policies: [{target: ` + replicaSet + `, relation: ControllerChild, mutations: [{jsonPath: spec.a}, {jsonPath: spec.dead}]}]}
  maintaining: {policies: [{target: ` + replicaSet + `, relation: ControllerChild, mutations: [{jsonPath: status}]}]}
  rules:
  - trigger: spec.replicas
    policies: [{target: ` + replicaSet + `, relation: ControllerChild, mutations: [{jsonPath: spec.dead}]}]
`),
			want: []string{
				"spec.initializing.policies[0].mutations[0].jsonPath: in kind ReplicaSet, spec.dead is a list",
				"spec.deleting.policies[0].mutations[1].jsonPath: in kind ReplicaSet, spec.dead is a list",
				"spec.maintaining.policies[0].mutations[0].jsonPath: no change of status counts, so that none needs to be allowed",
				"spec.rules[0].policies[0].mutations[0].jsonPath: in kind ReplicaSet, spec.dead is a list",
			},
		},
		"subjects": {
			policy: forDeployments(`  subjects:
  - {kind: User, name: alice}
  - {kind: User, name: "*"}
  - {kind: User, name: system:authenticated}
  - {kind: User, name: "system:serviceaccounts:ci"}
  - {kind: User, name: "system:serviceaccount:ci:deployer"}
  - {kind: Group, name: "system:serviceaccounts:ci"}
  - {kind: Group, name: "system:serviceaccount:ci:deployer"}
  - {kind: Group, name: "*"}
  - {kind: ServiceAccount, namespace: ci, name: deployer}
  - {kind: ServiceAccount, namespace: ci, name: "system:serviceaccount:ci:deployer"}
  - {kind: ServiceAccount, namespace: ci, name: Deployer}
  - {kind: ServiceAccount, namespace: "ci/deployer", name: deployer}
  maintaining: {policies: [{target: ` + replicaSet + `, relation: ControllerChild, subjects: [{kind: User, name: "*"}]}]}
`),
			want: []string{
				"spec.subjects[1]: no User is called *, which is no pattern here; Group system:authenticated has everybody",
				"spec.subjects[2]: that is a group, and no user; it is kind Group",
				"spec.subjects[3]: that is a group, and no user; it is kind Group",
				"spec.subjects[6]: that is a user, and no group; it is kind ServiceAccount, namespace ci, name deployer",
				"spec.subjects[7]: no Group is called *, which is no pattern here; Group system:authenticated has everybody",
				"spec.subjects[9]: that is the user of a ServiceAccount, and not its name; it is namespace ci, name deployer",
				"spec.subjects[10]: no ServiceAccount can be called so: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
				"spec.subjects[11]: no namespace can be called as its namespace is: a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
				"spec.maintaining.policies[0].subjects[0]: no User is called *, which is no pattern here; Group system:authenticated has everybody",
			},
		},
		"a child that cannot be owned, once": {
			policy: forDeployments(`  deleting: {policies: [{target: ` + xdatabase + `, relation: ControllerChild}]}
  initializing: {policies: [{target: ` + xdatabase + `, relation: ControllerChild}]}
`),
			want: []string{
				"spec.initializing.policies[0].target: XDatabase objects are in no namespace, so that a Deployment, which is in one, cannot own them",
			},
		},
		"a child that cannot be owned, and has a claim": {policy: forDeployments(`  initializing:
    policies: [{target: {apiGroup: example.com, apiVersion: v1, resource: xdatabases}, relation: ControllerChild}]
`)},
		"nothing where nothing is known": {policy: forDeployments(`  deleting:
    policies:
    - {target: {apiVersion: v1, resource: services}, relation: ControllerChild}
    - {target: {apiVersion: v1, resource: unserved}, relation: ControllerChild, mutations: [{jsonPath: spec.dead}]}
    - {target: {external: {provider: aws}}, relation: External, verbs: [Delete]}
  rules: [{trigger: "spec[", capture: ["a["]}]
`)},
		"a child that nobody is asked about": {
			policy: forDeployments("  deleting: {policies: [{target: {apiGroup: coordination.k8s.io, apiVersion: v1, resource: leases}, relation: ControllerChild}]}\n"),
			want:   []string{"spec.deleting.policies[0].target: Kausality is never asked about leases.coordination.k8s.io, and bounds none"},
		},
		"outside of all namespaces": {
			policy: `
spec:
  for: {apiGroup: example.com, apiVersion: v1alpha1, kind: XDatabase}
  deleting: {policies: [{target: ` + replicaSet + `, relation: ControllerChild}, {target: ` + xdatabase + `, relation: ControllerChild}]}
`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Unmatched(&parse(t, tt.policy).Spec, declarations{})); diff != "" {
				t.Errorf("Unmatched() (-want +got):\n%s", diff)
			}
		})
	}
}
