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
	// heapRoom is how much the heap may grow between two garbage collections, less a part
	// of what is in use beyond spacious, but never less than minHeapRoom: where there are
	// very many objects, memory is what is scarce.
	heapRoom    = 40 << 20
	minHeapRoom = 24 << 20
	spacious    = 64 << 20
	heapPart    = 8
	// In any case the heap may grow by one scannedPart of what a collection has to scan, up to
	// maxScannedRoom.
	scannedPart    = 2
	maxScannedRoom = 64 << 20
	// minGCPercent is by how much of what is in use it may always grow.
	minGCPercent = 15
	// maxGCPercent is for a heap that is nearly empty.
	maxGCPercent = 1000
	// heapInterval is the time between two samples of the heap.
	heapInterval = 500 * time.Millisecond
	// liveHeap is the metric of the bytes in use, scannedHeap of those that may hold pointers.
	liveHeap, scannedHeap = "/gc/heap/live:bytes", "/gc/scan/heap:bytes"
)

// heap sets by how much the heap may grow between two collections. Go's default is to the
// double. Where little is in use, that means several collections a second under load. Where
// there are very many holders, most of the heap is packed, without pointers to follow:
// collecting more often costs little, and waiting costs twice the memory. The objects of
// GeneratingPolicies are not packed, and so the heap may grow by more of them. GOGC turns
// all of this off.
type heap struct{}

// NeedLeaderElection returns false: each replica has the objects.
func (heap) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (heap) Start(ctx context.Context) error {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	ticker := time.NewTicker(heapInterval)
	defer ticker.Stop()
	sample := []metrics.Sample{{Name: liveHeap}, {Name: scannedHeap}}
	last := 100 // Go's default
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		metrics.Read(sample)
		if next := gcPercent(sample[0].Value.Uint64(), sample[1].Value.Uint64()); next != last {
			debug.SetGCPercent(next)
			last = next
		}
	}
}

// gcPercent returns by how much the heap may grow, in percent of live. live is the bytes in use, scanned
// those of them that a collection scans.
func gcPercent(live, scanned uint64) int {
	room := max(heapRoom-(max(float64(live), spacious)-spacious)/heapPart, minHeapRoom, min(float64(scanned)/scannedPart, maxScannedRoom))
	percent := math.Round(100 * room / float64(max(live, 1)))
	return int(min(max(percent, minGCPercent), maxGCPercent))
}
