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

// Package servertime tells the time by the API server's clock. What replicas of the operator
// write down for each other, such as since when a grant is pending, is compared with the time
// of whoever reads it: they have to mean the same clock, and the API server's is the one that
// all of them can ask, and that objects have their times by.
package servertime

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"kausality.io/operator/internal/metrics"
)

// granularity is how exactly an API server says what time it is.
const granularity = time.Second

var clockAhead = metrics.Factory.NewGauge(prometheus.GaugeOpts{
	Namespace: metrics.Namespace,
	Name:      "clock_ahead_seconds",
	Help:      "By how many seconds the API server's clock is ahead of this replica's, as of its last answer.",
})

// Clock is the API server's. Until that has answered it is this machine's, and goes on by the
// monotonic clock from there: a step of this machine's changes nothing. It is safe for
// concurrent use.
type Clock struct {
	clock.RealClock

	// began is when the Clock was made, by this machine's.
	began time.Time

	mu sync.RWMutex
	// ahead is by how much the API server's clock is ahead of this machine's as that was then.
	ahead time.Duration
}

// New makes a Clock.
func New() *Clock { return &Clock{began: time.Now()} }

// Now returns what time it is.
func (c *Clock) Now() time.Time {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.local().Add(c.ahead)
}

// Since returns the time that has passed since.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// local returns what time it is by this machine's clock, had that made no step.
func (c *Clock) local() time.Time { return c.began.Add(time.Since(c.began)) }

// answered takes note that the API server said what time it was in an answer to what was sent,
// and received, at times of the local clock.
func (c *Clock) answered(sent, received, said time.Time) {
	c.mu.Lock()
	c.ahead = agree(c.ahead, said.Sub(received), said.Add(granularity).Sub(sent))
	c.mu.Unlock()
	clockAhead.Set(c.Ahead().Seconds())
}

// agree returns what is nearest to what was believed of all that is possible: what an API server
// says is a second long, and answers take a while.
func agree(believed, least, most time.Duration) time.Duration {
	return min(max(believed, least), most)
}

// Ahead returns by how much the API server's clock is ahead of that of this machine, which may have
// made a step.
func (c *Clock) Ahead() time.Duration {
	// Without the monotonic clock.
	return c.Now().Round(0).Sub(time.Now().Round(0))
}
