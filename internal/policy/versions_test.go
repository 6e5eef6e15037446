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
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kausality.io/operator/api/v1alpha1"
)

// versioned serves Disks and Hubs in two versions.
func versioned(resource schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
	kind, ok := map[string]string{"disks": "Disk", "hubs": "Hub", "readers": "Reader"}[resource.Resource]
	return resource.GroupVersion().WithKind(kind), ok && (resource.Version == "v1" || resource.Version == "v2")
}

func TestClashes(t *testing.T) {
	t.Parallel()
	type given struct {
		name string
		// kind and version that it is for; targets and readers are resources with their versions.
		kind, version    string
		targets, readers map[string]string
		rank             Rank
	}
	for name, tc := range map[string]struct {
		policies []given
		want     map[string][]Clash
	}{
		"of the same version": {
			policies: []given{{name: "a", kind: "Disk", version: "v1"}, {name: "b", kind: "Hub", version: "v2", targets: map[string]string{"disks": "v1"}}},
		},
		"the older stands": {
			policies: []given{{name: "z", kind: "Disk", version: "v1"}, {name: "a", kind: "Disk", version: "v2"}},
			want:     map[string][]Clash{"a": {{Kind: disk, Version: "v2", Stands: "v1", By: "z"}}},
		},
		"by a target": {
			policies: []given{{name: "disk", kind: "Disk", version: "v1"}, {name: "hub", kind: "Hub", version: "v1", targets: map[string]string{"disks": "v2"}}},
			want:     map[string][]Clash{"hub": {{Kind: disk, Version: "v2", Stands: "v1", By: "disk"}}},
		},
		"by readers": {
			policies: []given{{name: "reader", kind: "Reader", version: "v1"}, {name: "disk", kind: "Disk", version: "v1", readers: map[string]string{"readers": "v2"}}},
			want:     map[string][]Clash{"disk": {{Kind: schema.GroupKind{Group: "h2", Kind: "Reader"}, Version: "v2", Stands: "v1", By: "reader"}}},
		},
		"of what is not served": {
			policies: []given{{name: "disk", kind: "Disk", version: "v1"}, {name: "hub", kind: "Hub", version: "v1", targets: map[string]string{"disks": "v3"}}},
		},
		"the older one is changed": {
			policies: []given{{name: "older", kind: "Disk", version: "v2", rank: RankChanged}, {name: "younger", kind: "Disk", version: "v1", rank: RankInEffect}},
			want:     map[string][]Clash{"older": {{Kind: disk, Version: "v2", Stands: "v1", By: "younger"}}},
		},
		"one in effect is changed while another waits": {
			policies: []given{{name: "older", kind: "Disk", version: "v2", rank: RankNew}, {name: "younger", kind: "Disk", version: "v1", rank: RankChanged}},
			want:     map[string][]Clash{"older": {{Kind: disk, Version: "v2", Stands: "v1", By: "younger"}}},
		},
		"all are changed": {
			policies: []given{{name: "older", kind: "Disk", version: "v2", rank: RankNew}, {name: "younger", kind: "Disk", version: "v2", rank: RankChanged}},
		},
		"what clashes stands in nobody's way": {
			policies: []given{
				{name: "a", kind: "Disk", version: "v1"},
				{name: "b", kind: "Hub", version: "v1", targets: map[string]string{"disks": "v2"}},
				{name: "c", kind: "Hub", version: "v2"},
			},
			want: map[string][]Clash{"b": {{Kind: disk, Version: "v2", Stands: "v1", By: "a"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var policies []*Policy
			ranks := map[string]Rank{}
			for i, g := range tc.policies {
				p := &v1alpha1.AllowancePolicy{ObjectMeta: metav1.ObjectMeta{Name: g.name, CreationTimestamp: metav1.NewTime(time.Unix(int64(i), 0))}}
				p.Spec.For = v1alpha1.ParentKind{APIGroup: "h2", APIVersion: g.version, Kind: g.kind}
				rule := v1alpha1.Rule{Trigger: "spec"}
				for resource, version := range g.targets {
					rule.Policies = append(rule.Policies, v1alpha1.PolicyEntry{
						Target:   v1alpha1.Target{APIGroup: new("h2"), APIVersion: version, Resource: resource},
						Relation: v1alpha1.RelationControllerChild, Verbs: []string{"*"},
					})
				}
				for resource, version := range g.readers {
					rule.Policies = append(rule.Policies, v1alpha1.PolicyEntry{
						Target:   v1alpha1.Target{APIGroup: new("h2"), APIVersion: "v1", Resource: "hubs"},
						Relation: v1alpha1.RelationControllerChild, Verbs: []string{"*"},
						Through: &v1alpha1.Through{APIGroup: "h2", APIVersion: version, Resource: resource, NamedBy: []string{"spec.disk"}},
					})
				}
				p.Spec.Rules = []v1alpha1.Rule{rule}
				compiled, errs := Compile(p, versioned)
				if len(errs) > 0 {
					t.Fatal(errs.ToAggregate())
				}
				// In the opposite order, as they may come.
				policies = append([]*Policy{compiled}, policies...)
				ranks[g.name] = g.rank
			}
			got := map[string][]Clash{}
			for p, clashes := range Clashes(policies, func(p *Policy) Rank { return ranks[p.Name] }) {
				got[p.Name] = clashes
			}
			want := tc.want
			if want == nil {
				want = map[string][]Clash{}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("clashes (-want +got):\n%s", diff)
			}
		})
	}
}

var disk = schema.GroupKind{Group: "h2", Kind: "Disk"}

func TestOneVersion(t *testing.T) {
	t.Parallel()
	p := &v1alpha1.AllowancePolicy{}
	p.Spec.For = v1alpha1.ParentKind{APIGroup: "h2", APIVersion: "v1", Kind: "Hub"}
	entry := func(version string) v1alpha1.PolicyEntry {
		return v1alpha1.PolicyEntry{
			Target: v1alpha1.Target{APIGroup: new("h2"), APIVersion: version, Resource: "disks"}, Relation: v1alpha1.RelationControllerChild, Verbs: []string{"*"},
		}
	}
	p.Spec.Deleting = &v1alpha1.DeletingSection{Policies: []v1alpha1.PolicyEntry{entry("v1"), entry("v2")}}
	compiled, errs := Compile(p, versioned)
	if diff := cmp.Diff([]string{`spec.deleting.policies[1].target.apiVersion: Invalid value: "v2": Disk.h2 is named in v1 above: a kind is judged in one version`}, problems(errs)); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if n := len(compiled.Entries()); n != 1 {
		t.Errorf("%d entries are left, want that of v1", n)
	}
}

func TestRankOf(t *testing.T) {
	t.Parallel()
	conflicted := []metav1.Condition{{Type: v1alpha1.ConditionAccepted, Reason: v1alpha1.ReasonConflicted}}
	for name, tc := range map[string]struct {
		adopted    int64
		conditions []metav1.Condition
		want       Rank
	}{
		"new":                        {want: RankNew},
		"in effect":                  {adopted: 2, want: RankInEffect},
		"changed":                    {adopted: 1, want: RankChanged},
		"changed, and in conflict":   {adopted: 1, conditions: conflicted, want: RankNew},
		"as it was, and in conflict": {adopted: 2, conditions: conflicted, want: RankNew},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &v1alpha1.AllowancePolicy{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Status: v1alpha1.AllowancePolicyStatus{Conditions: tc.conditions}}
			if got := RankOf(p, tc.adopted); got != tc.want {
				t.Errorf("rank = %d, want %d", got, tc.want)
			}
		})
	}
}

func problems(errs field.ErrorList) []string {
	out := make([]string, 0, len(errs))
	for _, err := range errs {
		out = append(out, err.Error())
	}
	return out
}
