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

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
)

func TestSelects(t *testing.T) {
	p := compile(t, forDeployments(`  objectSelector: {matchLabels: {app: web}}
  namespaceSelector: {matchExpressions: [{key: env, operator: NotIn, values: [dev]}]}`))
	web := map[string]string{"app": "web"}
	tests := map[string]struct {
		labels, namespace map[string]string
		want              bool
	}{
		"both":                    {labels: web, namespace: map[string]string{"env": "prod"}, want: true},
		"namespace without label": {labels: web, namespace: map[string]string{}, want: true},
		"other namespace":         {labels: web, namespace: map[string]string{"env": "dev"}, want: false},
		"other object":            {labels: map[string]string{"app": "db"}, namespace: map[string]string{"env": "prod"}, want: false},
		"no namespace":            {labels: web, want: true},
		"no namespace, no labels": {want: false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := p.Selects(tc.labels, tc.namespace); got != tc.want {
				t.Errorf("Selects() = %t, want %t", got, tc.want)
			}
		})
	}
}

func TestSelectsKubeSystemOnlyWhereAsked(t *testing.T) {
	system := map[string]string{"kubernetes.io/metadata.name": "kube-system"}
	tests := map[string]struct {
		spec string
		want bool
	}{
		"an empty selector": {},
		"asked for by name": {
			spec: "  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}", want: true,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := compile(t, forDeployments(tc.spec)).Selects(nil, system); got != tc.want {
				t.Errorf("Selects() = %t, want %t", got, tc.want)
			}
		})
	}
}

func TestBoundsIn(t *testing.T) {
	p := compile(t, forDeployments(`  initializing:
    policies:
    - {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Create]}
    - {target: {external: {provider: aws}}, relation: External, verbs: [Create]}
  deleting:
    policies:
    - {target: {apiVersion: v1, resource: services}, relation: ControllerChild, verbs: [Delete]}
  maintaining:
    policies:
    - {target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create]}
  rules:
  - trigger: spec
    policies:
    - {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild}
  - trigger: spec.anything`))
	type bounds struct{ Any, Initializing, Steady, Deleting, Section bool }
	want := map[schema.GroupKind]bounds{
		replicaSets:       {Any: true, Initializing: true, Steady: true, Section: true},
		pods:              {Any: true, Steady: true},
		{Kind: "Service"}: {Any: true, Deleting: true},
		configMaps:        {},
		{}:                {},
	}
	for kind, want := range want {
		t.Run(kind.String(), func(t *testing.T) {
			got := bounds{
				Any:          p.Bounds(kind),
				Initializing: p.BoundsIn(v1alpha1.PhaseInitializing, kind),
				Steady:       p.BoundsIn(v1alpha1.PhaseSteady, kind),
				Deleting:     p.BoundsIn(v1alpha1.PhaseDeleting, kind),
				Section:      p.Initializing.Names(kind),
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("bounds (-want +got):\n%s", diff)
			}
			if p.BoundsIn("", kind) {
				t.Error("a phase that is none must bound nothing")
			}
		})
	}
}

func TestMetadata(t *testing.T) {
	p := compile(t, forDeployments(`  initializing:
    policies:
    - target: {apiVersion: v1, resource: services}
      relation: ControllerChild
      mutations: [{jsonPath: metadata.name}]
  rules:
  - trigger: metadata.labels
    capture: ["metadata.annotations[jira]"]
    policies:
    - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
      relation: ControllerChild
      mutations: [{jsonPath: "metadata.labels[app]"}, {jsonPath: spec}, {jsonPath: "*"}]
  - trigger: metadata.annotations[deploy]
  - trigger: metadata.labels
  - trigger: metadataOf.x`))
	texts := func(patterns []change.Pattern) []string {
		var out []string
		for _, p := range patterns {
			out = append(out, p.String())
		}
		return out
	}
	const books = "metadata.annotations[deployment.kubernetes.io/"
	tests := map[string]struct {
		got  []change.Pattern
		want []string
	}{
		"triggers": {got: p.TriggerMetadata(), want: []string{"metadata.annotations[deploy]", "metadata.labels"}},
		"ReplicaSets": {got: p.ChildMetadata(replicaSets), want: []string{
			books + "desired-replicas]", books + "max-replicas]", books + "revision-history]", books + "revision]", "metadata.labels[app]",
		}},
		"Services": {got: p.ChildMetadata(schema.GroupKind{Kind: "Service"}), want: []string{"metadata.name"}},
		"Pods":     {got: p.ChildMetadata(pods)},
		"all": {got: p.MetadataPatterns(), want: []string{
			"metadata.annotations[deploy]", books + "desired-replicas]", books + "max-replicas]", books + "revision-history]", books + "revision]",
			"metadata.labels", "metadata.labels[app]", "metadata.name",
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, texts(tc.got)); diff != "" {
				t.Errorf("metadata (-want +got):\n%s", diff)
			}
		})
	}
}

func TestActive(t *testing.T) {
	var active Active
	if i := active.Index(); i == nil || len(i.Policies()) != 0 {
		t.Errorf("Index() = %v, want an empty one", i)
	}
	index := indexOfChain(t)
	active.Set(index)
	if active.Index() != index {
		t.Error("Index() is not what was set")
	}
	if diff := cmp.Diff([]string{"pod-of-shop", "deployment", "pod", "replicaset"}, namesOf(index.Policies())); diff != "" {
		t.Errorf("Policies() (-want +got):\n%s", diff)
	}
}
