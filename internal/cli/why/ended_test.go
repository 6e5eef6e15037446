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

package why

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/text"
)

// narrowed is a policy that is about the number of replicas only.
const narrowed = `
metadata: {name: deployment}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  validationActions: [Deny]
  subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
  rules:
  - trigger: spec.replicas
    policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Create]}]
`

// TestWithheldWithoutARule offers no approval of what no rule is about any more: it would be refused.
func TestWithheldWithoutARule(t *testing.T) {
	for field, waits := range map[string]bool{"spec.template": true, "spec.replicas": false} {
		t.Run(field, func(t *testing.T) {
			rec := recordOf("web", v1alpha1.AllowanceRecordStatus{Active: []v1alpha1.Allowance{{Relation: v1alpha1.RelationWithheld, Mutation: field, Initiator: "mallory"}}})
			report := collect([]v1alpha1.AllowanceRecord{rec}, scene{
				Policies: compiled(t, narrowed),
				look:     func(v1alpha1.TargetReference) live { return standing(nil, map[string]string{}) },
			}, nil)
			page := strings.Join(strings.Fields(render(report, text.Terminal{Width: text.DefaultWidth}, false, now)), " ")
			if got := strings.Contains(page, "nothing is held back now") && strings.Contains(page, "once Group platform-team changes it again"); got != waits {
				t.Errorf("says that nothing is held back: %t, want %t:\n%s", got, waits, page)
			}
			if got := strings.Contains(page, "kubectl kausality approve"); got == waits {
				t.Errorf("offers an approval: %t:\n%s", got, page)
			}
		})
	}
}

// TestEndedSince tells of what was withheld when something was refused.
func TestEndedSince(t *testing.T) {
	at := func(ago time.Duration, event v1alpha1.HistoryEvent, path string) v1alpha1.HistoryEntry {
		return v1alpha1.HistoryEntry{Time: before(ago), Event: event, User: "mallory", Paths: []string{path}}
	}
	const field = "spec.template.spec.containers[0].image"
	carried := at(time.Minute, v1alpha1.EventReleased, field)
	carried.Reason = v1alpha1.ReasonCarriedOut
	released, withheld := at(time.Minute, v1alpha1.EventReleased, field), at(time.Hour, v1alpha1.EventWithheld, field)
	often, first := at(time.Second, v1alpha1.EventGranted, field), before(2*time.Minute)
	often.FirstTime = &first
	refused := v1alpha1.HistoryEntry{Time: before(10 * time.Minute), Event: v1alpha1.EventDenied}
	for name, tc := range map[string]struct {
		history []v1alpha1.HistoryEntry
		want    *Ended
	}{
		"taken back":     {history: []v1alpha1.HistoryEntry{released, refused, withheld}, want: &Ended{Time: released.Time, Paths: []string{field}, User: "mallory", TakenBack: true}},
		"approved":       {history: []v1alpha1.HistoryEntry{released, at(time.Minute, v1alpha1.EventApproved, "spec.template"), refused, withheld}, want: &Ended{Time: released.Time, Paths: []string{field}, User: "mallory"}},
		"withheld still": {history: []v1alpha1.HistoryEntry{refused, withheld}},
		"carried out":    {history: []v1alpha1.HistoryEntry{carried, refused, withheld}},
		"withheld later": {history: []v1alpha1.HistoryEntry{released, at(5*time.Minute, v1alpha1.EventWithheld, field), refused}},
		"taken back, and made otherwise later by who may": {
			history: []v1alpha1.HistoryEntry{at(time.Second, v1alpha1.EventGranted, field), released, refused, withheld},
			want:    &Ended{Time: released.Time, Paths: []string{field}, User: "mallory", TakenBack: true},
		},
		"taken back, and approved after it was withheld again": {
			history: []v1alpha1.HistoryEntry{
				at(time.Second, v1alpha1.EventApproved, field), at(2*time.Second, v1alpha1.EventWithheld, field), released, refused, withheld,
			},
			want: &Ended{Time: released.Time, Paths: []string{field}, User: "mallory", TakenBack: true},
		},
		"made again by who may, several times": {history: []v1alpha1.HistoryEntry{often, released, refused, withheld}, want: &Ended{Time: released.Time, Paths: []string{field}, User: "mallory"}},
		"taken back before it was":             {history: []v1alpha1.HistoryEntry{refused, at(time.Hour, v1alpha1.EventReleased, field)}},
	} {
		t.Run(name, func(t *testing.T) {
			rec := recordOf("web", v1alpha1.AllowanceRecordStatus{History: tc.history})
			if diff := cmp.Diff(tc.want, endedSince(&rec, refused)); diff != "" {
				t.Errorf("ended (-want +got):\n%s", diff)
			}
		})
	}
	ended := Ended{Time: metav1.NewTime(now.Add(-time.Minute)), Paths: []string{field}, User: "mallory", TakenBack: true}
	want := "the change of " + field + " of Deployment/web by mallory that was withheld then was taken back, as was found 60s ago: nobody waits for this any more, and there is nothing to do"
	if diff := cmp.Diff(want, ended.text(v1alpha1.TargetReference{Kind: "Deployment", Name: "web"}, now)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

// TestNotAsked says so where nothing else is known.
func TestNotAsked(t *testing.T) {
	page := render(&Report{Subject: "deployment/web", Unasked: "The operator is not asked about changes of Deployment/web now."}, text.Terminal{Width: text.DefaultWidth}, false, now)
	if !strings.HasSuffix(strings.TrimSpace(page), "Not asked\n  The operator is not asked about changes of Deployment/web now.") {
		t.Error(page)
	}
}
