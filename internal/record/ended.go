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
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
)

// UnseenLimit is the time for which a pending grant waits for the holder to be seen with
// the content that it is for (D11), and a deletion for the holder to be deleted.
const UnseenLimit = time.Minute

// Awaited returns until when a holder that does not exist may still come. A record can be
// older than its holder: a grant that goes with the creation of the holder is recorded
// before the holder is stored, and the record is there before the grant is in it.
func Awaited(created metav1.Time, status *v1alpha1.AllowanceRecordStatus) time.Time {
	var until time.Time
	if equality.Semantic.DeepEqual(*status, v1alpha1.AllowanceRecordStatus{}) {
		until = created.Add(UnseenLimit)
	}
	if status.Phase == v1alpha1.PhaseDeleting {
		return until
	}
	for _, p := range status.PendingGrants {
		if end := p.Time.Add(UnseenLimit); end.After(until) {
			until = end
		}
	}
	return until
}

// End empties what only a holder that exists can have.
func End(status *v1alpha1.AllowanceRecordStatus, now time.Time) *v1alpha1.AllowanceRecordStatus {
	status.Phase = v1alpha1.PhaseDeleting
	if status.EndedAt == nil {
		status.EndedAt = &metav1.Time{Time: now}
	}
	status.Active, status.ActiveCount, status.WithheldCount, status.FirstSeen = nil, 0, 0, nil
	status.PendingGrants, status.Consumed = nil, nil
	// Its strays outlive it: the garbage collector deletes them, and what they stand for outside stays (D16).
	status.Adopting, status.AdoptingSince, status.SetAside, status.IgnoredParents = false, nil, nil, nil
	apimeta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionOverdue)
	apimeta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionParentIgnored)
	status.Blocked, status.AnsweredDenials = nil, status.Denials
	status.WokenBy = nil
	return status
}
