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

package gate

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/internal/objectcache"
)

// memory is what the controller remembers of objects. None of it matters after a
// restart: times are counted anew then, which keeps gates open for longer, and never
// for shorter.
type memory struct {
	mu   sync.Mutex
	gate map[objectcache.Request]*remembered
}

// remembered is what is known of one object.
type remembered struct {
	uid types.UID
	// generation that done is about, and since when that seems done.
	generation int64
	done       time.Time
	// held is since when the object is seen held while it is not being deleted.
	held time.Time
	// said is what the condition should say, and since when.
	said      situation
	saidSince time.Time
	// told is what the last event of a situation was about; empty where the situation
	// has none.
	told string
	// unkept is set where the kind has no room for the condition.
	unkept bool
	// reason is what metrics count the object under; empty for none.
	reason string
}

// of returns what is remembered of an object, and forgets an earlier one of its name.
func (m *memory) of(req objectcache.Request, uid types.UID) *remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.gate[req]
	if r == nil || r.uid != uid {
		m.forgetLocked(req)
		if m.gate == nil {
			m.gate = map[objectcache.Request]*remembered{}
		}
		r = &remembered{uid: uid}
		m.gate[req] = r
	}
	return r
}

// forget an object.
func (m *memory) forget(req objectcache.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forgetLocked(req)
}

func (m *memory) forgetLocked(req objectcache.Request) {
	if r := m.gate[req]; r != nil {
		r.count(req, "")
		delete(m.gate, req)
	}
}

// count counts the object under another reason.
func (r *remembered) count(req objectcache.Request, reason string) {
	kind := req.GVK().GroupKind().String()
	if r.reason == reason {
		return
	}
	if r.reason != "" {
		gates.WithLabelValues(kind, r.reason).Dec()
	}
	if reason != "" {
		gates.WithLabelValues(kind, reason).Inc()
	}
	r.reason = reason
}

// doneSince returns since when the present generation has seemed done; zero where it has
// not.
func (r *remembered) doneSince(generation int64) time.Time {
	if r.generation != generation {
		return time.Time{}
	}
	return r.done
}

// seem notes whether a generation seems done.
func (r *remembered) seem(done bool, generation int64, now time.Time) {
	switch {
	case !done:
		r.done = time.Time{}
	case r.done.IsZero() || r.generation != generation:
		r.done = now
	}
	r.generation = generation
}

// heldSince returns since when an object is seen held while it is not being deleted.
func (r *remembered) heldSince(held bool, now time.Time) time.Time {
	switch {
	case !held:
		r.held = time.Time{}
	case r.held.IsZero():
		r.held = now
	}
	return r.held
}

// lasted returns since when the condition should say what it should say now.
func (r *remembered) lasted(s situation, now time.Time) time.Time {
	if r.said != s {
		r.said, r.saidSince = s, now
	}
	return r.saidSince
}
