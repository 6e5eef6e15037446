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
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
)

var canaryKind = schema.GroupKind{Group: "example.org", Kind: "Canary"}

// canary returns a policy for a kind that nobody knows, with this in its spec.
func canary(t *testing.T, name string, age int, spec string) *Policy {
	t.Helper()
	p := compile(t, "metadata: {name: "+name+"}\nspec:\n  for: {apiGroup: example.org, apiVersion: v1, kind: Canary}\n"+spec)
	p.Created = metav1.NewTime(time.Unix(int64(1000-age), 0))
	return p
}

// Of two policies that say something of a kind, the older one decides, field by field.
func TestKnown(t *testing.T) {
	older := canary(t, "older", 2, "  knowledge: {proves: [spec.a], selector: Keeps}\n")
	younger := canary(t, "younger", 1, "  knowledge: {proves: [spec.b], steering: [spec.c]}\n")
	silent := canary(t, "silent", 3, "  rules: [{trigger: spec}]\n")
	all := NewIndex([]*Policy{younger, silent, older}).For(canaryKind)
	known := Known(canaryKind, all)
	if len(known.Proves) != 1 || known.Proves[0].String() != "spec.a" || known.Selector != v1alpha1.SelectorKeeps || len(known.Steering) != 1 {
		t.Errorf("known: %+v", known)
	}
	if other := Known(schema.GroupKind{Kind: "Other"}, all); other.Source() != nil {
		t.Errorf("known of another kind: %+v", other)
	}
	want := []string{"spec.knowledge.proves, of which policy older says something else"}
	if diff := cmp.Diff(want, younger.Contradicted(all)); diff != "" {
		t.Errorf("contradicted (-want +got):\n%s", diff)
	}
	if got := append(older.Contradicted(all), silent.Contradicted(all)...); len(got) > 0 {
		t.Errorf("contradicted: %q", got)
	}
}

// A trigger may be about the status only where people act through that.
func TestTriggersOfActions(t *testing.T) {
	const subjects = "  subjects: [{kind: Group, name: platform-team, mayInitiate: true}]\n"
	p := canary(t, "a", 1, subjects+"  knowledge: {actions: [{path: status.go}, {path: status.stop}]}\n"+
		"  rules: [{trigger: spec, conditions: [\"false\"], policies: [{target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Delete]}]},"+
		" {trigger: status.stop}, {trigger: metadata.labels, policies: [{target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create]}]}]\n")
	for name, tc := range map[string]struct {
		action string
		want   []int
	}{
		"one that a trigger is about": {"status.stop", []int{1}},
		"another one":                 {"status.go", []int{0, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []int
			for _, r := range p.Acted(mustPath(t, tc.action)) {
				got = append(got, r.Index)
				if want := p.Rules[r.Index]; r.Trigger.String() != tc.action || len(r.Entries) != len(want.Entries) || len(r.Conditions) != len(want.Conditions) {
					t.Errorf("rule %d of the action is %+v, want %+v", r.Index, r, want)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("rules of %s (-want +got):\n%s", tc.action, diff)
			}
		})
	}
	_, errs := Compile(parse(t, "metadata: {name: a}\nspec:\n  for: {apiGroup: example.org, apiVersion: v1, kind: Canary}\n  rules: [{trigger: status.go}]\n"), servedKinds)
	if len(errs) != 1 || errs[0].Field != "spec.rules[0].trigger" {
		t.Errorf("a status that nobody acts through: %v", errs)
	}
}

// statuses declares whether kinds have a status, and conditions in it.
type statuses struct {
	declarations
	status, conditions bool
}

func (s statuses) TypeOf(_ schema.GroupVersionKind, pattern change.Pattern) change.ValueType {
	if s.status && pattern.String() == "status" {
		return change.ValueMap
	}
	return ""
}

func (s statuses) Undeclared(_ schema.GroupVersionKind, pattern change.Pattern) string {
	if !s.conditions && pattern.String() == "status.conditions" {
		return "there is none"
	}
	return ""
}

func TestSilent(t *testing.T) {
	canaries := v1alpha1.ParentKind{APIGroup: "example.org", APIVersion: "v1", Kind: "Canary"}
	tests := map[string]struct {
		spec     v1alpha1.AllowancePolicySpec
		declared statuses
		want     bool
	}{
		"a kind without conditions":     {declared: statuses{status: true}, want: true},
		"a kind with conditions":        {declared: statuses{status: true, conditions: true}},
		"a kind that declares nothing":  {declared: statuses{}},
		"a policy that knows":           {declared: statuses{status: true}, spec: v1alpha1.AllowancePolicySpec{Knowledge: &v1alpha1.Knowledge{Settled: &v1alpha1.SettledKnowledge{}}}},
		"a policy that says when":       {declared: statuses{status: true}, spec: v1alpha1.AllowancePolicySpec{Consumption: &v1alpha1.Consumption{When: "true"}}},
		"a kind that is built in, such": {declared: statuses{status: true}, spec: v1alpha1.AllowancePolicySpec{For: v1alpha1.ParentKind{APIGroup: "argoproj.io", APIVersion: "v1alpha1", Kind: "Rollout"}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.spec.For.Kind == "" {
				tc.spec.For = canaries
			}
			got := Silent(&tc.spec, tc.declared)
			if (len(got) > 0) != tc.want || tc.want && !strings.Contains(got[0], "spec.knowledge.settled.fields") {
				t.Errorf("Silent() = %q, want something: %v", got, tc.want)
			}
		})
	}
}
