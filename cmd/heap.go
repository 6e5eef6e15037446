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

package main

import (
	"context"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// heapRoom is how much the heap may grow between two garbage collections, unless that
	// is more than all that is in use.
	heapRoom = 48 << 20
	// minGCPercent is by how much of what is in use it may always grow.
	minGCPercent = 25
	// maxGCPercent is Go's default.
	maxGCPercent = 100
	// heapInterval is how often is looked how much is in use.
	heapInterval = 500 * time.Millisecond
	// liveHeap is the metric that says so.
	liveHeap = "/gc/heap/live:bytes"
)

// heap keeps the memory of an operator with very many objects near to what they take. By
// default Go lets the heap double before it looks for garbage. Here most of a large heap
// are packed objects, which have no pointers to follow: to look more often costs little.
// Whoever sets GOGC knows better.
type heap struct{}

// NeedLeaderElection is false: each replica has the objects.
func (heap) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (heap) Start(ctx context.Context) error {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	ticker := time.NewTicker(heapInterval)
	defer ticker.Stop()
	sample := []metrics.Sample{{Name: liveHeap}}
	last := maxGCPercent
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		metrics.Read(sample)
		if next := gcPercent(sample[0].Value.Uint64()); next != last {
			debug.SetGCPercent(next)
			last = next
		}
	}
}

// gcPercent is by how much a heap of which so much is in use may grow.
func gcPercent(live uint64) int {
	percent := math.Round(100 * heapRoom / float64(max(live, 1)))
	return int(min(max(percent, minGCPercent), maxGCPercent))
}
