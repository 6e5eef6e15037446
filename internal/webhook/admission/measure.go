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

package admission

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/metrics"
	"kausality.io/operator/internal/record"
)

// The hooks, as their webhooks are called.
const hookGrant, hookVerdict = "grant", "verdict"

// Outcomes of a request in metrics, beside the results of decisions.
const (
	// outcomeGranted and outcomeWithheld are what a ledger gets in the mutating hook.
	outcomeGranted, outcomeWithheld = "Granted", "Withheld"
	// outcomeUnjudged is a request that could not be judged and passes, outcomeFailed
	// one that is refused for it.
	outcomeUnjudged, outcomeFailed = "Unjudged", "Failed"
)

// resourceUnknown stands for resources that the API server does not serve: anybody
// who reaches the webhook may ask about them.
const resourceUnknown = "unknown"

var (
	decisions = metrics.Factory.NewCounterVec(prometheus.CounterOpts{
		Namespace: metrics.Namespace,
		Name:      "admission_decisions_total",
		Help:      "Number of verdicts about requests that were no dry runs.",
	}, []string{"outcome", "reason", metrics.LabelResource})

	policyDecisions = metrics.Factory.NewCounterVec(prometheus.CounterOpts{
		Namespace: metrics.Namespace,
		Name:      "policy_decisions_total",
		Help: "Number of verdicts about requests that were no dry runs, by the policies that they are about. " +
			"One that is about several policies counts for each of them.",
	}, []string{"outcome", "reason", metrics.LabelPolicy, metrics.LabelResource})

	durations = metrics.Factory.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: metrics.Namespace,
		Name:      "admission_duration_seconds",
		Help:      "Time that the operator took to answer a request, dry runs included.",
		Buckets:   []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"hook", "outcome"})
)

// stopwatch measures how long one of the hooks takes.
type stopwatch struct {
	hook  string
	start time.Time
}

func startWatch(hook string) stopwatch { return stopwatch{hook: hook, start: time.Now()} }

func (w stopwatch) stop(outcome string) {
	durations.WithLabelValues(w.hook, outcome).Observe(time.Since(w.start).Seconds())
}

// outcomeOf returns what became of a request, as its answer has it.
func outcomeOf(resp admission.Response) string {
	reason := resp.AuditAnnotations[auditReason]
	switch {
	case reason == reasonUnjudged && resp.Allowed:
		return outcomeUnjudged
	case reason == reasonUnjudged:
		return outcomeFailed
	case !resp.Allowed:
		return record.ResultDenied
	default:
		return result(decision.Reason(reason))
	}
}

// countVerdict counts a verdict by what the audit log says of it.
func (v *Validator) countVerdict(req admission.Request, resp admission.Response) {
	said := resp.AuditAnnotations
	if said[auditReason] == "" {
		return // There was nothing to judge.
	}
	outcome, resource := outcomeOf(resp), v.resourceLabel(schema.GroupVersionResource(req.Resource))
	decisions.WithLabelValues(outcome, said[auditReason], resource).Inc()
	if said[auditPolicies] == "" {
		return
	}
	for name := range strings.SplitSeq(said[auditPolicies], ",") {
		policyDecisions.WithLabelValues(outcome, said[auditReason], name, resource).Inc()
	}
}

// resourceLabel returns the resource of a request as metrics name it.
func (g *Gatherer) resourceLabel(resource schema.GroupVersionResource) string {
	if _, served := g.Kinds.KindFor(resource); !served {
		return resourceUnknown
	}
	return resource.GroupResource().String()
}
