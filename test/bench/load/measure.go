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
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/test/bench/profiles"
	"kausality.io/operator/test/bench/stats"
)

// many is how much more requests many clients make in a block than one does.
const many = 4

// sample is what was measured in one world.
type sample struct {
	// Latencies of each block, in milliseconds.
	Latencies []stats.Block
	// Rates are requests a second, one for each block.
	Rates []stats.Block
}

// result is what was measured of a scenario.
type result struct {
	Scenario string
	Clients  int
	Worlds   map[world]*sample
	// Calls is how many API calls the operator made for each request, by verb and
	// resource.
	Calls map[string]float64
	// Effort is what the requests cost in each world.
	Effort map[world]*effort
	// Mirror is what was decided, by all requests but those that warm up, and recorded.
	Mirror decided
}

// measure measures all scenarios, and reports them.
func measure(ctx context.Context) (err error) {
	s, err := set(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.cp.Stop()) }()
	var results []result
	fmt.Print(header())
	for _, sc := range scenarios {
		if *only != "" && *only != sc.name {
			continue
		}
		for _, n := range []int{1, *clients} {
			r, err := s.run(ctx, sc, n)
			if err != nil {
				return fmt.Errorf("%s: %w", sc.name, err)
			}
			fmt.Print(r.report())
			results = append(results, r)
		}
	}
	fmt.Println(footer)
	return stats.Save(*out, results)
}

// run measures one scenario with a number of clients.
func (s *stage) run(ctx context.Context, sc scenario, n int) (result, error) {
	r := result{Scenario: sc.name, Clients: n, Worlds: map[world]*sample{}}
	for _, w := range worlds {
		r.Worlds[w] = &sample{}
	}
	random := rand.New(rand.NewPCG(*seed, uint64(n)))
	seen, err := newWitness(s)
	if err != nil {
		return r, err
	}
	number := 0
	for block := -1; block < *blocks; block++ {
		if block == 0 {
			if err := errors.Join(s.writeAsMuch(ctx, sc), seen.begin(ctx)); err != nil {
				return r, err
			}
		}
		for _, i := range random.Perm(len(worlds)) {
			w := worlds[i]
			each := *requests
			if n > 1 {
				each = *requests * many / n
			}
			if err := seen.start(ctx, w); err != nil {
				return r, err
			}
			var took time.Duration
			var latencies stats.Block
			what := fmt.Sprintf("%s-%d-%s-%d", strings.ReplaceAll(sc.name, " ", "-"), n, w, block)
			err := profiles.During(ctx, s.cp.AdminConfig(), *pprof, *folder, what, profileSeconds, func(ctx context.Context) (err error) {
				took, latencies, err = s.block(ctx, sc, w, n, each, number)
				return err
			})
			if err != nil {
				return r, err
			}
			number += each
			if block < 0 {
				continue
			}
			if err := seen.stop(ctx, w, len(latencies)); err != nil {
				return r, err
			}
			// What is recorded of it later is nobody else's.
			if w == kausality {
				if err := seen.untilRecorded(ctx); err != nil {
					return r, err
				}
			}
			sample := r.Worlds[w]
			sample.Latencies = append(sample.Latencies, latencies)
			sample.Rates = append(sample.Rates, stats.Block{float64(len(latencies)) / took.Seconds()})
		}
		if err := s.clean(ctx, sc); err != nil {
			return r, err
		}
	}
	r.Calls, r.Effort = seen.callsPerRequest(), seen.worlds
	r.Mirror, err = seen.end(ctx)
	return r, err
}

// profileSeconds is how long a processor profile takes. Blocks that are shorter share it
// with what comes after.
const profileSeconds = 4

// block makes requests of n clients at once.
func (s *stage) block(ctx context.Context, sc scenario, w world, n, each, number int) (time.Duration, stats.Block, error) {
	c, err := s.as(sc.user)
	if err != nil {
		return 0, nil, err
	}
	latencies := make([]stats.Block, n)
	group, ctx := errgroup.WithContext(ctx)
	start := time.Now()
	for worker := range n {
		group.Go(func() error {
			for i := range each {
				began := time.Now()
				if err := sc.request(ctx, c, w, worker, 2+number+i); err != nil {
					return err
				}
				latencies[worker] = append(latencies[worker], float64(time.Since(began))/float64(time.Millisecond))
				if err := between(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err = group.Wait()
	took := time.Since(start)
	var all stats.Block
	for _, l := range latencies {
		all = append(all, l...)
	}
	return took, all, err
}

// between waits between two requests of a client, for what the one before leaves behind, such
// as watch events, not to be in the next one's way.
func between(ctx context.Context) error {
	if *pause == 0 {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(*pause):
		return nil
	}
}

// clean deletes what a scenario made, as somebody who may.
func (s *stage) clean(ctx context.Context, sc scenario) error {
	if !sc.creates {
		return nil
	}
	c, err := s.as(initiator)
	if err != nil {
		return err
	}
	for _, w := range worlds {
		children := c.Resource(w.children()).Namespace(namespace)
		list, err := children.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			if made(list.Items[i].GetName()) {
				if err := children.Delete(ctx, list.Items[i].GetName(), metav1.DeleteOptions{}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
