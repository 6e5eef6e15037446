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

package v1alpha1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate"
)

// TestUnservedTriggers warns of triggers that nobody serves, and names what may have been meant.
func TestUnservedTriggers(t *testing.T) {
	serving := serves{{
		GVR: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
		GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
	}}
	for name, tc := range map[string]struct {
		rule string
		want admission.Warnings
	}{
		"served":            {"{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}", nil},
		"in any version":    {"{apiGroups: [apps], apiVersions: ['*'], operations: [CREATE], resources: [deployments]}", nil},
		"in one of several": {"{apiGroups: [apps], apiVersions: [v2, v1], operations: [CREATE], resources: [deployments]}", nil},
		"a kind": {
			"{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [Deployment]}",
			admission.Warnings{"spec.matchConstraints: Deployment in apps/v1 is not served; nothing is a trigger of it until it is; did you mean resource deployments in apps/v1?"},
		},
		"in no version": {
			"{apiGroups: [apps], apiVersions: [v9], operations: [CREATE], resources: [deployments]}",
			admission.Warnings{"spec.matchConstraints: deployments in apps/v9 is not served; nothing is a trigger of it until it is; did you mean resource deployments in apps/v1?"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.GeneratingPolicy{}
			text := "spec: {matchConstraints: {resourceRules: [" + tc.rule + "]}, generate: [{expression: \"generator.ApplyAll('a', [])\"}]}"
			if err := yaml.Unmarshal([]byte(text), p); err != nil {
				t.Fatal(err)
			}
			compiled, _, errs := generate.Compile("p", &p.Spec)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			got := (&GeneratingPolicyValidator{Serving: serving}).unserved(t.Context(), compiled)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
