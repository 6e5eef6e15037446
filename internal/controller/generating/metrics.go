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

package generating

import (
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kausality.io/operator/internal/metrics"
)

// labelPolicy is the label with the name of a policy.
const labelPolicy = "generatingpolicy"

var (
	evaluations = metrics.Factory.NewCounterVec(prometheus.CounterOpts{
		Namespace: metrics.Namespace,
		Name:      "generating_evaluations_total",
		Help:      "Number of looks at triggers of GeneratingPolicies, by result: matched, unmatched or failed.",
	}, []string{labelPolicy, "result"})

	writes = metrics.Factory.NewCounterVec(prometheus.CounterOpts{
		Namespace: metrics.Namespace,
		Name:      "generating_writes_total",
		Help:      "Number of requests that write what GeneratingPolicies want, by verb (create, apply, delete) and result (written, refused, failed).",
	}, []string{labelPolicy, "verb", "result"})

	objectStates = metrics.Factory.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: metrics.Namespace,
		Name:      "generating_objects",
		Help:      "Number of objects that GeneratingPolicies want or have made, by state: made, waiting, refused, conflicting or failed.",
	}, []string{labelPolicy, "state"})

	lag = metrics.Factory.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: metrics.Namespace,
		Name:      "generating_look_duration_seconds",
		Help:      "Time to see to one trigger of a GeneratingPolicy: to evaluate it and to write what follows.",
		Buckets:   prometheus.ExponentialBuckets(0.001, 4, 8),
	}, []string{labelPolicy})
)

// result of an evaluation.
type result string

const (
	resultMatched   result = "matched"
	resultUnmatched result = "unmatched"
	resultFailed    result = "failed"
)

func resultOf(out *outcome, err error) result {
	switch {
	case err != nil:
		return resultFailed
	case out.matched:
		return resultMatched
	default:
		return resultUnmatched
	}
}

func resultOfWrite(err error) string {
	switch {
	case err == nil:
		return "written"
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		return "refused"
	default:
		return string(resultFailed)
	}
}

// forgetMetrics removes what is measured of a policy that is gone.
func forgetMetrics(policy string) {
	of := prometheus.Labels{labelPolicy: policy}
	evaluations.DeletePartialMatch(of)
	writes.DeletePartialMatch(of)
	objectStates.DeletePartialMatch(of)
	lag.DeletePartialMatch(of)
}
