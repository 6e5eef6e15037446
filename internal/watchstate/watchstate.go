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

// Package watchstate knows whether what watches fill may be older than what others see.
package watchstate

import (
	"context"
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

const (
	// tolerated is for how long a watch may be down until what it fills counts as
	// outdated. API servers end each watch every few minutes, and it is there again at
	// once.
	tolerated = 500 * time.Millisecond
	// catchingUp is how long a watch that was down for longer takes, once it is there
	// again, to deliver what has happened in the meantime.
	catchingUp = 2 * time.Second
)

// State is what is known of the watch that fills an informer. Reflectors try a
// watch that fails again after up to a minute, observed after restarts of the API
// server: for all that time what they fill is as it was before, and nobody is told.
type State struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// ever is true once there was a watch.
	ever bool
	// down is since when there is no watch, zero where there is one.
	down time.Time
	// before is since when there was none before that.
	before time.Time
	// failing is true where the last try to list or watch has failed.
	failing bool
	// late is until when one that was down is catching up.
	late time.Time
}

// Informer is an informer that knows the state of its watch. Whoever makes one has the State keep watch
// over what it lists and watches, see State.Over.
type Informer struct {
	toolscache.SharedIndexInformer
	// State of the watch that fills it.
	State *State
}

// New returns the State of a watch that has not begun.
func New(c clock.PassiveClock) *State {
	return &State{clock: c, down: c.Now()}
}

// Behind reports whether what the watch fills may be older than what anybody else sees.
func (s *State) Behind() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.down.IsZero() {
		return s.clock.Since(s.down) > tolerated
	}
	return s.clock.Now().Before(s.late)
}

// Failing reports whether there is no watch since the API server, or the way to it, has
// refused the last try. Where neither is, there is much to read.
func (s *State) Failing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failing
}

// tried takes note of a try to list or watch.
func (s *State) tried(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = err != nil
}

// begun takes note of a watch that delivers what is new.
func (s *State) begun() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down.IsZero() {
		return
	}
	if s.ever && s.clock.Since(s.down) > tolerated {
		s.late = s.clock.Now().Add(catchingUp)
	}
	s.before, s.ever, s.down = s.down, true, time.Time{}
}

// ended takes note of the end of a watch. One that ends while it is catching up has delivered nothing,
// as far as anybody knows: an API server that has just started ends some of them at once.
func (s *State) ended() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch now := s.clock.Now(); {
	case !s.down.IsZero():
	case now.Before(s.late):
		s.down = s.before
	default:
		s.down = now
	}
}

// Over has a ListerWatcher keep the State.
func (s *State) Over(lw toolscache.ListerWatcher) toolscache.ListerWatcher {
	return attended{ListerWatcher: lw, state: s}
}

// attended is a ListerWatcher that keeps a State.
type attended struct {
	toolscache.ListerWatcher
	state *State
}

// ListWithContext implements toolscache.ListerWithContext.
func (a attended) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := toolscache.ToListerWithContext(a.ListerWatcher).ListWithContext(ctx, options)
	a.state.tried(err)
	return list, err
}

// WatchWithContext implements toolscache.WatcherWithContext.
func (a attended) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	w, err := toolscache.ToWatcherWithContext(a.ListerWatcher).WatchWithContext(ctx, options)
	a.state.tried(err)
	if err != nil {
		return nil, err
	}
	out := &attendedWatch{Interface: w, state: a.state, results: w.ResultChan(), stopped: make(chan struct{})}
	if options.SendInitialEvents != nil && *options.SendInitialEvents {
		relayed := make(chan watch.Event)
		out.results = relayed
		go out.relay(relayed)
	} else {
		a.state.begun()
	}
	return out, nil
}

// attendedWatch tells of its end. Of one that begins with everything that there is, it
// also tells when that is over: until then what it fills is as it was before.
type attendedWatch struct {
	watch.Interface
	state   *State
	results <-chan watch.Event
	stop    sync.Once
	stopped chan struct{}
}

// ResultChan implements watch.Interface.
func (w *attendedWatch) ResultChan() <-chan watch.Event { return w.results }

// Stop implements watch.Interface. Reflectors call it whichever way a watch ends.
func (w *attendedWatch) Stop() {
	w.stop.Do(func() {
		close(w.stopped)
		w.state.ended()
	})
	w.Interface.Stop()
}

func (w *attendedWatch) relay(to chan<- watch.Event) {
	defer close(to)
	for event := range w.Interface.ResultChan() {
		select {
		case to <- event:
		case <-w.stopped:
			return
		}
		if endsInitialEvents(event) {
			w.state.begun()
		}
	}
}

// endsInitialEvents reports whether an event is the bookmark behind everything that there
// was when the watch began.
func endsInitialEvents(event watch.Event) bool {
	if event.Type != watch.Bookmark {
		return false
	}
	accessor, err := apimeta.Accessor(event.Object)
	return err == nil && accessor.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}
