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
	"bytes"
	"context"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/kubernetes"

	"kausality.io/operator/test/controlplane"
)

// asked is the API server's own count of calls of webhooks.
const asked = "apiserver_admission_webhook_admission_duration_seconds"

// witness counts what the operator does for requests: from the audit log, and from what
// the API server says of its webhooks.
type witness struct {
	*stage
	offset   int64
	before   float64
	calls    map[string]int
	asked    float64
	requests int
}

func newWitness(s *stage) *witness { return &witness{stage: s, calls: map[string]int{}} }

func (w *witness) start(ctx context.Context) error {
	_, offset, err := controlplane.ReadAuditFrom(w.cp.AuditLog(), w.offset)
	if err != nil {
		return err
	}
	w.offset = offset
	w.before, err = w.askedSoFar(ctx)
	return err
}

func (w *witness) stop(ctx context.Context, requests int) error {
	now, err := w.askedSoFar(ctx)
	if err != nil {
		return err
	}
	events, offset, err := controlplane.ReadAuditFrom(w.cp.AuditLog(), w.offset)
	if err != nil {
		return err
	}
	w.offset = offset
	for i := range events {
		e := &events[i]
		if e.ObjectRef != nil && strings.HasSuffix(e.User.Username, ":"+controlplane.OperatorServiceAccount) && e.ObjectRef.Resource != "leases" {
			w.calls[e.Verb+" "+e.ObjectRef.Resource]++
		}
	}
	w.requests += requests
	w.asked += now - w.before
	return nil
}

func (w *witness) perRequest() (calls map[string]float64, asked float64) {
	calls = map[string]float64{}
	for call, n := range w.calls {
		calls[call] = float64(n) / float64(w.requests)
	}
	return calls, w.asked / float64(w.requests)
}

// askedSoFar is how often the API server has called a webhook of Kausality for
// objects.
func (w *witness) askedSoFar(ctx context.Context) (float64, error) {
	clients, err := kubernetes.NewForConfig(w.cp.AdminConfig())
	if err != nil {
		return 0, err
	}
	raw, err := clients.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(raw))
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, metric := range families[asked].GetMetric() {
		for _, label := range metric.GetLabel() {
			if label.GetName() == "name" && strings.Contains(label.GetValue(), "kausality") {
				sum += float64(metric.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum, nil
}
