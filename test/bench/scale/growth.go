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
	"cmp"
	"fmt"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
	"kausality.io/operator/test/bench/stats"

	"kausality.io/operator/test/bench/scale/plot"
)

// result is what a chart shows.
type result struct {
	chart
	lines []grown
}

// grown is a line, and how its values grow.
type grown struct {
	plot.Series
	// growth is the value at the last place by that at the first.
	growth stats.Interval
	// slope is the exponent of the power of x that fits best: 0 does not grow, 1
	// grows as x does.
	slope float64
	// verdict is on the chart's target.
	verdict stats.Verdict
}

// evaluate looks at what was measured.
func (c chart) evaluate(measured *samples, seed uint64) (result, error) {
	r := result{chart: c}
	for _, b := range c.benches {
		lines, err := measured.along(b, c.key, cmp.Or(c.times, 1))
		if err != nil {
			return r, err
		}
		if len(lines) == 0 {
			return r, fmt.Errorf("%s has no results in %s", b.name, b.unit)
		}
		for _, l := range lines {
			if len(l.places) < 2 {
				return r, fmt.Errorf("%s of %s was measured at one place only", l.name, c.file)
			}
			g, err := l.evaluate(seed)
			if err != nil {
				return r, err
			}
			g.verdict = c.target.on(g)
			r.lines = append(r.lines, g)
		}
	}
	return r, nil
}

// evaluate finds the median at each place, and how the values grow from the first to
// the last. The values of one round were measured soon after each other.
func (l line) evaluate(seed uint64) (grown, error) {
	g := grown{Series: plot.Series{Name: l.name}}
	for _, p := range l.places {
		const confidence = 0.95
		// A sample sorts its values; here they stay in the order of the rounds.
		sample := benchmath.NewSample(slices.Clone(p.values), &benchmath.DefaultThresholds)
		sum := benchmath.AssumeNothing.Summary(sample, confidence)
		if len(sum.Warnings) > 0 {
			return g, fmt.Errorf("%s at %g: %w", l.name, p.x, sum.Warnings[0])
		}
		g.Points = append(g.Points, plot.Point{X: p.x, Y: sum.Center, Low: sum.Lo, High: sum.Hi})
	}
	first, last := l.places[0], l.places[len(l.places)-1]
	if len(first.values) != len(last.values) {
		return g, fmt.Errorf("%s was measured %d times at %g and %d times at %g", l.name, len(first.values), first.x, len(last.values), last.x)
	}
	g.growth = stats.Ratio(stats.Quantile(0.5), blocks(last.values), blocks(first.values), seed)
	g.slope = slope(g.Points)
	return g, nil
}

// blocks returns the values of each round as a block of its own.
func blocks(values []float64) []stats.Block {
	out := make([]stats.Block, 0, len(values))
	for _, v := range values {
		out = append(out, stats.Block{v})
	}
	return out
}

// slope returns the slope of the line through the points, by least squares, with both axes
// logarithmic.
func slope(points []plot.Point) float64 {
	var x, y, xx, xy float64
	for _, p := range points {
		lx, ly := math.Log(p.X), math.Log(p.Y)
		x, y, xx, xy = x+lx, y+ly, xx+lx*lx, xy+lx*ly
	}
	n := float64(len(points))
	return (n*xy - x*y) / (n*xx - x*x)
}

// on reports whether a line keeps to the target.
func (t target) on(g grown) stats.Verdict {
	switch {
	case t.growth != nil:
		return stats.Against(g.growth.Low, g.growth.High, t.growth(g.first().X, g.last().X))
	case t.most > 0:
		return stats.Against(g.largest(lowEnd), g.largest(highEnd), t.most)
	default:
		return stats.NoTarget
	}
}

func (g grown) first() plot.Point { return g.Points[0] }
func (g grown) last() plot.Point  { return g.Points[len(g.Points)-1] }

func lowEnd(p plot.Point) float64  { return p.Low }
func highEnd(p plot.Point) float64 { return p.High }

// largest returns the largest of something that each point has.
func (g grown) largest(of func(plot.Point) float64) float64 {
	out := of(g.first())
	for _, p := range g.Points {
		out = max(out, of(p))
	}
	return out
}

// draw makes the chart of the result.
func (r result) draw() plot.Chart {
	c := plot.Chart{Title: r.title, X: r.x, Y: r.y}
	for _, l := range r.lines {
		c.Series = append(c.Series, l.Series)
	}
	if r.target.most > 0 {
		c.Limits = []plot.Limit{{Name: fmt.Sprintf("target: %g", r.target.most), Y: r.target.most}}
	}
	return c
}
