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

// Package vitals tells whether a process takes more and more: from samples of its heap and
// its goroutines, as the profiles of Go tell them.
package vitals

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"kausality.io/operator/test/bench/stats"
)

// Sample is what a process takes at a time.
type Sample struct {
	// At is since the beginning.
	At time.Duration
	// Heap is what is left of it after garbage was collected, in bytes.
	Heap float64
	// Goroutines are how many there are.
	Goroutines float64
	// Resident is what the system says that it takes, in bytes.
	Resident float64
}

var (
	heapLine       = regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)$`)
	goroutinesLine = regexp.MustCompile(`^goroutine profile: total (\d+)\n`)
)

// Heap reads the heap from the profile of that name, in its legible form.
func Heap(profile []byte) (float64, error) { return number(heapLine, profile) }

// Goroutines reads their number from the profile of that name, in its legible form.
func Goroutines(profile []byte) (float64, error) { return number(goroutinesLine, profile) }

func number(line *regexp.Regexp, profile []byte) (float64, error) {
	found := line.FindSubmatch(profile)
	if found == nil {
		return 0, fmt.Errorf("the profile has no line like %s", line)
	}
	return strconv.ParseFloat(string(found[1]), 64)
}

// Growth is that of one thing over the time in which it was sampled.
type Growth struct {
	// What grows, and the unit of it.
	What, Unit string
	// Mean of the least of each stretch.
	Mean float64
	// PerHour is the slope, with the range that it is in with a probability of 95%.
	PerHour stats.Interval
	// Over all the time it was that much, by the slope.
	Over float64
	// Bound is how much it may be.
	Bound float64
}

// String returns a line of a report.
func (g Growth) String() string {
	return fmt.Sprintf("%s: %.2f %s on average, %+.3f (95%%: %+.3f to %+.3f) an hour, %+.3f in all; %.2f may be",
		g.What, g.Mean, g.Unit, g.PerHour.Value, g.PerHour.Low, g.PerHour.High, g.Over, g.Bound)
}

// TooMuch reports whether it grows more than it may, and not by chance.
func (g Growth) TooMuch() bool { return g.Over > g.Bound && g.PerHour.Low > 0 }

// Bounds are how much may be added over the time of a soak.
type Bounds struct {
	// Heap and Resident are in MiB.
	Heap, Resident float64
	// Goroutines are a number.
	Goroutines float64
}

const (
	mebi = 1 << 20
	// stretch is how many samples in a row count as one, by the least of them. What is never let
	// go of is in all of them, and what a moment of much work takes is not.
	stretch = 10
	// block is how many stretches in a row are alike.
	block = 2
)

// Judge tells how everything grows, from samples that begin once what is kept has come
// to its size. There must be enough for a few stretches.
func Judge(samples []Sample, bounds Bounds, seed uint64) ([]Growth, error) {
	if len(samples) < 2*block*stretch {
		return nil, fmt.Errorf("%d samples are too few to tell: it takes %d", len(samples), 2*block*stretch)
	}
	stretches := slices.Collect(slices.Chunk(samples[len(samples)%stretch:], stretch))
	hours := make([]float64, 0, len(stretches))
	for _, s := range stretches {
		hours = append(hours, s[stretch/2].At.Hours())
	}
	over := hours[len(hours)-1] - hours[0]
	of := func(what, unit string, value func(Sample) float64) Growth {
		values := make([]float64, 0, len(stretches))
		for _, s := range stretches {
			least := value(s[0])
			for _, other := range s[1:] {
				least = min(least, value(other))
			}
			values = append(values, least)
		}
		slope := stats.Slope(hours, values, block, seed)
		return Growth{What: what, Unit: unit, Mean: stats.Mean(values), PerHour: slope, Over: slope.Value * over}
	}
	heap := of("heap after a collection", "MiB", func(s Sample) float64 { return s.Heap / mebi })
	heap.Bound = bounds.Heap
	resident := of("resident memory", "MiB", func(s Sample) float64 { return s.Resident / mebi })
	resident.Bound = bounds.Resident
	goroutines := of("goroutines", "goroutines", func(s Sample) float64 { return s.Goroutines })
	goroutines.Bound = bounds.Goroutines
	return []Growth{heap, resident, goroutines}, nil
}
