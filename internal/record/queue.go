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

package record

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"kausality.io/operator/api/v1alpha1"
)

// maxWaiting is how many holders may wait for their outcomes to be written.
const maxWaiting = 4096

// batch is what is to be written about one holder.
type batch struct {
	target v1alpha1.TargetReference
	// began is when it began to wait to be written, and due when it is to be tried.
	began, due time.Time
	// since is when the first outcome in it was observed, zero where there is none.
	since time.Time
	// last is the latest decision about a child, nil where there was none.
	last *v1alpha1.Decision
	// lastDenial is the latest denial, nil where there was none, and denials counts
	// them. Where somebody waits for an answer, which lastWaits says, it is the latest of these.
	lastDenial *v1alpha1.Decision
	lastWaits  bool
	denials    int64
	// oneOff is how many of them nobody waits for, and shown how many of the others were of a
	// holder that showed that it is blocked.
	oneOff, shown int64
	// history is what happened, the newest first.
	history []v1alpha1.HistoryEntry
	// full says why the last change of the holder allows nothing, empty where it does
	// not.
	full string
	// approved identifies the content of the holder that is approved, nil where nobody
	// has told.
	approved *v1alpha1.ApprovedContent
	// madeBy are versions that made children of the holder, by user.
	madeBy map[string]MadeBy
	// mirror brings the record in line with the holder, nil where nobody has looked.
	mirror *Mirror
	// attempts that failed to write the batch.
	attempts int
}

// deserves reports whether a holder without a record gets one for the batch: not
// for what passes because nothing bounds it (D18).
func (b *batch) deserves() bool {
	return b.mirror != nil && b.mirror.Create || b.full != "" ||
		slices.ContainsFunc(b.history, func(e v1alpha1.HistoryEntry) bool { return e.Event != v1alpha1.EventAllowed })
}

// grants reports whether a change of the holder allows something.
func (b *batch) grants() bool {
	return slices.ContainsFunc(b.history, func(e v1alpha1.HistoryEntry) bool { return e.Event == v1alpha1.EventGranted })
}

// decide adds a decision about a child of a holder that showed that it is blocked, or did not.
// If oneOff is true, nobody tries again what is denied.
func (b *batch) decide(d v1alpha1.Decision, shown, oneOff bool, causes ...Cause) {
	b.last = &d
	b.history = WithHistory(b.history, byCause(d, causes)...)
	if d.Result != ResultDenied {
		return
	}
	b.lastDenial, b.lastWaits, b.denials = &d, !oneOff, 1
	switch {
	case oneOff:
		b.oneOff = 1
	case shown:
		b.shown = 1
	}
}

// add adds what came later.
func (b *batch) add(later *batch) {
	if b.since.IsZero() {
		b.since = later.since
	}
	if later.last != nil {
		b.last = later.last
	}
	if later.full != "" || later.grants() {
		b.full = later.full
	}
	if later.lastDenial != nil && (later.lastWaits || !b.lastWaits) {
		b.lastDenial, b.lastWaits = lastDenial(b.lastDenial, later.lastDenial), later.lastWaits
	}
	if later.approved != nil {
		b.approved = later.approved
	}
	if b.madeBy == nil {
		b.madeBy = later.madeBy
	} else {
		maps.Copy(b.madeBy, later.madeBy)
	}
	b.denials += later.denials
	b.oneOff += later.oneOff
	b.shown += later.shown
	b.history = WithHistory(b.history, oldestFirst(later.history)...)
	if later.mirror != nil {
		b.mirror = b.mirror.then(later.mirror)
	}
}

// lastDenial returns the later one of two denials. It says of those UpgradeAllowances that they
// were asked that were asked about both: one that came in between could let the earlier through.
func lastDenial(before, d *v1alpha1.Decision) *v1alpha1.Decision {
	if before == nil || before.User != d.User {
		return d
	}
	both := *d
	both.Upgrades = slices.DeleteFunc(slices.Clone(d.Upgrades), func(id string) bool { return !slices.Contains(before.Upgrades, id) })
	return &both
}

// queue holds one batch for each holder that something was decided about. When
// it is full, it forgets the batch that is due next: admission never waits.
type queue struct {
	capacity int
	clock    clock.WithTicker

	mu      sync.Mutex
	batches map[types.UID]*batch
	// turns has the holders whose batch is due, each once, and no holder is somebody's twice at the same
	// time; nil before start.
	turns workqueue.TypedDelayingInterface[types.UID]
}

func newQueue(capacity int, c clock.WithTicker) *queue {
	return &queue{capacity: capacity, clock: c, batches: map[types.UID]*batch{}}
}

// start returns whose batch is due, until that is shut down.
func (q *queue) start() workqueue.TypedInterface[types.UID] {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.turns = workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[types.UID]{Clock: q.clock})
	for uid, b := range q.batches {
		q.turns.AddAfter(uid, b.due.Sub(q.clock.Now()))
	}
	return q.turns
}

// put adds a batch to what waits for the same holder, and returns how many
// decisions were forgotten for lack of space.
func (q *queue) put(b *batch) (dropped int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if waiting, ok := q.batches[b.target.UID]; ok {
		waiting.add(b)
		return 0
	}
	if len(q.batches) >= q.capacity {
		delete(q.batches, q.dueNext())
		dropped = 1
	}
	b.began = q.clock.Now()
	q.insert(b, interval)
	return dropped
}

// dueNext returns the holder whose batch is due next.
func (q *queue) dueNext() (next types.UID) {
	for uid, b := range q.batches {
		if next == "" || b.due.Before(q.batches[next].due) {
			next = uid
		}
	}
	return next
}

// putBack returns a batch that could not be written, to be tried again after a while;
// what has come since is later.
func (q *queue) putBack(b *batch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if b.began.IsZero() {
		b.began = q.clock.Now()
	}
	if waiting, ok := q.batches[b.target.UID]; ok {
		b.add(waiting)
		b.due = waiting.due
		*waiting = *b
		return
	}
	if len(q.batches) < q.capacity {
		q.insert(b, min(interval<<min(b.attempts, 8), maxPause))
	}
}

// insert makes a batch due after a while.
func (q *queue) insert(b *batch, after time.Duration) {
	b.due = q.clock.Now().Add(after)
	q.batches[b.target.UID] = b
	if q.turns != nil {
		q.turns.AddAfter(b.target.UID, after)
	}
}

// take takes what waits for a holder whose turn it is. It is nil where nothing does, or what does is not due:
// it came after the batch that the turn was for had been taken otherwise, and gets a turn of its own.
func (q *queue) take(uid types.UID) *batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := q.batches[uid]
	if b == nil {
		return nil
	}
	if left := b.due.Sub(q.clock.Now()); left > 0 {
		q.turns.AddAfter(uid, left)
		return nil
	}
	delete(q.batches, uid)
	return b
}

// takeOne takes what waits for one holder, due or not, nil where nothing does.
func (q *queue) takeOne(uid types.UID) *batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := q.batches[uid]
	delete(q.batches, uid)
	return b
}

// takeAll takes all that waits, in the order in which it is due.
func (q *queue) takeAll() []*batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := slices.SortedFunc(maps.Values(q.batches), func(a, b *batch) int { return a.due.Compare(b.due) })
	q.batches = map[types.UID]*batch{}
	return all
}

// mirrors reports whether what waits for a holder is a look at it.
func (q *queue) mirrors(uid types.UID) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := q.batches[uid]
	return b != nil && b.mirror != nil
}
