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

// Package pathkey keeps the key that the API server shows in the path of a webhook: who
// does not know it is not answered. The replicas of the operator share it in a Secret,
// and it is renewed on a schedule, the old one and the new one valid for a while.
package pathkey

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"time"
)

// size is the length of a key, in bytes; in a path it is written in hexadecimal.
const size = 32

// Ring is the keys that count at a time.
type Ring struct {
	// Current is what the API server is told to show.
	Current string
	// Next is what it will be told next, empty while none is about to follow. All replicas
	// have to know it before the API server does.
	Next string
	// Previous is what it was told before, empty where no API server may still show it.
	Previous string
	// Changed is when the keys were last exchanged.
	Changed time.Time
}

// Accepts reports whether key is one of the ring's. How long that takes depends on its
// length alone.
func (r Ring) Accepts(key string) bool {
	found := 0
	for _, known := range []string{r.Current, r.Next, r.Previous} {
		if known != "" {
			found |= subtle.ConstantTimeCompare([]byte(known), []byte(key))
		}
	}
	return found == 1
}

// Schedule says how long keys count.
type Schedule struct {
	// Every is how long one is shown.
	Every time.Duration
	// Ahead is for how long it is accepted before it is shown, and After for how long once
	// another is.
	Ahead, After time.Duration
}

const (
	// longestAhead is far longer than a replica takes to see a write of the Secret.
	longestAhead = 30 * time.Second
	// longestAfter is far longer than an API server takes to see a write of a webhook
	// configuration.
	longestAfter = 10 * time.Minute
)

// Every returns the schedule on which a key is shown for so long.
func Every(d time.Duration) Schedule {
	return Schedule{Every: d, Ahead: min(longestAhead, d/4), After: min(longestAfter, d/2)}
}

// Step returns the ring that follows now, how long that stays so, and whether it is another
// one. fresh makes a key.
func (s Schedule) Step(r Ring, now time.Time, fresh func() string) (next Ring, wait time.Duration, changed bool) {
	next = r
	if next.Changed.After(now) {
		next.Changed = now // Somebody's clock is ahead, or was.
	}
	age := now.Sub(next.Changed)
	switch {
	case next.Current == "":
		next = Ring{Current: fresh(), Changed: now}
	case next.Next != "" && age >= s.Ahead:
		next = Ring{Current: next.Next, Previous: next.Current, Changed: now}
	case next.Next != "":
	case next.Previous != "" && age >= s.After:
		next.Previous = ""
	case next.Previous == "" && age >= s.Every:
		next.Next, next.Changed = fresh(), now
	}
	return next, s.rest(next, now), next != r
}

// Renew returns the ring with another key to come, unless one came a while ago.
func (s Schedule) Renew(r Ring, now time.Time, fresh func() string) Ring {
	if r.Current == "" || r.Next != "" || r.Previous != "" {
		return r
	}
	r.Next, r.Changed = fresh(), now
	return r
}

// rest returns the time for which a ring stays as it is.
func (s Schedule) rest(r Ring, now time.Time) time.Duration {
	until := s.Every
	switch {
	case r.Next != "":
		until = s.Ahead
	case r.Previous != "":
		until = s.After
	}
	return max(until-now.Sub(r.Changed), 0)
}

// fresh makes a key.
func fresh() string {
	random := make([]byte, size)
	_, _ = rand.Read(random) // It never fails.
	return hex.EncodeToString(random)
}
