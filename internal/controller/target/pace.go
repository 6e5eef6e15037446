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

package target

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"kausality.io/operator/internal/objectcache"
)

const (
	// markQuiet is the time for which an object has to have stayed as it is before it is
	// marked: a write in the middle of what its controllers do costs them a conflict.
	markQuiet = 2 * time.Second
	// markPatience limits how long to wait for that, and for it to settle.
	markPatience = 30 * time.Second
	// maxMarks limits how often an object is marked with the same text within
	// markMemory, where somebody takes the mark away.
	maxMarks = 3
	// markMemory is the time after which the loss of a mark is no fight any more.
	markMemory = 10 * time.Minute
	// siblingGap is the time between marks of two children of one parent: each is an
	// event for the parent's controller, and Crossplane's stops looking at a composite
	// resource about which there are too many (D8).
	siblingGap = 4 * time.Second
)

// pace decides when objects are marked: not more of them at a time than the rate
// says, none in the middle of something, and none again and again.
type pace struct {
	mu sync.Mutex
	// slots says when each object is to be written, and writes whether one may be: where
	// objects could not be looked at for a while, many slots have passed, which are not to
	// be made up for at once.
	slots  *rate.Limiter
	writes *window
	// latest is when last something was asked of these.
	latest time.Time
	states map[objectcache.Request]*paceState
	// siblings is when the last child of a parent, by its UID, is marked.
	siblings map[types.UID]time.Time
}

type paceState struct {
	// version of the object, and since when it has had it.
	version string
	quiet   time.Time
	// wanted is what the object is to show, since when, how often it was written,
	// when last, and the version of the object that came of it.
	wanted  string
	since   time.Time
	marks   int
	last    time.Time
	written string
	// slot is when the rate lets it be written; zero where it has not asked yet.
	slot time.Time
}

// newPace lets so many objects be marked in any second at most.
func newPace(perSecond float64) *pace {
	writes := newWindow(perSecond)
	return &pace{
		slots:    rate.NewLimiter(rate.Limit(float64(len(writes.times))/writes.length.Seconds()), 1),
		writes:   writes,
		states:   map[objectcache.Request]*paceState{},
		siblings: map[types.UID]time.Time{},
	}
}

// due reports whether an object is to be marked now, and if not, in how long to ask
// again; zero is when something happens. settled says that it is not in the middle
// of anything.
func (p *pace) due(req objectcache.Request, parent types.UID, version, wanted string, settled bool, now time.Time) (bool, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.states[req]
	if s == nil {
		s = &paceState{}
		p.states[req] = s
	}
	if s.version != version || s.quiet.IsZero() {
		s.version, s.quiet = version, now
	}
	if s.wanted != wanted || s.since.IsZero() || s.marks > 0 && now.Sub(s.last) > markMemory {
		s.wanted, s.since, s.marks = wanted, now, 0
	}
	if s.marks >= maxMarks {
		return false, 0
	}
	if at := s.earliest(settled); now.Before(at) {
		return false, at.Sub(now)
	}
	if s.slot.IsZero() {
		s.slot = p.next(parent, now)
	}
	if now.Before(s.slot) {
		return false, s.slot.Sub(now)
	}
	if !p.writes.allow(p.later(now)) {
		s.slot = p.next(parent, now)
		return false, max(s.slot.Sub(now), time.Millisecond)
	}
	s.marks++
	s.last, s.since, s.slot = now, now, time.Time{}
	return true, 0
}

// next returns when the rate lets another object be written, a child of a parent or, where
// that is empty, of none.
func (p *pace) next(parent types.UID, now time.Time) time.Time {
	asked := p.later(now)
	slot := asked.Add(p.slots.ReserveN(asked, 1).DelayFrom(asked))
	if parent == "" {
		return slot
	}
	maps.DeleteFunc(p.siblings, func(_ types.UID, last time.Time) bool { return now.Sub(last) >= siblingGap })
	if last, ok := p.siblings[parent]; ok && slot.Before(last.Add(siblingGap)) {
		slot = last.Add(siblingGap)
	}
	p.siblings[parent] = slot
	return slot
}

// later returns now, or the latest time that was said to be now: of several that look at
// objects at a time not the first comes first, and a limiter counts time twice that goes
// back.
func (p *pace) later(now time.Time) time.Time {
	if now.After(p.latest) {
		p.latest = now
	}
	return p.latest
}

// earliest returns when the object may be marked, the rate apart.
func (s *paceState) earliest(settled bool) time.Time {
	patient := s.since.Add(markPatience)
	if quiet := s.quiet.Add(markQuiet); settled && quiet.Before(patient) {
		return quiet
	}
	return patient
}

// done remembers the version of an object that came of marking it.
func (p *pace) done(req objectcache.Request, version string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.states[req]; s != nil {
		s.written = version
	}
}

// failed makes the last mark of an object count for nothing.
func (p *pace) failed(req objectcache.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.states[req]; s != nil && s.marks > 0 {
		s.marks--
	}
}

// fate compares a version of an object, which does not show what is wanted, with the
// one that came of marking it. The object is behind where the cache has yet to tell
// of the mark; and the mark is lost where somebody has taken it away, which is told
// once.
func (p *pace) fate(req objectcache.Request, version, wanted string, now time.Time) (behind, lost bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.states[req]
	if s == nil || s.written == "" {
		return false, false
	}
	order, err := resourceversion.CompareResourceVersion(version, s.written)
	if err != nil || order == 0 {
		return false, false
	}
	if lost = order > 0 && s.wanted == wanted && s.marks > 0 && now.Sub(s.last) <= markMemory; lost {
		s.written = ""
	}
	return order < 0, lost
}

// forget an object.
func (p *pace) forget(req objectcache.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.states, req)
}
