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

package gate

import (
	"github.com/prometheus/client_golang/prometheus"

	"kausality.io/operator/internal/metrics"
)

// labelKind is a kind with its group, such as Instance.rds.example.com; labelReason
// is a reason of the condition kausality.io/Gate.
const labelKind, labelReason = "kind", "reason"

// The replica that reconciles says these.
var (
	gates = metrics.Factory.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: metrics.Namespace,
		Name:      "gates",
		Help:      "Number of objects with a gate, by what the gate does: Closed, Open, Settling, Stuck, Held or Adopting.",
	}, []string{labelKind, labelReason})

	openSeconds = metrics.Factory.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: metrics.Namespace,
		Name:      "gate_open_seconds",
		Help:      "For how long a gate was open that was closed because what was allowed is done, from when it was first seen open.",
		Buckets:   []float64{0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3600, 6 * 3600, 24 * 3600},
	}, []string{labelKind})

	reclosings = metrics.Factory.NewCounterVec(prometheus.CounterOpts{
		Namespace: metrics.Namespace,
		Name:      "gate_reclosings_total",
		Help:      "Number of times that a gate was found open wider than its allowances let it, and closed.",
	}, []string{labelKind})
)
