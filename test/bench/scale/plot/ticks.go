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

package plot

import (
	"math"
	"slices"
	"strconv"

	"golang.org/x/perf/benchunit"
	"gonum.org/v1/plot"
)

// mostTicks is how many numbers an axis has at most.
const mostTicks = 9

// mantissas are the numbers that an axis may have in each decade, from few to many.
var mantissas = [][]float64{
	{1},
	{1, 3},
	{1, 2, 5},
	{1, 1.5, 2, 3, 5, 7},
	{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8},
}

// placesX returns the ticks of the X axis: the places that were measured, unless they are
// too many.
func (c Chart) placesX() []plot.Tick {
	var places []float64
	for _, s := range c.Series {
		for _, p := range s.Points {
			places = append(places, p.X)
		}
	}
	slices.Sort(places)
	places = slices.Compact(places)
	if len(places) > mostTicks {
		return ticksBetween(places[0], places[len(places)-1], c.X.Unit)
	}
	return ticksAt(places, c.X.Unit)
}

// ticksBetween returns round numbers from low to high: as many as there is room for.
func ticksBetween(low, high float64, unit string) []plot.Tick {
	if benchunit.ClassOf(unit) == benchunit.Binary {
		return ticksAt(powersOfTwo(low, high), unit)
	}
	var best []float64
	for _, set := range mantissas {
		var places []float64
		for decade := math.Floor(math.Log10(low)); decade <= math.Log10(high); decade++ {
			for _, m := range set {
				// Parsed, for a power by multiplication is a little more or less.
				place, _ := strconv.ParseFloat(number(m)+"e"+number(decade), 64)
				if low <= place && place <= high {
					places = append(places, place)
				}
			}
		}
		if len(places) <= mostTicks {
			best = places
		}
	}
	return ticksAt(best, unit)
}

// powersOfTwo returns the powers of two from low to high, or each second, or third, … of them.
func powersOfTwo(low, high float64) []float64 {
	first, last := math.Ceil(math.Log2(low)), math.Floor(math.Log2(high))
	step := max(1, math.Ceil((last-first+1)/mostTicks))
	var places []float64
	for exponent := first; exponent <= last; exponent += step {
		places = append(places, math.Exp2(exponent))
	}
	return places
}

func ticksAt(places []float64, unit string) []plot.Tick {
	ticks := make([]plot.Tick, 0, len(places))
	for _, place := range places {
		ticks = append(ticks, plot.Tick{Value: place, Label: Axis{Unit: unit}.Format(place)})
	}
	return ticks
}

// Format returns a number on the axis with its unit, prefixed: "2 µs", "300 MiB", "10,000".
// What has no unit is a count or a ratio and has no prefix.
func (a Axis) Format(value float64) string {
	if a.Unit == "" {
		return withCommas(value)
	}
	scale := benchunit.CommonScale([]float64{value}, benchunit.ClassOf(a.Unit))
	// The shortest that is the number: dividing by 1e-6 is a little more or less.
	short, _ := strconv.ParseFloat(strconv.FormatFloat(value/scale.Factor, 'g', 6, 64), 64)
	return number(short) + " " + scale.Prefix + a.Unit
}

// withCommas groups the digits of a large number by three.
func withCommas(value float64) string {
	digits := number(value)
	const group = 3
	if value < 10_000 || value != math.Trunc(value) {
		return digits
	}
	for at := len(digits) - group; at > 0; at -= group {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

func number(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }

// widened returns a range of at least leastSpan around the same middle.
func widened(low, high float64) (from, to float64) {
	if high/low >= leastSpan {
		return low, high
	}
	middle := math.Sqrt(low * high)
	return middle / math.Sqrt(leastSpan), middle * math.Sqrt(leastSpan)
}
