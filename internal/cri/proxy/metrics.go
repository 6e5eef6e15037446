//go:build linux

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

package proxy

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Labels of metrics. Their values are methods and words of our own, never names.
const (
	labelEndpoint = "endpoint"
	labelMethod   = "method"
	labelOutcome  = "outcome"
	labelResult   = "result"
)

// unknownMethod stands for all methods that the API does not have: callers make them up.
const unknownMethod = "unknown"

// Metrics count what happens on all sockets.
type Metrics struct {
	calls       *prometheus.CounterVec
	held        *prometheus.CounterVec
	connections *prometheus.GaugeVec
	refused     *prometheus.CounterVec
	lookups     *prometheus.CounterVec
	ended       *prometheus.CounterVec
	// Loads counts files of rules that were read, by what became of them.
	loads *prometheus.CounterVec
	bad   *prometheus.GaugeVec
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	factory := promauto.With(registry)
	return &Metrics{
		calls: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "kausality_cri_calls_total",
			Help: "Calls that were judged, by method and by what became of them: allowed, refused, undecided, limited or malformed.",
		}, []string{labelEndpoint, labelMethod, labelOutcome}),
		held: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "kausality_cri_held_back_total",
			Help: "Elements of lists, and messages of streams, that filters held back.",
		}, []string{labelEndpoint, labelMethod}),
		connections: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kausality_cri_connections",
			Help: "Connections of clients that are open.",
		}, []string{labelEndpoint}),
		refused: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "kausality_cri_refused_connections_total",
			Help: "Connections that were closed at once, as there were too many.",
		}, []string{labelEndpoint}),
		lookups: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "kausality_cri_lookups_total",
			Help: "Questions that were asked of the runtime for judgements and audit lines.",
		}, []string{labelEndpoint}),
		ended: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "kausality_cri_ended_streams_total",
			Help: "Streams that were ended, as the rules that allowed them have changed.",
		}, []string{labelEndpoint}),
		loads: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "kausality_cri_rules_loads_total",
			Help: "Files of rules that were read anew, by result: good or bad.",
		}, []string{labelEndpoint, labelResult}),
		bad: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kausality_cri_rules_bad",
			Help: "1 while the file of rules is bad or missing, and older rules are in effect.",
		}, []string{labelEndpoint}),
	}
}

// Loaded tells of a file of rules that was read, or could not be.
func (m *Metrics) Loaded(endpoint string, err error) {
	result, bad := "good", 0.0
	if err != nil {
		result, bad = "bad", 1
	}
	m.loads.WithLabelValues(endpoint, result).Inc()
	m.bad.WithLabelValues(endpoint).Set(bad)
}

// socketMetrics are the Metrics of one socket, looked up once.
type socketMetrics struct {
	*Metrics
	endpoint           string
	connections        prometheus.Gauge
	refusedConnections prometheus.Counter
	lookups            prometheus.Counter
	endedStreams       prometheus.Counter
	// allowed are the counters of what is not seldom.
	allowed map[string]prometheus.Counter
}

func (m *Metrics) socket(endpoint string, methods []string) *socketMetrics {
	out := &socketMetrics{
		Metrics:            m,
		endpoint:           endpoint,
		connections:        m.connections.WithLabelValues(endpoint),
		refusedConnections: m.refused.WithLabelValues(endpoint),
		lookups:            m.lookups.WithLabelValues(endpoint),
		endedStreams:       m.ended.WithLabelValues(endpoint),
		allowed:            make(map[string]prometheus.Counter, len(methods)),
	}
	for _, method := range methods {
		out.allowed[method] = m.calls.WithLabelValues(endpoint, method, outcomeAllowed)
	}
	return out
}

func (m *socketMetrics) called(method, outcome string) {
	if outcome == outcomeAllowed {
		if counter, known := m.allowed[method]; known {
			counter.Inc()
			return
		}
	}
	m.calls.WithLabelValues(m.endpoint, method, outcome).Inc()
}
