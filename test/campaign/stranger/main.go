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

// Command stranger lets somebody who may write every kind, and controllers gone wrong, do at
// random what the API server lets them do, while others work, and has package checker judge
// what came of it.
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
	"strings"
	"syscall"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"kausality.io/operator/test/campaign/stranger/checker"
	"kausality.io/operator/test/campaign/stranger/plan"
	"kausality.io/operator/test/controlplane"
)

var (
	seed    = flag.Uint64("seed", 1, "of what is done, and to what; 0 for any, which is told")
	acts    = flag.Int("acts", 5000, "how many things are done")
	failure = flag.String("failure-policy", "Fail", "Fail or Ignore, of the policies")
	servers = flag.Int("api-servers", 1, "how many API servers there are: people ask each in turn, the built-in controllers the last one, and the operator the first")
	lanes   = flag.Int("lanes", 3, "how many act at the same time")
	root    = flag.String("root", ".", "the root of the repository")
	keep    = flag.String("keep", "", "a folder for the logs; they go by default")
	judge   = flag.String("judge", "", "judge again what a campaign has left in the folder that it kept")
	stories = flag.Int("stories", 3, "how many findings of a kind are told with what went before")
	binary  = flag.String("operator", "", "the operator's executable, bin/manager by default")
	setup   = flag.String("setup", "", "the kustomization with what the operator needs in the cluster, config/dev by default")
	shrink  = flag.Int("shrink", 0, "how often what was found first is played again with fewer acts, to tell which it takes")
	last    = flag.Bool("rest", true, "see in the end whether anything is held back that somebody who may has asked for")
	lapses  = flag.Int("lapses", 0, "how many times what has the API server ask the operator is taken away")
	hunt    = flag.Bool("until-found", false, "judge now and then, and end as soon as something is found")
)

func main() {
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "stranger:", err)
		os.Exit(1)
	}
}

func run() error {
	if *judge != "" {
		return judgeAgain(*judge)
	}
	if *seed == 0 {
		*seed = 1 + uint64(rand.Uint32())
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := campaign(ctx); err != nil {
		return fmt.Errorf("%w\nagain with -seed=%d -acts=%d -failure-policy=%s", err, *seed, *acts, *failure)
	}
	return nil
}

// campaign plays one plan, and judges it.
func campaign(ctx context.Context) (err error) {
	began := time.Now()
	sayf("seed %d, %d acts, failurePolicy %s", *seed, *acts, *failure)
	s, err := set(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.cp.Stop()) }()
	for _, one := range []*stage{s, s.elsewhere} {
		if err := one.furnish(ctx); err != nil {
			return fmt.Errorf("making what strangers work on in %s: %w", one.namespace, err)
		}
	}
	r, err := s.enact(ctx, plan.WithLapses(plan.Make(*seed, *acts), *lapses))
	if err != nil {
		return err
	}
	sayf("acted and judged for %s", time.Since(began).Round(time.Second))
	if len(r.Findings) > 0 {
		sayf("found after %d acts", s.before(r.Findings[0].At))
	}
	if len(r.Findings) > 0 && *shrink > 0 {
		if err := s.shrink(ctx, r.Findings[0]); err != nil {
			return err
		}
	}
	// What was found is told before anything else can fail.
	verdict := report(r)
	var held error
	if *last && (len(r.Findings) == 0 || !*hunt) {
		var rested *checker.Report
		if rested, held = s.rest(ctx); rested != nil {
			verdict = report(withAll(rested, r.Findings))
		}
	}
	return errors.Join(verdict, held, controlplane.CrashIn(s.operator.Log()))
}

// withAll adds to a report what had been found before and is not in it: what is known later does not make it unsaid.
func withAll(r *checker.Report, before []checker.Finding) *checker.Report {
	for _, f := range before {
		if !slices.ContainsFunc(r.Findings, func(other checker.Finding) bool { return other.String() == f.String() }) {
			r.Findings = append(r.Findings, f)
		}
	}
	slices.SortStableFunc(r.Findings, func(a, b checker.Finding) int { return a.At.Compare(b.At) })
	return r
}

// stretch is how many acts there are from one judgement to the next, where one is to end with
// the first finding.
const stretch = 200

// enact plays all acts, or those up to a finding, and judges.
func (s *stage) enact(ctx context.Context, all []plan.Act) (*checker.Report, error) {
	for {
		n := len(all)
		if *hunt {
			n = min(n, stretch)
		}
		if err := s.play(ctx, all[:n]); err != nil {
			return nil, err
		}
		all = all[n:]
		evidence, err := s.collect(ctx)
		if err != nil {
			return nil, err
		}
		r, err := checker.Check(evidence)
		if err != nil || len(r.Findings) > 0 || len(all) == 0 {
			return r, err
		}
	}
}

// mostKnown is how often a campaign may have what is known and not stopped: it was five times in 5,000 acts.
const mostKnown = 15

// leastJudged is how many acts a campaign has at least that has to have refusals which can be judged.
const leastJudged = 500

// report prints what was found.
func report(r *checker.Report) error {
	sayf("changes of children: %s", tally(r.Children))
	sayf("%d versions of children had a stranger's value, %d traces were read, %d messages, %d refusals were judged, %d more were of what the operator could not judge, %d children went in a collection", r.Contents, r.Entries, r.Messages, r.Denials, r.Unjudged, r.Vanished)
	sayf("known and not stopped: %s", tally(r.Known))
	if changes := total(r.Children); changes == 0 || r.Entries == 0 {
		return fmt.Errorf("nothing was there to judge: %d changes of children, %d traces", changes, r.Entries)
	}
	if r.Denials == 0 && *acts >= leastJudged {
		return errors.New("no refusal was judged")
	}
	counts := map[string]int{}
	for _, f := range r.Findings {
		counts[string(f.Promise)]++
		if counts[string(f.Promise)] > *stories {
			continue
		}
		sayf("FOUND %s", f)
		if f.Parent != "" {
			sayf("  below %s", f.Parent)
		}
		for _, line := range f.Story {
			fmt.Println("    " + line)
		}
	}
	if moments := r.Known[checker.Moment]; moments > mostKnown {
		return fmt.Errorf("%d times it was %s, which is too often", moments, checker.Moment)
	}
	if len(r.Findings) > 0 {
		return fmt.Errorf("%d promises are not kept: %s; the first: %s", len(r.Findings), tally(counts), r.Findings[0])
	}
	return nil
}

func total(counts map[string]int) int {
	n := 0
	for _, count := range counts {
		n += count
	}
	return n
}

func tally(counts map[string]int) string {
	var out []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprintf("%d %s", counts[what], what))
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

// sayf tells what goes on.
func sayf(format string, args ...any) {
	fmt.Printf(time.Now().Format("15:04:05 ")+format+"\n", args...)
}
