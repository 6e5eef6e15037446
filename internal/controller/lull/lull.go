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

// Package lull says when the operator may write an object of its own accord whose controller goes by a schedule. Such a
// controller loses something if somebody writes the object between its own read and its own write (D19).
package lull

import (
	"sync"
	"time"

	"kausality.io/operator/internal/knowledge"
	"kausality.io/operator/internal/objectcache"
)

const (
	// rest is the time for which such an object has to have stayed as it is: what has changed it
	// may have had its controller start something, whatever the time.
	rest = 2 * time.Second
	// memory is for how long an object is remembered that nobody wants to write any more.
	memory = 10 * time.Minute
)

// Finder finds the moments in which objects may be written. Its zero value is ready for use; it is
// safe for concurrent use.
type Finder struct {
	mu   sync.Mutex
	seen map[objectcache.Request]seen
}

// seen is the version that an object had when somebody wanted to write it, and since when it was known.
type seen struct {
	version string
	since   time.Time
}

// Wait returns for how long a write of an object in a version has to wait; zero where it may be
// written now. It is to be asked again then. Of kinds that go by no schedule nothing has to wait.
func (f *Finder) Wait(req objectcache.Request, version string, known *knowledge.Kind, now time.Time) time.Duration {
	if !known.FullMinutes {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	before, ok := f.seen[req]
	if !ok || before.version != version {
		f.remember(req, seen{version: version, since: now})
		before = f.seen[req]
	}
	return max(known.Lull(now), before.since.Add(rest).Sub(now), 0)
}

func (f *Finder) remember(req objectcache.Request, s seen) {
	if f.seen == nil {
		f.seen = map[objectcache.Request]seen{}
	}
	for other, old := range f.seen {
		if s.since.Sub(old.since) > memory {
			delete(f.seen, other)
		}
	}
	f.seen[req] = s
}
