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

package integration

import (
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// shiftedClock is a clock that a spec sets. It goes on from there.
type shiftedClock struct {
	clock.RealClock

	ahead atomic.Int64
}

// Now returns what time it is.
func (c *shiftedClock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// Since returns the time that has passed since.
func (c *shiftedClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// setSecond sets it forward to a second of a minute.
func (c *shiftedClock) setSecond(second int) {
	now := c.Now()
	to := now.Truncate(time.Minute).Add(time.Duration(second) * time.Second)
	if to.Before(now) {
		to = to.Add(time.Minute)
	}
	c.ahead.Add(int64(to.Sub(now)))
}
