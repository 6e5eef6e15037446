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
	"fmt"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apiserver/pkg/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

// Who could approve is asked about with each write of an object of which something is withheld.
func TestLeavesWithheld(t *testing.T) {
	initiators := []v1alpha1.PolicySubject{
		{Subject: v1alpha1.Subject{Kind: v1alpha1.SubjectGroup, Name: "team"}, MayInitiate: true},
		{Subject: v1alpha1.Subject{Kind: v1alpha1.SubjectUser, Name: "alice"}, MayInitiate: true},
		{Subject: v1alpha1.Subject{Kind: v1alpha1.SubjectServiceAccount, Namespace: "ci", Name: "deployer"}, MayInitiate: true},
		{Subject: v1alpha1.Subject{Kind: v1alpha1.SubjectServiceAccount, Namespace: "kube-system", Name: "deployment-controller"}},
	}
	many := make([]v1alpha1.PolicySubject, mostInitiators+1)
	for i := range many {
		many[i] = v1alpha1.PolicySubject{Subject: v1alpha1.Subject{Kind: v1alpha1.SubjectUser, Name: strconv.Itoa(i)}, MayInitiate: true}
	}
	manyGroups := make([]string, mostGroups+1)
	for i := range manyGroups {
		manyGroups[i] = fmt.Sprintf("%s-%d", strings.Repeat("g", 100), i)
	}
	groups := make([]v1alpha1.PolicySubject, mostInitiators)
	for i := range groups {
		groups[i] = v1alpha1.PolicySubject{Subject: v1alpha1.Subject{Kind: v1alpha1.SubjectGroup, Name: fmt.Sprintf("%s-i%d", strings.Repeat("g", 100), i)}, MayInitiate: true}
	}
	const marked = `[{"relation":"Withheld","mutation":"spec.replicas","generation":2,"initiator":"mallory"}]`
	const key, copied = v1alpha1.AnnotationAllowances, "replicaset." + v1alpha1.AnnotationAllowances
	cases := map[string]struct {
		subjects []v1alpha1.PolicySubject
		was      []func(*appsv1.Deployment)
		user     string
		groups   []string
		sub      string
		want     bool
	}{
		"a user who may initiate":            {user: "alice", want: true},
		"one of a group that may":            {groups: []string{"other", "team"}, want: true},
		"a service account that may":         {user: "system:serviceaccount:ci:deployer", want: true},
		"one of more groups than are looked": {groups: manyGroups, want: true},
		"a stranger":                         {groups: []string{"other"}},
		"a controller":                       {user: "system:serviceaccount:kube-system:deployment-controller"},
		"nothing is withheld":                {user: "alice", was: []func(*appsv1.Deployment){annotated(key, `[{"kind":"ReplicaSet"}]`)}},
		"without a ledger":                   {user: "alice", was: []func(*appsv1.Deployment){annotated("jira", "1")}},
		"a copy of what another object says": {user: "alice", was: []func(*appsv1.Deployment){annotated(copied, marked)}},
		"the status":                         {user: "alice", sub: "status"},
		// It has to be cheap enough, or the hook fails.
		"as many as are looked at": {subjects: groups, groups: manyGroups[1:], was: []func(*appsv1.Deployment){annotated(key, marked+strings.Repeat(" ", 64<<10))}},
		"nobody may":               {user: "alice", subjects: initiators[3:]},
		"more may than are named":  {user: "jane", subjects: many, want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.was == nil {
				tc.was = []func(*appsv1.Deployment){annotated(key, marked)}
			}
			if tc.subjects == nil {
				tc.subjects = initiators
			}
			p := compile(t, v1alpha1.AllowancePolicySpec{
				For:      v1alpha1.ParentKind{APIGroup: "apps", APIVersion: "v1", Kind: "Deployment"},
				Subjects: tc.subjects, Rules: []v1alpha1.Rule{{Trigger: "spec"}},
			})
			in := Input{OperatorUser: operatorUser, Policies: []*policy.Policy{p}, Holder: withStatus}
			r := request{
				operation: admission.Update, subresource: tc.sub, user: tc.user, groups: tc.groups,
				object: deployment(tc.was...), old: deployment(tc.was...),
			}
			for _, converted := range []bool{false, true} {
				attributes := r.attributes(t, converted)
				if got := called(t, verdictConditions(in), attributes); got != tc.want {
					t.Errorf("the validating hook is called: %v, want %v (converted: %v)", got, tc.want, converted)
				}
				// Its status condition stands apart: the ledger of what has one is pruned then.
				if got := called(t, grantConditions(in), attributes); got != (tc.want || tc.sub != "") {
					t.Errorf("the mutating hook is called: %v, want %v (converted: %v)", got, tc.want, converted)
				}
			}
		})
	}
}
