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

// Package sharedread has those who read the same at the same time share what is read, so that a
// storm of them costs one read after the other. Nothing is remembered.
//
// golang.org/x/sync/singleflight would hand out a read that began before the question, and is
// older than what is asked about.
package sharedread

import (
	"context"
	"sync"
	"time"
)

// limit is how long a read may take, for whom nobody may wait any more.
const limit = 10 * time.Second

// Group reads values by their keys. Whoever asks gets what was read by one read that began after
// that, so that nothing is older than the question. Of each key one read goes on at a time, and at
// most one waits for its end. The zero value is ready, and safe for concurrent use.
type Group[T any] struct {
	mu sync.Mutex
	// waiting has the next read of a key for which one goes on.
	waiting map[string]*reading[T]
}

// reading is one read.
type reading[T any] struct {
	read  func() (T, error)
	done  chan struct{}
	value T
	err   error
}

// Do returns what read returns, called for this question or for another one with the key that
// came at the same time. The value is shared, and must not be modified.
func (g *Group[T]) Do(ctx context.Context, key string, read func(context.Context) (T, error)) (T, error) {
	r := g.join(key, func() (T, error) {
		// Others wait for it as well, for longer than who came first.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		defer cancel()
		return read(ctx)
	})
	select {
	case <-r.done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// join returns the next read of a key to begin.
func (g *Group[T]) join(key string, read func() (T, error)) *reading[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	next, goesOn := g.waiting[key]
	if next != nil {
		return next
	}
	next = &reading[T]{read: read, done: make(chan struct{})}
	if goesOn {
		g.waiting[key] = next
		return next
	}
	if g.waiting == nil {
		g.waiting = map[string]*reading[T]{}
	}
	g.waiting[key] = nil
	go g.run(key, next)
	return next
}

// run reads until nobody waits.
func (g *Group[T]) run(key string, r *reading[T]) {
	for r != nil {
		r.value, r.err = r.read()
		close(r.done)
		r = g.next(key)
	}
}

// next returns the read that waits, nil where none does.
func (g *Group[T]) next(key string) *reading[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	next := g.waiting[key]
	if next == nil {
		delete(g.waiting, key)
	} else {
		g.waiting[key] = nil
	}
	return next
}
