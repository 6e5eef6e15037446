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

package decision

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

// healingPolicy lets controllers make Pods again, for parents of a kind.
func healingPolicy(t *testing.T, gvk schema.GroupVersionKind) []*policy.Policy {
	t.Helper()
	return []*policy.Policy{compile(t, "healing", `
for: {apiGroup: "`+gvk.Group+`", apiVersion: v1, kind: `+gvk.Kind+`}
subjects: [{kind: User, name: alice, mayInitiate: true}]
maintaining:
  policies: [{target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create]}]
rules:
- {trigger: spec}
`)}
}

func TestHealingWhileSomethingIsWithheld(t *testing.T) {
	statefulSet := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	job := schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	hostname := withheldChange("spec.template.spec.hostname", fingerprint("uid-of-web", "old"))
	fourBefore := withheldChange("spec.replicas", "4")

	tests := map[string]struct {
		parent   schema.GroupVersionKind
		withheld []v1alpha1.Allowance
		name     string
		hostname string
		short    bool
		first    int64
		want     Reason
	}{
		"a Pod of the old template": {parent: replicaSetGVK, withheld: []v1alpha1.Allowance{hostname}, hostname: "old", want: ReasonMaintaining},
		"a Pod of the new template": {parent: replicaSetGVK, withheld: []v1alpha1.Allowance{hostname}, hostname: "new", want: ReasonDenied},
		"in the place of another":   {parent: replicaSetGVK, withheld: []v1alpha1.Allowance{fourBefore}, short: true, want: ReasonMaintaining},
		"one more than before":      {parent: replicaSetGVK, withheld: []v1alpha1.Allowance{fourBefore}, want: ReasonDenied},
		"in the place of another, of the new template": {
			parent: replicaSetGVK, withheld: []v1alpha1.Allowance{fourBefore, hostname}, short: true, hostname: "new", want: ReasonDenied,
		},
		"in the place of another of a StatefulSet": {
			parent: statefulSet, withheld: []v1alpha1.Allowance{fourBefore}, short: true, name: "web-3", want: ReasonMaintaining,
		},
		"further up in a StatefulSet": {parent: statefulSet, withheld: []v1alpha1.Allowance{fourBefore}, short: true, name: "web-4", want: ReasonDenied},
		"ordinals that begin elsewhere": {
			parent: statefulSet, withheld: []v1alpha1.Allowance{fourBefore}, short: true, first: 10, name: "web-13", want: ReasonMaintaining,
		},
		"a name without an ordinal":       {parent: statefulSet, withheld: []v1alpha1.Allowance{fourBefore}, short: true, name: "other", want: ReasonDenied},
		"a count that was left out":       {parent: replicaSetGVK, withheld: []v1alpha1.Allowance{withheldChange("spec.replicas", "")}, want: ReasonDenied},
		"the parallelism of a Job":        {parent: job, withheld: []v1alpha1.Allowance{withheldChange("spec.parallelism", "2")}, want: ReasonDenied},
		"what does not show in Pods":      {parent: job, withheld: []v1alpha1.Allowance{withheldChange("spec.suspend", "#1")}, want: ReasonMaintaining},
		"a kind of which nobody can tell": {parent: bucketGVK, withheld: []v1alpha1.Allowance{withheldChange("spec.size", "2")}, want: ReasonDenied},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := aRequest(replicaer, Create, podGVK, tc.name).of(tc.parent, "web", healingPolicy(t, tc.parent), tc.withheld...)
			r.Child.New = map[string]any{"spec": map[string]any{"hostname": tc.hostname}}
			r.Parent.Short, r.Parent.FirstOrdinal = tc.short, tc.first
			if v := Decide(t.Context(), &r.Input); v.Reason != tc.want {
				t.Errorf("%s, want %s", v.Reason, tc.want)
			}
		})
	}
}

func TestWithheldCount(t *testing.T) {
	tests := map[string]struct {
		withheld []v1alpha1.Allowance
		change   func(*Input)
		want     int64
		none     bool
	}{
		"next to something else": {
			withheld: []v1alpha1.Allowance{withheldChange("spec.replicas", "4"), withheldChange("spec.template.spec.hostname", "#1")}, want: 4,
		},
		"left out before":             {withheld: []v1alpha1.Allowance{withheldChange("spec.replicas", "")}, want: 1},
		"a number that is no count":   {withheld: []v1alpha1.Allowance{withheldChange("spec.minReadySeconds", "4")}, none: true},
		"nothing is withheld":         {none: true},
		"a deletion":                  {withheld: []v1alpha1.Allowance{withheldChange("spec.replicas", "4")}, change: func(in *Input) { in.Operation = Delete }, none: true},
		"something else than a Pod":   {withheld: []v1alpha1.Allowance{withheldChange("spec.replicas", "4")}, change: func(in *Input) { in.Child.GVK = bucketGVK }, none: true},
		"the parent is not looked up": {withheld: []v1alpha1.Allowance{withheldChange("spec.replicas", "4")}, change: func(in *Input) { in.ParentState = ParentGone }, none: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := aRequest(replicaer, Create, podGVK, "").of(replicaSetGVK, "web", healingPolicy(t, replicaSetGVK), tc.withheld...)
			if tc.change != nil {
				tc.change(&r.Input)
			}
			if got, ok := r.WithheldCount(); got != tc.want || ok == tc.none {
				t.Errorf("%d, %t", got, ok)
			}
		})
	}
}
