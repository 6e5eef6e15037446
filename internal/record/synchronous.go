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
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
)

// AddPending adds a pending grant to the record of an object, which it creates
// where there is none. Admission calls it before it answers, and never on a dry
// run; a grant that is made again only gets a new time.
func (s *Store) AddPending(ctx context.Context, ref v1alpha1.TargetReference, p v1alpha1.PendingGrant) error {
	p.Time = metav1.NewTime(s.clock.Now())
	p.Seen = false
	return s.Update(ctx, ref, true, func(status *v1alpha1.AllowanceRecordStatus) bool {
		same := func(old v1alpha1.PendingGrant) bool { return old.ID == p.ID }
		if i := slices.IndexFunc(status.PendingGrants, same); i >= 0 {
			status.PendingGrants[i] = p
		} else {
			status.PendingGrants = append(status.PendingGrants, p)
		}
		// It is written even where nothing changes: the cache may be behind, and
		// the grant already gone. The write finds that out, and costs no event.
		return true
	})
}

// SetDeletion records who asked for the deletion of an object, in a record that
// it creates where there is none. Admission calls it before it answers a DELETE,
// and never on a dry run; the time of the first of several equal calls stays.
func (s *Store) SetDeletion(ctx context.Context, ref v1alpha1.TargetReference, d v1alpha1.Deletion) error {
	if d.Time.IsZero() {
		d.Time = metav1.NewTime(s.clock.Now())
	}
	return s.Update(ctx, ref, true, func(status *v1alpha1.AllowanceRecordStatus) bool {
		if status.Deletion != nil {
			again := d
			again.Time = status.Deletion.Time
			if equality.Semantic.DeepEqual(*status.Deletion, again) {
				return false
			}
		}
		status.Deletion = d.DeepCopy()
		return true
	})
}

// SetAdopting records whether an object is finishing what it was doing when a
// policy first took effect for it (D20). To say that it is, a record is created
// where there is none.
func (s *Store) SetAdopting(ctx context.Context, ref v1alpha1.TargetReference, adopting bool) error {
	now := metav1.NewTime(s.clock.Now())
	return s.Update(ctx, ref, adopting, func(status *v1alpha1.AllowanceRecordStatus) bool {
		if status.Adopting == adopting {
			return false
		}
		status.Adopting, status.AdoptingSince = adopting, nil
		if adopting {
			status.AdoptingSince = &now
		}
		return true
	})
}

// DropLedger makes what an object's ledger says now count for nothing, in a
// record that it creates where there is none: it was there before any policy was
// in effect for the object, so that nobody knows who wrote it (D10). The text is
// kept.
func (s *Store) DropLedger(ctx context.Context, ref v1alpha1.TargetReference, raw string, entries ledger.Ledger) error {
	return s.Update(ctx, ref, true, func(status *v1alpha1.AllowanceRecordStatus) bool {
		if status.RawLedger == Raw(raw) {
			return false
		}
		status.RawLedger = Raw(raw)
		for _, e := range entries {
			dropped := v1alpha1.ConsumedAllowance{ID: e.ID(), Generation: e.Generation}
			if !slices.Contains(status.Consumed, dropped) {
				status.Consumed = append(status.Consumed, dropped)
			}
		}
		return true
	})
}
