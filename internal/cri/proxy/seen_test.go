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
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"kausality.io/operator/internal/cri/audit"
	"kausality.io/operator/internal/runtimerules"
)

// told returns the audit lines, when all calls have ended.
func (s *stand) told() []audit.Line {
	s.t.Helper()
	s.Stop()
	var out []audit.Line
	for text := range strings.Lines(s.audit.String()) {
		var line audit.Line
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			s.t.Fatal(err)
		}
		out = append(out, line)
	}
	return out
}

// With --audit-all there is a line of each call, and it says how much filters held back.
func TestAuditAllCalls(t *testing.T) {
	s := newStand(t, ownOnly, func(o *Options) { o.AuditAll = true })
	client := s.client("a")
	if _, err := client.Version(t.Context(), &runtimeapi.VersionRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.ListContainers(t.Context(), &runtimeapi.ListContainersRequest{}); err != nil {
		t.Fatal(err)
	}
	stream, err := client.GetContainerEvents(t.Context(), &runtimeapi.GetEventsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range []string{podB, podA, podB} {
		s.runtime.events <- event(pod)
	}
	close(s.runtime.events)
	for err == nil {
		_, err = stream.Recv()
	}
	got := map[string]int{}
	for _, line := range s.told() {
		if line.Outcome != outcomeAllowed || line.Rule == 0 {
			t.Errorf("%+v", line)
		}
		got[line.Method] = line.Held
	}
	want := map[string]int{services + "Version": 0, services + "ListContainers": 1, services + "GetContainerEvents": 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Metrics are labeled by what is known before anybody calls: whoever reads them learns of
// no Pod, and whoever calls makes no series.
func TestMetricsHaveNoNames(t *testing.T) {
	s := newStand(t, ownOnly)
	for _, as := range []string{"a", "b", "host", "gone", "foreign"} {
		for _, path := range []string{services + "Exec", services + "StopContainer", services + as, "/" + as + "/" + inA} {
			_ = s.frames(as, path, field(1, inB))
		}
		_, err := s.client(as).ListContainers(t.Context(), &runtimeapi.ListContainersRequest{})
		if as == "a" && err != nil {
			t.Fatal(err)
		}
	}
	s.Stop()
	may := map[string][]string{
		labelEndpoint: {"test"},
		labelMethod:   {unknownMethod},
		labelOutcome:  {outcomeAllowed, outcomeRefused, outcomeUndecided, outcomeLimited, outcomeMalformed},
	}
	for _, method := range runtimerules.Methods() {
		may[labelMethod] = append(may[labelMethod], method.Path)
	}
	families, err := s.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if !slices.Contains(may[label.GetName()], label.GetValue()) {
					t.Errorf("%s has %s=%q", family.GetName(), label.GetName(), label.GetValue())
				}
			}
			counted[family.GetName()] += metric.GetCounter().GetValue()
		}
	}
	// Five callers make five calls each.
	if n := counted["kausality_cri_calls_total"]; n != 25 {
		t.Errorf("%v calls are counted", n)
	}
	// Both Pods were shown a container, and not that of the other.
	if n := counted["kausality_cri_held_back_total"]; n != 2 {
		t.Errorf("%v elements are counted as held back", n)
	}
}

// Who watches is told when rules end a stream, and of connections that are refused.
func TestMetricsOfWhatEnds(t *testing.T) {
	s := newStand(t, ownOnly, func(o *Options) { o.Limits.ConnectionsPerContainer = 1 })
	stream, err := s.client("a").GetContainerEvents(t.Context(), &runtimeapi.GetEventsRequest{})
	if err == nil {
		_, err = stream.Header()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.exec("a", inA); err == nil {
		t.Error("a second connection is open")
	}
	s.Use(mustParse(t, "rules: []"))
	if _, err := stream.Recv(); err == nil {
		t.Error("the stream goes on")
	}
	s.Stop()
	families, err := s.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			got[family.GetName()] += metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
		}
	}
	if got["kausality_cri_ended_streams_total"] != 1 || got["kausality_cri_refused_connections_total"] < 1 || got["kausality_cri_connections"] != 0 {
		t.Errorf("%v", got)
	}
}
