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

// Command faults breaks things while Deployments roll, and finds out whether Kausality
// kept its promises meanwhile. What happens is a function of the seed; the judge, package
// checker, knows nothing but the audit log and what is there at the end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/campaign/faults/plan"
)

var (
	seed        = flag.Uint64("seed", 1, "of what happens, and when")
	policy      = flag.String("failure-policy", "", "Fail or Ignore, of the policies; one after the other by default")
	deployments = flag.Int("deployments", 200, "how many Deployments roll")
	rounds      = flag.Int("rounds", 4, "after how many parts all work has to be done; the first half with one operator, then two")
	length      = flag.Duration("length", 40*time.Second, "for how long people act in a round")
	plant       = flag.Bool("plant", false, "break promises on purpose, and fail where the checker does not find it")
	root        = flag.String("root", ".", "the root of the repository")
	keep        = flag.String("keep", "", "a folder for the logs; they go by default")
	binary      = flag.String("operator", filepath.Join("bin", "shifted", "manager"), "the operator's executable, whose clock is set")
	judge       = flag.String("judge", "", "judge again what a campaign has left in the folder that it kept")
)

func main() {
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

func run() error {
	if *judge != "" {
		return judgeAgain(*judge)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	size := plan.Size{Deployments: *deployments, Rounds: *rounds, Length: *length}
	var errs []error
	for _, failure := range []v1alpha1.FailurePolicy{v1alpha1.FailurePolicyFail, v1alpha1.FailurePolicyIgnore} {
		if *policy != "" && *policy != string(failure) {
			continue
		}
		if err := campaign(ctx, plan.Make(*seed, size), failure); err != nil {
			errs = append(errs, fmt.Errorf("failurePolicy %s: %w", failure, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w\nagain with -seed=%d -deployments=%d -rounds=%d -length=%s", err, *seed, *deployments, *rounds, *length)
	}
	return nil
}

// campaign returns one plan under policies that fail the same way.
func campaign(ctx context.Context, p plan.Plan, failure v1alpha1.FailurePolicy) (err error) {
	began := time.Now()
	sayf("seed %d, failurePolicy %s, %d Deployments, %d rounds", p.Seed, failure, *deployments, len(p.Rounds))
	s, err := set(ctx, failure)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.furnish(ctx); err != nil {
		return fmt.Errorf("making what is to roll: %w", err)
	}
	if err := s.playAll(ctx, p); err != nil {
		// What was found up to then is told as well.
		evidence, collectErr := s.collect(ctx)
		if collectErr == nil {
			collectErr = s.judge(evidence)
		}
		return errors.Join(err, collectErr)
	}
	if *plant {
		if err := s.plant(ctx); err != nil {
			return fmt.Errorf("breaking promises: %w", err)
		}
	}
	evidence, err := s.collect(ctx)
	if err != nil {
		return err
	}
	sayf("took %s; judging", time.Since(began).Round(time.Second))
	return s.judge(evidence)
}

func (s *stage) playAll(ctx context.Context, p plan.Plan) error {
	for i := range p.Rounds {
		if err := s.play(ctx, i, &p.Rounds[i]); err != nil {
			return fmt.Errorf("round %d: %w", i+1, err)
		}
	}
	return nil
}

// sayf tells what goes on.
func sayf(format string, args ...any) {
	fmt.Printf(time.Now().Format("15:04:05 ")+format+"\n", args...)
}
