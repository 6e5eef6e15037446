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

package objectcache

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

const (
	// feedAhead is how many requests wait in a queue that is fed: enough to keep whoever
	// handles them busy, and few enough that what comes meanwhile is soon handled.
	feedAhead = 256
	// feedPause is the pause before a full queue is tried again.
	feedPause = 20 * time.Millisecond
)

// Feed queues requests as they are handled, until ctx ends. There may be very many, and a
// queue that has had all of them at once keeps the memory for them, and has whatever changes
// meanwhile wait for all of them.
func Feed(ctx context.Context, queue workqueue.TypedRateLimitingInterface[Request], requests iter.Seq[Request]) {
	for req := range requests {
		for queue.Len() >= feedAhead {
			select {
			case <-ctx.Done():
				return
			case <-time.After(feedPause):
			}
		}
		queue.Add(req)
	}
}

// Feeder feeds a queue whenever it is asked to. What is asked for while it feeds comes
// afterwards, and once, however often it was asked for. Make it with NewFeeder; it is safe
// for concurrent use.
type Feeder struct {
	mu    sync.Mutex
	asked map[string]iter.Seq[Request]
	wake  chan struct{}
}

// NewFeeder makes a Feeder, which does nothing before it runs.
func NewFeeder() *Feeder {
	return &Feeder{asked: map[string]iter.Seq[Request]{}, wake: make(chan struct{}, 1)}
}

// Ask asks for requests, which are found only when their turn comes. What has a name is asked
// for once until then.
func (f *Feeder) Ask(name string, requests iter.Seq[Request]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[name] = requests
	select {
	case f.wake <- struct{}{}:
	default: // It is awake, or about to be.
	}
}

// Run feeds a queue until ctx ends, each time a while after it was asked to.
func (f *Feeder) Run(ctx context.Context, queue workqueue.TypedRateLimitingInterface[Request], after time.Duration) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(after):
		}
		asked := f.take()
		for _, name := range slices.Sorted(maps.Keys(asked)) {
			Feed(ctx, queue, asked[name])
		}
	}
}

func (f *Feeder) take() map[string]iter.Seq[Request] {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := f.asked
	f.asked = map[string]iter.Seq[Request]{}
	return asked
}
