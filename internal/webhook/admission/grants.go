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
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/metrics"
)

var (
	granted = metrics.Factory.NewCounterVec(prometheus.CounterOpts{
		Namespace: metrics.Namespace,
		Name:      "allowances_granted_total",
		Help:      "Number of allowances that requests for objects of a resource earned.",
	}, []string{metrics.LabelResource})

	withheld = metrics.Factory.NewCounterVec(prometheus.CounterOpts{
		Namespace: metrics.Namespace,
		Name:      "changes_withheld_total",
		Help:      "Number of changes of objects of a resource that triggered a rule and earned nothing, those of refused requests included.",
	}, []string{metrics.LabelResource})

	ledgersFull = metrics.Factory.NewCounterVec(prometheus.CounterOpts{
		Namespace: metrics.Namespace,
		Name:      "ledger_full_total",
		Help:      "Number of requests for objects of a resource that earned nothing because the ledger had no room for it.",
	}, []string{metrics.LabelResource})

	ledgerEntries = metrics.Factory.NewHistogram(prometheus.HistogramOpts{
		Namespace: metrics.Namespace,
		Name:      "ledger_entries",
		Help:      "Entries of a ledger when it is written, withheld changes included.",
		Buckets:   []float64{0, 1, 2, 4, 8, 16, 32, 48, ledger.MaxEntries},
	})

	ledgerBytes = metrics.Factory.NewHistogram(prometheus.HistogramOpts{
		Namespace: metrics.Namespace,
		Name:      "ledger_size_bytes",
		Help:      "Size of a ledger when it is written.",
		Buckets:   prometheus.ExponentialBuckets(ledger.MaxBytes/128, 2, 8),
	})
)

// countGrant counts what a ledger gets. The mutating hook does, which sees approvals
// too; the validating one does for a scale, which the other does not see.
func (g *Gatherer) countGrant(of schema.GroupVersionResource, grant decision.Grant) {
	if len(grant.Allowances)+len(grant.Withheld) == 0 && grant.TooLarge == nil {
		return
	}
	resource := g.resourceLabel(of)
	granted.WithLabelValues(resource).Add(float64(len(grant.Allowances)))
	withheld.WithLabelValues(resource).Add(float64(len(grant.Withheld)))
	if grant.TooLarge != nil {
		ledgersFull.WithLabelValues(resource).Inc()
	}
}

// grantOutcome returns what became of a request in the mutating hook.
func grantOutcome(resp admission.Response, grant decision.Grant) string {
	switch {
	case len(grant.Allowances) > 0:
		return outcomeGranted
	case len(grant.Withheld) > 0:
		return outcomeWithheld
	default:
		return outcomeOf(resp)
	}
}

// measureLedger measures a ledger that is written.
func measureLedger(l ledger.Ledger) {
	ledgerEntries.Observe(float64(len(l)))
	ledgerBytes.Observe(float64(len(l.Encode())))
}
