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

// Package requeue says when an object is looked at again: after a conflict, for what could not
// be read, and at the first of several times.
package requeue

import "time"

// How soon an object is looked at again.
const (
	// AfterConflict is the delay after a conflict: the cache may take that long to show our own last write.
	AfterConflict = 50 * time.Millisecond
	// WhenGone is for an object that only the API server knows.
	WhenGone = time.Second
	// WhenUnread is for one whose kind cannot be read yet, or not any more.
	WhenUnread = 30 * time.Second
)

// Soonest is the first of several times.
type Soonest struct{ Time time.Time }

// At adds a time; the zero time is none.
func (s *Soonest) At(t time.Time) {
	if !t.IsZero() && (s.Time.IsZero() || t.Before(s.Time)) {
		s.Time = t
	}
}

// In returns the time until then, zero where there is no such time.
func (s *Soonest) In(now time.Time) time.Duration {
	if s.Time.IsZero() {
		return 0
	}
	return max(s.Time.Sub(now), time.Millisecond)
}
