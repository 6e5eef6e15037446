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
	"os"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/bench/stats"
	"kausality.io/operator/test/controlplane"
)

const (
	// poll is how often is looked whether the policy is enforced.
	poll = 50 * time.Millisecond
	// logPoll is how often the audit log is read, which costs others processor time.
	logPoll = 2 * time.Second
)

// measurement is what was seen of the objects of one age, with times since the creation
// of the policy.
type measurement struct {
	Age     string  `json:"age"`
	Targets int     `json:"targets"`
	Rate    float64 `json:"rate"`
	// Enforced is when the policy said of itself that it is.
	Enforced time.Duration `json:"enforced"`
	// Marks are when the operator wrote objects, by when the API server was asked.
	Marks timeline `json:"marks"`
	// Unmarked are how many objects did not show the policy at the end, and Again how
	// often one was written that had been written before.
	Unmarked int `json:"unmarked"`
	Again    int `json:"again"`
	// Quiet is how many objects were written in the end, when nothing happened.
	Quiet int `json:"quiet"`
	// Calls are all writes by the operator.
	Calls []call `json:"calls"`
}

// measure starts a control plane, and ends it.
func (a age) measure(ctx context.Context) (m measurement, err error) {
	s, err := set(ctx)
	if err != nil {
		return m, err
	}
	defer func() {
		if stopped := s.cp.Stop(); err == nil {
			err = stopped
		}
	}()
	if err := a.untilOld(ctx); err != nil {
		return m, err
	}
	_, offset, err := controlplane.ReadAuditFrom(s.cp.AuditLog(), 0)
	if err != nil {
		return m, err
	}
	w := newWitness(time.Now())
	policy := a.allowancePolicy()
	if err := s.admin.Create(ctx, policy); err != nil {
		return m, err
	}
	if err := s.untilEnforced(ctx, policy); err != nil {
		return m, err
	}
	m = measurement{Age: a.name, Targets: *count, Rate: *perSec, Enforced: time.Since(w.began)}
	fmt.Fprintln(os.Stderr, "enforced after", m.Enforced.Round(poll))

	read := func() error {
		events, next, err := controlplane.ReadAuditFrom(s.cp.AuditLog(), offset)
		w.see(events)
		offset = next
		return err
	}
	err = wait.PollUntilContextTimeout(ctx, logPoll, *patience, true, func(context.Context) (bool, error) {
		return len(w.marked) >= *count, read()
	})
	if err != nil {
		return m, fmt.Errorf("waiting until %d objects are marked, of which %d are: %w", *count, len(w.marked), err)
	}
	fmt.Fprintln(os.Stderr, "all objects are marked; looking for further writes for", *quiet)
	before := len(w.marks)
	// It ends by its timeout: nothing is waited for.
	err = wait.PollUntilContextTimeout(ctx, logPoll, *quiet, false, func(context.Context) (bool, error) { return false, read() })
	if !wait.Interrupted(err) || ctx.Err() != nil {
		return m, err
	}
	m.Marks, m.Again, m.Quiet, m.Calls = w.marks.sorted(), len(w.marks)-len(w.marked), len(w.marks)-before, w.calls()
	m.Unmarked, err = s.unmarked(ctx, policy.Name)
	return m, err
}

func (s *stage) untilEnforced(ctx context.Context, policy *v1alpha1.AllowancePolicy) error {
	err := wait.PollUntilContextTimeout(ctx, poll, *patience, true, func(ctx context.Context) (bool, error) {
		err := s.admin.Get(ctx, client.ObjectKeyFromObject(policy), policy)
		return apimeta.IsStatusConditionTrue(policy.Status.Conditions, v1alpha1.ConditionEnforced), err
	})
	if err != nil {
		return fmt.Errorf("waiting for the policy to be enforced: %w", err)
	}
	return nil
}

// report says what was measured, and whether it is as it should be.
func (m measurement) report() string {
	last, busiest := m.Marks.last(), m.Marks.busiest(time.Second)
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%d objects that are %s, at most %g a second", m.Targets, m.Age, m.Rate)
	line("  the policy is enforced after       %6.1f s", m.Enforced.Seconds())
	line("  the first object shows it after    %6.1f s", m.Marks.first().Seconds())
	line("  the last object shows it after     %6.1f s", last.Seconds())
	line("    counted from the policy          %s: %s", *target, stats.Judge(last <= *target))
	line("    counted from its enforcement     %s: %s (%.1f s)", *target, stats.Judge(last-m.Enforced <= *target), (last - m.Enforced).Seconds())
	line("  writes in the busiest second       %6d: %s", busiest, stats.Judge(float64(busiest) <= m.Rate))
	line("  objects that do not show it        %6d: %s", m.Unmarked, stats.Judge(m.Unmarked == 0))
	line("  objects written again              %6d: %s", m.Again, stats.Judge(m.Again == 0))
	line("  written when nothing happens       %6d: %s, for %s", m.Quiet, stats.Judge(m.Quiet == 0), *quiet)
	line("  writes of objects in each second   %s", strings.Join(m.Marks.perSecond(), " "))
	line("  all writes by the operator")
	for _, c := range m.Calls {
		line("    %-34s %6d, from %5.1f s to %5.1f s", c.What, c.Count, c.First.Seconds(), c.Last.Seconds())
	}
	return b.String()
}
