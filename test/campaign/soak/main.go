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

// Command soak lets people work for some time, steadily, and tells whether the operator
// takes more and more for it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"kausality.io/operator/test/campaign/soak/vitals"
)

var (
	seed        = flag.Uint64("seed", 1, "of what happens, and in which order")
	length      = flag.Duration("duration", 10*time.Minute, "for how long")
	warm        = flag.Duration("warm-up", 0, "after what time it counts; a fifth of the duration by default")
	every       = flag.Duration("every", 3*time.Second, "how often the operator is looked at")
	rate        = flag.Float64("rate", 5, "how many things happen in a second")
	idle        = flag.Duration("idle", time.Minute, "for how long nothing happens at the end, for what an hour of that costs")
	deployments = flag.Int("deployments", 20, "how many Deployments there are")
	bounds      = vitals.Bounds{}
	root        = flag.String("root", ".", "the root of the repository")
	keep        = flag.String("keep", "", "a folder for the logs; they go by default")
)

func init() {
	flag.Float64Var(&bounds.Heap, "heap", 4, "how many MiB the heap may grow by")
	flag.Float64Var(&bounds.Resident, "resident", 16, "how many MiB the resident memory may grow by")
	flag.Float64Var(&bounds.Goroutines, "goroutines", 5, "how many goroutines may be added")
}

func main() {
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "soak: %v\nagain with -seed=%d -duration=%s\n", err, *seed, *length)
		os.Exit(1)
	}
}

func run() (err error) {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	s, err := set(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.cp.Stop()) }()
	sayf("seed %d, %d Deployments, %g changes a second for %s", *seed, *deployments, *rate, *length)

	working, done := context.WithTimeout(ctx, *length)
	defer done()
	var samples []vitals.Sample
	group, groupCtx := errgroup.WithContext(working)
	group.Go(func() error { return s.work(groupCtx) })
	group.Go(func() error { return s.tidy(groupCtx) })
	group.Go(func() (err error) {
		samples, err = s.sample(groupCtx)
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	if err := s.keepProfiles(ctx, "last"); err != nil {
		return err
	}
	if err := s.finish(ctx); err != nil {
		return err
	}
	for _, line := range s.tally() {
		sayf("  %s", line)
	}
	return errors.Join(report(samples), s.costs(ctx))
}

// warmUp returns after what time it counts.
func warmUp() time.Duration {
	if *warm > 0 {
		return *warm
	}
	return *length / 5
}

// report tells how everything has grown once it had come to its size, and fails where that
// is too much.
func report(samples []vitals.Sample) error {
	samples = slices.DeleteFunc(samples, func(s vitals.Sample) bool { return s.At < warmUp() })
	growths, err := vitals.Judge(samples, bounds, *seed)
	if err != nil {
		return err
	}
	sayf("%d samples, the first %s after the beginning", len(samples), samples[0].At.Round(time.Second))
	for _, g := range growths {
		sayf("  %s", g)
		if g.TooMuch() {
			err = errors.Join(err, fmt.Errorf("too much growth of %s", g.What))
		}
	}
	return err
}

// sayf tells what goes on.
func sayf(format string, args ...any) {
	fmt.Printf(time.Now().Format("15:04:05 ")+format+"\n", args...)
}
