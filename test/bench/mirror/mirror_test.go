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

package mirror

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/test/bench/metrics"
	"kausality.io/operator/test/bench/stats"
)

const early = `
# TYPE kausality_admission_decisions_total counter
kausality_admission_decisions_total{outcome="Allowed",reason="Covered",resource="pods"} 3
kausality_admission_decisions_total{outcome="Denied",reason="Denied",resource="pods"} 1
# TYPE kausality_record_lag_seconds histogram
kausality_record_lag_seconds_bucket{le="2"} 1
kausality_record_lag_seconds_bucket{le="+Inf"} 1
kausality_record_lag_seconds_count 1
`

const late = `
# TYPE kausality_admission_decisions_total counter
kausality_admission_decisions_total{outcome="Allowed",reason="Covered",resource="pods"} 7
kausality_admission_decisions_total{outcome="Denied",reason="Denied",resource="pods"} 1
# TYPE kausality_record_lag_seconds histogram
kausality_record_lag_seconds_bucket{le="2"} 4
kausality_record_lag_seconds_bucket{le="+Inf"} 5
kausality_record_lag_seconds_count 5
`

func TestSince(t *testing.T) {
	read := func(text string) Said {
		families, err := metrics.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		said, err := Read(families)
		if err != nil {
			t.Fatal(err)
		}
		return said
	}
	got := read(late).Since(read(early))
	if diff := cmp.Diff(map[string]float64{"Allowed Covered pods": 4}, got.Decisions); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
	if got.Lag.Count != 4 || got.Lag.Within[mostLag] != 3 {
		t.Errorf("%g writes, of which %g were in time, want 4 and 3", got.Lag.Count, got.Lag.Within[mostLag])
	}
}

func TestReadOtherVersion(t *testing.T) {
	families, err := metrics.Parse([]byte(`
# TYPE kausality_record_lag_seconds histogram
kausality_record_lag_seconds_bucket{le="3"} 1
kausality_record_lag_seconds_bucket{le="+Inf"} 1
kausality_record_lag_seconds_count 1
`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(families); err == nil {
		t.Error("a lag that nobody can tell was read")
	}
}

func TestLagVerdict(t *testing.T) {
	for name, tc := range map[string]struct {
		count, within float64
		want          stats.Verdict
	}{
		"99 of 100": {100, 99, stats.Holds},
		"98 of 100": {100, 98, stats.Missed},
		"nothing":   {0, 0, stats.Holds},
	} {
		t.Run(name, func(t *testing.T) {
			if got := LagOf(metrics.Histogram{Count: tc.count, Within: map[float64]float64{mostLag: tc.within}}).Verdict(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
