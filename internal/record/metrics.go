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

package record

import (
	"github.com/prometheus/client_golang/prometheus"

	"kausality.io/operator/internal/metrics"
)

// How a record is written.
const (
	writeCreate = "Create"
	writeStatus = "Status"
	writeLabels = "Labels"
	writeSpec   = "Spec"
)

var (
	// outcomesDropped counts holders whose outcomes were forgotten, because more
	// came than could be written, or because writing them failed again and again.
	outcomesDropped = metrics.Factory.NewCounter(prometheus.CounterOpts{
		Namespace: metrics.Namespace,
		Name:      "record_outcomes_dropped_total",
		Help:      "Number of times that decisions about the children of an object were not recorded.",
	})

	recordLag = metrics.Factory.NewHistogram(prometheus.HistogramOpts{
		Namespace: metrics.Namespace,
		Name:      "record_lag_seconds",
		Help:      "Time from the first decision that a write records to the write.",
		Buckets:   []float64{.1, .25, .5, .75, 1, 1.5, 2, 2.5, 5, 10, 30, 60},
	})

	recordWrites = metrics.Factory.NewCounterVec(prometheus.CounterOpts{
		Namespace: metrics.Namespace,
		Name:      "record_writes_total",
		Help:      "Number of writes of AllowanceRecords that the API server accepted.",
	}, []string{"operation"})
)
