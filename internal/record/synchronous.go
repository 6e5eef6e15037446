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
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/upgrade"
)

// AddPending adds a pending grant to the record of an object, which it creates
// where there is none. Admission calls it before it answers, and never on a dry
// run; a grant that is made again only gets a new time.
//
// Earlier grants whose content the object has lost go in the same write: the new one may be for
// content that they would count for again, and may withhold what they end. found is the object as
// it was stored when the request came, nil where that is not known for sure.
func (s *Store) AddPending(ctx context.Context, ref v1alpha1.TargetReference, p v1alpha1.PendingGrant, found *unstructured.Unstructured) error {
	return s.addPending(ctx, ref, "", p, found)
}

// addPending is AddPending for a target whose parent is known: a record that it makes is labeled with the parent's uid.
func (s *Store) addPending(
	ctx context.Context, ref v1alpha1.TargetReference, parent types.UID, p v1alpha1.PendingGrant, found *unstructured.Unstructured,
) error {
	p.Time = metav1.NewTime(s.clock.Now())
	p.Seen = false
	return s.update(ctx, ref, parent, true, func(status *v1alpha1.AllowanceRecordStatus) bool {
		status.PendingGrants = withPending(slices.DeleteFunc(status.PendingGrants, func(old v1alpha1.PendingGrant) bool { return isLost(old, found) }), p)
		// It is written even where nothing changes: the cache may be behind, and
		// the grant already gone. The write finds that out, and costs no event.
		return true
	})
}

// RememberVersion has a parent remember a version of a controller that an upgrade lets through,
// in a record that it creates where there is none. Admission calls it before it answers, and
// never on a dry run. note is asked with what the parent remembers by then.
func (s *Store) RememberVersion(
	ctx context.Context, parent v1alpha1.TargetReference, note func([]v1alpha1.ControllerVersion) *v1alpha1.ControllerVersion,
) error {
	return s.Update(ctx, parent, true, func(status *v1alpha1.AllowanceRecordStatus) bool {
		v := note(status.Versions)
		if v == nil {
			return false
		}
		status.Versions = upgrade.Remember(status.Versions, *v)
		return true
	})
}

// noticed is the time for which a note about broken glass counts. The two hooks of one
// request follow each other within milliseconds.
const noticed = 30 * time.Second

// BreakGlass notes in the record of a parent, which it creates where there is
// none, that a request for a child breaks the glass (D13). The mutating hook calls
// it before it answers, and never on a dry run; notes that count no more go.
func (s *Store) BreakGlass(ctx context.Context, parent v1alpha1.TargetReference, b v1alpha1.BrokenGlass) error {
	b.Time = metav1.NewTime(s.clock.Now())
	return s.Update(ctx, parent, true, func(status *v1alpha1.AllowanceRecordStatus) bool {
		status.BrokenGlass = append(s.counting(status.BrokenGlass), b)
		return true
	})
}

// TakeBrokenGlass takes the note that a request of a user for a child breaks the
// glass, and returns its reason: each note serves one request. Where there is none
// it returns false. The validating hook calls it before it answers.
func (s *Store) TakeBrokenGlass(ctx context.Context, parent v1alpha1.TargetReference, request v1alpha1.BrokenGlass) (reason string, ok bool, err error) {
	err = s.Update(ctx, parent, false, func(status *v1alpha1.AllowanceRecordStatus) bool {
		notes := s.counting(status.BrokenGlass)
		i := indexOfBrokenGlass(notes, request)
		if ok = i >= 0; ok {
			reason = notes[i].Reason
			status.BrokenGlass = slices.Delete(notes, i, i+1)
		}
		return ok
	})
	return reason, ok && err == nil, err
}

// FindBrokenGlass finds the note for a request among those of a record, which may have
// been taken, or be too old to be.
func FindBrokenGlass(notes []v1alpha1.BrokenGlass, request v1alpha1.BrokenGlass) (v1alpha1.BrokenGlass, bool) {
	if i := indexOfBrokenGlass(notes, request); i >= 0 {
		return notes[i], true
	}
	return v1alpha1.BrokenGlass{}, false
}

func indexOfBrokenGlass(notes []v1alpha1.BrokenGlass, request v1alpha1.BrokenGlass) int {
	return slices.IndexFunc(notes, func(b v1alpha1.BrokenGlass) bool {
		return b.User == request.User && b.Operation == request.Operation && b.Kind == request.Kind &&
			(b.Name == "" || b.Name == request.Name)
	})
}

// counting returns the notes that count still.
func (s *Store) counting(notes []v1alpha1.BrokenGlass) []v1alpha1.BrokenGlass {
	now := s.clock.Now()
	var out []v1alpha1.BrokenGlass
	for _, b := range notes {
		if now.Sub(b.Time.Time) < noticed {
			out = append(out, b)
		}
	}
	return out
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
		status.History = WithHistory(status.History, DeletedEntry(&d))
		return true
	})
}

// KeepDeletion records who deletes an object that goes with its namespace, where the
// record of it goes as well and none can be made any more: in a record in the operator's
// namespace, which says nothing else. Admission calls it as it does SetDeletion.
func (s *Store) KeepDeletion(ctx context.Context, ref v1alpha1.TargetReference, d v1alpha1.Deletion) error {
	d.Time = metav1.NewTime(s.clock.Now())
	rec := newRecord(ref, "", s.operatorNamespace)
	rec.Namespace = s.operatorNamespace
	switch err := s.client.Create(ctx, rec); {
	case err == nil:
		recordWrites.WithLabelValues(writeCreate).Inc()
	case !apierrors.IsAlreadyExists(err):
		return fmt.Errorf("cannot create AllowanceRecord %s: %w", client.ObjectKeyFromObject(rec), err)
	default:
		if err := s.live.Get(ctx, client.ObjectKeyFromObject(rec), rec); err != nil {
			return fmt.Errorf("cannot read AllowanceRecord %s: %w", client.ObjectKeyFromObject(rec), err)
		}
	}
	if rec.Status.Deletion != nil {
		return nil
	}
	strays, err := s.StraysOf(ctx, ref.UID)
	if err != nil {
		return err
	}
	rec.Status = v1alpha1.AllowanceRecordStatus{
		Phase: v1alpha1.PhaseDeleting, ParentUID: new(types.UID), EndedAt: &d.Time, Deletion: &d, History: WithHistory(nil, DeletedEntry(&d)),
		Strays: strays,
	}
	if err := s.writeStatus(ctx, rec); !apierrors.IsConflict(err) { // Who was faster says the same.
		return err
	}
	return nil
}

// LiveDeletion returns who deleted an object, as its records in the API server say: its own, or
// the one that KeepDeletion has made.
func (s *Store) LiveDeletion(ctx context.Context, ref v1alpha1.TargetReference) (*v1alpha1.Deletion, error) {
	rec, err := s.Live(ctx, ref)
	if err != nil || rec != nil && rec.Status.Deletion != nil {
		return deletionIn(rec), err
	}
	apart := newRecord(ref, "", s.operatorNamespace)
	apart.Namespace = s.operatorNamespace
	if apart.Namespace == Namespace(ref, s.operatorNamespace) {
		return nil, nil
	}
	if err := s.live.Get(ctx, client.ObjectKeyFromObject(apart), apart); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return deletionIn(apart), nil
}

func deletionIn(rec *v1alpha1.AllowanceRecord) *v1alpha1.Deletion {
	if rec == nil {
		return nil
	}
	return rec.Status.Deletion
}

// IsApart reports whether a record is one that KeepDeletion has made.
func (s *Store) IsApart(rec *v1alpha1.AllowanceRecord) bool {
	return rec.Namespace != Namespace(rec.Spec.TargetRef, s.operatorNamespace)
}

// SetAdopting records that an object is finishing what it was doing when a policy first
// took effect for it (D20), in a record that it creates where there is none. parent is the
// uid of its parent, empty where it has none, and nil where nobody knows.
func (s *Store) SetAdopting(ctx context.Context, ref v1alpha1.TargetReference, parent *types.UID) error {
	now := metav1.NewTime(s.clock.Now())
	return s.update(ctx, ref, ptr.Deref(parent, ""), true, func(status *v1alpha1.AllowanceRecordStatus) bool {
		if status.Adopting {
			return false
		}
		if status.ParentUID == nil {
			status.ParentUID = parent
		}
		status.Adopting, status.AdoptingSince = true, &now
		// The Holder controller would come to say so, in a write of its own for each.
		status.Phase = cmp.Or(status.Phase, v1alpha1.PhaseSteady)
		return true
	})
}

// DropLedger makes entries of an object's ledger count for nothing from now on, in a
// record that it creates where there is none: they were there before any policy was
// in effect for the object, so that nobody knows who wrote them (D10). The text is
// kept. What the ledger tells of withheld changes that are withheld still stays, whatever
// was dropped before.
func (s *Store) DropLedger(ctx context.Context, ref v1alpha1.TargetReference, raw string, entries, withheld ledger.Ledger) error {
	return s.Update(ctx, ref, true, func(status *v1alpha1.AllowanceRecordStatus) bool {
		changed := status.RawLedger != Raw(raw)
		status.RawLedger = Raw(raw)
		// The same ledger can have been dropped before, and have been written again
		// while there was no policy.
		before := len(status.Consumed)
		status.Consumed = slices.DeleteFunc(status.Consumed, func(c v1alpha1.ConsumedAllowance) bool {
			return slices.ContainsFunc(withheld, func(e ledger.Entry) bool { return e.ID() == c.ID })
		})
		kept := len(status.Consumed)
		status.Consumed = UsedUp(status.Consumed, entries)
		return changed || kept < before || len(status.Consumed) > kept
	})
}
