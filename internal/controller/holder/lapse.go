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
	"iter"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/util/workqueue"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"kausality.io/operator/internal/objectcache"
)

// lapseMerges is how soon after an absence another one counts as a part of it: not all holders may
// have been looked at since.
const lapseMerges = time.Minute

// lapses are the times in which this process runs, and the API server does not ask. They are as absences: no sign
// of life is given, what is approved stays as it was before, and when it asks again all holders are looked at anew.
type lapses struct {
	// last is the last sign of life that this process has given.
	last sign
	// lapse is the last of them, nil where there was none, and open whether it goes on.
	lapse *absence
	open  bool
	// counted is how many there were as far as they are over.
	counted int64
	// ended tells that the API server asks again.
	ended chan struct{}
	// forget has forgotten which holders were looked at, and again has all of them looked at.
	forget, again func()
}

// sign is a sign of life: when it was given, and the resourceVersion of its lease.
type sign struct {
	at      time.Time
	version string
}

// Lapse has it known that the API server has ceased to ask, or asks again.
func (s *SignOfLife) Lapse(lapsed bool) {
	select {
	case <-s.ready:
	default:
		return // Start looks itself.
	}
	if lapsed {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.begin()
		return
	}
	select {
	case s.ended <- struct{}{}:
	default:
	}
}

// begin begins a lapse, unless nothing is known of before it. Its callers have the lock.
func (s *SignOfLife) begin() {
	if s.open {
		return
	}
	began, before := s.last, s.lapse
	if before == nil && s.since != nil {
		before = &absence{since: *s.since, over: s.looked, signedBefore: s.signedBefore}
	}
	if before != nil && (began.at.IsZero() || s.Clock.Now().Sub(before.over) < lapseMerges) {
		began = sign{at: before.since, version: before.signedBefore}
	}
	if began.at.IsZero() {
		return
	}
	s.open, s.lapse = true, &absence{since: began.at, signedBefore: began.version}
}

// beginLapsed reports whether the API server does not ask when this process has its first look.
func (s *SignOfLife) beginLapsed() bool {
	if s.Asking == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	count, lapsed := s.Asking.Lapses()
	if s.counted = count; lapsed {
		s.counted--
		s.begin()
	}
	return lapsed
}

// endLapse ends a lapse, if the API server asks again.
func (s *SignOfLife) endLapse(ctx context.Context, lease *coordinationv1.Lease) {
	if s.Asking == nil {
		return
	}
	count, lapsed := s.Asking.Lapses()
	s.mu.Lock()
	over := count == s.counted
	if !over {
		s.begin()
	}
	s.mu.Unlock()
	if over || lapsed {
		return
	}
	logf.FromContext(ctx).Info("The API server asks again; looking for what was changed meanwhile")
	if s.forget != nil {
		s.forget()
	}
	signed := ""
	if s.tryGive(ctx, lease) {
		signed = lease.ResourceVersion
	}
	s.mu.Lock()
	if s.open {
		s.lapse.signed, s.lapse.until, s.lapse.over = signed, renewed(lease), s.Clock.Now()
		if s.lapse.until.IsZero() {
			s.lapse.until = s.lapse.over
		}
	}
	// Where it has ceased to ask once more, that counts as another lapse.
	s.open, s.counted = false, count
	s.mu.Unlock()
	if s.again != nil {
		s.again()
	}
}

// isLapsed reports whether the API server does not ask, or it is not known yet until when it did not.
func (s *SignOfLife) isLapsed() bool {
	if s.Asking == nil {
		return false
	}
	count, lapsed := s.Asking.Lapses()
	s.mu.Lock()
	defer s.mu.Unlock()
	return lapsed || count != s.counted
}

// sinceLapse returns what reports whether the API server does not ask, or has ceased to since now: what was
// found out by a look may be written a moment later.
func (s *SignOfLife) sinceLapse() func() bool {
	if s.Asking == nil {
		return func() bool { return false }
	}
	before, _ := s.Asking.Lapses()
	return func() bool {
		now, _ := s.Asking.Lapses()
		return now != before || s.isLapsed()
	}
}

// lastLapse returns the last lapse that is over.
func (s *SignOfLife) lastLapse() (absence, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lapse == nil || s.lapse.over.IsZero() {
		return absence{}, false
	}
	return *s.lapse, true
}

// unlookedSince returns since when holders may have been created of which nobody was asked, nil where there is no
// such time.
func (s *SignOfLife) unlookedSince() *time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since == nil && s.lapse != nil {
		return &s.lapse.since
	}
	return s.since
}

// lapseSource makes all holders reconcile when a lapse is over.
func (r *Reconciler) lapseSource() source.TypedSource[objectcache.Request] {
	return source.TypedFunc[objectcache.Request](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[objectcache.Request]) error {
		feeder := objectcache.NewFeeder()
		go feeder.Run(ctx, queue, 0)
		r.SignOfLife.forget = func() {
			r.looked.forget()
			r.lookedAbove.forget()
		}
		r.SignOfLife.again = func() { feeder.Ask("", r.all()) }
		return nil
	})
}

// all are the requests for all holders.
func (r *Reconciler) all() iter.Seq[objectcache.Request] {
	return func(yield func(objectcache.Request) bool) {
		for _, gvk := range r.Holders.Kinds() {
			for req := range r.Holders.Requests(gvk) {
				if !yield(req) {
					return
				}
			}
		}
	}
}
