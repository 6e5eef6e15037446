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
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"kausality.io/operator/test/bench/metrics"
	"kausality.io/operator/test/bench/mirror"
	"kausality.io/operator/test/controlplane"
)

// calmFor is for how long nothing is written once all work is done. Records may be behind
// for two seconds.
const calmFor = 3 * time.Second

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
	// operator are its verdicts. The kinds have one policy each, so that each counts once.
	operator mirror.Said
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
	operator, err := w.operator.Scrape(ctx)
	if err != nil {
		return out, err
	}
	out.asked = server.Asked(".kausality.io")
	out.operator, err = mirror.Read(operator)
	return out, err
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
	since := now.operator.Since(w.before.operator)
	out.Decisions, out.lag = since.Decisions, since.Lag
	return out, nil
}

// controllers is what the names of the controllers of the controller-manager begin with:
// each has a service account, and nobody else has one there.
const controllers = "system:serviceaccount:kube-system:"

// isController reports whether a user is the controller-manager, or one of its controllers.
func isController(user string) bool {
	return user == "system:kube-controller-manager" || strings.HasPrefix(user, controllers)
}
