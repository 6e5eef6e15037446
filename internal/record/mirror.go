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

	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
)

// Mirror is one look at a holder, for its record.
type Mirror struct {
	// Create makes a record where there is none.
	Create bool
	// Parent is the uid of the holder's parent, for the label of a new record.
	Parent types.UID
	// Advance makes a status say what the look has shown, and reports whether that
	// changed it. It can be called several times.
	Advance func(ctx context.Context, status *v1alpha1.AllowanceRecordStatus) bool
}

// then returns a later look in the place of an earlier one that has not been written. What
// deserved a record then has one.
func (m *Mirror) then(later *Mirror) *Mirror {
	next := *later
	next.Create = next.Create || m != nil && m.Create
	return &next
}

// MirrorSoon has a look at a holder written into its record, together with what is
// observed about the holder, within two seconds. A look that changes nothing is only
// written where it takes the place of an earlier one.
func (s *Store) MirrorSoon(ref v1alpha1.TargetReference, m Mirror, changed bool) {
	if changed || s.outcomes.mirrors(ref.UID) {
		outcomesDropped.Add(float64(s.outcomes.put(&batch{target: ref, mirror: &m})))
	}
}

// MirrorNow writes a look at a holder into its record, with what waits to be written.
func (s *Store) MirrorNow(ctx context.Context, ref v1alpha1.TargetReference, m Mirror) error {
	b := s.outcomes.takeOne(ref.UID)
	if b == nil {
		b = &batch{target: ref}
	}
	b.mirror = b.mirror.then(&m)
	err := s.writeBatch(ctx, b)
	if err != nil && len(b.history) > 0 {
		b.mirror = nil // The caller looks again.
		s.outcomes.putBack(b)
	}
	return err
}
