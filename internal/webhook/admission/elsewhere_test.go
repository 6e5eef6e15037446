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

package admission

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
)

// What another replica has answered is found by what it wrote, as far as the requester could ask for it.
func TestAnsweredElsewhere(t *testing.T) {
	waiting := func() *unstructured.Unstructured { return unsettled(deployment(5, held("spec.replicas", "3"))) }
	approving := annotate(waiting(), v1alpha1.AnnotationApprove, "spec.replicas")
	breaking := annotate(deployment(5), glassKey, reason)
	both := func() *unstructured.Unstructured {
		obj := unsettled(deployment(5, held("spec.paused", "false"), held("spec.replicas", "3")))
		obj.Object["spec"] = map[string]any{"replicas": int64(5), "paused": true}
		return obj
	}
	template := func(obj *unstructured.Unstructured) {
		obj.Object["spec"] = map[string]any{"replicas": int64(5), "template": map[string]any{"image": "2"}}
	}
	untracked := func(obj *unstructured.Unstructured) { obj.SetManagedFields(nil) }
	tests := map[string]struct {
		before, after *unstructured.Unstructured
		user          string
		groups        []string
		// trial is true where the policy only warns.
		trial bool
		// other is who asks another replica, with what the first has written for the user; nobody else if empty.
		other string
		// writes are annotations that the request itself writes, and edit is what else is otherwise.
		writes []string
		edit   func(*unstructured.Unstructured)
		// lost is true where nothing of the first answer counts; more where other fields are changed as well.
		lost, more bool
		warns      string
	}{
		"an approval":                             {before: waiting(), after: approving, user: "alice", groups: platformTeam},
		"an approval that somebody copies":        {before: waiting(), after: approving, user: "alice", groups: platformTeam, other: "mallory", lost: true, warns: "has no effect"},
		"an approval by an old manifest":          {before: waiting(), after: approving, user: "alice", groups: platformTeam, writes: []string{ledgerKey}, lost: true, warns: "has no effect"},
		"an approval that nobody tells from that": {before: waiting(), after: approving, user: "alice", groups: platformTeam, edit: untracked, lost: true, warns: "has no effect"},
		"an approval, and another webhook changes more": {
			before: waiting(), after: approving, user: "alice", groups: platformTeam, edit: template, more: true,
		},
		"an approval of two things, one of which earns nothing of its own, while the policy only warns": {
			before: both(), after: annotate(both(), v1alpha1.AnnotationApprove, "spec"), user: "alice", groups: platformTeam, trial: true,
		},
		"broken glass":                         {before: deployment(3), after: breaking, user: "bob", groups: glassBreakers, warns: "the glass is broken"},
		"broken glass that somebody copies":    {before: deployment(3), after: breaking, user: "bob", groups: glassBreakers, other: "mallory", lost: true, warns: "has no effect"},
		"broken glass by who may not any more": {before: deployment(3), after: breaking, user: "bob", groups: glassBreakers, other: "bob", lost: true, warns: "has no effect"},
		"broken glass by an old manifest":      {before: deployment(3), after: breaking, user: "bob", groups: glassBreakers, writes: []string{ledgerKey}, lost: true, warns: "has no effect"},
		"broken glass, and another webhook changes more": {
			before: deployment(3), after: breaking, user: "bob", groups: glassBreakers, edit: template, more: true, warns: "the glass is broken",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{records: map[types.UID]*v1alpha1.AllowanceRecord{}}
			text := storyPolicies[0]
			if tt.trial {
				text = strings.Replace(text, "[Deny]", "[Warn]", 1)
			}
			mutator, _ := w.hooks(t, text)
			req := asking(t, tt.user, tt.groups, tt.before, tt.after)
			first := applied(t, req, mutator.Handle(t.Context(), req))
			granted, err := ledger.Decode(first.GetAnnotations()[ledgerKey])
			if err != nil || len(granted) == 0 {
				t.Fatalf("%v: %v", granted, err)
			}
			between := managed(annotate(first.DeepCopy(), otherKey, "x"), tt.writes...)
			if tt.edit != nil {
				tt.edit(between)
			}
			user, groups := tt.user, tt.groups
			if tt.other != "" {
				user, groups = tt.other, nil
			}
			for _, dryRun := range []bool{true, false} {
				told := len(w.observed)
				req = asking(t, user, groups, tt.before, between)
				req.DryRun = &dryRun
				resp := replicaOf(mutator).Handle(t.Context(), req)
				got := applied(t, req, resp)
				has, err := ledger.Decode(got.GetAnnotations()[ledgerKey])
				if err != nil {
					t.Fatal(err)
				}
				kept := has.Without(func(e ledger.Entry) bool { return !hasKey(granted, e) || !holds(granted, e) })
				want := granted
				if tt.lost {
					want = nil
				}
				if diff := cmp.Diff(len(want), len(kept)); diff != "" {
					t.Errorf("what is kept of the ledger (-want +got):\n%s", diff)
				}
				if more := len(has.Without(ledger.Entry.IsWithheld)) > len(granted); more != tt.more {
					t.Errorf("more than before: %t, want %t: %s", more, tt.more, has.Encode())
				}
				if approved := got.GetAnnotations()[approvedKey] == ""; approved == tt.lost {
					t.Errorf("all is approved: %t", approved)
				}
				if warned := strings.Join(resp.Warnings, "\n"); tt.warns == "" != (warned == "") || !strings.Contains(warned, tt.warns) {
					t.Errorf("warnings %q, want %q", warned, tt.warns)
				}
				if told := len(w.observed) > told; told != (tt.lost && !dryRun) {
					t.Errorf("the record is told: %t", told)
				}
			}
		})
	}
}

// Who has no say in the ceiling of a gate has none by what another webhook writes.
func TestCeilingWrittenElsewhere(t *testing.T) {
	const limited, wider = `["Observe"]`, `["Observe","Update"]`
	for user, want := range map[string]string{"alice": wider, "mallory": limited} {
		t.Run(user, func(t *testing.T) {
			mutator, _ := (&world{}).hooks(t, ownBucketPolicy)
			said := func(ceiling string) *unstructured.Unstructured {
				free := func(obj *unstructured.Unstructured) { obj.SetOwnerReferences(nil) }
				return bucket(t, "size: 1", []any{"Observe"}, under(t, "size: 1"), with(v1alpha1.AnnotationGateCeiling, ceiling), free)
			}
			var groups []string
			if user == "alice" {
				groups = platformTeam
			}
			req := asking(t, user, groups, said(limited), managed(said(wider)))
			got := applied(t, req, mutator.Handle(t.Context(), req))
			if diff := cmp.Diff(want, got.GetAnnotations()[v1alpha1.AnnotationGateCeiling]); diff != "" {
				t.Errorf("the ceiling (-want +got):\n%s", diff)
			}
		})
	}
}
