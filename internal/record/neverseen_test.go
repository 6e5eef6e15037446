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

package record

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
)

func TestNeverSeen(t *testing.T) {
	created := v1alpha1.HistoryEntry{Event: v1alpha1.EventGranted, User: "mallory", Operation: "Create"}
	history := func(entries ...v1alpha1.HistoryEntry) []v1alpha1.HistoryEntry { return entries }
	for name, tc := range map[string]struct {
		status v1alpha1.AllowanceRecordStatus
		want   bool
	}{
		"just made":                          {want: true},
		"it was to be created":               {v1alpha1.AllowanceRecordStatus{History: history(created)}, true},
		"with something withheld":            {v1alpha1.AllowanceRecordStatus{History: history(created, v1alpha1.HistoryEntry{Event: v1alpha1.EventWithheld, Operation: "Create"})}, true},
		"with a grant that waits":            {v1alpha1.AllowanceRecordStatus{PendingGrants: []v1alpha1.PendingGrant{{ContentHash: "a"}}}, true},
		"somebody has looked at it":          {v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady, History: history(created)}, false},
		"it has ended":                       {v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseDeleting, EndedAt: new(metav1.Now()), History: history(created)}, false},
		"somebody deletes it":                {v1alpha1.AllowanceRecordStatus{Deletion: &v1alpha1.Deletion{User: "alice"}, History: history(created)}, false},
		"it was changed":                     {v1alpha1.AllowanceRecordStatus{History: history(created, v1alpha1.HistoryEntry{Event: v1alpha1.EventGranted, Operation: "Update"})}, false},
		"a change of it was refused":         {v1alpha1.AllowanceRecordStatus{History: history(v1alpha1.HistoryEntry{Event: v1alpha1.EventRefused, Operation: "Update"})}, false},
		"it was scaled":                      {v1alpha1.AllowanceRecordStatus{PendingGrants: []v1alpha1.PendingGrant{{After: "7"}}}, false},
		"something was decided of its child": {v1alpha1.AllowanceRecordStatus{LastDecision: &v1alpha1.Decision{}}, false},
		"it finishes what it did":            {v1alpha1.AllowanceRecordStatus{Adopting: true}, false},
		"it has a stray":                     {v1alpha1.AllowanceRecordStatus{Strays: []v1alpha1.StrayChild{{}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := NeverSeen(&v1alpha1.AllowanceRecord{Status: tc.status}); got != tc.want {
				t.Errorf("NeverSeen is %t, want %t", got, tc.want)
			}
		})
	}
}

func TestMayStillCome(t *testing.T) {
	made := metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	rec := &v1alpha1.AllowanceRecord{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: made}}
	rec.Status.History = []v1alpha1.HistoryEntry{{Event: v1alpha1.EventGranted, Operation: "Create"}}
	if got, want := MayStillCome(rec), made.Add(UnseenLimit); !got.Equal(want) {
		t.Errorf("it may come until %s, want %s", got, want)
	}
	rec.Status.PendingGrants = []v1alpha1.PendingGrant{{Time: metav1.NewTime(made.Add(time.Minute))}}
	if got, want := MayStillCome(rec), made.Add(time.Minute+UnseenLimit); !got.Equal(want) {
		t.Errorf("with a grant it may come until %s, want %s", got, want)
	}
}
