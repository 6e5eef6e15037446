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

// Package runner puts bad input into every field and annotation that Kausality reads,
// through an API server that asks an operator, and judges the answers: an error that
// says what to do, soon, and never a crash.
package runner

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"kausality.io/operator/test/campaign/badinput/inputs"
)

// Runner says what to try, and where.
type Runner struct {
	// Admin reaches the API server with all rights, those to be somebody else included.
	Admin *rest.Config
	// Namespace is where objects are put. The sample policies are in effect there.
	Namespace string
	// Group is an API group that nobody else uses. Kinds are defined in it.
	Group string
	// Operator is the user name of the operator.
	Operator string
	// Seed determines what is tried, and in which order.
	Seed uint64
	// Least is how many changes are tried of each subject at least. If it is zero, each of
	// its fields has its turn once.
	Least int
	// Items is how many items long lists in policies and records have.
	Items int
	// Until is when no more are tried, Least apart.
	Until time.Time
}

// Report is what came of it.
type Report struct {
	// Requests are how many were made, Accepted and Refused what came of them.
	Requests, Accepted, Refused int
	// Longest is what took longest, and for how long.
	Longest  string
	Duration time.Duration
	// Findings are the answers that should not be.
	Findings []string

	mu sync.Mutex
}

// add notes the answer to a request.
func (r *Report) add(what string, a answer, faults ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Requests++
	if a.accepted() {
		r.Accepted++
	} else {
		r.Refused++
	}
	if a.took > r.Duration {
		r.Duration, r.Longest = a.took, what
	}
	for _, fault := range faults {
		if fault != "" {
			r.Findings = append(r.Findings, what+": "+fault)
		}
	}
}

// subject is something that bad input is put into.
type subject struct {
	name   string
	fields []inputs.Field
	values []inputs.Value
	// try changes it, and looks at what came of that.
	try func(ctx context.Context, n int, c inputs.Change) error
}

// Run tries. An error says why it could not go on; what is wrong with the answers is in the
// report. What it makes in the namespace it leaves.
func (r *Runner) Run(ctx context.Context) (_ *Report, err error) {
	s, err := r.set(ctx)
	if err != nil {
		return &Report{}, err
	}
	defer func() {
		if removeErr := s.remove(context.WithoutCancel(ctx)); err == nil {
			err = removeErr
		}
	}()
	subjects, err := s.subjects(ctx)
	if err != nil {
		return &s.report, err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for _, each := range subjects {
		group.Go(func() error { return r.play(groupCtx, each) })
	}
	if err := group.Wait(); err != nil {
		return &s.report, err
	}
	if err := s.sound(ctx); err != nil {
		return &s.report, fmt.Errorf("after all that: %w", err)
	}
	return &s.report, nil
}

// play tries what the plan has for one subject.
func (r *Runner) play(ctx context.Context, s subject) error {
	least := r.Least
	if least == 0 {
		least = len(s.fields)
	}
	for n, change := range inputs.Plan(r.Seed, s.name, s.fields, s.values) {
		if n >= least && !time.Now().Before(r.Until) {
			return nil
		}
		if err := s.try(ctx, n, change); err != nil {
			return fmt.Errorf("%s, %s: %w", s.name, change, err)
		}
	}
	return nil
}
