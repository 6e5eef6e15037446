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

package catalog

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"kausality.io/operator/api/v1alpha1"
)

const (
	// lookTimeout limits how long a request waits for the policies to be looked at, of
	// the seconds that it has.
	lookTimeout = 1500 * time.Millisecond
	// lookInterval is how long what was seen counts for others: this many seldom look.
	lookInterval = 100 * time.Millisecond
	// indexedInterval is the interval at which a look checks whether the index has caught up.
	indexedInterval = 10 * time.Millisecond
)

// Look compares the indexed policies with those of the API server while their watch
// is behind. It is safe for concurrent use.
type Look struct {
	catalog *Catalog
	live    client.Reader
	behind  func() bool
	clock   clock.PassiveClock
	// due has an item where others are to be indexed.
	due chan event.GenericEvent

	// looking lets one look at a time; those that wait for it share what it sees.
	looking chan struct{}
	mu      sync.Mutex
	seen    time.Time
}

// NewLook returns a Look over the API server; behind reports whether the watch is.
func NewLook(catalog *Catalog, live client.Reader, behind func() bool) *Look {
	return &Look{
		catalog: catalog, live: live, behind: behind, clock: clock.RealClock{},
		due: make(chan event.GenericEvent, 1), looking: make(chan struct{}, 1),
	}
}

// over returns what to read policies from: the cache, unless its watch is behind.
func (l *Look) over(cached client.Reader) client.Reader {
	if l != nil && l.behind() {
		return l.live
	}
	return cached
}

// Ready returns a readiness check: it fails while the policies cannot be watched, and cannot be
// read either.
func (l *Look) Ready(r *http.Request) error { return l.Current(r.Context()) }

// Current returns once the index has the policies that the API server has, or had a moment
// ago, and an error if it cannot find out in time. While they are watched it returns at once.
func (l *Look) Current(ctx context.Context) error {
	if !l.behind() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	select {
	case l.looking <- struct{}{}:
		defer func() { <-l.looking }()
	case <-ctx.Done():
		return fmt.Errorf("the policies cannot be watched, and were not read in time: %w", context.Cause(ctx))
	}
	if l.fresh() {
		return nil
	}
	begun := l.clock.Now()
	if err := l.look(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = begun
	return nil
}

// fresh reports whether somebody has looked a moment ago.
func (l *Look) fresh() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.seen.IsZero() && l.clock.Since(l.seen) < lookInterval
}

func (l *Look) look(ctx context.Context) error {
	var policies v1alpha1.AllowancePolicyList
	if err := l.live.List(ctx, &policies); err != nil {
		return fmt.Errorf("the policies cannot be watched, nor read: %w", err)
	}
	if l.catalog.knows(policies.Items) {
		return nil
	}
	select {
	case l.due <- event.GenericEvent{Object: &v1alpha1.AllowancePolicy{}}:
	default: // It is due already.
	}
	err := wait.PollUntilContextCancel(ctx, indexedInterval, true, func(context.Context) (bool, error) {
		return l.catalog.knows(policies.Items), nil
	})
	if err != nil {
		return fmt.Errorf("the policies have changed, and are not indexed yet: %w", err)
	}
	return nil
}

// knows reports whether exactly these policies were indexed last.
func (c *Catalog) knows(policies []v1alpha1.AllowancePolicy) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) != len(policies) {
		return false
	}
	for i := range policies {
		p := &policies[i]
		entry, ok := c.entries[p.Name]
		if !ok || entry.UID != p.UID || entry.Policy == nil || entry.Policy.Generation != p.Generation {
			return false
		}
	}
	return true
}
