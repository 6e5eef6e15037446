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

package stats

import "math/rand/v2"

// Slope returns how much y grows while x grows by one, by least squares. Values that follow
// each other are like each other; so the interval is that of a bootstrap which draws blocks
// of values that were measured in a row, of the given length. There must be as many of
// both. The same seed draws the same.
func Slope(x, y []float64, block int, seed uint64) Interval {
	if len(x) < 2 {
		return Interval{}
	}
	block = max(min(block, len(x)), 1)
	random := rand.New(rand.NewPCG(seed, uint64(len(x))))
	slopes := make([]float64, 0, resamples)
	drawnX, drawnY := make([]float64, 0, len(x)+block), make([]float64, 0, len(x)+block)
	for range resamples {
		drawnX, drawnY = drawnX[:0], drawnY[:0]
		for len(drawnX) < len(x) {
			begin := random.IntN(len(x) - block + 1)
			drawnX, drawnY = append(drawnX, x[begin:begin+block]...), append(drawnY, y[begin:begin+block]...)
		}
		slopes = append(slopes, leastSquares(drawnX, drawnY))
	}
	const outside = 0.025 // on each side
	return Interval{Value: leastSquares(x, y), Low: Quantile(outside)(slopes), High: Quantile(1 - outside)(slopes)}
}

// leastSquares returns the slope of the line with the least squares of distances.
func leastSquares(x, y []float64) float64 {
	meanX, meanY := Mean(x), Mean(y)
	both, own := 0.0, 0.0
	for i := range x {
		both += (x[i] - meanX) * (y[i] - meanY)
		own += (x[i] - meanX) * (x[i] - meanX)
	}
	if own == 0 {
		return 0
	}
	return both / own
}
