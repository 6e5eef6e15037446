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
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"kausality.io/operator/test/bench/stats"

	"kausality.io/operator/test/bench/scale/plot"
)

// printed is what benchmarks print, in two rounds.
const printed = `goos: linux
pkg: kausality.io/operator/internal/webhook/admission
BenchmarkHandle/request=grant/kib=2-2         100   0 ns/op   1500 ns/handle   1.10 x-decode
BenchmarkHandle/request=grant/kib=500-2       100   0 ns/op   3000 ns/handle   1.20 x-decode
BenchmarkHandle/request=denied/kib=2-2        100   0 ns/op   2500 ns/handle   1.30 x-decode
BenchmarkHandleLedger/request=grant/entries=1-2    100   9 ns/op
PASS
pkg: kausality.io/operator/internal/webhook/admission
BenchmarkHandle/request=grant/kib=500-2       100   0 ns/op   3200 ns/handle   1.22 x-decode
BenchmarkHandle/request=grant/kib=2-2         100   0 ns/op   1600 ns/handle   1.12 x-decode
BenchmarkHandle/request=denied/kib=2-2        100   0 ns/op   2600 ns/handle   1.31 x-decode
PASS
`

func TestAlong(t *testing.T) {
	handle := bench{admissionPackage, "Handle", "handler", perAsked}
	for name, tc := range map[string]struct {
		bench bench
		key   string
		of    float64
		want  []line
	}{
		"each request": {handle, "kib", 1, []line{
			{"handler: grant", []place{{2, []float64{1500e-9, 1600e-9}}, {500, []float64{3000e-9, 3200e-9}}}},
			{"handler: denied", []place{{2, []float64{2500e-9, 2600e-9}}}},
		}},
		"another unit, and places in bytes": {bench{admissionPackage, "Handle", "handler", byDecode}, "kib", 1 << 10, []line{
			{"handler: grant", []place{{2 << 10, []float64{1.10, 1.12}}, {500 << 10, []float64{1.20, 1.22}}}},
			{"handler: denied", []place{{2 << 10, []float64{1.30, 1.31}}}},
		}},
		"another benchmark":           {bench{admissionPackage, "HandleLedger", "", perOp}, "entries", 1, []line{{": grant", []place{{1, []float64{9e-9}}}}}},
		"one that did not run":        {bench{ledgerPackage, "Decode", "decoding", perOp}, "entries", 1, nil},
		"a unit that is not reported": {bench{ledgerPackage, "Handle", "handler", "B/op"}, "kib", 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			measured := newSamples()
			if err := measured.read(strings.NewReader(printed), "test"); err != nil {
				t.Fatal(err)
			}
			got, err := measured.along(tc.bench, tc.key, tc.of)
			if err != nil {
				t.Fatal(err)
			}
			opts := cmp.Options{cmp.AllowUnexported(line{}, place{}), cmpopts.EquateApprox(1e-9, 0)}
			if diff := cmp.Diff(tc.want, got, opts); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("another axis", func(t *testing.T) {
		measured := newSamples()
		if err := measured.read(strings.NewReader(printed), "test"); err != nil {
			t.Fatal(err)
		}
		if _, err := measured.along(handle, "rules", 1); err == nil {
			t.Error("a benchmark that is not on the axis is taken for one that is")
		}
	})
}

func TestReadRefuses(t *testing.T) {
	if err := newSamples().read(strings.NewReader("BenchmarkHandle/kib=2 100 1.x ns/op\n"), "test"); err == nil {
		t.Error("what is no number is read")
	}
}

func TestSlope(t *testing.T) {
	for name, tc := range map[string]struct {
		of   func(x float64) float64
		want float64
	}{
		"constant":    {func(float64) float64 { return 7 }, 0},
		"linear":      {func(x float64) float64 { return 3 * x }, 1},
		"square root": {math.Sqrt, 0.5},
		"falling":     {func(x float64) float64 { return 1 / x }, -1},
	} {
		t.Run(name, func(t *testing.T) {
			var points []plot.Point
			for _, x := range []float64{10, 100, 1000, 10_000} {
				points = append(points, plot.Point{X: x, Y: tc.of(x)})
			}
			if got := slope(points); math.Abs(got-tc.want) > 1e-9 {
				t.Errorf("slope = %g, want %g", got, tc.want)
			}
		})
	}
}

// measuredLine has ten rounds at each place, each by so much more than the one before.
func measuredLine(step float64, places map[float64]float64) line {
	l := line{name: "what is measured"}
	for _, x := range []float64{10, 100, 10_000} {
		p := place{x: x}
		for round := range 10 {
			p.values = append(p.values, places[x]*(1+step*float64(round)))
		}
		l.places = append(l.places, p)
	}
	return l
}

// unsteady has the rounds at the last place backwards: the ratios of rounds differ.
func unsteady(l line) line {
	slices.Reverse(l.places[len(l.places)-1].values)
	return l
}

func TestEvaluate(t *testing.T) {
	for name, tc := range map[string]struct {
		line   line
		target target
		growth float64
		want   stats.Verdict
	}{
		"does not grow":                    {measuredLine(0.001, map[float64]float64{10: 5, 100: 5, 10_000: 5}), target{growth: atMost(1.1)}, 1, stats.Holds},
		"a slow machine grows nothing":     {measuredLine(0.2, map[float64]float64{10: 5, 100: 5, 10_000: 5}), target{growth: atMost(2)}, 1, stats.Holds},
		"grows too much":                   {measuredLine(0.001, map[float64]float64{10: 5, 100: 6, 10_000: 7}), target{growth: atMost(1.1)}, 1.4, stats.Missed},
		"grows about as much as it may":    {unsteady(measuredLine(0.01, map[float64]float64{10: 5, 100: 5, 10_000: 5.5})), target{growth: atMost(1.1)}, 1.1, stats.Open},
		"grows as the logarithm":           {measuredLine(0.001, map[float64]float64{10: 1, 100: 2, 10_000: 3.9}), target{growth: logarithmic}, 3.9, stats.Holds},
		"grows as the places":              {measuredLine(0.001, map[float64]float64{10: 1, 100: 10, 10_000: 1000}), target{growth: logarithmic}, 1000, stats.Missed},
		"below the limit":                  {measuredLine(0.001, map[float64]float64{10: 1, 100: 1.4, 10_000: 1}), target{most: 1.5}, 1, stats.Holds},
		"above the limit somewhere":        {measuredLine(0.001, map[float64]float64{10: 1, 100: 1.6, 10_000: 1}), target{most: 1.5}, 1, stats.Missed},
		"the interval around the limit":    {measuredLine(0.01, map[float64]float64{10: 1, 100: 1.45, 10_000: 1}), target{most: 1.5}, 1, stats.Open},
		"nothing to keep to, however much": {measuredLine(0.001, map[float64]float64{10: 1, 100: 10, 10_000: 1000}), target{}, 1000, stats.NoTarget},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.line.evaluate(1)
			if err != nil {
				t.Fatal(err)
			}
			if g := got.growth; math.Abs(g.Value-tc.growth) > 1e-9 || g.Low > g.Value || g.Value > g.High {
				t.Errorf("growth = %+v, want %g within its interval", g, tc.growth)
			}
			for i, p := range got.Points {
				values := tc.line.places[i].values
				if p.X != tc.line.places[i].x || p.Low < slices.Min(values) || p.High > slices.Max(values) || p.Low > p.Y || p.Y > p.High {
					t.Errorf("point %+v is not the median of %v with its interval", p, values)
				}
			}
			if v := tc.target.on(got); v != tc.want {
				t.Errorf("verdict = %q, want %q with the growth %+v", v, tc.want, got.growth)
			}
		})
	}
}

func TestEvaluateRefuses(t *testing.T) {
	few := measuredLine(0.001, map[float64]float64{10: 1, 100: 1, 10_000: 1})
	few.places[1].values = few.places[1].values[:3]
	uneven := measuredLine(0.001, map[float64]float64{10: 1, 100: 1, 10_000: 1})
	uneven.places[0].values = uneven.places[0].values[:8]
	for name, l := range map[string]line{"too few rounds for an interval": few, "places of different rounds": uneven} {
		t.Run(name, func(t *testing.T) {
			if g, err := l.evaluate(1); err == nil {
				t.Errorf("evaluate() = %+v, want an error", g)
			}
		})
	}
}

func TestEvaluateChart(t *testing.T) {
	c := chart{
		key: "others", benches: []bench{{policyPackage, "IndexFor", "policies of a kind", perOp}},
	}
	text := func(name string, places ...int) string {
		var out strings.Builder
		for range 8 {
			for _, n := range places {
				fmt.Fprintf(&out, "Benchmark%s/others=%d 1 5 ns/op\n", name, n)
			}
		}
		return out.String()
	}
	for name, tc := range map[string]struct {
		text string
		ok   bool
	}{
		"two places":        {text("IndexFor", 10, 100), true},
		"one place":         {text("IndexFor", 10), false},
		"another benchmark": {text("IndexOther", 10, 100), false},
	} {
		t.Run(name, func(t *testing.T) {
			measured := newSamples()
			if err := measured.read(strings.NewReader(tc.text), "test"); err != nil {
				t.Fatal(err)
			}
			if r, err := c.evaluate(measured, 1); (err == nil) != tc.ok {
				t.Errorf("evaluate() = %+v, %v", r, err)
			}
		})
	}
}

func TestReport(t *testing.T) {
	l := grown{
		Series: plot.Series{Name: "handler: grant", Points: []plot.Point{
			{X: 2 << 10, Y: 200e-6, Low: 190e-6, High: 210e-6}, {X: 500 << 10, Y: 20e-3, Low: 19e-3, High: 21e-3},
		}},
		growth: stats.Interval{Value: 100, Low: 99, High: 101}, slope: 0.834,
	}
	ratio := grown{
		Series:  plot.Series{Name: "handler: grant", Points: []plot.Point{{X: 10, Y: 0.9, Low: 0.8, High: 1}, {X: 10_000, Y: 1.2, Low: 1.1, High: 1.3}}},
		growth:  stats.Interval{Value: 1.33, Low: 1.2, High: 1.5},
		verdict: stats.Holds,
	}
	var out strings.Builder
	err := report(&out, []result{
		{chart: chart{file: "size", title: "With the size", x: plot.Axis{Unit: "B"}, y: plot.Axis{Unit: seconds}}, lines: []grown{l}},
		{chart: chart{file: "decoding", title: "By decoding", target: target{most: 1.5}}, lines: []grown{ratio}},
		{chart: chart{file: "rules", title: "With rules", target: target{growth: logarithmic}}, lines: []grown{ratio}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `
With the size (size.svg)
                2 KiB    500 KiB  growth                  slope  target
handler: grant  200.0µs  20.00ms  100.00 [99.00, 101.00]  0.83   none

By decoding (decoding.svg)
                10    10,000  growth             slope  target
handler: grant  0.90  1.20    1.33 [1.20, 1.50]  0.00   at most 1.5: holds (1.30 at most)

With rules (rules.svg)
                10    10,000  growth             slope  target
handler: grant  0.90  1.20    1.33 [1.20, 1.50]  0.00   at most 4 times: holds
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestChosen(t *testing.T) {
	for names, want := range map[string]int{"": len(charts), "rules": 1, "size,decoding": 2} {
		got, err := chosen(names)
		if err != nil || len(got) != want {
			t.Errorf("chosen(%q) = %d charts, %v, want %d", names, len(got), err, want)
		}
	}
	if _, err := chosen("rules,unknown"); err == nil {
		t.Error("an unknown chart is chosen")
	}
}
