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
	"testing"

	"kausality.io/operator/test/bench/stats"
)

func TestAgainst(t *testing.T) {
	for name, tc := range map[string]struct {
		low, high, limit float64
		want             stats.Verdict
	}{
		"below":            {1, 1.1, 1.2, stats.Holds},
		"up to the limit":  {1, 1.2, 1.2, stats.Holds},
		"around the limit": {1.1, 1.3, 1.2, stats.Open},
		"from the limit":   {1.2, 1.3, 1.2, stats.Open},
		"above":            {1.3, 1.4, 1.2, stats.Missed},
	} {
		t.Run(name, func(t *testing.T) {
			if got := stats.Against(tc.low, tc.high, tc.limit); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestInterval(t *testing.T) {
	if got, want := (stats.Interval{Value: 1.234, Low: 1, High: 1.5}).String(), "1.23 (1.00 to 1.50)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
