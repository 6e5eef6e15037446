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

// statusChange is a change of the status of a record that somebody waits for.
type statusChange struct {
	// parent is the uid of the parent of the record's target, empty where it is not known.
	parent types.UID
	// create is true where a record is made if there is none.
	create bool
	// mutate makes the change, and reports whether there is anything to write.
	mutate func(*v1alpha1.AllowanceRecordStatus) bool
}

// statusChanges are changes of one record, in the order in which they came.
type statusChanges []statusChange

// creating returns those that make a record where there is none.
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

// mutate makes all changes, and reports whether there is anything to write.
func (cs statusChanges) mutate(status *v1alpha1.AllowanceRecordStatus) bool {
	changed := false
	for _, c := range cs {
		changed = c.mutate(status) || changed
	}
	return changed
}

// writersTurns is how many records may be written at a time, about.
const writersTurns = 256

// turns has those who write one record in this process do so in turn: else they keep each other
// from it until some give up. Those who wait for the same turn write at once: however many
// requests there are for one object at a time, each waits for two writes at most, where its
// answer would else come too late. It is safe for concurrent use.
type turns struct {
	locks keymutex.KeyMutex
	mu    sync.Mutex
	// waiting are the changes that wait for a turn, by the UIDs of the records' targets.
	waiting map[types.UID]*jointWrite
}

// jointWrite has changes that are written at once.
type jointWrite struct {
	changes statusChanges
	// written is closed when err says what has become of them.
	written chan struct{}
	err     error
}

func newTurns() *turns {
	return &turns{locks: keymutex.NewHashed(writersTurns), waiting: map[types.UID]*jointWrite{}}
}

// await waits for a turn, and returns what ends it.
func (t *turns) await(uid types.UID) (end func()) {
	t.locks.LockKey(string(uid))
	return func() { _ = t.locks.UnlockKey(string(uid)) } // It was locked.
}

// together has a change written with those that wait for the same turn. write writes what taken
// returns, which it calls in its turn: what comes later waits for another one. Where several
// cannot be written at once, each is written alone, so that none fails for another one.
func (t *turns) together(uid types.UID, c statusChange, write func(taken func() statusChanges) error) error {
	j, first := t.join(uid, c)
	if first {
		t.write(uid, j, write)
	} else {
		<-j.written
	}
	if j.err == nil || len(j.changes) == 1 || outdated(j.err) {
		return j.err
	}
	return write(func() statusChanges { return statusChanges{c} })
}

// errUnwritten is what those get whose changes somebody else was about to write, and did not.
var errUnwritten = errors.New("the AllowanceRecord was not written")

// write has the first of those who wait write what all want.
func (t *turns) write(uid types.UID, j *jointWrite, write func(taken func() statusChanges) error) {
	j.err = errUnwritten // if it panics
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

// take returns the changes of a joint write, which none joins from now on.
func (t *turns) take(uid types.UID, j *jointWrite) statusChanges {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting[uid] == j {
		delete(t.waiting, uid)
	}
	return j.changes
}
