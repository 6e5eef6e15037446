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

// Package metrics reads what processes say of themselves to Prometheus.
package metrics

import (
	"bytes"
	"context"
	"maps"
	"math"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/rest"
)

// Families are metrics by name.
type Families map[string]*dto.MetricFamily

// Labels are those of one sample.
type Labels map[string]string

// Any wants samples with any labels.
func Any(Labels) bool { return true }

// Parse reads the text that a process serves.
func Parse(text []byte) (Families, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(bytes.NewReader(text))
}

// OfServer reads what an API server says of itself.
func OfServer(ctx context.Context, server rest.Interface) (Families, error) {
	raw, err := server.Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	return Parse(raw)
}

// Counters adds up a counter's samples by the values of labels, which a space joins.
func (f Families) Counters(name string, labels ...string) map[string]float64 {
	sums := map[string]float64{}
	for _, m := range f[name].GetMetric() {
		has := labelsOf(m)
		var values []string
		for _, l := range labels {
			values = append(values, has[l])
		}
		sums[strings.Join(values, " ")] += m.GetCounter().GetValue()
	}
	return sums
}

// Histogram adds up a histogram's samples with labels that are wanted.
func (f Families) Histogram(name string, wanted func(Labels) bool) Histogram {
	var sum Histogram
	for _, m := range f[name].GetMetric() {
		if !wanted(labelsOf(m)) {
			continue
		}
		one := Histogram{Count: float64(m.GetHistogram().GetSampleCount()), Sum: m.GetHistogram().GetSampleSum(), Within: map[float64]float64{}}
		for _, b := range m.GetHistogram().GetBucket() {
			one.Within[b.GetUpperBound()] = float64(b.GetCumulativeCount())
		}
		sum = sum.Plus(one)
	}
	return sum
}

// Asked returns the API server's own count of calls of webhooks whose name has a text in it,
// and of how long they took.
func (f Families) Asked(whose string) Histogram {
	return f.Histogram("apiserver_admission_webhook_admission_duration_seconds", func(l Labels) bool { return strings.Contains(l["name"], whose) })
}

func labelsOf(m *dto.Metric) Labels {
	labels := Labels{}
	for _, l := range m.GetLabel() {
		labels[l.GetName()] = l.GetValue()
	}
	return labels
}

// Histogram is what was observed, as far as a process remembers it.
type Histogram struct {
	// Count is how many values there were, and Sum is their sum.
	Count, Sum float64
	// Within is how many were at most the upper bound of each bucket.
	Within map[float64]float64
}

// Plus returns what both have observed.
func (h Histogram) Plus(other Histogram) Histogram { return h.combined(other, 1) }

// Minus returns what was observed since before.
func (h Histogram) Minus(before Histogram) Histogram { return h.combined(before, -1) }

func (h Histogram) combined(other Histogram, sign float64) Histogram {
	out := Histogram{Count: h.Count + sign*other.Count, Sum: h.Sum + sign*other.Sum, Within: map[float64]float64{}}
	maps.Copy(out.Within, h.Within)
	for bound, n := range other.Within {
		out.Within[bound] += sign * n
	}
	return out
}

// Quantile returns the least bound of a bucket that a share q (0 to 1) of the values does not
// exceed: infinite where there is none, zero where there are no values.
func (h Histogram) Quantile(q float64) float64 {
	if h.Count == 0 {
		return 0
	}
	least := math.Inf(1)
	for bound, n := range h.Within {
		if n >= q*h.Count {
			least = min(least, bound)
		}
	}
	return least
}
