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
	"context"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// toldTimeout is for how long somebody waits for an event of the cache that is on its way. Events
// are handled within microseconds; on a machine that has no time for that, going on without is
// better than to keep requests waiting.
const toldTimeout = time.Second

// told has the last event of each record. A cache removes a record before it sends the event: in
// between, only this says that there was one. It is safe for concurrent use.
type told struct {
	// seed is of the hashes of names, which are kept in place of these: there may be very many.
	seed    maphash.Seed
	mu      sync.Mutex
	records map[uint64]any
	// changed is closed with the next event.
	changed chan struct{}
}

func newTold() *told {
	return &told{seed: maphash.MakeSeed(), records: map[uint64]any{}, changed: make(chan struct{})}
}

// of takes note of what an event has of a record, nil of one that is gone.
func (t *told) of(key types.NamespacedName, record any) {
	name := maphash.Comparable(t.seed, key)
	t.mu.Lock()
	defer t.mu.Unlock()
	if record == nil {
		delete(t.records, name)
	} else {
		t.records[name] = record
	}
	close(t.changed)
	t.changed = make(chan struct{})
}

// await returns once events have told of the record that the cache has by a name, or that it has none
// any more. cached returns the UID of that one, empty where there is none.
func (t *told) await(ctx context.Context, key types.NamespacedName, cached func() (types.UID, error)) error {
	ctx, cancel := context.WithTimeout(ctx, toldTimeout)
	defer cancel()
	for {
		last, changed := t.last(key)
		if last == nil {
			return nil // Of what nothing has told yet nothing was lost.
		}
		if uid, err := cached(); err != nil || uid != "" && mayHaveUID(last, uid) {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("no event told of the end of AllowanceRecord %s: %w", key, ctx.Err())
		}
	}
}

// last returns the last that is known of a record, nil where there is none, and what is closed with
// the next event.
func (t *told) last(key types.NamespacedName) (record any, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.records[maphash.Comparable(t.seed, key)], t.changed
}
