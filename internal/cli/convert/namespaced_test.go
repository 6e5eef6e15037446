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

package convert

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/internal/cli/source"
)

// A policy of a namespace is about what is in it, and about the Namespace itself.
func TestLimit(t *testing.T) {
	tests := map[string]struct {
		match, want string
		lost        int
	}{
		"what is in namespaces": {
			match: `{resourceRules: [{apiGroups: [apps], resources: [deployments]}]}`,
			want:  `{resourceRules: [{apiGroups: [apps], resources: [deployments], scope: Namespaced}], namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}}`,
		},
		"Namespaces, whose labels are their own": {
			match: `{resourceRules: [{apiGroups: [""], resources: [namespaces, namespaces/status]}], namespaceSelector: {matchLabels: {a: b}}}`,
			want:  `{resourceRules: [{apiGroups: [""], resources: [namespaces, namespaces/status]}], namespaceSelector: {matchLabels: {a: b, kubernetes.io/metadata.name: shop}}}`,
		},
		"another group's resource of that name": {
			match: `{resourceRules: [{apiGroups: [example.org], resources: [namespaces]}]}`,
			want:  `{resourceRules: [{apiGroups: [example.org], resources: [namespaces], scope: Namespaced}], namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}}`,
		},
		"any group's resource of that name": {
			match: `{resourceRules: [{apiGroups: ["*"], resources: [namespaces]}]}`,
			want: `{resourceRules: [{apiGroups: ["*"], resources: [namespaces], scope: Namespaced}, {apiGroups: [""], resources: [namespaces]}],
				namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}}`,
		},
		"everything": {
			match: `{resourceRules: [{apiGroups: ["*"], resources: ["*", "*/*", "*/scale"], scope: "*"}]}`,
			want: `{resourceRules: [
				{apiGroups: ["*"], resources: ["*", "*/*", "*/scale"], scope: Namespaced},
				{apiGroups: [""], resources: [namespaces, namespaces/*, namespaces/scale], scope: "*"}],
				namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}}`,
		},
		"what is in namespaces, of everything": {
			match: `{resourceRules: [{apiGroups: ["*"], resources: ["*"], scope: Namespaced}]}`,
			want:  `{resourceRules: [{apiGroups: ["*"], resources: ["*"], scope: Namespaced}], namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}}`,
		},
		"what is in none, of everything": {
			match: `{resourceRules: [{apiGroups: ["*"], resources: ["*"], scope: Cluster}]}`,
			want:  `{resourceRules: [{apiGroups: [""], resources: [namespaces], scope: Cluster}], namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}}`,
		},
		"what is in none": {
			match: `{resourceRules: [{apiGroups: [""], resources: [nodes], scope: Cluster}]}`,
			want:  `{resourceRules: null, namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}}`,
			lost:  1,
		},
		"another namespace never matches": {
			match: `{resourceRules: [{apiGroups: [""], resources: [pods]}], namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: other}}}`,
			want: `{resourceRules: [{apiGroups: [""], resources: [pods], scope: Namespaced}], namespaceSelector: {
				matchLabels: {kubernetes.io/metadata.name: other}, matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [shop]}]}}`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var match, want map[string]any
			if err := yaml.Unmarshal([]byte(tc.match), &match); err != nil {
				t.Fatal(err)
			}
			if err := yaml.Unmarshal([]byte(tc.want), &want); err != nil {
				t.Fatal(err)
			}
			doc, err := source.Of(map[string]any{})
			if err != nil {
				t.Fatal(err)
			}
			c := &converter{doc: doc, namespace: "shop", unusable: map[string]bool{}}
			c.limit(map[string]any{"matchConstraints": match})
			if rules, ok := match["resourceRules"].([]any); ok && len(rules) == 0 {
				match["resourceRules"] = nil
			}
			if diff := cmp.Diff(want, match); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(c.Lost) != tc.lost {
				t.Errorf("%d lost, want %d: %v", len(c.Lost), tc.lost, c.Lost)
			}
		})
	}
}
