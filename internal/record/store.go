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
	"errors"
	"fmt"
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/watchstate"
)

// contention is how a write is tried again: several replicas, and several
// requests for children of one holder, write the same record. Each conflict is
// somebody else's write that succeeded: many short pauses let more of these go by than a
// few long ones. Where a request waits, it goes on for as long as that may take; where
// none does, these pauses, of less than a second, are all.
var contention = wait.Backoff{Steps: 18, Duration: 5 * time.Millisecond, Factor: 1.2, Jitter: 1}

// Config is what a Store works with. All of it is required but the clock.
type Config struct {
	// Client reads records from a cache, and writes them.
	Client client.Client
	// Live reads records from the API server.
	Live client.Reader
	// OperatorNamespace has the records of cluster-scoped objects.
	OperatorNamespace string
	// All goes through all records of a cache that can do so without having all of them
	// at hand at a time. Where it is left out, Client lists them.
	All func(ctx context.Context) iter.Seq2[*v1alpha1.AllowanceRecord, error]
	// Behind reports whether the cache may be older than what others see; it never is where
	// this is left out.
	Behind func() bool
	// Clock is the real one where it is left out.
	Clock clock.WithTicker
}

// Store reads and writes AllowanceRecords. All of its writes are optimistic and
// idempotent, so that each replica may make them. It is safe for concurrent use.
//
// Admission writes through it what must not be lost before it answers, and says
// everything else through Observe, for which the Store has to be added to the
// manager.
type Store struct {
	client            client.Client
	live              client.Reader
	operatorNamespace string
	all               func(ctx context.Context) iter.Seq2[*v1alpha1.AllowanceRecord, error]
	behind            func() bool
	clock             clock.WithTicker
	outcomes          *queue
	// made are records that this process made and that the cache may not have yet, and lost
	// those that somebody deleted while their target lives.
	made, lost *beside
	// told has the records of which the cache has sent events. Each event comes after its change.
	told *told
	// turns serializes the writes of each record in this process.
	turns *turns
}

// NewStore makes a Store.
func NewStore(cfg Config) *Store {
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	return &Store{
		client:            cfg.Client,
		live:              cfg.Live,
		operatorNamespace: cfg.OperatorNamespace,
		all:               cfg.All,
		behind:            cfg.Behind,
		clock:             cfg.Clock,
		outcomes:          newQueue(maxWaiting, cfg.Clock),
		turns:             newTurns(),
		made:              newBeside(),
		lost:              newBeside(),
		told:              newTold(),
	}
}

// Get returns the record of an object from the cache; nil where there is none. One that
// this process has just made is there already, and one that somebody has deleted is as it
// was, until it is put back. The record is shared and must not be modified.
func (s *Store) Get(ctx context.Context, ref v1alpha1.TargetReference) (*v1alpha1.AllowanceRecord, error) {
	rec, err := s.cached(ctx, ref)
	if rec != nil || err != nil {
		return rec, err
	}
	if rec := s.made.of(s.key(ref), ref.UID); rec != nil {
		return rec, nil
	}
	return s.lostOf(ctx, ref), nil
}

// cached returns the record of an object that the cache has, nil where it has none. It is shared and
// must not be modified.
func (s *Store) cached(ctx context.Context, ref v1alpha1.TargetReference) (*v1alpha1.AllowanceRecord, error) {
	return s.read(ctx, s.client, ref, client.UnsafeDisableDeepCopy)
}

// Behind reports whether the cached records may be older than what others see.
func (s *Store) Behind() bool { return s.behind != nil && s.behind() }

// own returns Get of a record that may be modified.
func (s *Store) own(ctx context.Context, ref v1alpha1.TargetReference) (*v1alpha1.AllowanceRecord, error) {
	return s.read(ctx, s.client, ref)
}

// All goes through all cached records, which must not be modified. There may be more
// than fit into memory at a time.
func (s *Store) All(ctx context.Context) iter.Seq2[*v1alpha1.AllowanceRecord, error] {
	if s.all != nil {
		return s.all(ctx)
	}
	return func(yield func(*v1alpha1.AllowanceRecord, error) bool) {
		var list v1alpha1.AllowanceRecordList
		if err := s.client.List(ctx, &list); err != nil {
			yield(nil, fmt.Errorf("cannot list the AllowanceRecords: %w", err))
			return
		}
		for i := range list.Items {
			if !yield(&list.Items[i], nil) {
				return
			}
		}
	}
}

// Live reads the record of an object from the API server, in one GET; nil where
// there is none. One that somebody has deleted is as it was, as with Get.
func (s *Store) Live(ctx context.Context, ref v1alpha1.TargetReference) (*v1alpha1.AllowanceRecord, error) {
	rec, err := s.stored(ctx, ref)
	if rec != nil || err != nil {
		return rec, err
	}
	return s.lostSince(ctx, ref, nil), nil
}

// stored returns the record as the API server has it, which may be modified.
func (s *Store) stored(ctx context.Context, ref v1alpha1.TargetReference) (*v1alpha1.AllowanceRecord, error) {
	return s.read(ctx, s.live, ref)
}

func (s *Store) read(ctx context.Context, reader client.Reader, ref v1alpha1.TargetReference, opts ...client.GetOption) (*v1alpha1.AllowanceRecord, error) {
	key := s.key(ref)
	rec := &v1alpha1.AllowanceRecord{}
	err := reader.Get(ctx, key, rec, opts...)
	switch {
	case undefined(err):
		return nil, fmt.Errorf("%w: %w", ErrUndefined, err)
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("cannot read AllowanceRecord %s of %s %s: %w", key, ref.Kind, Key(ref), err)
	case rec.Spec.TargetRef.UID != ref.UID:
		return nil, fmt.Errorf("AllowanceRecord %s is about another object than %s %s: delete it if a person made it", key, ref.Kind, Key(ref))
	}
	return rec, nil
}

// Update changes the status of the record of an object. mutate reports whether it
// has changed anything; where it has not, nothing is written. It is called again
// with a fresh status where somebody else wrote in the meantime. Where there is
// no record, one is made if create is true.
//
// In a namespace that is being deleted no record can be made; that is not an
// error.
func (s *Store) Update(ctx context.Context, ref v1alpha1.TargetReference, create bool, mutate func(*v1alpha1.AllowanceRecordStatus) bool) error {
	return s.update(ctx, ref, "", create, mutate)
}

// update returns Update; a record that it makes is labeled with the uid of its target's
// parent.
func (s *Store) update(ctx context.Context, ref v1alpha1.TargetReference, parent types.UID, create bool, mutate func(*v1alpha1.AllowanceRecordStatus) bool) error {
	c := statusChange{parent: parent, create: create, mutate: mutate}
	return s.turns.together(ref.UID, c, func(taken func() statusChanges) error {
		read, known := s.own, ""
		return s.inTurn(ctx, ref, func() error {
			changes := taken()
			rec, err := read(ctx, ref)
			read = s.stored // whatever fails below fails because the cache is behind
			if err != nil {
				return err
			}
			if known, err = goesOn(rec, known); err != nil {
				return err
			}
			return s.change(ctx, ref, rec, changes)
		})
	})
}

// change applies changes to a record, and writes it. The record is nil where there is none yet.
func (s *Store) change(ctx context.Context, ref v1alpha1.TargetReference, rec *v1alpha1.AllowanceRecord, changes statusChanges) error {
	if rec == nil {
		var err error
		if rec, err = s.create(ctx, ref, changes); rec == nil || err != nil {
			return err
		}
	}
	restored := s.restore(ctx, rec)
	if !changes.mutate(&rec.Status) && !restored {
		return nil
	}
	return s.writeStatus(ctx, rec)
}

// writeStatus updates the status of a record that was read or has just been made.
func (s *Store) writeStatus(ctx context.Context, rec *v1alpha1.AllowanceRecord) error {
	if err := s.client.Status().Update(ctx, rec); err != nil {
		return fmt.Errorf("cannot update AllowanceRecord %s: %w", client.ObjectKeyFromObject(rec), err)
	}
	recordWrites.WithLabelValues(writeStatus).Inc()
	return nil
}

// goesOn returns the version of a record that was read, nil where there is none. It fails where
// another read saw a later one: what is to be written is of what was there then.
func goesOn(rec *v1alpha1.AllowanceRecord, known string) (string, error) {
	switch {
	case rec == nil:
		return known, nil
	case watchstate.IsBefore(rec.ResourceVersion, known):
		return "", fmt.Errorf("cannot update AllowanceRecord %s: %w", client.ObjectKeyFromObject(rec), watchstate.ErrRewound)
	default:
		return rec.ResourceVersion, nil
	}
}

// inTurn tries a write of the record of an object until it is not outdated, or, where ctx has a
// deadline, until that. What it returns then is no conflict, but says that the deadline has passed.
func (s *Store) inTurn(ctx context.Context, ref v1alpha1.TargetReference, write func() error) error {
	try := func() error {
		release := s.turns.acquire(ref.UID)
		defer release()
		return write()
	}
	_, waited := ctx.Deadline()
	for pause := contention; ; {
		err := try()
		if !outdated(err) || pause.Steps <= 1 && !waited {
			return err
		}
		select {
		case <-time.After(pause.Step()):
		case <-ctx.Done():
			// This is no conflict: others who share the write may have longer.
			return fmt.Errorf("%s: %w", err.Error(), ctx.Err())
		}
	}
}

// create makes the record, unless there is nothing to say in it, or its
// namespace is being deleted: then it returns nil.
func (s *Store) create(ctx context.Context, ref v1alpha1.TargetReference, changes statusChanges) (*v1alpha1.AllowanceRecord, error) {
	creating := changes.creating()
	if len(creating) == 0 {
		return nil, nil
	}
	lost := s.lostSince(ctx, ref, nil)
	if lost == nil && !creating.mutate(&v1alpha1.AllowanceRecordStatus{}) {
		return nil, nil
	}
	parent := creating.parent()
	if parent == "" && lost != nil {
		parent = ParentOf(lost)
	}
	rec, err := s.add(ctx, newRecord(ref, parent, s.operatorNamespace))
	if rec != nil && parent != "" {
		rec.Status.ParentUID = &parent
	}
	return rec, err
}

// add stores a new record, unless its namespace is being deleted: then it returns nil.
func (s *Store) add(ctx context.Context, rec *v1alpha1.AllowanceRecord) (*v1alpha1.AllowanceRecord, error) {
	ref := rec.Spec.TargetRef
	err := s.client.Create(ctx, rec)
	switch {
	case undefined(err):
		return nil, fmt.Errorf("%w: %w", ErrUndefined, err)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), apierrors.IsNotFound(err) && ref.Namespace != "":
		logf.FromContext(ctx).V(1).Info("No record: its namespace is being deleted", "kind", ref.Kind, "target", Key(ref))
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("cannot create AllowanceRecord %s: %w", client.ObjectKeyFromObject(rec), err)
	}
	recordWrites.WithLabelValues(writeCreate).Inc()
	return rec, nil
}

// SetParent labels a record with the uid of its target's parent, unless it is
// already. The label goes where the target has no parent any more, and what somebody else
// has made of it is mended.
func (s *Store) SetParent(ctx context.Context, rec *v1alpha1.AllowanceRecord, uid types.UID) error {
	value := string(uid)
	if rec.Labels[LabelParentUID] == value || len(validation.IsValidLabelValue(value)) > 0 {
		return nil
	}
	labeled := rec.DeepCopy()
	if labeled.Labels == nil {
		labeled.Labels = map[string]string{}
	}
	labeled.Labels[LabelParentUID] = value
	if value == "" {
		delete(labeled.Labels, LabelParentUID)
	}
	err := s.client.Patch(ctx, labeled, client.MergeFrom(rec))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot label AllowanceRecord %s: %w", client.ObjectKeyFromObject(rec), err)
	}
	if err == nil {
		recordWrites.WithLabelValues(writeLabels).Inc()
	}
	return nil
}

// ErrUndefined is that of reads and writes of records while their definition is gone.
var ErrUndefined = errors.New("the CustomResourceDefinition allowancerecords.kausality.io is gone, install it again")

// undefined reports whether an error says that the API server knows no such kind, rather
// than that there is no such object.
func undefined(err error) bool {
	return apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// outdated reports whether a write failed because what it was based on is not so
// any more.
func outdated(err error) bool {
	// A record that the cache still has may be gone, and one that it does not
	// have yet may be there.
	return !errors.Is(err, ErrUndefined) && (apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err))
}
