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
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// Limits keep one caller from taking what others need.
type Limits struct {
	// MessageBytes is the size of a message. Kubelets and containerd have the same.
	MessageBytes int
	// Connections is how many a socket has at a time. A quarter is kept for processes that
	// are in no container, such as the kubelet.
	Connections int
	// ConnectionsPerContainer is how many of them a container has.
	ConnectionsPerContainer int
	// CallsPerConnection is how many calls a connection has at a time.
	CallsPerConnection int
	// CallsPerContainer is how many calls all connections of a container have at a time.
	CallsPerContainer int
	// LookupsPerContainer is how many questions to the runtime are asked at a time for
	// judgements of one container's calls.
	LookupsPerContainer int
	// RequestsPerContainer is how many requests of a container are read at a time. Each may
	// be as large as a message, and is held until the runtime has it.
	RequestsPerContainer int
	// ResponseBytesPerContainer is how much of responses is held that a container does not
	// read. It is no less than a message.
	ResponseBytesPerContainer int
	// MemoryBytes is how much all containers of a socket together hold of requests and
	// responses. A request that is being read counts as the largest that there may be.
	MemoryBytes int
	// Lookup is how long a question to the runtime may take.
	Lookup time.Duration
	// Unread is how long a container may leave a message of a stream unread. There are runtimes
	// that send each event to all who listen, one after the other, and wait for each of them.
	Unread time.Duration
}

// DefaultLimits are what nodes get by with.
var DefaultLimits = Limits{
	MessageBytes:              16 << 20,
	Connections:               256,
	ConnectionsPerContainer:   16,
	CallsPerConnection:        64,
	CallsPerContainer:         64,
	LookupsPerContainer:       8,
	RequestsPerContainer:      4,
	ResponseBytesPerContainer: 32 << 20,
	MemoryBytes:               512 << 20,
	Lookup:                    2 * time.Second,
	Unread:                    5 * time.Second,
}

// hostFactor is how many times what a container may hold is what all processes may that
// are in no container: they are few, and the kubelet is one.
const hostFactor = 8

// host is the key of processes that are in no container.
const host = ""

// unknown is the key of callers of whom it could not be told who they are.
const unknown = "?"

var errConnections = errors.New("too many connections")

// shares are what callers have of a socket.
type shares struct {
	limits Limits
	// memory is what all containers hold.
	memory *semaphore.Weighted

	mu         sync.Mutex
	all        int
	containers int
	byKey      map[string]*share
}

// share is what one caller has: a container, or all processes that are in none.
type share struct {
	of          *shares
	key         string
	connections int
	// calls has a place for each call.
	calls *semaphore.Weighted
	// requests has a place for each request that is being read.
	requests *semaphore.Weighted
	// responses are the bytes of those that are being written.
	responses *semaphore.Weighted
	// lookups are questions that are being asked.
	lookups *semaphore.Weighted
}

func newShares(limits Limits) *shares {
	return &shares{limits: limits, memory: semaphore.NewWeighted(int64(limits.MemoryBytes)), byKey: map[string]*share{}}
}

// connect takes a connection for a caller.
func (s *shares) connect(key string) (*share, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.byKey[key]
	if found == nil {
		factor := int64(1)
		if key == host {
			factor = hostFactor
		}
		found = &share{
			of: s, key: key,
			calls:     semaphore.NewWeighted(int64(s.limits.CallsPerContainer)),
			requests:  semaphore.NewWeighted(factor * int64(s.limits.RequestsPerContainer)),
			responses: semaphore.NewWeighted(factor * int64(s.limits.ResponseBytesPerContainer)),
			lookups:   semaphore.NewWeighted(factor * int64(s.limits.LookupsPerContainer)),
		}
	}
	switch {
	case s.all >= s.limits.Connections:
		return nil, errConnections
	case key == host:
	case found.connections >= s.limits.ConnectionsPerContainer, s.containers >= s.limits.Connections-s.limits.Connections/4:
		return nil, errConnections
	}
	if key != host {
		s.containers++
	}
	s.all++
	found.connections++
	s.byKey[key] = found
	return found, nil
}

// begin waits until a call may be made; processes in no container make as many as their
// connections have.
func (s *share) begin(ctx context.Context) error {
	if s.key == host {
		return nil
	}
	return s.calls.Acquire(ctx, 1)
}

// end lets another call be made.
func (s *share) end() {
	if s.key != host {
		s.calls.Release(1)
	}
}

// hold waits until memory of all containers is left; processes in none have their own.
func (s *share) hold(ctx context.Context, size int64) error {
	if s.key == host {
		return nil
	}
	return s.of.memory.Acquire(ctx, size)
}

// tryHold takes memory, if it is left.
func (s *share) tryHold(size int64) bool {
	return s.key == host || s.of.memory.TryAcquire(size)
}

// let gives memory back.
func (s *share) let(size int64) {
	if s.key != host {
		s.of.memory.Release(size)
	}
}

// disconnect gives a connection back.
func (s *share) disconnect() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.of.all--
	if s.key != host {
		s.of.containers--
	}
	s.connections--
	if s.connections == 0 {
		delete(s.of.byKey, s.key)
	}
}

// lookup asks a question when it is the caller's turn.
func (s *share) lookup(ctx context.Context, ask func()) error {
	if err := s.lookups.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.lookups.Release(1)
	ask()
	return nil
}
