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
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
)

func TestSpared(t *testing.T) {
	const would = "kausality: the change of spec.replicas of Deployment web would be withheld if AllowancePolicy deployment said Deny: " +
		"mallory may not initiate it; Group platform-team may"
	type told struct {
		Warnings []string
		Audit    string
		History  []string
	}
	scaled := func(t *testing.T, user string, groups []string) admission.Request {
		t.Helper()
		return asking(t, user, groups, deployment(3), counted(deployment(5)))
	}
	tests := map[string]struct {
		user   string
		groups []string
		action string
		also   string
		dryRun bool
		want   told
	}{
		"warned": {user: "mallory", action: "Warn", want: told{
			[]string{would}, "Warned deployment: spec.replicas", []string{"Warned spec.replicas by mallory"},
		}},
		"audited": {user: "mallory", action: "Audit", want: told{
			nil, "Audited deployment: spec.replicas", []string{"Audited spec.replicas by mallory"},
		}},
		"would be refused": {user: "mallory", action: "Warn", also: "  uncausedChanges: Refuse\n", want: told{
			[]string{strings.Replace(would, "withheld", "refused", 1)}, "Warned deployment: spec.replicas", []string{"Warned spec.replicas by mallory"},
		}},
		"on a dry run": {user: "mallory", action: "Warn", dryRun: true, want: told{[]string{would}, "Warned deployment: spec.replicas", nil}},
		"by who may":   {user: "alice", groups: platformTeam, action: "Warn", want: told{nil, "", nil}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{records: map[types.UID]*v1alpha1.AllowanceRecord{}}
			_, validator := w.hooks(t, strings.Replace(deploymentPolicy, "[Deny]", "["+tc.action+"]", 1)+tc.also)
			req := scaled(t, tc.user, tc.groups)
			req.DryRun = &tc.dryRun
			resp := validator.Handle(t.Context(), req)
			if !resp.Allowed {
				t.Fatalf("not allowed: %v", resp.Result)
			}
			got := told{Warnings: resp.Warnings, Audit: resp.AuditAnnotations[auditUncaused]}
			for _, o := range w.observed {
				for _, e := range o.History {
					if e.Event == v1alpha1.EventWarned || e.Event == v1alpha1.EventAudited {
						got.History = append(got.History, string(e.Event)+" "+strings.Join(e.Paths, ",")+" by "+e.User)
					}
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}

// TestApprovedByALessStrictPolicy checks what is told, and written down, of an approval by somebody who may initiate by a
// policy that only warns what another one withholds.
func TestApprovedByALessStrictPolicy(t *testing.T) {
	const lenient = `
metadata: {name: lenient}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  validationActions: [Warn]
  subjects: [{kind: User, name: bea, mayInitiate: true}]
  rules:
  - trigger: spec
    policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: ["*"]}]
`
	for _, what := range []string{"*", "spec", "spec.replicas"} {
		t.Run(what, func(t *testing.T) {
			w := &world{records: map[types.UID]*v1alpha1.AllowanceRecord{}}
			mutator, _ := w.hooks(t, deploymentPolicy, lenient)
			before := unsettled(deployment(5, held("spec.replicas", "3")))
			after := annotate(unsettled(deployment(5, held("spec.replicas", "3"))), "kausality.io/approve", what)
			resp := mutator.Handle(t.Context(), asking(t, "bea", nil, before, after))
			want := []string{"kausality: the change of spec.replicas of Deployment web stays withheld, " +
				"as bea may not initiate all that follows from it; Group platform-team may approve it"}
			if diff := cmp.Diff(want, resp.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if l, ok := patchedLedger(t, after, resp); ok && strings.Contains(l, "bea") {
				t.Errorf("the ledger has %s", l)
			}
			for _, o := range w.observed {
				if len(o.History) > 0 {
					t.Errorf("history %+v", o.History)
				}
			}
		})
	}
}

// patchedLedger returns the ledger that an object gets.
func patchedLedger(t *testing.T, obj *unstructured.Unstructured, resp admission.Response) (string, bool) {
	t.Helper()
	text, ok := patched(t, obj, resp)[ledgerKey]
	return text, ok
}
