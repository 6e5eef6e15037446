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

package metrics_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/test/bench/metrics"
)

const served = `# TYPE decisions_total counter
decisions_total{outcome="Allowed",resource="pods"} 7
decisions_total{outcome="Denied",resource="pods"} 1
# TYPE lag_seconds histogram
lag_seconds_bucket{le="1"} 90
lag_seconds_bucket{le="2"} 99
lag_seconds_bucket{le="+Inf"} 100
lag_seconds_sum 60
lag_seconds_count 100
# TYPE apiserver_admission_webhook_admission_duration_seconds histogram
apiserver_admission_webhook_admission_duration_seconds_bucket{name="verdict.kausality.io",le="+Inf"} 5
apiserver_admission_webhook_admission_duration_seconds_sum{name="verdict.kausality.io"} 0.5
apiserver_admission_webhook_admission_duration_seconds_count{name="verdict.kausality.io"} 5
apiserver_admission_webhook_admission_duration_seconds_bucket{name="grant.kausality.io",le="+Inf"} 3
apiserver_admission_webhook_admission_duration_seconds_sum{name="grant.kausality.io"} 0.25
apiserver_admission_webhook_admission_duration_seconds_count{name="grant.kausality.io"} 3
apiserver_admission_webhook_admission_duration_seconds_bucket{name="other.example.org",le="+Inf"} 8
apiserver_admission_webhook_admission_duration_seconds_sum{name="other.example.org"} 1
apiserver_admission_webhook_admission_duration_seconds_count{name="other.example.org"} 8
`

func TestFamilies(t *testing.T) {
	f, err := metrics.Parse([]byte(served))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ got, want any }{
		"a counter by a label":        {f.Counters("decisions_total", "outcome"), map[string]float64{"Allowed": 7, "Denied": 1}},
		"a counter by labels":         {f.Counters("decisions_total", "resource", "outcome"), map[string]float64{"pods Allowed": 7, "pods Denied": 1}},
		"a counter added up":          {f.Counters("decisions_total", "resource"), map[string]float64{"pods": 8}},
		"a counter that is not there": {f.Counters("others_total", "resource"), map[string]float64{}},
		"a histogram": {
			f.Histogram("lag_seconds", metrics.Any),
			metrics.Histogram{Count: 100, Sum: 60, Within: map[float64]float64{1: 90, 2: 99, math.Inf(1): 100}},
		},
		"calls of webhooks": {f.Asked(".kausality.io"), metrics.Histogram{Count: 8, Sum: 0.75, Within: map[float64]float64{math.Inf(1): 8}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestQuantile(t *testing.T) {
	before := metrics.Histogram{Count: 10, Sum: 5, Within: map[float64]float64{1: 10, 2: 10, math.Inf(1): 10}}
	now := metrics.Histogram{Count: 110, Sum: 105, Within: map[float64]float64{1: 100, 2: 109, math.Inf(1): 110}}
	for name, tc := range map[string]struct {
		of   metrics.Histogram
		q    float64
		want float64
	}{
		"the middle":          {now.Minus(before), 0.5, 1},
		"just within":         {now.Minus(before), 0.99, 2},
		"beyond all bounds":   {now.Minus(before), 0.995, math.Inf(1)},
		"of what came before": {before, 0.99, 1},
		"of nothing":          {before.Minus(before), 0.99, 0},
		"from the beginning":  {before.Minus(metrics.Histogram{}), 0.99, 1},
		"of the sum of two":   {before.Plus(before), 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.of.Quantile(tc.q); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
