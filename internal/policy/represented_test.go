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
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/change"
)

func TestAsField(t *testing.T) {
	autoscaler := func(version string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "autoscaling", Version: version, Kind: "HorizontalPodAutoscaler"}
	}
	const metrics, behavior = "metadata.annotations[autoscaling.alpha.kubernetes.io/metrics]", "metadata.annotations[autoscaling.alpha.kubernetes.io/behavior]"
	tests := map[string]struct {
		kind       schema.GroupVersionKind
		path, want string
	}{
		"metrics":                    {autoscaler("v1"), metrics, "spec.metrics"},
		"behavior":                   {autoscaler("v1"), behavior, "spec.behavior"},
		"a field is one":             {autoscaler("v1"), "spec.maxReplicas", "spec.maxReplicas"},
		"what stands for the status": {autoscaler("v1"), "metadata.annotations[autoscaling.alpha.kubernetes.io/conditions]", "metadata.annotations[autoscaling.alpha.kubernetes.io/conditions]"},
		"in the version that has it": {autoscaler("v2"), metrics, metrics},
		"a rollback":                 {schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, "metadata.annotations[deprecated.deployment.rollback.to]", "spec.rollbackTo"},
		"the same on any other kind": {schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, metrics, metrics},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path, err := change.ParsePath(tt.path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, AsField(tt.kind, change.Change{Path: path}).Path.String()); diff != "" {
				t.Errorf("path (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCommand(t *testing.T) {
	const annotation = "metadata.annotations[deprecated.deployment.rollback.to]"
	rule := func(trigger string) string { return "\n  rules: [{trigger: " + trigger + "}]" }
	tests := map[string]struct {
		policy string
		want   bool
	}{
		"a rule about the template":       {forKind("Deployment", rule("spec.template")), true},
		"a rule about a part of it":       {forKind("Deployment", rule(`"spec.template.spec.containers[*].image"`)), true},
		"a rule about all":                {forKind("Deployment", rule("spec")), true},
		"a rule about something else":     {forKind("Deployment", rule("spec.replicas")), false},
		"a kind that takes no commands":   {forKind("StatefulSet", rule("spec.template")), false},
		"a policy that only names others": {forKind("Deployment", ""), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := compile(t, tt.policy)
			_, got := p.Command()
			asked := slices.ContainsFunc(p.MetadataPatterns(), func(pattern change.Pattern) bool { return pattern.String() == annotation })
			if diff := cmp.Diff([]bool{tt.want, tt.want}, []bool{got, asked}); diff != "" {
				t.Errorf("takes it, and the API server asks (-want +got):\n%s", diff)
			}
		})
	}
}
