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

package stats_test

import (
	"math/rand/v2"
	"testing"

	"kausality.io/operator/test/bench/stats"
)

func TestSlope(t *testing.T) {
	const block, seed = 10, 3
	for name, tc := range map[string]struct {
		slope, noise float64
		certain      bool
	}{
		"what stays":                  {slope: 0, noise: 5},
		"what grows":                  {slope: 0.2, noise: 5, certain: true},
		"what shrinks":                {slope: -0.2, noise: 5, certain: true},
		"what grows less than chance": {slope: 0.001, noise: 50},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			x, y := upTo(200), make([]float64, 200)
			for i := range y {
				y[i] = 100 + tc.slope*x[i] + tc.noise*(random.Float64()-0.5)
			}
			got := stats.Slope(x, y, block, seed)
			if got.Low > tc.slope || got.High < tc.slope || got.Low > got.Value || got.High < got.Value {
				t.Errorf("the slope %v is found to be %+v", tc.slope, got)
			}
			if certain := got.Low > 0 || got.High < 0; certain != tc.certain {
				t.Errorf("that it is not zero is certain: %v, from %+v", certain, got)
			}
			if again := stats.Slope(x, y, block, seed); again != got {
				t.Errorf("the same seed gives %+v, then %+v", got, again)
			}
		})
	}
}

func TestSlopeOfTooLittle(t *testing.T) {
	for name, x := range map[string][]float64{"nothing": nil, "one value": {1}, "one time": {1, 1, 1}} {
		t.Run(name, func(t *testing.T) {
			if got := stats.Slope(x, x, 10, 1); got != (stats.Interval{}) {
				t.Errorf("got %+v", got)
			}
		})
	}
}
