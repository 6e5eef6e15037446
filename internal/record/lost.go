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

	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
)

// maxBeside is how many records are known that the cache does not have.
const maxBeside = 4096

// beside are records that the cache does not have, by their names. It is safe for concurrent
// use.
type beside struct{ records *lru.Cache }

func newBeside() *beside { return &beside{lru.New(maxBeside)} }

// of returns the record of a target, nil where there is none. It is shared and must not be
// modified.
func (b *beside) of(key types.NamespacedName, uid types.UID) *v1alpha1.AllowanceRecord {
	known, ok := b.records.Get(key)
	if !ok {
		return nil
	}
	if rec := recordIn(known); rec != nil && rec.Spec.TargetRef.UID == uid {
		return rec
	}
	return nil
}

func (b *beside) put(key types.NamespacedName, known any) { b.records.Add(key, known) }
func (b *beside) forget(key types.NamespacedName)         { b.records.Remove(key) }

func (b *beside) has(key types.NamespacedName) bool {
	_, ok := b.records.Get(key)
	return ok
}

// packedRecord is a record as the cache has it, which takes less memory than the record.
type packedRecord interface {
	Key() types.NamespacedName
	Unpack() (*v1alpha1.AllowanceRecord, error)
	// MayHaveUID is false of a UID that is not the record's, and nearly never true of one.
	MayHaveUID(uid types.UID) bool
}

// keyIn returns the name of the record that an informer tells of.
func keyIn(obj any) (types.NamespacedName, bool) {
	switch obj := obj.(type) {
	case *v1alpha1.AllowanceRecord:
		return client.ObjectKeyFromObject(obj), true
	case packedRecord:
		return obj.Key(), true
	default:
		return types.NamespacedName{}, false
	}
}

// recordIn returns the record that an informer tells of, nil where there is none in it.
func recordIn(obj any) *v1alpha1.AllowanceRecord {
	switch obj := obj.(type) {
	case *v1alpha1.AllowanceRecord:
		return obj
	case packedRecord:
		rec, err := obj.Unpack()
		utilruntime.HandleError(err)
		return rec
	default:
		return nil
	}
}

// mayHaveUID reports whether a record that an informer tells of has a UID.
func mayHaveUID(obj any, uid types.UID) bool {
	switch obj := obj.(type) {
	case *v1alpha1.AllowanceRecord:
		return obj.UID == uid
	case packedRecord:
		return obj.MayHaveUID(uid)
	default:
		return false
	}
}

// Follow has the Store know of records that somebody deletes while their target lives, by
// the events of the cache that it reads. Call it once, before the cache starts.
func (s *Store) Follow(ctx context.Context, objects cache.Cache) error {
	inform := func(ctx context.Context) (cache.Informer, error) {
		return objects.GetInformer(ctx, &v1alpha1.AllowanceRecord{})
	}
	if packing, ok := objects.(interface {
		PackedInformer(ctx context.Context) (cache.Informer, error)
	}); ok {
		inform = packing.PackedInformer
	}
	informer, err := inform(ctx)
	if err != nil {
		return fmt.Errorf("cannot watch AllowanceRecords: %w", err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    s.seen,
		UpdateFunc: func(_, obj any) { s.seen(obj) },
		DeleteFunc: s.gone,
	})
	return err
}

// seen takes note of what the cache has now.
func (s *Store) seen(obj any) {
	key, ok := keyIn(obj)
	if !ok {
		return
	}
	defer s.told.of(key, obj)
	s.made.forget(key)
	if s.lost.has(key) && KnowsLedger(recordIn(obj)) {
		s.lost.forget(key)
	}
}

// gone takes note of a record that was deleted: as lost, unless its target has ended.
func (s *Store) gone(obj any) {
	if tombstone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	key, ok := keyIn(obj)
	if !ok {
		return
	}
	defer s.told.of(key, nil)
	rec := recordIn(obj)
	if rec == nil || s.IsApart(rec) {
		return
	}
	s.made.forget(key)
	if isLosable(rec) {
		s.lost.put(key, obj)
	}
}

// isLosable reports whether a record says what nothing else does.
func isLosable(rec *v1alpha1.AllowanceRecord) bool {
	return rec.Status.EndedAt == nil && KnowsLedger(rec)
}

// lostOf returns the record of an object that had not ended, as it was when somebody deleted it; nil
// where nobody did, or it has been put back. It is for those who read that the cache has no record,
// or one that knows nothing.
func (s *Store) lostOf(ctx context.Context, ref v1alpha1.TargetReference) *v1alpha1.AllowanceRecord {
	key := s.key(ref)
	if err := s.told.await(ctx, key, func() (types.UID, error) {
		cached, err := s.cached(ctx, ref)
		if cached == nil || err != nil {
			return "", err
		}
		return cached.UID, nil
	}); err != nil {
		logf.FromContext(ctx).Info("Going on without a record that may have been deleted", "record", key, "reason", err.Error())
	}
	return s.lost.of(key, ref.UID)
}

// lostSince returns lostOf for those who read from the API server that there is no record, or this
// one: what the cache has still may be what was lost.
func (s *Store) lostSince(ctx context.Context, ref v1alpha1.TargetReference, stored *v1alpha1.AllowanceRecord) *v1alpha1.AllowanceRecord {
	cached, err := s.cached(ctx, ref)
	if err == nil && cached != nil && (stored == nil || stored.UID != cached.UID) && isLosable(cached) {
		return cached
	}
	return s.lostOf(ctx, ref)
}

// key returns the name of the record of an object.
func (s *Store) key(ref v1alpha1.TargetReference) types.NamespacedName {
	return types.NamespacedName{Namespace: Namespace(ref, s.operatorNamespace), Name: Name(ref)}
}

// IsLost reports whether somebody deleted the record of an object that had not ended, and
// nobody has put it back yet.
func (s *Store) IsLost(ctx context.Context, ref v1alpha1.TargetReference) bool {
	return s.lostOf(ctx, ref) != nil
}

// Restore puts the record of an object back that somebody deleted, as it was, and returns
// it; nil where its namespace is being deleted.
func (s *Store) Restore(ctx context.Context, ref v1alpha1.TargetReference) (*v1alpha1.AllowanceRecord, error) {
	if err := s.Update(ctx, ref, true, func(*v1alpha1.AllowanceRecordStatus) bool { return false }); err != nil {
		return nil, err
	}
	return s.stored(ctx, ref)
}

// restore makes a record that does not know the ledger of its target say what the one said
// that was lost, if one was, and reports whether it did.
func (s *Store) restore(ctx context.Context, rec *v1alpha1.AllowanceRecord) bool {
	if KnowsLedger(rec) {
		return false
	}
	lost := s.lostSince(ctx, rec.Spec.TargetRef, rec)
	if lost == nil || lost.UID == rec.UID {
		return false
	}
	since, status := rec.Status, lost.Status.DeepCopy()
	if status.Phase == "" {
		status.Phase = phaseOf(lost)
	}
	for _, p := range since.PendingGrants {
		status.PendingGrants = withPending(status.PendingGrants, p)
	}
	for _, c := range since.Strays {
		status.Strays = slices.DeleteFunc(status.Strays, func(old v1alpha1.StrayChild) bool { return old.UID == c.UID })
		status.Strays = append(status.Strays, c)
	}
	for _, c := range since.SetAside {
		status.SetAside = withSetAside(status.SetAside, c)
	}
	status.BrokenGlass = append(status.BrokenGlass, since.BrokenGlass...)
	if since.Deletion != nil {
		status.Deletion = since.Deletion
	}
	status.Denials += since.Denials
	status.History = WithHistory(status.History, oldestFirst(since.History)...)
	rec.Status = *status
	return true
}

// phaseOf returns the phase of a target whose record was made with its first allowances.
func phaseOf(rec *v1alpha1.AllowanceRecord) v1alpha1.Phase {
	if rec.Status.Phase == "" {
		return v1alpha1.PhaseSteady // The next look says which it is.
	}
	return rec.Status.Phase
}

// KeepLedger makes sure that an object that gets allowances has a record that knows its
// ledger. Admission calls it before it answers, and never on a dry run: without such a
// record none of the allowances counts. void are the entries that the ledger had before,
// which did not count for want of one. parent is the uid of the object's parent, empty where
// it has none.
//
// By such a record nobody has looked at the object: the leader has to decide still whether it
// was created while nobody was asked.
func (s *Store) KeepLedger(ctx context.Context, ref v1alpha1.TargetReference, parent types.UID, void ledger.Ledger) error {
	return s.keep(ctx, newRecord(ref, parent, s.operatorNamespace), void)
}

// KeepCreation makes sure that an object that is being created has a record that says so, and
// knows its ledger. Admission calls it before it answers, and never on a dry run: what the
// ledger tells of the creation goes when that is over, and a leader that has not seen the object
// before would take it for one that was created while nobody was asked.
//
// pending are the grants that the object is about to be stored without. They are written first: the
// request may end after each write, and the API server store the object all the same, as failurePolicy
// says. Whoever reads that its creation was judged finds all that was granted then.
func (s *Store) KeepCreation(ctx context.Context, ref v1alpha1.TargetReference, parent types.UID, pending ...v1alpha1.PendingGrant) error {
	for _, p := range pending {
		if err := s.addPending(ctx, ref, parent, p, nil); err != nil {
			return err
		}
	}
	rec := newRecord(ref, parent, s.operatorNamespace)
	rec.Spec.CreationJudged = true
	return s.keep(ctx, rec, nil)
}

// keep makes sure that the target of a record has one that knows its ledger, by default that one.
func (s *Store) keep(ctx context.Context, made *v1alpha1.AllowanceRecord, void ledger.Ledger) error {
	ref, read := made.Spec.TargetRef, s.own
	return s.inTurn(ctx, ref, func() error {
		rec, err := read(ctx, ref)
		read = s.stored
		if err != nil || KnowsLedger(rec) {
			return err
		}
		if rec == nil {
			rec = made.DeepCopy()
			rec.Spec.LedgerKnown = len(void) == 0 && s.lostSince(ctx, ref, nil) == nil
			rec, err = s.add(ctx, rec)
			if rec == nil || err != nil {
				return err
			}
			if rec.Spec.LedgerKnown {
				s.made.put(client.ObjectKeyFromObject(rec), rec)
				return nil
			}
		}
		if !s.restore(ctx, rec) {
			if len(void) == 0 {
				return s.tellKnown(ctx, rec, made.Spec.CreationJudged)
			}
			rec.Status.Phase = v1alpha1.PhaseSteady
			rec.Status.Consumed = UsedUp(rec.Status.Consumed, void)
		}
		if err := s.writeStatus(ctx, rec); err != nil {
			return err
		}
		s.made.put(client.ObjectKeyFromObject(rec), rec)
		return nil
	})
}

// tellKnown has a record that was made of something else, such as a denial, know the ledger of its
// target from its first allowances on, and say that the creation of it was judged where that is so.
func (s *Store) tellKnown(ctx context.Context, rec *v1alpha1.AllowanceRecord, creationJudged bool) error {
	known := rec.DeepCopy()
	known.Spec.LedgerKnown = true
	known.Spec.CreationJudged = rec.Spec.CreationJudged || creationJudged
	if err := s.client.Patch(ctx, known, client.MergeFromWithOptions(rec, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("cannot update AllowanceRecord %s: %w", client.ObjectKeyFromObject(rec), err)
	}
	recordWrites.WithLabelValues(writeSpec).Inc()
	s.made.put(client.ObjectKeyFromObject(known), known)
	return nil
}

// UsedUp adds the entries of a ledger to what is used up.
func UsedUp(consumed []v1alpha1.ConsumedAllowance, entries ledger.Ledger) []v1alpha1.ConsumedAllowance {
	for _, e := range entries {
		used := v1alpha1.ConsumedAllowance{ID: e.ID(), Generation: e.Generation}
		if !slices.Contains(consumed, used) {
			consumed = append(consumed, used)
		}
	}
	return consumed
}
