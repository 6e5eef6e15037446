//go:build linux

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

package proxy

import (
	"bytes"
	"maps"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc"
)

// eventQueue sends events as containerd does: each to all who listen, one after the other,
// and it waits for each of them.
type eventQueue struct {
	t testing.TB

	mu        sync.Mutex
	listeners map[*listening]bool
}

// listening is one who listens, until gone is closed.
type listening struct {
	events chan []byte
	gone   chan struct{}
}

func newEventQueue(tb testing.TB) *eventQueue {
	tb.Helper()
	return &eventQueue{t: tb, listeners: map[*listening]bool{}}
}

// listen answers a call with events.
func (q *eventQueue) listen(_ any, stream grpc.ServerStream) error {
	if path, _ := grpc.MethodFromServerStream(stream); path != services+"GetContainerEvents" {
		return stream.SendMsg(framed(nil))
	}
	me := &listening{events: make(chan []byte, 1), gone: make(chan struct{})}
	q.mu.Lock()
	q.listeners[me] = true
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.listeners, me)
		close(me.gone)
	}()
	for {
		select {
		case event := <-me.events:
			if err := stream.SendMsg(framed(event)); err != nil {
				return err
			}
		case <-q.t.Context().Done():
			return nil
		}
	}
}

// listening returns how many listen.
func (q *eventQueue) listening() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.listeners)
}

// send sends events until the test ends.
func (q *eventQueue) send() {
	event := bytes.Repeat([]byte("x"), 4<<10)
	for q.t.Context().Err() == nil {
		q.mu.Lock()
		all := slices.Collect(maps.Keys(q.listeners))
		q.mu.Unlock()
		for _, one := range all {
			select {
			case one.events <- event:
			case <-one.gone:
			case <-q.t.Context().Done():
			}
		}
	}
}
