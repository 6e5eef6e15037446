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

// Package credential knows whether the API server knows the operator. An operator whose credential is
// refused, as its service account or the namespace of that was deleted and made again, can write nothing
// down and hears of nothing: for whoever is judged it is like one that is down, and so it has to be. That
// it still answers must not make the difference.
package credential

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"kausality.io/operator/internal/servertime"
)

const (
	// Interval is the time between two questions whether the credential is good: watches that there are go
	// on without, for minutes.
	Interval = 5 * time.Second
	// doubtInterval is that while the last answer was a refusal.
	doubtInterval = time.Second
	// tolerated is for how long an API server may refuse: one that starts, or that cannot read what it
	// knows people by, refuses whoever comes.
	tolerated = 5 * time.Second
	// askTimeout limits how long an answer is waited for.
	askTimeout = 3 * time.Second
)

// Credential is the operator's, as the API server sees it. It is safe for concurrent use. Set Ask and add
// it to the manager.
type Credential struct {
	// Ask asks the API server anything, by a client whose transport is Over.
	Ask func(context.Context) error
	// Again is called, once, when the credential is good again that was not: what was changed meanwhile was
	// admitted by nobody, and what is known is of before.
	Again func()

	clock clock.WithTicker
	// doubt has an item when the API server begins to refuse.
	doubt chan struct{}

	mu sync.Mutex
	// first and last are when the API server has refused, zero where its latest answer was none.
	first, last time.Time
	over        sync.Once
}

// New makes a Credential.
func New() *Credential { return &Credential{clock: clock.RealClock{}, doubt: make(chan struct{}, 1)} }

// Over has the answers of the API server tell. It is for rest.Config.Wrap.
func (c *Credential) Over(next http.RoundTripper) http.RoundTripper {
	return servertime.Listen(next, func() func(*http.Response) {
		sent := c.clock.Now()
		return func(resp *http.Response) { c.answered(sent, resp.StatusCode) }
	})
}

// answered takes note of an answer to what was sent at a time. What goes wrong before anybody is known
// says nothing, and neither does an answer to what was sent before the last refusal.
func (c *Credential) answered(sent time.Time, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case status == http.StatusUnauthorized:
		c.last = c.clock.Now()
		if c.first.IsZero() {
			c.first = c.last
			select {
			case c.doubt <- struct{}{}:
			default:
			}
		}
	case status == http.StatusTooManyRequests || status >= http.StatusInternalServerError || !sent.After(c.last):
	default:
		if c.isRefused() && c.Again != nil {
			c.over.Do(c.Again)
		}
		c.first, c.last = time.Time{}, time.Time{}
	}
}

// isRefused reports whether the API server has refused for too long. Its callers have the lock.
func (c *Credential) isRefused() bool { return !c.first.IsZero() && c.last.Sub(c.first) >= tolerated }

// Check is a readiness check: it fails while the API server refuses the credential. Nobody is to be judged
// meanwhile either: the failurePolicy decides, as where the operator is down.
func (c *Credential) Check(*http.Request) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isRefused() {
		return nil
	}
	return fmt.Errorf("the API server refuses the operator's credential (401 Unauthorized), since %s", c.first.UTC().Format(time.RFC3339))
}

// NeedLeaderElection is false: every replica answers.
func (c *Credential) NeedLeaderElection() bool { return false }

// Start asks again and again, until ctx ends.
func (c *Credential) Start(ctx context.Context) error {
	said := false
	for {
		ask, cancel := context.WithTimeout(ctx, askTimeout)
		_ = c.Ask(ask) // What is answered is noted on the way; other errors say nothing of the credential.
		cancel()
		err := c.Check(nil)
		if err != nil && !said {
			logf.FromContext(ctx).Error(err, "Nothing can be written down, and no request is judged: the failurePolicy of policies decides. "+
				"This ends once the operator has another token. Delete its Pod to have that at once; "+
				"where its service account or namespace is missing, apply the installation again")
		}
		said = err != nil
		timer := c.clock.NewTimer(c.interval())
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-c.doubt:
			timer.Stop()
		case <-timer.C():
		}
	}
}

// interval returns after what time to ask again.
func (c *Credential) interval() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first.IsZero() {
		return Interval
	}
	return doubtInterval
}
