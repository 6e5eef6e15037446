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
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"kausality.io/operator/test/bench/metrics"
	"kausality.io/operator/test/controlplane"
)

// calmFor is for how long nothing is written once all work is done. Records may be behind
// for two seconds.
const calmFor = 3 * time.Second

// The operator's metrics that are read.
const (
	decisionsMetric = "kausality_admission_decisions_total"
	lagMetric       = "kausality_record_lag_seconds"
)

// witness tells what is written meanwhile, from the audit log, and what the API server
// and the operator say of it.
type witness struct {
	*stage
	offset int64
	seen   writes
	before said
}

// said are metrics.
type said struct {
	// asked are the API server's calls of the operator's webhooks.
	asked metrics.Histogram
	// decisions are the operator's verdicts, by outcome, reason and resource. A verdict is
	// about one request, which creates, updates or deletes an object that policies have a
	// say in, of their kind or of their children's; the kinds have one policy each, so that
	// it counts once.
	decisions map[string]float64
	lag       metrics.Histogram
}

// start begins a block.
func (w *witness) start(ctx context.Context) (err error) {
	w.seen = newWrites()
	w.before, err = w.soFar(ctx)
	return err
}

// soFar reads all metrics.
func (w *witness) soFar(ctx context.Context) (said, error) {
	var out said
	server, err := metrics.OfServer(ctx, w.server)
	if err != nil {
		return out, err
	}
	operator, err := w.scrapeOperator(ctx)
	if err != nil {
		return out, err
	}
	out.asked = server.Asked(".kausality.io")
	out.decisions = operator.Counters(decisionsMetric, "outcome", "reason", "resource")
	out.lag = operator.Histogram(lagMetric, metrics.Any)
	return out, nil
}

// untilCalm waits until nothing is written any more, and takes note of what was.
func (w *witness) untilCalm(ctx context.Context) error {
	since := time.Now()
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(context.Context) (bool, error) {
		events, offset, err := controlplane.ReadAuditFrom(w.cp.AuditLog(), w.offset)
		if err != nil {
			return false, err
		}
		w.offset = offset
		if w.seen.add(events) > 0 {
			since = time.Now()
		}
		return time.Since(since) > calmFor, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until nothing is written any more: %w", err)
	}
	return nil
}

// stop ends a block.
func (w *witness) stop(ctx context.Context, of world) (block, error) {
	if err := w.untilCalm(ctx); err != nil {
		return block{}, err
	}
	now, err := w.soFar(ctx)
	if err != nil {
		return block{}, err
	}
	out := w.seen.in(of)
	out.Asked = now.asked.Minus(w.before.asked).Count
	out.lag = now.lag.Minus(w.before.lag)
	if _, can := out.lag.Within[mostLag]; !can && out.lag.Count > 0 {
		return block{}, fmt.Errorf("%s has no bucket of %d s: the operator is of another version", lagMetric, mostLag)
	}
	out.Decisions = map[string]float64{}
	for what, n := range now.decisions {
		if more := n - w.before.decisions[what]; more > 0 {
			out.Decisions[what] = more
		}
	}
	return out, nil
}

// scrapeOperator reads what the operator says of itself.
func (s *stage) scrapeOperator(ctx context.Context) (metrics.Families, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.cp.MetricsURL(controlplane.DefaultOperatorName), http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	resp, err := s.operator.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // It is read to its end.
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the operator answers %s when asked for its metrics", resp.Status)
	}
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return metrics.Parse(raw)
}

// controllers is what the names of the controllers of the controller-manager begin with:
// each has a service account, and nobody else has one there.
const controllers = "system:serviceaccount:kube-system:"

// isController tells whether a user is the controller-manager, or one of its controllers.
func isController(user string) bool {
	return user == "system:kube-controller-manager" || strings.HasPrefix(user, controllers)
}
