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

// Package stats compares samples of two things that were measured in turn, block by
// block: what a machine does besides slows both down, and their ratio stays.
package stats

import (
	"math/rand/v2"
	"slices"
)

// resamples is how many samples the bootstrap draws.
const resamples = 2000

// Block are values of one kind that were measured together, such as the latencies of
// the requests of one second, in any unit.
type Block []float64

// Interval is a value, and the range that it is in with a probability of 95%.
type Interval struct {
	Value, Low, High float64
}

// Quantile returns a function for Ratio: the value that a share q (0 to 1) of a sample
// does not exceed. Of an empty sample it is zero.
func Quantile(q float64) func([]float64) float64 {
	return func(sample []float64) float64 {
		if len(sample) == 0 {
			return 0
		}
		sorted := slices.Sorted(slices.Values(sample))
		return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
	}
}

// Mean returns a function for Ratio.
func Mean(sample []float64) float64 {
	sum := 0.0
	for _, v := range sample {
		sum += v
	}
	return sum / float64(max(len(sample), 1))
}

// Of applies a statistic to the values of all blocks.
func Of(statistic func([]float64) float64, blocks []Block) float64 {
	return statistic(flat(blocks))
}

// Ratio returns the ratio of a statistic of a to the same of b. The blocks of a and b with the
// same index were measured next to each other; the interval is a bootstrap's, which
// draws such pairs. There must be as many blocks of each. The same seed draws the same.
func Ratio(statistic func([]float64) float64, a, b []Block, seed uint64) Interval {
	of := func(indices []int) float64 {
		drawnA, drawnB := make([]Block, 0, len(indices)), make([]Block, 0, len(indices))
		for _, i := range indices {
			drawnA, drawnB = append(drawnA, a[i]), append(drawnB, b[i])
		}
		return Of(statistic, drawnA) / Of(statistic, drawnB)
	}
	all := make([]int, len(a))
	for i := range all {
		all[i] = i
	}
	random := rand.New(rand.NewPCG(seed, uint64(len(a))))
	ratios := make([]float64, 0, resamples)
	drawn := make([]int, len(a))
	for range resamples {
		for i := range drawn {
			drawn[i] = random.IntN(len(a))
		}
		ratios = append(ratios, of(drawn))
	}
	const outside = 0.025 // on each side
	return Interval{Value: of(all), Low: Quantile(outside)(ratios), High: Quantile(1 - outside)(ratios)}
}

func flat(blocks []Block) []float64 {
	var out []float64
	for _, b := range blocks {
		out = append(out, b...)
	}
	return out
}
