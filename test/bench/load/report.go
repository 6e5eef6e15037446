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

	"kausality.io/operator/test/bench/mirror"
	"kausality.io/operator/test/bench/stats"
)

var statistics = []struct {
	name      string
	statistic func([]float64) float64
}{
	{"p50", stats.Quantile(0.5)},
	{"p95", stats.Quantile(0.95)},
	{"p99", stats.Quantile(0.99)},
}

func header() string {
	return fmt.Sprintf("%-18s %7s  %-5s %8s %8s %8s  %-20s %-20s\n", "request", "clients", "", "nobody", "bare", "kausal.", "kausality / bare", "bare / bare")
}

// report prints a row for each statistic: milliseconds or requests a second, and the
// ratios with their intervals of 95%.
func (r *result) report() string {
	var w strings.Builder
	row := func(name string, statistic func([]float64) float64, of func(*sample) []stats.Block) {
		in := func(world world) []stats.Block { return of(r.Worlds[world]) }
		fmt.Fprintf(&w, "%-18s %7d  %-5s %8.2f %8.2f %8.2f  %-20s %-20s\n", r.Scenario, r.Clients, name,
			stats.Of(statistic, in(nobody)), stats.Of(statistic, in(bare)), stats.Of(statistic, in(kausality)),
			stats.Ratio(statistic, in(kausality), in(bare), *seed), stats.Ratio(statistic, in(bareAgain), in(bare), *seed))
	}
	for _, s := range statistics {
		row(s.name, s.statistic, func(s *sample) []stats.Block { return s.Latencies })
	}
	row("rate", stats.Mean, func(s *sample) []stats.Block { return s.Rates })
	ask := func(e *effort) string {
		return fmt.Sprintf("%.2f times a request, %.2f ms each", e.Asked/e.Requests, milliseconds(e.Waited, e.Asked))
	}
	fmt.Fprintf(&w, "%-18s %7d  asked: Kausality %s; bare %s\n", r.Scenario, r.Clients, ask(r.Effort[kausality]), ask(r.Effort[bare]))
	for _, process := range slices.Sorted(maps.Keys(r.Effort[kausality].Busy)) {
		busy := func(w world) float64 { return milliseconds(r.Effort[w].Busy[process], r.Effort[w].Requests) }
		fmt.Fprintf(&w, "%-18s %7d  %-15s %8.2f %8.2f %8.2f  ms of processor time a request\n", r.Scenario, r.Clients, process, busy(nobody), busy(bare), busy(kausality))
	}
	fmt.Fprintf(&w, "%-18s %7d  API calls of the operator a request: %s\n", r.Scenario, r.Clients, calls(r.Calls))
	for _, line := range r.verdicts() {
		fmt.Fprintf(&w, "%-18s %7d  %s\n", r.Scenario, r.Clients, line)
	}
	if m := r.Mirror; m.Decisions > 0 {
		each := m.RecordWrites / m.Decisions
		fmt.Fprintf(&w, "%-18s %7d  mirror: %.0f writes of records, %.3f a decision; at most %g: %s\n",
			r.Scenario, r.Clients, m.RecordWrites, each, mirror.MostWrites, stats.Judge(each <= mirror.MostWrites))
		fmt.Fprintf(&w, "%-18s %7d  %s\n", r.Scenario, r.Clients, m.Lag)
	}
	return w.String()
}

// What is aimed at: how much slower a request may be at p50 that Kausality lets through, how much
// of the rate stays, and how much the operator may ask the API server for it: nothing for what it
// lets through, and the parent once before it refuses.
const (
	mostSlower  = 1.2
	leastRate   = 0.9
	mostReads   = 0.0
	deniedReads = 1.0
)

// rare is how many reads a request are as good as none: a watch that was cut lists anew.
const rare = 0.01

// verdicts say whether what is aimed at holds.
func (r *result) verdicts() []string {
	p50 := stats.Ratio(stats.Quantile(0.5), r.Worlds[kausality].Latencies, r.Worlds[bare].Latencies, *seed)
	rate := stats.Ratio(stats.Mean, r.Worlds[bare].Rates, r.Worlds[kausality].Rates, *seed)
	reads, most := 0.0, mostReads
	for call, n := range r.Calls {
		if verb, _, _ := strings.Cut(call, " "); verb == "get" || verb == "list" {
			reads += n
		}
	}
	if r.Scenario == denial {
		most = deniedReads
	}
	out := []string{fmt.Sprintf("reads a request: %.3f, at most %g: %s", reads, most, stats.Judge(reads <= most+rare))}
	if r.Scenario == denial {
		return out // It may take its time.
	}
	return append(out,
		fmt.Sprintf("p50 beside the bare pair: %s, at most %g: %s", p50, mostSlower, stats.Against(p50.Low, p50.High, mostSlower)),
		fmt.Sprintf("rate of the bare pair beside it: %s, at most 1/%g: %s", rate, leastRate, stats.Against(rate.Low, rate.High, 1/leastRate)))
}

// milliseconds returns how many each of a number of things took that took seconds together.
func milliseconds(seconds, of float64) float64 {
	if of == 0 {
		return 0
	}
	return 1000 * seconds / of
}

func calls(all map[string]float64) string {
	var out []string
	for _, call := range slices.Sorted(maps.Keys(all)) {
		out = append(out, fmt.Sprintf("%.3f %s", all[call], call))
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

const footer = "p50, p95 and p99 in milliseconds, rate in requests a second; ratios with an interval of 95%."

// made reports whether an object is one that a scenario made.
func made(name string) bool { return strings.Contains(name, "-made-") }
