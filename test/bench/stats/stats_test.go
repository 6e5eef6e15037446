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

func TestQuantile(t *testing.T) {
	for name, tc := range map[string]struct {
		q      float64
		sample []float64
		want   float64
	}{
		"the middle":         {0.5, []float64{3, 1, 2}, 2},
		"the greatest":       {1, []float64{3, 1, 2}, 3},
		"the least":          {0, []float64{3, 1, 2}, 1},
		"one value":          {0.99, []float64{7}, 7},
		"99 of 100":          {0.99, upTo(100), 100},
		"an empty sample":    {0.5, nil, 0},
		"order matters not":  {0.5, []float64{2, 3, 1}, 2},
		"of an even number":  {0.5, []float64{1, 2, 3, 4}, 3},
		"between two values": {0.6, []float64{1, 2}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			if got := stats.Quantile(tc.q)(tc.sample); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func upTo(n int) []float64 {
	var out []float64
	for i := range n {
		out = append(out, float64(i+1))
	}
	return out
}

// A machine that is slower in some blocks slows both down.
func TestRatioOfBlocksThatDrift(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var a, b []stats.Block
	for i := range 14 {
		speed := float64(1 + i)
		var x, y stats.Block
		for range 100 {
			x = append(x, speed*1.5*(0.9+0.2*random.Float64()))
			y = append(y, speed*(0.9+0.2*random.Float64()))
		}
		a, b = append(a, x), append(b, y)
	}
	got := stats.Ratio(stats.Mean, a, b, 3)
	if got.Low > 1.5 || got.High < 1.5 || got.High-got.Low > 0.1 {
		t.Errorf("the ratio 1.5 is found to be %+v", got)
	}
	if again := stats.Ratio(stats.Mean, a, b, 3); again != got {
		t.Errorf("the same seed gives %+v, then %+v", got, again)
	}
}
