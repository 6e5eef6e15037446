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

package generate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// TestUnserved names what no rule finds, and nothing of which nobody knows.
func TestUnserved(t *testing.T) {
	rule := func(groups, versions, resources []string) admissionregistrationv1.NamedRuleWithOperations {
		out := admissionregistrationv1.NamedRuleWithOperations{}
		out.APIGroups, out.APIVersions, out.Resources = groups, versions, resources
		return out
	}
	serves := func(group, version, resource string) (served, known bool) {
		is := (group == "apps" || group == anything) && (version == "v1" || version == anything) && resource == "deployments"
		return is, group != "unknown.example"
	}
	for name, tc := range map[string]struct {
		rule admissionregistrationv1.NamedRuleWithOperations
		want []string
	}{
		"served":                       {rule([]string{"apps"}, []string{"v1"}, []string{"deployments", "deployments/scale"}), nil},
		"one of several versions":      {rule([]string{"extensions", "apps"}, []string{"v1beta1", "v1"}, []string{"deployments"}), nil},
		"any":                          {rule([]string{"*"}, []string{"*"}, []string{"*", "*/scale"}), nil},
		"anywhere":                     {rule([]string{"*"}, []string{"*"}, []string{"deployments"}), nil},
		"nowhere":                      {rule([]string{"*"}, []string{"*"}, []string{"deploys"}), []string{"deploys in */*"}},
		"a kind":                       {rule([]string{"apps"}, []string{"v1"}, []string{"Deployment"}), []string{"Deployment in apps/v1"}},
		"another version":              {rule([]string{"apps"}, []string{"v9"}, []string{"deployments", "deployments/scale"}), []string{"deployments in apps/v9"}},
		"another group":                {rule([]string{""}, []string{"v1"}, []string{"deployments"}), []string{"deployments in v1"}},
		"one of several resources":     {rule([]string{"apps"}, []string{"v1"}, []string{"deployments", "sets"}), []string{"sets in apps/v1"}},
		"several groups":               {rule([]string{"a", "b"}, []string{"v1"}, []string{"sets"}), []string{"sets in a/v1 or b/v1"}},
		"a group that does not answer": {rule([]string{"unknown.example"}, []string{"v1"}, []string{"sets"}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Policy{matcher: matcher{rules: []admissionregistrationv1.NamedRuleWithOperations{tc.rule}}}
			var got []string
			for _, u := range p.Unserved(serves) {
				got = append(got, u.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("unserved (-want +got):\n%s", diff)
			}
		})
	}
}
