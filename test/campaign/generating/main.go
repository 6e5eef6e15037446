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

// Command generating changes GeneratingPolicies, triggers, sources and what was made of them at random,
// while the operator is killed and rights are taken. Now and then it waits until all is quiet, and
// compares what is there with what package model says is to be there. In the end package checker judges
// what was written.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"kausality.io/operator/test/controlplane"
)

var (
	seeds   = flag.String("seed", "1", "of what is done, one campaign for each; 0 for any, which is told")
	acts    = flag.Int("acts", 120, "how many things are done in each")
	every   = flag.Int("rest", 20, "after how many acts all has to be quiet, and as it should be")
	fault   = flag.String("plant", "", "a fault to plant halfway, and to find: remake, restless, uncaused, foreign or lost")
	root    = flag.String("root", ".", "the root of the repository")
	keep    = flag.String("keep", "", "a folder for the logs, one in it for each seed; they go by default")
	binary  = flag.String("operator", "", "the operator's executable, bin/manager by default")
	telling = flag.Bool("v", false, "tell each act")
)

func main() {
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generating:", err)
		os.Exit(1)
	}
}

func run() error {
	if _, known := faults[*fault]; *fault != "" && !known {
		return fmt.Errorf("-plant=%s: there are %s", *fault, strings.Join(slices.Sorted(maps.Keys(faults)), ", "))
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	var errs []error
	for text := range strings.SplitSeq(*seeds, ",") {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return fmt.Errorf("-seed: %w", err)
		}
		if seed == 0 {
			seed = 1 + uint64(rand.Uint32())
		}
		if err := campaign(ctx, seed); err != nil {
			errs = append(errs, fmt.Errorf("%w\nagain with -seed=%d -acts=%d -rest=%d", err, seed, *acts, *every))
		}
	}
	return errors.Join(errs...)
}

// campaign plays one plan, and judges it.
func campaign(ctx context.Context, seed uint64) (err error) {
	began := time.Now()
	sayf("seed %d, %d acts", seed, *acts)
	s, err := set(ctx, seed)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.cp.Stop()) }()
	playErr := s.play(ctx, *acts)
	report, err := s.judge()
	if err != nil {
		return errors.Join(playErr, err)
	}
	sayf("took %s: %s", time.Since(began).Round(time.Second), s.tally())
	sayf("%d writes of the account were judged, %d of them deletions", report.Writes, report.Deletes)
	for _, f := range report.Findings {
		sayf("FOUND %s", f)
	}
	if *fault != "" {
		return s.verdictOnPlant(playErr, report)
	}
	if len(report.Findings) > 0 {
		err = fmt.Errorf("%d promises are not kept; the first: %s", len(report.Findings), report.Findings[0])
	}
	if report.Writes == 0 {
		err = errors.Join(err, errors.New("nothing was written that could be judged"))
	}
	return errors.Join(playErr, err, controlplane.CrashIn(s.operator.Log()))
}

// sayf tells what goes on.
func sayf(format string, args ...any) {
	fmt.Printf(time.Now().Format("15:04:05.000 ")+format+"\n", args...)
}
