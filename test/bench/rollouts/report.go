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
	"fmt"
	"maps"
	"slices"
	"strings"

	"kausality.io/operator/test/bench/metrics"
	"kausality.io/operator/test/bench/mirror"
	"kausality.io/operator/test/bench/stats"
)

// The targets.
const (
	mostTime = 1.15
	// mostWrites is of the controller-manager.
	mostWrites = 1.3
)

// result is all that was measured.
type result struct {
	Worlds map[world][]block
	// Lag is how far the records were behind.
	Lag mirror.Lag

	lag metrics.Histogram
}

func (r *result) add(w world, b block) {
	r.Worlds[w] = append(r.Worlds[w], b)
	if w != with {
		return
	}
	r.lag = r.lag.Plus(b.lag)
	r.Lag = mirror.LagOf(r.lag)
}

// each returns one value of each block of a world.
func (r *result) each(w world, of func(*block) float64) []stats.Block {
	out := make([]stats.Block, 0, len(r.Worlds[w]))
	for i := range r.Worlds[w] {
		out = append(out, stats.Block{of(&r.Worlds[w][i])})
	}
	return out
}

func (r *result) mean(w world, of func(*block) float64) float64 {
	return stats.Of(stats.Mean, r.each(w, of))
}

func seconds(b *block) float64        { return b.Seconds }
func managerWrites(b *block) float64  { return b.Writes }
func conflicts(b *block) float64      { return b.Conflicts }
func recordWrites(b *block) float64   { return b.RecordWrites }
func records(b *block) float64        { return b.Records }
func operatorWrites(b *block) float64 { return sum(b.ByOperator) }
func decided(b *block) float64        { return sum(b.Decisions) }
func asked(b *block) float64          { return b.Asked }
func forbidden(b *block) float64      { return b.Forbidden }

func sum(counts map[string]float64) float64 {
	all := 0.0
	for _, n := range counts {
		all += n
	}
	return all
}

// report prints means of the blocks, and ratios with an interval of 95%.
func (r *result) report() string {
	var w strings.Builder
	fmt.Fprintf(&w, "%-20s %9s %9s %9s  %-20s %-20s %s\n", "", "without", "again", "with", "with / without", "again / without", "target")
	row := func(name string, of func(*block) float64, most float64) {
		ratio := stats.Ratio(stats.Mean, r.each(with, of), r.each(without, of), *seed)
		fmt.Fprintf(&w, "%-20s %9.2f %9.2f %9.2f  %-20s %-20s at most %g: %s\n", name, r.mean(without, of), r.mean(again, of), r.mean(with, of),
			ratio, stats.Ratio(stats.Mean, r.each(again, of), r.each(without, of), *seed), most, stats.Against(ratio.Low, ratio.High, most))
	}
	row("seconds", seconds, mostTime)
	row("manager's writes", managerWrites, mostWrites)
	r.breakdown(&w, func(b *block) map[string]float64 { return b.ByController })
	plain := func(name string, of func(*block) float64) {
		fmt.Fprintf(&w, "%-20s %9.2f %9.2f %9.2f\n", name, r.mean(without, of), r.mean(again, of), r.mean(with, of))
	}
	plain("conflicts", conflicts)
	plain("forbidden", forbidden)
	plain("operator's writes", operatorWrites)
	r.breakdown(&w, func(b *block) map[string]float64 { return b.ByOperator })
	plain("webhook calls", asked)
	plain("decisions", decided)
	r.breakdown(&w, func(b *block) map[string]float64 { return b.Decisions })
	perDecision := stats.Ratio(stats.Mean, r.each(with, recordWrites), r.each(with, decided), *seed)
	fmt.Fprintf(&w, "mirror: %.0f writes of %.0f records, %.3f (%.3f to %.3f) a decision; at most %g: %s\n", r.mean(with, recordWrites), r.mean(with, records),
		perDecision.Value, perDecision.Low, perDecision.High, mirror.MostWrites, stats.Against(perDecision.Low, perDecision.High, mirror.MostWrites))
	fmt.Fprintf(&w, "        of which the first of each record alone: %.2f a decision\n", r.mean(with, records)/max(r.mean(with, decided), 1))
	fmt.Fprintln(&w, r.Lag)
	fmt.Fprintln(&w, footer)
	return w.String()
}

const footer = "Means of a block; ratios with an interval of 95%."

// breakdown prints a line for each of several counts that a block has.
func (r *result) breakdown(w *strings.Builder, of func(*block) map[string]float64) {
	keys := map[string]bool{}
	for _, world := range worlds {
		for i := range r.Worlds[world] {
			for key := range of(&r.Worlds[world][i]) {
				keys[key] = true
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		one := func(b *block) float64 { return of(b)[key] }
		fmt.Fprintf(w, "%-20s %9.2f %9.2f %9.2f  %s\n", "", r.mean(without, one), r.mean(again, one), r.mean(with, one), key)
	}
}
