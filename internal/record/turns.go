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
	"errors"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/keymutex"

	"kausality.io/operator/api/v1alpha1"
)

// statusChange is a change of the status of a record. Who makes it waits until it is written.
type statusChange struct {
	// parent is the uid of the parent of the record's target, empty where it is not known.
	parent types.UID
	// create is true where a missing record is to be created.
	create bool
	// mutate makes the change, and reports whether there is anything to write.
	mutate func(*v1alpha1.AllowanceRecordStatus) bool
}

// statusChanges are changes of one record, in the order in which they came.
type statusChanges []statusChange

// creating returns the changes that create a missing record.
func (cs statusChanges) creating() statusChanges {
	return slices.DeleteFunc(slices.Clone(cs), func(c statusChange) bool { return !c.create })
}

// parent returns the first parent that is known.
func (cs statusChanges) parent() types.UID {
	for _, c := range cs {
		if c.parent != "" {
			return c.parent
		}
	}
	return ""
}

// mutate makes all changes, in order, and reports whether there is anything to write.
func (cs statusChanges) mutate(status *v1alpha1.AllowanceRecordStatus) bool {
	changed := false
	for _, c := range cs {
		changed = c.mutate(status) || changed
	}
	return changed
}

// writersTurns is how many records may be written at a time, about.
const writersTurns = 256

// turns serializes the writes of each record in this process: concurrent writers would conflict
// until some give up. Changes that wait while another write is under way share the next one, so
// that a request waits for at most two writes, unless another replica writes as well. It is safe
// for concurrent use.
type turns struct {
	locks keymutex.KeyMutex
	mu    sync.Mutex
	// waiting has the next write of each record, by the UID of the record's target.
	waiting map[types.UID]*jointWrite
}

// jointWrite has changes that share one write.
type jointWrite struct {
	changes statusChanges
	// written is closed when the write has ended, with err.
	written chan struct{}
	err     error
}

func newTurns() *turns {
	return &turns{locks: keymutex.NewHashed(writersTurns), waiting: map[types.UID]*jointWrite{}}
}

// acquire waits until nobody else writes the record of a target, and returns what releases it.
func (t *turns) acquire(uid types.UID) (release func()) {
	t.locks.LockKey(string(uid))
	return func() { _ = t.locks.UnlockKey(string(uid)) } // It was locked.
}

// together writes a change of a record, in one write with other changes that wait. The first
// of these calls write, which gets all of them from taken once it has acquired the record; later
// changes share the write after it. If a shared write fails, each change is written again by
// itself: neither an invalid one nor the deadline of who wrote may fail the others. Only who wrote
// until conflicts were too many does not go on.
func (t *turns) together(uid types.UID, c statusChange, write func(taken func() statusChanges) error) error {
	j, first := t.join(uid, c)
	if first {
		t.write(uid, j, write)
	} else {
		<-j.written
	}
	if j.err == nil || len(j.changes) == 1 || first && outdated(j.err) {
		return j.err
	}
	return write(func() statusChanges { return statusChanges{c} })
}

// errUnwritten is the error of a shared write that panicked.
var errUnwritten = errors.New("the AllowanceRecord was not written")

// write writes the changes of a joint write, and hands its error to all who wait for it.
func (t *turns) write(uid types.UID, j *jointWrite, write func(taken func() statusChanges) error) {
	j.err = errUnwritten
	defer func() {
		t.take(uid, j)
		close(j.written)
	}()
	j.err = write(func() statusChanges { return t.take(uid, j) })
}

// join has a change wait for the next turn, and reports whether it is the first one that does.
func (t *turns) join(uid types.UID, c statusChange) (j *jointWrite, first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	j, ok := t.waiting[uid]
	if !ok {
		j = &jointWrite{written: make(chan struct{})}
		t.waiting[uid] = j
	}
	j.changes = append(j.changes, c)
	return j, !ok
}

// take closes a joint write to later changes, and returns those that it has.
func (t *turns) take(uid types.UID, j *jointWrite) statusChanges {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting[uid] == j {
		delete(t.waiting, uid)
	}
	return j.changes
}
