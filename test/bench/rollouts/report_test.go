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

package main

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"kausality.io/operator/test/bench/metrics"
)

// measured returns a result of a few blocks that all are alike: with Kausality they take so
// many times the time and the writes, and write so many records for 100 decisions.
func measured(time, writes, records float64) *result {
	r := &result{Worlds: map[world][]block{}}
	for range 3 {
		for _, w := range []world{without, again} {
			r.add(w, block{Seconds: 10, Writes: 1000, ByController: map[string]float64{"deployment-controller update replicasets": 1000}})
		}
		r.add(with, block{
			Seconds: 10 * time, Writes: 1000 * writes, ByController: map[string]float64{"deployment-controller update replicasets": 1000 * writes},
			RecordWrites: records, Records: records, Asked: 250, Decisions: map[string]float64{"Allowed Covered pods": 100},
			lag: metrics.Histogram{Count: 100, Within: map[float64]float64{1.5: 90, 2: 99, 2.5: 100}},
		})
	}
	return r
}

func TestReport(t *testing.T) {
	for name, tc := range map[string]struct {
		of   *result
		want []string
	}{
		"within all": {measured(1.1, 1.2, 10), []string{
			"1.10 (1.10 to 1.10)  1.00 (1.00 to 1.00)  at most 1.15: holds",
			"1.20 (1.20 to 1.20)  1.00 (1.00 to 1.00)  at most 1.3: holds",
			"0.100 (0.100 to 0.100) a decision; at most 0.1: holds",
			"lag: 297 of 300 writes within 2 s, p99 at most 2 s: holds",
		}},
		"within none": {measured(1.2, 1.4, 50), []string{
			"1.20 (1.20 to 1.20)  1.00 (1.00 to 1.00)  at most 1.15: MISSED",
			"1.40 (1.40 to 1.40)  1.00 (1.00 to 1.00)  at most 1.3: MISSED",
			"0.500 (0.500 to 0.500) a decision; at most 0.1: MISSED",
		}},
		"what is written by whom": {measured(1, 1.5, 0), []string{
			"1000.00   1000.00   1500.00  deployment-controller update replicasets",
			"0.00      0.00    100.00  Allowed Covered pods",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := tc.of.report()
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q is not in\n%s", want, got)
				}
			}
		})
	}
}

func TestComplete(t *testing.T) {
	const want = 3
	done := func() *appsv1.Deployment {
		d := &appsv1.Deployment{}
		d.Generation, d.Spec.Replicas = 2, new(int32(want))
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: want, UpdatedReplicas: want, AvailableReplicas: want}
		return d
	}
	for name, tc := range map[string]struct {
		but  func(*appsv1.DeploymentStatus)
		want bool
	}{
		"all is done":             {func(*appsv1.DeploymentStatus) {}, true},
		"nobody has looked":       {func(s *appsv1.DeploymentStatus) { s.ObservedGeneration-- }, false},
		"an old Pod is left":      {func(s *appsv1.DeploymentStatus) { s.Replicas++ }, false},
		"a new Pod is missing":    {func(s *appsv1.DeploymentStatus) { s.UpdatedReplicas-- }, false},
		"a new Pod is not usable": {func(s *appsv1.DeploymentStatus) { s.AvailableReplicas-- }, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := done()
			tc.but(&d.Status)
			if got := complete(d); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
