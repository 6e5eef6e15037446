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
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"kausality.io/operator/test/bench/metrics"
	"kausality.io/operator/test/bench/profiles"
	"kausality.io/operator/test/bench/stats"
)

// block is one roll of all Deployments of a world.
type block struct {
	// Seconds until all was done.
	Seconds float64
	// Writes are those of the controller-manager, until nothing is written any more.
	Writes float64
	// ByController are the same by controller, verb and resource; ByOperator are the
	// operator's own.
	ByController, ByOperator map[string]float64
	// Records are how many AllowanceRecords were written, RecordWrites how often.
	Records, RecordWrites float64
	// Forbidden and Conflicts are how many writes of anybody were refused.
	Forbidden, Conflicts float64
	// Asked is how often the API server called the operator's webhooks, and Decisions
	// how many verdicts it gave, by outcome, reason and
	// resource.
	Asked     float64
	Decisions map[string]float64
	// lag is how far the records were behind.
	lag metrics.Histogram
}

// measure rolls, block by block and in each in all worlds in random order, and reports.
func measure(ctx context.Context) (err error) {
	s, err := set(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.cp.Stop()) }()
	w := &witness{stage: s, seen: newWrites()}
	random := rand.New(rand.NewPCG(*seed, 0))
	r := result{Worlds: map[world][]block{}}
	for n := -1; n < *blocks && err == nil; n++ {
		err = w.round(ctx, n, random.Perm(len(worlds)), &r)
	}
	if len(r.Worlds) > 0 { // What was measured before something failed, or somebody lost patience, counts.
		fmt.Print(r.report())
		err = errors.Join(err, stats.Save(*out, r))
	}
	return err
}

// round measures a block in each world, and adds them to what was measured once all are
// there. Those with a negative number warm up.
func (w *witness) round(ctx context.Context, n int, order []int, r *result) error {
	all := map[world]block{}
	for _, i := range order {
		b, err := w.block(ctx, worlds[i], n)
		if err != nil {
			return fmt.Errorf("block %d %s: %w", n, worlds[i], err)
		}
		fmt.Fprintf(os.Stderr, "block %d, %s: %.2f s, %.0f writes\n", n, worlds[i], b.Seconds, b.Writes)
		all[worlds[i]] = b
	}
	if n < 0 {
		return nil
	}
	for of := range all {
		r.add(of, all[of])
	}
	return nil
}

// profileSeconds is how long a processor profile takes, most of a roll.
const profileSeconds = 15

// block rolls all Deployments of a world once. Nothing else is going on when it begins.
func (w *witness) block(ctx context.Context, of world, n int) (block, error) {
	if err := w.enter(ctx, of); err != nil {
		return block{}, err
	}
	if err := w.untilCalm(ctx); err != nil {
		return block{}, err
	}
	if err := w.start(ctx); err != nil {
		return block{}, err
	}
	var took time.Duration
	err := profiles.During(ctx, w.cp.AdminConfig(), *pprof, *folder, fmt.Sprintf("%s-%d", of, n), profileSeconds, func(ctx context.Context) (err error) {
		took, err = w.roll(ctx, of)
		return err
	})
	if err != nil {
		return block{}, err
	}
	b, err := w.stop(ctx, of)
	b.Seconds = took.Seconds()
	if err == nil && of != with && b.Asked > 0 {
		err = fmt.Errorf("the operator is asked %.0f times where nobody is to be asked", b.Asked)
	}
	return b, err
}
