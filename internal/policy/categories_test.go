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

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestHasCategory(t *testing.T) {
	p := compile(t, forDeployments(`  rules:
  - trigger: spec.replicas
    policies:
    - {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild}
`))
	p.Categorize(func(kind schema.GroupKind) []string {
		return map[string][]string{"Deployment": {"all", "parents"}, "ReplicaSet": {"children"}, "Pod": {"unnamed"}}[kind.Kind]
	})
	for name, tc := range map[string]struct {
		index    *Index
		kind     schema.GroupKind
		category string
		want     bool
	}{
		"the kind of parents":         {NewIndex([]*Policy{p}), deployments, "parents", true},
		"the kind of a target":        {NewIndex([]*Policy{p}), replicaSets, "children", true},
		"another category":            {NewIndex([]*Policy{p}), replicaSets, "parents", false},
		"a kind that no policy names": {NewIndex([]*Policy{p}), pods, "unnamed", false},
		"no policies":                 {NewIndex(nil), deployments, "all", false},
		"no index":                    {nil, deployments, "all", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.index.HasCategory(tc.kind, tc.category); got != tc.want {
				t.Errorf("HasCategory(%s, %s) = %t", tc.kind, tc.category, got)
			}
		})
	}
}
