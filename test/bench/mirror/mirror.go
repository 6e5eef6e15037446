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

// Package mirror reads what an operator says of its records: how many decisions they are
// about, and how far they are behind.
package mirror

import (
	"fmt"

	"kausality.io/operator/test/bench/metrics"
	"kausality.io/operator/test/bench/stats"
)

// The targets.
const (
	// MostWrites is how many writes of records there are for each decision.
	MostWrites = 0.1
	// mostLag is what lagShare of all writes of records keep to, in seconds.
	mostLag, lagShare = 2, 0.99
)

// The operator's metrics that are read.
const (
	decisionsMetric = "kausality_admission_decisions_total"
	lagMetric       = "kausality_record_lag_seconds"
)

// Said is what an operator says.
type Said struct {
	// Decisions are its verdicts, by outcome, reason and resource. A verdict is about one
	// request, which creates, updates or deletes an object that policies have a say in, of
	// their kind or of their children's.
	Decisions map[string]float64
	// Lag is from a decision to the write of the record that has it, in seconds.
	Lag metrics.Histogram
}

// Read reads what an operator says since it started, of which scraper has the metrics.
func Read(said metrics.Families) (Said, error) {
	s := Said{Decisions: said.Counters(decisionsMetric, "outcome", "reason", "resource"), Lag: said.Histogram(lagMetric, metrics.Any)}
	if _, can := s.Lag.Within[mostLag]; !can && s.Lag.Count > 0 {
		return Said{}, fmt.Errorf("%s has no bucket of %d s: the operator is of another version", lagMetric, mostLag)
	}
	return s, nil
}

// Since returns what has been said since before.
func (s Said) Since(before Said) Said {
	out := Said{Decisions: map[string]float64{}, Lag: s.Lag.Minus(before.Lag)}
	for what, n := range s.Decisions {
		if more := n - before.Decisions[what]; more > 0 {
			out.Decisions[what] = more
		}
	}
	return out
}

// Lag says how far records were behind.
type Lag struct {
	// Count is how many writes of records recorded decisions; Within is how many of them
	// came within the time that is aimed at, and Most the bound of the metric's bucket that
	// so many keep to as should, in seconds.
	Count, Within, Most float64
}

// LagOf returns the lag of what was observed.
func LagOf(h metrics.Histogram) Lag {
	return Lag{Count: h.Count, Within: h.Within[mostLag], Most: h.Quantile(lagShare)}
}

// Verdict says whether the records keep to the target.
func (l Lag) Verdict() stats.Verdict { return stats.Judge(l.Within >= lagShare*l.Count) }

// String returns a line of a report.
func (l Lag) String() string {
	return fmt.Sprintf("lag: %.0f of %.0f writes within %d s, p99 at most %g s: %s", l.Within, l.Count, mostLag, l.Most, l.Verdict())
}
