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
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
)

func TestHistoryOfAnObject(t *testing.T) {
	mallorys := v1alpha1.Allowance{
		Relation: v1alpha1.RelationWithheld, Mutation: "spec.replicas", Initiator: "mallory", Generation: 5, Replaced: "3",
	}
	unseen := mallorys
	unseen.Initiator = ""
	tests := map[string]struct {
		mutating      bool
		user          string
		groups        []string
		before, after *unstructured.Unstructured
		dryRun        bool
		want          []string
	}{
		"an initiator's change": {
			user: "alice", groups: platformTeam, before: deployment(3), after: counted(deployment(5, mayScale("alice", 5))),
			want: []string{"Granted Update spec.replicas by alice, started by alice: ReplicaSet spec.replicas"},
		},
		"an initiator's change whose ledger was lost": {
			user: "alice", groups: platformTeam, before: deployment(3), after: counted(deployment(5)),
			want: []string{"Granted Update spec.replicas by alice, started by alice: ReplicaSet spec.replicas"},
		},
		"what was granted before is no news": {
			user: "mallory", before: deployment(3, mayScale("alice", 4)), after: annotate(deployment(3, mayScale("alice", 4)), "note", "x"),
		},
		"a stranger's change": {
			user: "mallory", before: deployment(3), after: counted(deployment(5, mallorys)),
			want: []string{"Withheld Update spec.replicas by mallory"},
		},
		"what was changed while nobody looked, and the operator withholds": {
			user: operatorUser, before: deployment(5), after: annotate(deployment(5, unseen), "note", "x"),
			want: []string{"Withheld spec.replicas by "},
		},
		"the same, and a stranger writes first": {
			user: "mallory", before: deployment(5), after: annotate(deployment(5, unseen), "note", "x"),
			want: []string{"Withheld spec.replicas by "},
		},
		"a dry run": {user: "mallory", before: deployment(3), after: counted(deployment(5, mallorys)), dryRun: true},
		"a forged ledger": {
			mutating: true, user: "mallory", before: unsettled(deployment(3)), after: unsettled(deployment(3, mayScale("mallory", 4))),
			want: []string{"Restored Update by mallory"},
		},
		"a forged ledger on a dry run": {
			mutating: true, user: "mallory", before: unsettled(deployment(3)), after: unsettled(deployment(3, mayScale("mallory", 4))),
			dryRun: true,
		},
		"an approval": {
			user: "alice", groups: platformTeam, before: unsettled(deployment(5, held("spec.replicas", "3"))),
			after: unsettled(counted(deployment(5, mayScale("alice", 5)))),
			want: []string{
				"Approved Update spec.replicas by alice",
				"Granted Update spec.replicas by alice, started by alice: ReplicaSet spec.replicas",
			},
		},
		"an approval that is undone by then": {
			user: "alice", groups: platformTeam, before: unsettled(deployment(5, held("spec.replicas", "3"))),
			after: annotate(unsettled(deployment(5, held("spec.replicas", "3"))), "note", "x"),
		},
		"an approval that others have yet to see": {
			mutating: true, user: "alice", groups: platformTeam, before: unsettled(deployment(5, held("spec.replicas", "3"))),
			after: annotate(unsettled(deployment(5, held("spec.replicas", "3"))), "kausality.io/approve", "*"),
		},
		"an approval by a stranger": {
			mutating: true, user: "mallory", before: unsettled(deployment(5, held("spec.replicas", "3"))),
			after: annotate(unsettled(deployment(5, held("spec.replicas", "3"))), "kausality.io/approve", "*"),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{records: map[types.UID]*v1alpha1.AllowanceRecord{}}
			mutator, validator := w.hooks(t, deploymentPolicy)
			req := asking(t, tc.user, tc.groups, tc.before, tc.after)
			req.DryRun = &tc.dryRun
			hook := map[bool]admission.Handler{true: mutator, false: validator}[tc.mutating]
			if resp := hook.Handle(t.Context(), req); !resp.Allowed {
				t.Fatalf("not allowed: %v", resp.Result)
			}
			var got []string
			for _, o := range w.observed {
				for _, e := range o.History {
					text := fmt.Sprintf("%s %s %s by %s", e.Event, e.Operation, strings.Join(e.Paths, ","), e.User)
					if e.Initiator != "" {
						text += ", started by " + e.Initiator + ": " + e.Message
					}
					got = append(got, strings.ReplaceAll(text, "  ", " "))
					if diff := cmp.Diff([]string{"deployment"}, e.Policies); diff != "" {
						t.Errorf("policies (-want +got):\n%s", diff)
					}
				}
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.SortSlices(strings.Compare), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
		})
	}
}
