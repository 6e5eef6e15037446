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
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	testingclock "k8s.io/utils/clock/testing"
)

// answers are what an API server says that it serves, one after the other, the last for good.
type answers struct{ left [][]*metav1.APIResourceList }

func (a *answers) ServerGroupsAndResourcesWithContext(context.Context) ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	out := a.left[0]
	if len(a.left) > 1 {
		a.left = a.left[1:]
	}
	return nil, out, nil
}

// TestServingBelieves has the API server start, which lists what CustomResourceDefinitions define last.
func TestServingBelieves(t *testing.T) {
	verbs := []string{"get", "list", "watch"}
	builtIn := []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "configmaps", Kind: "ConfigMap", Namespaced: true, Verbs: verbs}}}}
	all := append(slices.Clone(builtIn), &metav1.APIResourceList{
		GroupVersion: "example.org/v1", APIResources: []metav1.APIResource{{Name: "things", Kind: "Thing", Namespaced: true, Verbs: verbs}},
	})
	things := schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "things"}
	errStarts := errors.New("it starts")
	type lists = [][]*metav1.APIResourceList
	for name, tc := range map[string]struct {
		// first is what it answers before, and then from a while later on.
		first, then lists
		starts      bool
		// want is whether things are served, and refused that nobody is told.
		want, refused bool
	}{
		"as before":                                 {first: lists{all}, then: lists{all}, want: true},
		"as before, of one that is not ready":       {first: lists{all}, then: lists{all}, starts: true, want: true},
		"more than before":                          {first: lists{builtIn}, then: lists{all}, starts: true, want: true},
		"less than before, of one that starts":      {first: lists{all}, then: lists{builtIn}, starts: true, refused: true},
		"less than before, of one that has started": {first: lists{all}, then: lists{builtIn}},
		"less, and all of it once it is ready":      {first: lists{all}, then: lists{builtIn, all}, want: true},
		"nothing before, of one that starts":        {then: lists{builtIn}, starts: true, refused: true},
		"nothing before, of one that has started":   {then: lists{builtIn, all}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			clock := testingclock.NewFakePassiveClock(time.Now())
			var starts bool
			s := &serving{clock: clock, ready: func(context.Context) error {
				if starts {
					return errStarts
				}
				return nil
			}}
			if tc.first != nil {
				s.discovery = &answers{tc.first}
				if _, err := s.get(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			clock.SetTime(clock.Now().Add(discoveryInterval))
			s.discovery, starts = &answers{tc.then}, tc.starts
			got, err := s.get(t.Context())
			if errors.Is(err, errStarts) != tc.refused {
				t.Fatalf("error %v, want one: %t", err, tc.refused)
			}
			if err != nil {
				return
			}
			if _, is, err := got.ofResource(things); is != tc.want || err != nil {
				t.Errorf("things are served: %t (%v), want %t", is, err, tc.want)
			}
		})
	}
}

func TestWhatNobodyKnowsIsNotAbsent(t *testing.T) {
	broken := schema.GroupVersion{Group: "broken.example.org", Version: "v1"}
	what := newServed([]*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "configmaps", Kind: "ConfigMap", Verbs: []string{"list", "watch"}}}},
		{GroupVersion: broken.String(), APIResources: []metav1.APIResource{{Name: "cached", Kind: "Cached", Verbs: []string{"list", "watch"}}}},
	}, map[schema.GroupVersion]error{broken: discovery.StaleGroupVersionError{}})
	for name, tc := range map[string]struct {
		in             schema.GroupVersion
		resource, kind string
		want, unknown  bool
	}{
		"what is served":                   {schema.GroupVersion{Version: "v1"}, "configmaps", "ConfigMap", true, false},
		"what is not":                      {schema.GroupVersion{Version: "v1"}, "nothings", "Nothing", false, false},
		"what may be":                      {broken, "things", "Thing", false, true},
		"what is, though not all is known": {broken, "cached", "Cached", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			if _, got, err := what.ofResource(tc.in.WithResource(tc.resource)); got != tc.want || (err != nil) != tc.unknown {
				t.Errorf("the resource is served: %t, %v", got, err)
			}
			if _, got, err := what.ofKind(tc.in.WithKind(tc.kind)); got != tc.want || (err != nil) != tc.unknown {
				t.Errorf("the kind is served: %t, %v", got, err)
			}
		})
	}
}

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
	}, nil)
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
