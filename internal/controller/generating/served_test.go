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

package generating

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRulesNameWhatIsServed(t *testing.T) {
	verbs := []string{"get", "list", "watch"}
	what := newServed([]*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "configmaps", Kind: "ConfigMap", Namespaced: true, Verbs: verbs},
			{Name: "pods/status", Kind: "Pod", Namespaced: true, Verbs: verbs},
			{Name: "bindings", Kind: "Binding", Namespaced: true, Verbs: []string{"create"}},
		}},
		{GroupVersion: "autoscaling/v2", APIResources: []metav1.APIResource{{Name: "horizontalpodautoscalers", Kind: "HorizontalPodAutoscaler", Namespaced: true, Verbs: verbs}}},
		{GroupVersion: "autoscaling/v1", APIResources: []metav1.APIResource{{Name: "horizontalpodautoscalers", Kind: "HorizontalPodAutoscaler", Namespaced: true, Verbs: verbs}}},
	}, false)
	for name, tc := range map[string]struct {
		group, version, resource string
		want                     []string
		more                     bool
	}{
		"one":                               {"", "v1", "configmaps", []string{"v1/configmaps"}, false},
		"the version that is named":         {"autoscaling", "v1", "horizontalpodautoscalers", []string{"autoscaling/v1/horizontalpodautoscalers"}, false},
		"each kind in one version":          {"autoscaling", "*", "*", []string{"autoscaling/v2/horizontalpodautoscalers"}, false},
		"all that can be watched":           {"*", "*", "*", []string{"v1/configmaps", "autoscaling/v2/horizontalpodautoscalers"}, false},
		"one that is not served":            {"example.org", "v1", "things", nil, true},
		"a sub-resource":                    {"", "v1", "pods/status", nil, true},
		"one that can only be created":      {"", "v1", "bindings", nil, true},
		"one of another group of that name": {"example.org", "v1", "configmaps", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, more := what.matching([]admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Rule: admissionregistrationv1.Rule{APIGroups: []string{tc.group}, APIVersions: []string{tc.version}, Resources: []string{tc.resource}},
			}}})
			var names []string
			for _, r := range got {
				names = append(names, r.gvr.GroupVersion().String()+"/"+r.gvr.Resource)
			}
			if diff := cmp.Diff(tc.want, names); diff != "" {
				t.Errorf("resources (-want +got):\n%s", diff)
			}
			if more != tc.more {
				t.Errorf("there may be more: %t, want %t", more, tc.more)
			}
		})
	}
}
