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
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
)

// samples returns the values of Kausality's counters and how often its histograms were
// observed, by name and labels.
func samples(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, family := range families {
		name, ours := strings.CutPrefix(family.GetName(), "kausality_")
		if !ours {
			continue
		}
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			key := name + "{" + strings.Join(labels, " ") + "}"
			out[key] = m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return out
}

// Labels are sorted by their names: outcome, policy, reason, resource.
func TestMetrics(t *testing.T) {
	covering := deployment(5, mayScale("alice", 4))
	unserved := asking(t, "mallory", nil, replicaSet(3), counted(replicaSet(5)))
	unserved.Resource.Resource = "inventions"
	rehearsed := asking(t, "mallory", nil, replicaSet(3), counted(replicaSet(5)))
	rehearsed.DryRun = new(true)
	broken := annotate(replicaSet(5), "replicaset.kausality.io/break-glass", "fire")

	tests := map[string]struct {
		mutating bool
		req      admission.Request
		parent   *unstructured.Unstructured
		away     bool
		uncached bool
		policies []string
		want     []string
	}{
		"covered": {
			req:    asking(t, deployer, nil, replicaSet(3), counted(replicaSet(5))),
			parent: covering,
			want: []string{
				"admission_decisions_total{Allowed Covered replicasets.apps} 1",
				"admission_duration_seconds{verdict Allowed} 1",
				"policy_decisions_total{Allowed deployment Covered replicasets.apps} 1",
			},
		},
		"denied, after a second look": {
			req: asking(t, "mallory", nil, replicaSet(3), counted(replicaSet(5))),
			want: []string{
				"admission_decisions_total{Denied Denied replicasets.apps} 1",
				"admission_duration_seconds{verdict Denied} 1",
				"admission_live_reads_total{Uncovered} 2",
				"policy_decisions_total{Denied deployment Denied replicasets.apps} 1",
			},
		},
		"a resource that somebody made up": {
			req: unserved,
			want: []string{
				"admission_decisions_total{Denied Denied unknown} 1",
				"admission_duration_seconds{verdict Denied} 1",
				"admission_live_reads_total{Uncovered} 2",
				"policy_decisions_total{Denied deployment Denied unknown} 1",
			},
		},
		"a dry run is no decision": {
			req: rehearsed,
			want: []string{
				"admission_duration_seconds{verdict Denied} 1",
				"admission_live_reads_total{Uncovered} 2",
			},
		},
		"denied, though nobody can look again": {
			req:  asking(t, "mallory", nil, replicaSet(3), counted(replicaSet(5))),
			away: true,
			want: []string{
				"admission_decisions_total{Denied Denied replicasets.apps} 1",
				"admission_duration_seconds{verdict Denied} 1",
				"admission_live_reads_total{Uncovered} 1",
				"policy_decisions_total{Denied deployment Denied replicasets.apps} 1",
			},
		},
		"not judged": {
			req:      asking(t, "mallory", nil, replicaSet(3), counted(replicaSet(5))),
			away:     true,
			uncached: true,
			want: []string{
				"admission_decisions_total{Unjudged Unjudged replicasets.apps} 1",
				"admission_duration_seconds{verdict Unjudged} 1",
				"admission_live_reads_total{Uncached} 1",
			},
		},
		"about two policies, once": {
			req:      asking(t, "mallory", nil, replicaSet(3), counted(replicaSet(5))),
			policies: []string{strings.Replace(deploymentPolicy, "name: deployment", "name: another", 1)},
			want: []string{
				"admission_decisions_total{Denied Denied replicasets.apps} 1",
				"admission_duration_seconds{verdict Denied} 1",
				"admission_live_reads_total{Uncovered} 2",
				"policy_decisions_total{Denied another Denied replicasets.apps} 1",
				"policy_decisions_total{Denied deployment Denied replicasets.apps} 1",
			},
		},
		"broken glass": {
			req: asking(t, "mallory", glassBreakers, replicaSet(3), counted(broken)),
			want: []string{
				"admission_decisions_total{BrokeGlass BreakGlass replicasets.apps} 1",
				"admission_duration_seconds{verdict BrokeGlass} 1",
				"admission_live_reads_total{Uncovered} 2",
				"glass_broken_total{replicasets.apps} 1",
				"policy_decisions_total{BrokeGlass deployment BreakGlass replicasets.apps} 1",
			},
		},
		"granted": {
			mutating: true,
			req:      asking(t, "alice", platformTeam, deployment(3), deployment(5)),
			want: []string{
				"admission_duration_seconds{grant Granted} 1",
				"allowances_granted_total{deployments.apps} 1",
				"ledger_entries{} 1",
				"ledger_size_bytes{} 1",
			},
		},
		"withheld": {
			mutating: true,
			req:      asking(t, "mallory", nil, deployment(3), deployment(5)),
			want: []string{
				"admission_duration_seconds{grant Withheld} 1",
				"changes_withheld_total{deployments.apps} 1",
				"ledger_entries{} 1",
				"ledger_size_bytes{} 1",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.parent == nil {
				test.parent = deployment(3)
			}
			at := map[string]*unstructured.Unstructured{key("Deployment", "web"): test.parent}
			w := &world{cached: at, live: at, records: map[types.UID]*v1alpha1.AllowanceRecord{}}
			if test.uncached {
				w.cached = nil
			}
			if test.away {
				w.broken = errAway
			}
			mutator, validator := w.hooks(t, append(test.policies, deploymentPolicy, replicaSetPolicy)...)
			before := samples(t)
			if test.mutating {
				mutator.Handle(t.Context(), test.req)
			} else {
				validator.Handle(t.Context(), test.req)
			}
			var moved []string
			after := samples(t)
			for _, sample := range slices.Sorted(maps.Keys(after)) {
				if by := after[sample] - before[sample]; by != 0 {
					moved = append(moved, fmt.Sprintf("%s %v", sample, by))
				}
			}
			if diff := cmp.Diff(test.want, moved); diff != "" {
				t.Errorf("metrics that moved (-want +got):\n%s", diff)
			}
		})
	}
}
