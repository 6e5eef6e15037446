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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/plan"
)

// TestStanding shows that a number stands with the cause of what it counts.
func TestStanding(t *testing.T) {
	type told struct {
		Reason, Message string
		Made, AsWanted  int32
	}
	is := func(s state, message string) *objectOutcome {
		out := &objectOutcome{state: s}
		if message != "" {
			out.failure = &v1alpha1.GeneratingFailure{Message: message}
		}
		return out
	}
	const older, somebody = "GeneratingPolicy older wants it too", "no GeneratingPolicy made it"
	for name, tc := range map[string]struct {
		objects map[string]*objectOutcome
		failure string
		// unserved are wanted kinds.
		unserved []schema.GroupVersionKind
		// there are the objects that the policy made.
		there []string
		want  told
	}{
		"all is made": {
			objects: map[string]*objectOutcome{"a": is(made, "")}, there: []string{"a"},
			want: told{v1alpha1.ReasonEnforced, "There is all that it wants: 1 objects for 1 triggers.", 1, 1},
		},
		"one cause for all": {
			objects: map[string]*objectOutcome{"a": is(conflicting, older), "b": is(conflicting, older)},
			want:    told{v1alpha1.ReasonConflicted, "2 objects are somebody else's: " + older, 0, 0},
		},
		"several causes": {
			objects: map[string]*objectOutcome{"a": is(conflicting, older), "b": is(conflicting, somebody), "c": is(conflicting, older), "d": is(made, "")}, there: []string{"d"},
			want: told{v1alpha1.ReasonConflicted, "3 objects are somebody else's; 2 of them: " + older, 1, 1},
		},
		"the first failure is of another state": {
			objects: map[string]*objectOutcome{"a": is(conflicting, somebody), "b": is(refused, "denied")},
			want:    told{v1alpha1.ReasonForbidden, "1 objects are refused: denied", 0, 0},
		},
		"a trigger fails, and objects are refused": {
			objects: map[string]*objectOutcome{"b": is(refused, "denied")}, failure: "it divides by zero",
			want: told{v1alpha1.ReasonForbidden, "1 objects are refused: denied", 0, 0},
		},
		"triggers and objects fail": {
			objects: map[string]*objectOutcome{"b": is(failed, "away")}, failure: "it divides by zero",
			want: told{v1alpha1.ReasonGeneratingFailed, "1 triggers and 1 objects fail; 1 of them: it divides by zero", 0, 0},
		},
		"what waits is there": {
			objects: map[string]*objectOutcome{"a": is(waiting, ""), "b": is(waiting, "")}, there: []string{"a"},
			want: told{v1alpha1.ReasonWaiting, "2 objects wait for something.", 1, 0},
		},
		"a kind is not served": {
			objects: map[string]*objectOutcome{"a": is(made, "")}, there: []string{"a"}, unserved: []schema.GroupVersionKind{{Version: "v1", Kind: "ConfigMapp"}},
			want: told{v1alpha1.ReasonWaiting, "1 objects wait for something: the API server does not serve kind ConfigMapp in v1: correct it in the policy, or install its definition", 1, 1},
		},
		"a change of what is there is refused": {
			objects: map[string]*objectOutcome{"a": is(refused, "denied")}, there: []string{"a"},
			want: told{v1alpha1.ReasonForbidden, "1 objects are refused: denied", 1, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			trigger := generate.ID{Kind: "Namespace", Name: "ns"}
			e := &entry{Policy: plan.Policy{PolicyRef: plan.PolicyRef{Name: "p", UID: types.UID("p")}}}
			b := newBook()
			outcomes := map[generate.ID]*objectOutcome{}
			for object, outcome := range tc.objects {
				outcomes[generate.ID{Kind: "ConfigMap", Name: object}] = outcome
			}
			for _, object := range tc.there {
				b.noteMade(generate.ID{Kind: "ConfigMap", Name: object}, namespaceKind, &plan.Marks{Policy: e.PolicyRef, Triggers: []generate.ID{trigger}})
			}
			e.triggers = map[generate.ID]*outcome{trigger: {matched: true, objects: outcomes, unserved: tc.unserved}}
			if tc.failure != "" {
				e.triggers[generate.ID{Kind: "Namespace", Name: "other"}] = &outcome{failure: &v1alpha1.GeneratingFailure{Message: tc.failure}}
			}
			s := b.summaryOf(e)
			got := told{Made: s.objects.Made, AsWanted: s.asWanted}
			got.Reason, got.Message = s.standing()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAllowanceChanged shows what is tried again once an AllowancePolicy is another one.
func TestAllowanceChanged(t *testing.T) {
	b := newBook()
	for name, uncaused := range map[string]bool{"bounded": true, "forbidden": false} {
		trigger := generate.ID{Kind: "Namespace", Name: name}
		e := &entry{Policy: plan.Policy{PolicyRef: plan.PolicyRef{Name: name, UID: types.UID(name)}}, triggers: map[generate.ID]*outcome{
			trigger: {matched: true, objects: map[generate.ID]*objectOutcome{{Kind: "ConfigMap", Name: name}: {state: refused, uncaused: uncaused}}},
		}}
		b.put(e, map[generate.ID]bool{})
		b.policies[name].triggers = e.triggers
	}
	want := []request{{"bounded", generate.ID{Kind: "Namespace", Name: "bounded"}}}
	if diff := cmp.Diff(want, b.allUncaused(), cmp.AllowUnexported(request{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestToldBeside says what a policy that has all that it wants leaves out, and what is served by nobody.
func TestToldBeside(t *testing.T) {
	trigger := func(name string) generate.ID { return generate.ID{Kind: "Namespace", Name: name} }
	e := &entry{triggers: map[generate.ID]*outcome{
		trigger("b"): {matched: true, elsewhere: []generate.Elsewhere{{Kind: "ConfigMap", Name: "x", Namespace: "q2", To: "q1"}}},
		trigger("a"): {matched: true, elsewhere: []generate.Elsewhere{{Kind: "ConfigMap", Name: "y", Namespace: "q2", To: "q1"}}},
	}}
	s := newBook().summaryOf(e)
	want := " 2 objects are left out: ConfigMap y names namespace q2 and is applied to q1, ConfigMap x names namespace q2 and is applied to q1. " +
		"Give ApplyAll the namespace that an object names, or name none in the object."
	if diff := cmp.Diff(want, s.leftOutText()); diff != "" {
		t.Errorf("what is left out (-want +got):\n%s", diff)
	}
	want = " Nothing is a trigger of what the API server does not serve: cluss in t4.io/v9. Correct spec.matchConstraints.resourceRules, or install the definition."
	if diff := cmp.Diff(want, unservedText([]generate.UnservedTrigger{{Resource: "cluss", Groups: []string{"t4.io"}, Versions: []string{"v9"}}})); diff != "" {
		t.Errorf("what is not served (-want +got):\n%s", diff)
	}
	if got := newBook().summaryOf(&entry{}); got.leftOutText() != "" || unservedText(nil) != "" {
		t.Errorf("something is told where there is nothing: %q", got.leftOutText())
	}
}

// TestServes tells of what API servers that do not answer serve that it is not known.
func TestServes(t *testing.T) {
	s := newServed([]*metav1.APIResourceList{{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{{Name: "deployments", Kind: "Deployment"}}}},
		map[schema.GroupVersion]error{{Group: "away.example", Version: "v1"}: errNotSynced})
	for of, want := range map[[3]string][2]bool{
		{"apps", "v1", "deployments"}:      {true, true},
		{"apps", "*", "deployments"}:       {true, true},
		{"apps", "v2", "deployments"}:      {false, true},
		{"apps", "v1", "sets"}:             {false, true},
		{"away.example", "v1", "anything"}: {false, false},
		{"*", "v1", "anything"}:            {false, false},
	} {
		served, known := s.serves(of[0], of[1], of[2])
		if got := [2]bool{served, known}; got != want {
			t.Errorf("%v: served, known = %v, want %v", of, got, want)
		}
	}
}
