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

package kro

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	krov1alpha1 "github.com/kubernetes-sigs/kro/api/v1alpha1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"kausality.io/operator/api/v1alpha1"
)

func TestSettings(t *testing.T) {
	all, err := ParseSettings("kro-system/kro", "group:platform", "Deny,Audit", false)
	if err != nil {
		t.Fatal(err)
	}
	kro := v1alpha1.Subject{Kind: v1alpha1.SubjectServiceAccount, Namespace: "kro-system", Name: "kro"}
	platform := []v1alpha1.Subject{{Kind: v1alpha1.SubjectGroup, Name: "platform"}}
	deny := []v1alpha1.ValidationAction{v1alpha1.ActionDeny, v1alpha1.ActionAudit}
	tests := map[string]struct {
		annotations map[string]string
		want        Settings
		fails       string
	}{
		"nothing said": {want: Settings{Account: kro, Initiators: platform, Actions: deny}},
		"all said": {
			annotations: map[string]string{
				v1alpha1.AnnotationInitiators: "user:alice, user:bob", v1alpha1.AnnotationValidationActions: "Warn", v1alpha1.AnnotationRecreate: "true",
			},
			want: Settings{
				Account: kro, Initiators: []v1alpha1.Subject{{Kind: v1alpha1.SubjectUser, Name: "alice"}, {Kind: v1alpha1.SubjectUser, Name: "bob"}},
				Actions: []v1alpha1.ValidationAction{v1alpha1.ActionWarn}, Recreate: true,
			},
		},
		"nobody":                  {annotations: map[string]string{v1alpha1.AnnotationInitiators: ""}, want: Settings{Account: kro, Actions: deny}},
		"who cannot be read":      {annotations: map[string]string{v1alpha1.AnnotationInitiators: "alice"}, fails: "kausality.io/initiators"},
		"another action":          {annotations: map[string]string{v1alpha1.AnnotationValidationActions: "Refuse"}, fails: "kausality.io/validation-actions"},
		"no action":               {annotations: map[string]string{v1alpha1.AnnotationValidationActions: ""}, fails: "kausality.io/validation-actions"},
		"actions that do not mix": {annotations: map[string]string{v1alpha1.AnnotationValidationActions: "Deny,Warn"}, fails: "exclude each other"},
		"neither yes nor no":      {annotations: map[string]string{v1alpha1.AnnotationRecreate: "perhaps"}, fails: "kausality.io/recreate"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := all.of(tc.annotations)
			if tc.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fails) {
					t.Errorf("got error %v, want one with %q", err, tc.fails)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
				t.Errorf("settings %v (-want +got):\n%s", err, diff)
			}
		})
	}
	for _, flags := range [][3]string{{"kro", "", "Deny"}, {"kro-system/kro", "alice", "Deny"}, {"kro-system/kro", "", "No"}} {
		if _, err := ParseSettings(flags[0], flags[1], flags[2], false); err == nil {
			t.Errorf("%q are taken", flags)
		}
	}
}

func TestAccepted(t *testing.T) {
	for name, tc := range map[string]struct {
		status     metav1.ConditionStatus
		generation int64
		want       bool
	}{
		"as it is": {"True", 2, true}, "as it was": {"True", 1, false}, "not": {"False", 2, false},
	} {
		graph := &krov1alpha1.ResourceGraphDefinition{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
		graph.Status.Conditions = krov1alpha1.Conditions{{Type: krov1alpha1.RGDConditionTypeGraphAccepted, Status: tc.status, ObservedGeneration: tc.generation}}
		if got := accepted(graph) != nil; got != tc.want {
			t.Errorf("accepted %s: %t", name, got)
		}
	}
}

func TestStandingOf(t *testing.T) {
	graph := &krov1alpha1.ResourceGraphDefinition{ObjectMeta: metav1.ObjectMeta{Name: "webapp", UID: "u2"}}
	policy := func(uid, managed string) *v1alpha1.AllowancePolicy {
		p := &v1alpha1.AllowancePolicy{}
		if uid != "" {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "kro.run/v1alpha1", Kind: graphKind, Name: "webapp", UID: types.UID(uid), Controller: new(true)}}
		}
		if managed != "" {
			p.Annotations = map[string]string{v1alpha1.AnnotationManaged: managed}
		}
		return p
	}
	for name, tc := range map[string]struct {
		there *v1alpha1.AllowancePolicy
		want  standing
	}{
		"none yet":                   {nil, ours},
		"the operator's":             {policy("u2", ""), ours},
		"the operator's, and given":  {policy("u2", "true"), given},
		"taken over":                 {policy("u2", "false"), takenOver},
		"taken over, and released":   {policy("", "false"), takenOver},
		"given":                      {policy("", "true"), given},
		"there before":               {policy("", ""), others},
		"of a graph that is gone":    {policy("u1", ""), leftBehind},
		"of one that is gone, given": {policy("u1", "true"), leftBehind},
	} {
		if got := standingOf(graph, tc.there); got != tc.want {
			t.Errorf("%s: standing %d, want %d", name, got, tc.want)
		}
	}
}

func TestKeptByOthers(t *testing.T) {
	conflict := func(fields ...string) error {
		var causes []metav1.StatusCause
		for _, field := range fields {
			causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Field: field, Message: `conflict with "kubectl-edit"`})
		}
		return apierrors.NewApplyConflict(causes, "conflict")
	}
	for name, tc := range map[string]struct {
		err  error
		want []string
	}{
		"no error":      {},
		"another error": {err: errors.New("away")},
		"fields":        {err: conflict(".spec.subjects", ".spec.rules", ".spec.initializing.policies"), want: []string{"subjects", "rules", "initializing"}},
		"an item":       {err: conflict(`.spec.validationActions[v="Deny"]`), want: []string{"validationActions"}},
		"a field twice": {err: conflict(".spec.for.kind", ".spec.for.apiGroup"), want: []string{"for"}},
		"of no spec":    {err: conflict(".metadata.annotations.kausality.io/derived-from"), want: []string{"metadata.annotations.kausality.io/derived-from"}},
	} {
		got, who := keptByOthers(tc.err)
		if diff := cmp.Diff(tc.want, got); diff != "" || (who != "") != (len(tc.want) > 0) {
			t.Errorf("%s: %q (-want +got):\n%s", name, who, diff)
		}
	}
}

// While the operator is being removed, policies are not put back.
func TestSwitchedOff(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), admissionregistrationv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(scheme).Build(), watching: true}
	result, err := r.Reconcile(t.Context(), request{"webapp"}) // It has nothing to read the graph with.
	if err != nil || result.RequeueAfter != offInterval {
		t.Errorf("Reconcile() = %+v, %v", result, err)
	}
}

func TestNews(t *testing.T) {
	var s said
	told := metav1.Condition{Reason: "A", Message: "b"}
	if !s.isNews("webapp", told) || s.isNews("webapp", told) || !s.isNews("webapp", metav1.Condition{Reason: "A", Message: "c"}) {
		t.Error("the same is told twice, or something else not")
	}
	s.forget("webapp")
	if !s.isNews("webapp", metav1.Condition{Reason: "A", Message: "c"}) {
		t.Error("a graph that was made again is not told of")
	}
}
