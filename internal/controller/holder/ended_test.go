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

package holder

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/record"
)

func TestAwaited(t *testing.T) {
	created := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	after := func(d time.Duration) metav1.Time { return metav1.NewTime(created.Add(d)) }
	granted := func(times ...metav1.Time) (grants []v1alpha1.PendingGrant) {
		for _, at := range times {
			grants = append(grants, v1alpha1.PendingGrant{Time: at})
		}
		return grants
	}
	tests := map[string]struct {
		status v1alpha1.AllowanceRecordStatus
		want   metav1.Time
	}{
		"the record was just made, and the grant is not in it yet": {want: after(record.UnseenLimit)},
		"a grant goes with the creation": {
			status: v1alpha1.AllowanceRecordStatus{PendingGrants: granted(after(time.Second))}, want: after(time.Second + record.UnseenLimit),
		},
		"the last of several grants counts": {
			status: v1alpha1.AllowanceRecordStatus{PendingGrants: granted(after(0), after(time.Minute), after(time.Second))},
			want:   after(time.Minute + record.UnseenLimit),
		},
		"the holder was seen, and is gone": {status: v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady}},
		"it is being deleted": {
			status: v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseDeleting, PendingGrants: granted(after(0))},
		},
		"somebody asked for its deletion": {status: v1alpha1.AllowanceRecordStatus{Deletion: &v1alpha1.Deletion{User: "alice"}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := record.Awaited(created, &tc.status); !got.Equal(tc.want.Time) {
				t.Errorf("awaited until %s, want %s", got, tc.want)
			}
		})
	}
}
