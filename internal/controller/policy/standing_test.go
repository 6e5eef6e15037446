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
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/policy"
)

// consuming makes the policy say when its objects have settled.
func consuming(p *v1alpha1.AllowancePolicy, name, when string) *v1alpha1.AllowancePolicy {
	p.Name = name
	p.Spec.Consumption = &v1alpha1.Consumption{When: when}
	return p
}

// selecting makes the policy select objects by the label team.
func selecting(p *v1alpha1.AllowancePolicy, team string) *v1alpha1.AllowancePolicy {
	p.Spec.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": team}}
	return p
}

// Policies of one age: the one whose name comes first is the older one.
func TestStanding(t *testing.T) {
	const ready, done = "object.status.readyReplicas == object.spec.replicas", "object.status.replicas == object.spec.replicas"
	rules := func() *v1alpha1.AllowancePolicy {
		return controllertest.Bounding(controllertest.Initiated(controllertest.PolicyFor("Deployment")), "apps", "replicasets")
	}
	other := func() *v1alpha1.AllowancePolicy {
		return controllertest.Initiated(controllertest.PolicyFor("Deployment"))
	}
	red, blue, plain := controllertest.Workload("Deployment", "red"), controllertest.Workload("Deployment", "blue"), controllertest.Workload("Deployment", "plain")
	red.SetLabels(map[string]string{"team": "red"})
	blue.SetLabels(map[string]string{"team": "blue"})
	lost := func(names ...string) map[policy.DecidingField][]string {
		return map[policy.DecidingField][]string{policy.FieldConsumptionWhen: names}
	}

	for name, tc := range map[string]struct {
		policies []*v1alpha1.AllowancePolicy
		want     []standing
	}{
		"alone":      {[]*v1alpha1.AllowancePolicy{consuming(rules(), "a", ready)}, []standing{{affected: 3}}},
		"no objects": {[]*v1alpha1.AllowancePolicy{selecting(consuming(rules(), "a", ready), "green")}, []standing{{}}},
		// The first of two for the same objects wins, and the second has no effect.
		"a direct conflict": {
			[]*v1alpha1.AllowancePolicy{consuming(rules(), "a", ready), consuming(rules(), "b", done)},
			[]standing{{affected: 3, overrides: lost("b")}, {affected: 3, void: 3, overridden: lost("a")}},
		},
		// Beaten for some of its objects only.
		"partial": {
			[]*v1alpha1.AllowancePolicy{selecting(consuming(rules(), "a", ready), "red"), consuming(rules(), "b", done)},
			[]standing{{affected: 1, overrides: lost("b")}, {affected: 3, void: 1, overridden: lost("a")}},
		},
		// Beaten for all of its objects, while what it says besides counts.
		"merged": {
			[]*v1alpha1.AllowancePolicy{consuming(other(), "a", ready), selecting(consuming(rules(), "b", done), "red")},
			[]standing{{affected: 3, overrides: lost("b")}, {affected: 1, overridden: lost("a")}},
		},
		// Beaten by the one and beating the other.
		"three": {
			[]*v1alpha1.AllowancePolicy{consuming(rules(), "a", ready), consuming(other(), "b", done), consuming(other(), "c", "true")},
			[]standing{{affected: 3, overrides: lost("b", "c")}, {affected: 3, overridden: lost("a")}, {affected: 3, void: 3, overridden: lost("a")}},
		},
		"different objects": {
			[]*v1alpha1.AllowancePolicy{selecting(consuming(rules(), "a", ready), "red"), selecting(consuming(rules(), "b", done), "blue")},
			[]standing{{affected: 1}, {affected: 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			policies := controllertest.Compiled(t, tc.policies...)
			adoption := &Adoption{Holders: controllertest.Holders{red, blue, plain}, Namespaces: controllertest.NoNamespaceLabels{}, Clock: clock.RealClock{}}
			var got []standing
			for _, p := range policies {
				s, err := adoption.standingOf(t.Context(), policy.NewIndex(policies), p)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, s)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(standing{}), cmpopts.IgnoreFields(standing{}, "whens", "silence")); diff != "" {
				t.Errorf("standings (-want +got):\n%s", diff)
			}
		})
	}
}
