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

package interception

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

// What people do through a status is asked about, and what controllers report there is not.
func TestActionsAreAskedAbout(t *testing.T) {
	rollout := schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Rollout"}
	resource := schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "rollouts"}
	obj := func(phase string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": map[string]any{"name": "web"}, "status": map[string]any{"phase": phase},
		}}
	}
	const (
		named   = "system:serviceaccount:argo:argo-rollouts"
		another = "system:serviceaccount:ci:bot"
	)
	of := func(subjects ...v1alpha1.PolicySubject) *policy.Policy {
		return compile(t, v1alpha1.AllowancePolicySpec{
			For: v1alpha1.ParentKind{APIGroup: "argoproj.io", APIVersion: "v1alpha1", Kind: "Rollout"}, Subjects: subjects,
			Rules: []v1alpha1.Rule{{Trigger: "spec", Policies: []v1alpha1.PolicyEntry{{
				Relation: v1alpha1.RelationControllerChild, Target: v1alpha1.Target{APIGroup: new("apps"), APIVersion: "v1", Resource: "replicasets"},
			}}}},
		})
	}
	controller := v1alpha1.PolicySubject{Subject: v1alpha1.Subject{Kind: v1alpha1.SubjectServiceAccount, Namespace: "argo", Name: "argo-rollouts"}}
	bot := v1alpha1.PolicySubject{Subject: v1alpha1.Subject{Kind: v1alpha1.SubjectServiceAccount, Namespace: "ci", Name: "bot"}, MayInitiate: true}
	observer := bot
	observer.MayInitiate = false
	ofDeployments := func(subjects ...v1alpha1.PolicySubject) *policy.Policy {
		for i := range subjects {
			subjects[i].MayInitiate = false
		}
		return compile(t, v1alpha1.AllowancePolicySpec{
			For: v1alpha1.ParentKind{APIGroup: "apps", APIVersion: "v1", Kind: "Deployment"}, Subjects: subjects,
			Knowledge: &v1alpha1.Knowledge{Reported: []string{"status"}},
		})
	}
	ofThings := func(knowledge v1alpha1.Knowledge) *policy.Policy {
		return compile(t, v1alpha1.AllowancePolicySpec{
			For:      v1alpha1.ParentKind{APIGroup: "argoproj.io", APIVersion: "v1alpha1", Kind: "Thing"},
			Subjects: []v1alpha1.PolicySubject{bot}, Knowledge: &knowledge,
		})
	}
	reported := ofThings(v1alpha1.Knowledge{Reported: []string{"status"}})
	proving := ofThings(v1alpha1.Knowledge{Proves: []string{"spec"}})
	tests := map[string]struct {
		policy    *policy.Policy
		besides   *policy.Policy
		user      string
		inObject  bool
		elsewhere bool
		unchanged bool
		gone      bool
		want      bool
	}{
		"a person":                                   {policy: of(controller), want: true},
		"a person, of a status in the object":        {policy: of(controller), inObject: true, want: true},
		"a person, where another version has none":   {policy: of(controller), elsewhere: true, want: true},
		"the same in the object, of that version":    {policy: of(controller), elsewhere: true, inObject: true, want: true},
		"a person who takes the status away":         {policy: of(controller), inObject: true, gone: true, want: true},
		"a controller of another kind":               {policy: of(controller), besides: ofDeployments(bot), user: another, want: true},
		"one that only another policy names":         {policy: of(controller), besides: of(observer), user: another, want: true},
		"one that each of two policies names":        {policy: of(controller), besides: of(controller, observer), user: named},
		"any, where an initiator is named":           {policy: of(bot), user: named},
		"one that may initiate, of what is reported": {policy: reported, user: another},
		"a person, of what is reported":              {policy: reported, want: true},
		"a person, of what proves something":         {policy: proving, want: false},
		"the same in the object":                     {policy: proving, inObject: true, want: true},
		"any, where another policy names some":       {policy: of(), besides: of(controller), user: another, want: true},
		"a person who changes nothing":               {policy: of(controller), unchanged: true},
		"its controller":                             {policy: of(controller), user: named},
		"its controller, of a status in the object":  {policy: of(controller), user: named, inObject: true},
		"another service account":                    {policy: of(controller), user: another, want: true},
		"any, where none is named":                   {policy: of(), user: another},
		"one that may initiate, where none is":       {policy: of(bot), user: another, want: true},
		"the operator":                               {policy: of(controller), user: operatorUser},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := request{operation: admission.Update, kind: rollout, object: obj("b"), old: obj("a"), user: tc.user, subresource: "status"}
			subresources := []string{"status"}
			if tc.inObject {
				r.subresource, subresources = "", nil
			}
			if tc.unchanged {
				r.object = r.old
			}
			if tc.gone {
				without := obj("")
				unstructured.RemoveNestedField(without.Object, "status")
				r.object = without
			}
			in := Input{OperatorUser: operatorUser, Policies: []*policy.Policy{tc.policy}}
			if tc.besides != nil {
				in.Policies = append(in.Policies, tc.besides)
			}
			in.Holder = func(kind schema.GroupVersionKind) (Served, bool) {
				if kind.Kind == "Deployment" {
					return Served{Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, Namespaced: true, Subresources: []string{"status"}}, true
				}
				if tc.elsewhere {
					return Served{Resource: resource, Namespaced: true, Elsewhere: map[string][]string{"status": {"v2"}}, StatusInObject: true}, true
				}
				return Served{Resource: resource, Namespaced: true, Subresources: subresources, StatusInObject: tc.inObject}, true
			}
			attributes := r.attributes(t, false)
			if got := called(t, verdictConditions(in), attributes); got != tc.want {
				t.Errorf("the validating hook is called: %v, want %v", got, tc.want)
			}
		})
	}
}
