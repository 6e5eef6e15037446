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
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
)

// operationCreate is the operation of a history entry about a creation.
const operationCreate = "Create"

// A record is made before the creation that it is for is stored. Something else may refuse the creation
// then, or an object of its name be there: the record is about an object that never existed.

// NeverSeen reports whether nothing in a record says that its target has ever existed: nobody has looked at
// it, changed it, asked for its deletion, or asked for anything below it.
func NeverSeen(rec *v1alpha1.AllowanceRecord) bool {
	return rec.Status.Phase == "" && rec.Status.EndedAt == nil && !TellsOfTarget(rec)
}

// TellsOfTarget reports whether something in a record is so of what has existed alone, whatever its phase: more
// than that somebody was let create it.
func TellsOfTarget(rec *v1alpha1.AllowanceRecord) bool {
	s := &rec.Status
	switch {
	case s.Phase == v1alpha1.PhaseInitializing, s.Phase == v1alpha1.PhaseSteady:
		return true
	case s.Deletion != nil, s.LastDecision != nil, s.LastDenial != nil, s.Denials > 0, s.Blocked != nil:
		return true
	case s.Adopting, s.Gated, len(s.Versions) > 0, len(s.BrokenGlass) > 0:
		return true
	case len(s.Strays) > 0, len(s.SetAside) > 0, len(s.IgnoredParents) > 0, s.RawLedger != "":
		return true
	case slices.ContainsFunc(s.PendingGrants, func(p v1alpha1.PendingGrant) bool { return p.Seen || p.After != "" }):
		return true
	}
	return slices.ContainsFunc(s.History, func(e v1alpha1.HistoryEntry) bool {
		isGrant := e.Event == v1alpha1.EventGranted || e.Event == v1alpha1.EventWithheld
		return !isGrant || e.Operation != operationCreate
	})
}

// MayStillCome returns until when the target of a record may still be stored that nobody has seen: the
// API server gives up a request after a minute.
func MayStillCome(rec *v1alpha1.AllowanceRecord) time.Time {
	until := rec.CreationTimestamp.Add(UnseenLimit)
	if awaited := Awaited(rec.CreationTimestamp, &rec.Status); awaited.After(until) {
		return awaited
	}
	return until
}

// Drop deletes the record of an object that never existed, if it is as it was looked at. It is no loss that
// anybody makes up for, but where the object comes all the same: each replica remembers the record as it
// does any that is deleted while its target lives, and the leader puts it back then.
func (s *Store) Drop(ctx context.Context, rec *v1alpha1.AllowanceRecord) error {
	err := s.client.Delete(ctx, rec.DeepCopy(), client.Preconditions{UID: &rec.UID, ResourceVersion: &rec.ResourceVersion})
	if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("cannot delete AllowanceRecord %s of what never existed: %w", client.ObjectKeyFromObject(rec), err)
	}
	return nil
}
