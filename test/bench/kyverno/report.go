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
	"slices"
	"strings"

	"kausality.io/operator/test/bench/stats"
)

// The targets, as parts of what Kyverno takes.
const (
	mostTime     = 0.5
	mostRequests = 1.0 / 3
	mostMemory   = 0.5
)

// mostAsked is for how many of the things that are asked for most a line is printed.
const mostAsked = 8

// report says what was measured, and whether it is as it should be.
func report(all []*measurement) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d namespaces, %d objects\n\n%-36s", all[0].Namespaces, len(kinds)*all[0].Namespaces, "")
	for _, m := range all {
		fmt.Fprintf(&b, " %14s", m.World)
	}
	fmt.Fprintln(&b)
	for _, r := range rows {
		b.WriteString(r.line(all))
	}
	for _, m := range all {
		fmt.Fprintf(&b, "\n%s\n  changes of the source, s: %.1f\n", m.World, m.Changes)
		asked(&b, "first generation", m.First.By)
		asked(&b, "change of the source", m.Change.By)
		asked(&b, "restart", m.Restart.By)
		asked(&b, "restart, kinds that are read", m.Restart.Lists)
	}
	return b.String()
}

// row is something that is compared.
type row struct {
	name   string
	format string
	of     func(*measurement) float64
	// part is what part of Kyverno's it should be at most; zero where there is no target.
	part float64
	// own is how much it should be at most, whatever Kyverno's is; negative where there is no target.
	own func(*measurement) float64
}

var rows = []row{
	{name: "first generation, s", format: "%.1f", of: func(m *measurement) float64 { return m.First.Seconds }, part: mostTime},
	{name: "  requests", format: "%.0f", of: func(m *measurement) float64 { return float64(m.First.Requests) }, part: mostRequests},
	{name: "  processor time, s", format: "%.1f", of: func(m *measurement) float64 { return m.First.Busy }},
	{name: "change of the source, s", format: "%.1f", of: func(m *measurement) float64 { return m.Change.Seconds }, part: mostTime},
	{
		name: "  writes of clones", format: "%.0f", of: func(m *measurement) float64 { return float64(m.Change.Writes) },
		own: func(m *measurement) float64 { return float64(m.Namespaces) },
	},
	{name: "  the same writes alone, s", format: "%.1f", of: func(m *measurement) float64 { return m.Bare.Seconds }},
	{name: "  requests", format: "%.0f", of: func(m *measurement) float64 { return float64(m.Change.Requests) }},
	{name: "  processor time, s", format: "%.1f", of: func(m *measurement) float64 { return m.Change.Busy }},
	{name: "peak of memory, MiB", format: "%.0f", of: func(m *measurement) float64 { return m.Peak }, part: mostMemory},
	{name: "restart, requests", format: "%.0f", of: func(m *measurement) float64 { return float64(m.Restart.Requests) }},
	{name: "  lists of one kind, at most", format: "%.0f", of: mostLists, own: func(*measurement) float64 { return 1 }},
	{name: "  writes", format: "%.0f", of: func(m *measurement) float64 { return float64(m.Restart.Writes) }},
}

// paths are where the kinds that the policy is about are read, of all namespaces.
var paths = []string{"/api/v1/namespaces", "/api/v1/secrets", "/api/v1/limitranges", "/apis/networking.k8s.io/v1/networkpolicies"}

// mostLists returns how often a restart reads the kind, of those that the policy is about, that it
// reads most often, whatever it selects.
func mostLists(m *measurement) float64 {
	counts := map[string]int{}
	for list, n := range m.Restart.Lists {
		path, _, _ := strings.Cut(list, " ")
		if slices.Contains(paths, path) {
			counts[path] += n
		}
	}
	highest := 0
	for _, n := range counts {
		highest = max(highest, n)
	}
	return float64(highest)
}

// line prints a row, with what part of each of Kyverno's Kausality's is.
func (r *row) line(all []*measurement) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-36s", r.name)
	for _, m := range all {
		fmt.Fprintf(&b, " %14s", fmt.Sprintf(r.format, r.of(m)))
	}
	own := slices.IndexFunc(all, func(m *measurement) bool { return m.World == ours })
	if own < 0 {
		return b.String() + "\n"
	}
	mine := all[own]
	if r.own != nil {
		fmt.Fprintf(&b, "  at most %.0f: %s", r.own(mine), stats.Judge(r.of(mine) <= r.own(mine)))
	}
	for _, m := range all {
		if m == mine || r.of(m) == 0 {
			continue
		}
		ratio := r.of(mine) / r.of(m)
		fmt.Fprintf(&b, "  %.2f of %s", ratio, m.World)
		if r.part > 0 {
			fmt.Fprintf(&b, ", at most %.2f: %s", r.part, stats.Judge(ratio <= r.part))
		}
	}
	return b.String() + "\n"
}

// asked prints what was asked for most.
func asked(b *strings.Builder, title string, counts map[string]int) {
	fmt.Fprintf(b, "  %s\n", title)
	names := most(counts)
	for _, name := range names[:min(len(names), mostAsked)] {
		fmt.Fprintf(b, "  %8d %s\n", counts[name], name)
	}
}
