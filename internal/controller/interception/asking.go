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

package interception

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/internal/interception"
)

// untilHeard is how long an API server may take to follow a webhook configuration that was written.
const untilHeard = 2 * time.Second

// Asking knows whether the API server asks about what policies name: whether the rendered webhook
// configurations are there, and as the operator has written them. While they are not, what is changed is
// admitted by nobody, although the operator runs (D2).
//
// Each replica has one. The leader knows what it has rendered; the others go by the seal of
// that. Make it with NewAsking, and add it to the manager.
type Asking struct {
	key, name string
	// followed are closed, in effect, once the configurations that there are at the start are seen.
	followed []toolscache.InformerSynced
	begun    chan struct{}

	mu                   sync.Mutex
	mutating, validating seen
	// off is true from when the operator is about to take the configurations away until it is about to write them.
	off bool
	// started is true once all that there is has been seen, whole while the API server is
	// known to ask, and lapses counts how often it has ceased to.
	started, whole bool
	lapses         int64
	// settling is true while the API server may not have heard yet, and turn counts up when that begins.
	settling bool
	turn     int

	telling   sync.Mutex
	observers []func(lapsed bool)
}

// seen is what is known of one configuration.
type seen struct {
	// digest of its webhooks, empty where there is none, and sealed whether the operator has written them.
	digest string
	sealed bool
	// wanted are the digests that it may have: the one that it was last seen to have by the operator,
	// and those that the operator has been about to write since. It is nil where this replica renders nothing.
	wanted []string
}

// see takes note of what a configuration is.
func (s *seen) see(digest string, sealed bool) {
	s.digest, s.sealed = digest, sealed
	if at := slices.Index(s.wanted, digest); at > 0 {
		// What was there before does not come back by itself.
		s.wanted = s.wanted[at:]
	}
}

// want takes note of what a configuration is about to be.
func (s *seen) want(digest string) {
	if s.wanted == nil && s.sealed {
		s.wanted = []string{s.digest}
	}
	if len(s.wanted) == 0 || s.wanted[len(s.wanted)-1] != digest {
		s.wanted = append(s.wanted, digest)
	}
	s.see(s.digest, s.sealed)
}

// isRight reports whether the configuration is as the operator has written it.
func (s *seen) isRight() bool {
	if s.wanted == nil {
		return s.sealed
	}
	return slices.Contains(s.wanted, s.digest)
}

// NewAsking makes an Asking about configurations of a name that are sealed by a key.
func NewAsking(name, key string) *Asking {
	return &Asking{name: name, key: key, begun: make(chan struct{})}
}

// Notify has a function called when the API server ceases to ask, and when it asks again. Call it
// before the manager starts.
func (a *Asking) Notify(observer func(lapsed bool)) { a.observers = append(a.observers, observer) }

// Follow watches the configurations.
func (a *Asking) Follow(ctx context.Context, objects cache.Cache) error {
	for _, each := range []client.Object{&admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}} {
		informer, err := objects.GetInformer(ctx, each, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("preparing to watch webhook configurations: %w", err)
		}
		registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { a.observe(obj, false) },
			UpdateFunc: func(_, obj any) { a.observe(obj, false) },
			DeleteFunc: func(obj any) { a.observe(obj, true) },
		})
		if err != nil {
			return fmt.Errorf("watching webhook configurations: %w", err)
		}
		a.followed = append(a.followed, registration.HasSynced)
	}
	return nil
}

// NeedLeaderElection is false: every replica answers.
func (a *Asking) NeedLeaderElection() bool { return false }

// Start begins to tell what is known, until ctx ends.
func (a *Asking) Start(ctx context.Context) error {
	if toolscache.WaitForCacheSync(ctx.Done(), a.followed...) {
		a.begin()
		<-ctx.Done()
	}
	return nil
}

// begin takes what was seen so far for how it was before.
func (a *Asking) begin() {
	a.mu.Lock()
	a.started, a.whole = true, a.isRight()
	if !a.whole {
		a.lapses++
	}
	whole := a.whole
	a.mu.Unlock()
	close(a.begun)
	if !whole {
		a.tell()
	}
}

// Wait returns once it is known whether the API server asks.
func (a *Asking) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-a.begun:
		return nil
	}
}

// Lapses returns how often the API server has ceased to ask, as far as this process knows, and whether
// it does not ask now.
func (a *Asking) Lapses() (count int64, lapsed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lapses, !a.whole
}

func (a *Asking) isRight() bool { return !a.off && a.mutating.isRight() && a.validating.isRight() }

// switchOff takes note that the configurations are about to be taken away. What is changed next may be seen before
// that they are gone, and is not what somebody was asked about.
func (a *Asking) switchOff() { a.change(func() { a.off = true }) }

// want takes note of what is about to be written.
func (a *Asking) want(desired interception.Desired) {
	var mutating, validating string
	if desired.Mutating != nil {
		mutating = interception.Seal(desired.Mutating.Webhooks, a.key)
	}
	if desired.Validating != nil {
		validating = interception.Seal(desired.Validating.Webhooks, a.key)
	}
	a.change(func() {
		a.off = false
		a.mutating.want(mutating)
		a.validating.want(validating)
	})
}

// observe takes note of a configuration.
func (a *Asking) observe(obj any, gone bool) {
	if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	named, ok := obj.(client.Object)
	if !ok || named.GetName() != a.name {
		return
	}
	digest := ""
	of := &a.mutating
	switch c := obj.(type) {
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		digest = interception.Seal(c.Webhooks, a.key)
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		digest, of = interception.Seal(c.Webhooks, a.key), &a.validating
	default:
		return
	}
	if gone {
		digest = ""
	}
	a.change(func() { of.see(digest, digest != "" && named.GetAnnotations()[interception.AnnotationSeal] == digest) })
}

// change makes a change, and finds out what follows from it. API servers hear of what was written a
// moment later: until then it is as if it was not there.
func (a *Asking) change(apply func()) {
	a.mu.Lock()
	apply()
	right, lapsed := a.isRight(), false
	switch {
	case !a.started:
	case !right:
		if lapsed = a.whole; lapsed {
			a.whole = false
			a.lapses++
		}
		a.settling = false
	case !a.whole && !a.settling:
		a.settling = true
		a.turn++
		turn := a.turn
		time.AfterFunc(untilHeard, func() { a.settle(turn) })
	}
	a.mu.Unlock()
	if lapsed {
		a.tell()
	}
}

// settle ends a lapse, unless it has gone on since.
func (a *Asking) settle(turn int) {
	a.mu.Lock()
	ends := a.settling && a.turn == turn
	if ends {
		a.settling, a.whole = false, true
	}
	a.mu.Unlock()
	if ends {
		a.tell()
	}
}

// tell tells the observers how it is now.
func (a *Asking) tell() {
	a.telling.Lock()
	defer a.telling.Unlock()
	_, lapsed := a.Lapses()
	for _, observer := range a.observers {
		observer(lapsed)
	}
}
