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
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/baseline"
	"kausality.io/operator/internal/objectcache"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

const (
	// SignOfLifeName is the name of the Lease, in the operator's namespace. The
	// Role for leader election allows it.
	SignOfLifeName = "kausality-sign-of-life"
	// signInterval is the interval at which it is renewed.
	signInterval = 10 * time.Second
)

// SignOfLifeConfig is what a SignOfLife works with. All of it is required but the
// clock.
type SignOfLifeConfig struct {
	// Client writes the Lease.
	Client client.Client
	// Live reads it from the API server: no cache is kept of leases.
	Live client.Reader
	// Namespace is the operator's.
	Namespace string
	// Holders are the holders.
	Holders objectcache.Reader
	// Looked is closed once they are cached.
	Looked <-chan struct{}
	// Records are their AllowanceRecords.
	Records *record.Store
	// Baseline remembers holders without a record.
	Baseline *baseline.Memory
	// Policies are the active policies.
	Policies *policy.Active
	// Namespaces knows the labels of namespaces.
	Namespaces ancestry.Namespaces
	// Asking knows whether the API server asks; it always does where this is nil. Have it call Lapse.
	Asking Asking
	// Clock is the real one where it is left out.
	Clock clock.WithTicker
}

// Asking knows whether the API server asks about what policies name.
type Asking interface {
	// Wait returns once that is known.
	Wait(ctx context.Context) error
	// Lapses returns how often it has ceased to, and whether it does not ask now.
	Lapses() (count int64, lapsed bool)
}

// SignOfLife keeps the time at which the operator was last alive, and decides by
// it, once for each holder, whether the holder was created while nobody was asked:
// it is then adopting (D20). Everything else that has no creation entries is
// steady, whatever has become of its record.
//
// The leader runs it; a new leader goes on from the sign of the last one. That there was no leader
// proves nothing: other replicas may have answered all the time. So the sign only tells which
// holders are to be decided about; that somebody was asked shows in what was left by that.
type SignOfLife struct {
	SignOfLifeConfig

	// ready is closed after the first look. Before it, since is not known.
	ready chan struct{}
	// since is the last sign of life before this process became the leader; nil
	// on the first start ever.
	since *time.Time
	// signedBefore and signed are the resourceVersions of the lease with that sign, and with the first one
	// of this process; empty where there is none. Unlike times they tell of any write, if the API server
	// keeps leases where it keeps the rest.
	signedBefore, signed string
	// looked is when the first look was taken, and lookedThere the same as the API server
	// has it.
	looked, lookedThere time.Time

	mu   sync.Mutex
	seen map[objectcache.Request]types.UID
	lapses
}

// NewSignOfLife makes a SignOfLife; add it to the manager.
func NewSignOfLife(cfg SignOfLifeConfig) *SignOfLife {
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	return &SignOfLife{
		SignOfLifeConfig: cfg,
		ready:            make(chan struct{}),
		seen:             map[objectcache.Request]types.UID{},
		lapses:           lapses{ended: make(chan struct{}, 1)},
	}
}

// NeedLeaderElection is true: one process gives the sign.
func (s *SignOfLife) NeedLeaderElection() bool { return true }

// Start takes the first look and then gives a sign of life until ctx ends. A sign
// before the look would make holders look steady that a crash in between left
// undecided.
func (s *SignOfLife) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.Looked:
	}
	lease, err := s.read(ctx)
	if err != nil {
		return err
	}
	if last := lastSign(lease); !last.IsZero() {
		s.since, s.signedBefore = &last, lease.ResourceVersion
	}
	if s.Baseline.Wait(ctx) != nil || s.Asking != nil && s.Asking.Wait(ctx) != nil {
		return nil // The operator ends.
	}
	if err := s.firstLook(ctx); err != nil {
		return err
	}
	s.looked = s.Clock.Now()
	if !s.beginLapsed() && s.tryGive(ctx, lease) {
		s.signed = lease.ResourceVersion
	}
	if s.lookedThere = renewed(lease); s.lookedThere.IsZero() {
		s.lookedThere = s.looked
	}
	close(s.ready)
	s.endLapse(ctx, lease)

	ticker := s.Clock.NewTicker(signInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.ended:
			s.endLapse(ctx, lease)
		case <-ticker.C():
			s.endLapse(ctx, lease)
			if !s.isLapsed() {
				s.tryGive(ctx, lease)
			}
		}
	}
}

// tryGive gives a sign, or says why not, and reports whether it did.
func (s *SignOfLife) tryGive(ctx context.Context, lease *coordinationv1.Lease) bool {
	err := s.give(ctx, lease)
	if err != nil {
		logf.FromContext(ctx).Error(err, "Cannot give a sign of life; it is tried again", "lease", SignOfLifeName)
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = sign{at: lastSign(lease), version: lease.ResourceVersion}
	return true
}

// lastSign returns when a sign was last given, zero where it never was. It is compared with times
// of creation and of changes, which are by the clock of the API server: so is this, whatever
// the clock says of who gave it. What that says counts where it is earlier: to look at more
// than was missed is harmless.
func lastSign(lease *coordinationv1.Lease) time.Time {
	if lease.Spec.RenewTime == nil {
		return time.Time{}
	}
	last := lease.Spec.RenewTime.Time
	if there := renewed(lease); !there.IsZero() && there.Before(last) {
		last = there
	}
	return last
}

// renewed returns when a lease was last renewed as the API server has it, in whole seconds; zero
// where it does not say so.
func renewed(lease *coordinationv1.Lease) time.Time {
	for _, f := range lease.ManagedFields {
		if f.Time != nil && f.FieldsV1 != nil && strings.Contains(f.FieldsV1.GetRawString(), `"f:renewTime"`) {
			return f.Time.Time
		}
	}
	return time.Time{}
}

func (s *SignOfLife) read(ctx context.Context) (*coordinationv1.Lease, error) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: SignOfLifeName}}
	err := client.IgnoreNotFound(s.Live.Get(ctx, client.ObjectKeyFromObject(lease), lease))
	if err != nil {
		return nil, fmt.Errorf("cannot read the last sign of life: %w", err)
	}
	return lease, nil
}

// give writes the time of now into the lease.
func (s *SignOfLife) give(ctx context.Context, lease *coordinationv1.Lease) error {
	now := metav1.NewMicroTime(s.Clock.Now())
	patch := client.MergeFrom(lease.DeepCopy())
	lease.Spec.RenewTime = &now
	if lease.ResourceVersion != "" {
		err := s.Client.Patch(ctx, lease, patch)
		if !apierrors.IsNotFound(err) {
			return err
		}
		*lease = coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: SignOfLifeName},
			Spec:       coordinationv1.LeaseSpec{RenewTime: &now},
		}
	}
	err := s.Client.Create(ctx, lease)
	if apierrors.IsAlreadyExists(err) {
		fresh, readErr := s.read(ctx)
		if readErr != nil {
			return readErr
		}
		*lease = *fresh // the next sign renews it
	}
	return err
}

// firstLook decides about all holders that there are, or rather about those of them that
// are young enough: of most there is nothing to decide.
func (s *SignOfLife) firstLook(ctx context.Context) error {
	if s.since == nil {
		return nil
	}
	index := s.Policies.Index()
	now := s.Clock.Now()
	for _, gvk := range s.Holders.Kinds() {
		for obj, err := range s.Holders.CreatedSince(ctx, gvk, wholeSecond(*s.since)) {
			if err != nil {
				return err
			}
			rec, err := s.Records.Get(ctx, record.TargetOf(obj))
			if err != nil {
				return err
			}
			inEffect := index.InEffect(ancestry.Chain(ctx, s.Holders, s.Namespaces, index, obj))
			if err := s.decide(ctx, look(obj, inEffect, now), rec); err != nil {
				return err
			}
		}
	}
	return nil
}

// absence is the time in which nobody looked.
type absence struct {
	// since is the last sign of the operator before this one, and until is the first look of
	// this one, by the clock of the API server.
	since, until time.Time
	// over is that first look by the operator's own clock.
	over time.Time
	// signedBefore and signed are the resourceVersions of the signs of life at both.
	signedBefore, signed string
}

// away returns the last time in which nobody looked, or nobody was asked, as far as this process knows; false
// before its first look, and where there was none.
func (s *SignOfLife) away() (absence, bool) {
	there, here := s.firstLooked()
	if here.IsZero() {
		return absence{}, false
	}
	if lapse, ok := s.lastLapse(); ok {
		return lapse, true
	}
	if s.since == nil {
		return absence{}, false
	}
	return absence{since: *s.since, until: there, over: here, signedBefore: s.signedBefore, signed: s.signed}, true
}

// firstLooked returns when this process had its first look, by the clock of the API server and by
// its own; zero before it.
func (s *SignOfLife) firstLooked() (there, here time.Time) {
	select {
	case <-s.ready:
		return s.lookedThere, s.looked
	default:
		return time.Time{}, time.Time{}
	}
}

// Wait returns after the first look. Before it, the cache may not have all holders.
func (s *SignOfLife) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.ready:
		return nil
	}
}

// Look decides about a holder the first time that it is called for it. rec is its
// record; nil where it has none.
func (s *SignOfLife) Look(ctx context.Context, v view, rec *v1alpha1.AllowanceRecord) error {
	if err := s.Wait(ctx); err != nil {
		return err
	}
	return s.decide(ctx, v, rec)
}

// Forget a holder that is gone.
func (s *SignOfLife) Forget(req objectcache.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.seen, req)
}

func (s *SignOfLife) decide(ctx context.Context, v view, rec *v1alpha1.AllowanceRecord) error {
	since := s.unlookedSince()
	if !v.createdSince(since) {
		return nil // Most objects are older, and need not be remembered.
	}
	req := v.request()
	s.mu.Lock()
	known := s.seen[req] == v.obj.GetUID()
	s.mu.Unlock()
	if known {
		return nil
	}
	// The last sign of life may be some seconds older than the last look: what is remembered
	// has been seen.
	unasked := func() bool {
		return v.isUnjudged(rec) && v.createdUnwatched(since) && s.Baseline.Of(req, v.obj.GetUID()) == nil
	}
	if unasked() {
		// The record is written before the object, which the cache may have first all the same.
		live, err := s.Records.Live(ctx, record.TargetOf(v.obj))
		if err != nil {
			return err
		}
		rec = live
	}
	if unasked() {
		logf.FromContext(ctx).Info("Adopting an object that was created while nobody was asked",
			"kind", req.GVK().Kind, "namespace", req.Key().Namespace, "name", req.Key().Name)
		// The Holder controller, who asks, labels the record with the parent.
		if err := s.Records.SetAdopting(ctx, record.TargetOf(v.obj), nil); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[req] = v.obj.GetUID()
	return nil
}

// isUnjudged reports whether its record says neither that somebody was asked about the creation of
// a holder, nor that a leader has looked at it since. One that came with the first allowances of an
// update, with a scale or with a denial does not: a replica answers before it leads. One that has
// allowances and no record that knows them has lost it.
//
// Somebody was asked where the object or its record has what the creation was granted: a request may end between
// the writes of its answer, and the API server store the object all the same.
func (v view) isUnjudged(rec *v1alpha1.AllowanceRecord) bool {
	switch {
	case record.Folded(v.stored, rec, v.obj).Initializing():
		return false // It has what the creation was granted, or its record does.
	case !record.KnowsLedger(rec):
		return !v.holdsAllowances()
	case rec.Spec.CreationJudged:
		return false
	}
	return rec.Status.Phase == ""
}

// createdUnwatched reports whether a holder was created after the last sign of life without an
// admission that traced it, as far as the holder itself tells: its ledger would have creation
// entries until it settles, or say that something is withheld.
func (v view) createdUnwatched(since *time.Time) bool {
	if len(v.policies) == 0 || v.progress.Settled || v.obj.GetDeletionTimestamp() != nil {
		return false
	}
	return v.createdSince(since) && !v.stored.Initializing() && !v.withheld()
}

// createdSince reports whether a holder was created after the last sign of life.
func (v view) createdSince(since *time.Time) bool {
	return since != nil && !v.obj.GetCreationTimestamp().Time.Before(wholeSecond(*since))
}

// wholeSecond returns when whatever happens at a time was created: times of creation are in
// whole seconds.
func wholeSecond(t time.Time) time.Time { return t.Truncate(time.Second) }
