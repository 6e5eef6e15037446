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
	"time"

	"github.com/prometheus/procfs"
	"k8s.io/apimachinery/pkg/util/wait"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kausality.io/operator/test/campaign/operators"
	"kausality.io/operator/test/controlplane"
)

// calmFor is for how long the operator writes nothing once it is done.
const calmFor = 5 * time.Second

// cost is what the operator asked the API server for in a while, its lease apart, and what
// processor time it took.
type cost struct {
	took          time.Duration
	reads, writes int
	busy          float64
}

// costs tell what it costs that nothing happens, that the operator is started again, and that
// somebody else had its lease.
func (s *stage) costs(ctx context.Context) error {
	if err := s.untilCalm(ctx); err != nil {
		return err
	}
	nothing, err := s.costOf(ctx, func() error { return pause(ctx, *idle) })
	if err != nil {
		return err
	}
	each := float64(time.Hour) / float64(nothing.took)
	sayf("an hour of nothing costs %.0f reads, %.0f writes and %.1fs of processor time, as %s of it did",
		float64(nothing.reads)*each, float64(nothing.writes)*each, nothing.busy*each, nothing.took.Round(time.Second))
	for _, what := range []struct {
		name string
		do   func() error
	}{
		{"a restart", func() error { return s.cp.Restart(ctx, controlplane.DefaultOperatorName) }},
		{"a crash", func() error {
			if err := s.cp.Kill(controlplane.DefaultOperatorName); err != nil {
				return err
			}
			return s.cp.Restart(ctx, controlplane.DefaultOperatorName)
		}},
		{"a change of the leader", func() error { return s.depose(ctx) }},
	} {
		var ready time.Duration
		c, err := s.costOf(ctx, func() error {
			began := time.Now()
			if err := what.do(); err != nil {
				return err
			}
			ready = time.Since(began)
			return s.untilCalm(ctx)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", what.name, err)
		}
		sayf("%s costs %d reads, %d writes and %.1fs of processor time; it is ready again after %s, and writes nothing more after %s",
			what.name, c.reads, c.writes, c.busy, ready.Round(100*time.Millisecond), (c.took - calmFor).Round(100*time.Millisecond))
	}
	return nil
}

// depose gives the lease to somebody else, and returns when an operator has it again. Who loses
// it ends, and is started again, as a kubelet would.
func (s *stage) depose(ctx context.Context) error {
	if err := insist(ctx, func(ctx context.Context) error { return operators.Depose(ctx, s.admin) }); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		for _, m := range s.cp.Status() {
			if m.Name == controlplane.DefaultOperatorName && !m.Running {
				return false, s.cp.Restart(ctx, m.Name)
			}
		}
		return operators.Led(ctx, s.admin), nil
	})
}

// costOf returns what it costs to do something.
func (s *stage) costOf(ctx context.Context, do func() error) (cost, error) {
	if _, err := s.follow(); err != nil {
		return cost{}, err
	}
	asked := s.asked
	began, process := time.Now(), s.process()
	before, err := busy(process)
	if err != nil {
		return cost{}, err
	}
	if err := do(); err != nil {
		return cost{}, err
	}
	c := cost{took: time.Since(began)}
	now := s.process()
	if c.busy, err = busy(now); err != nil {
		return c, err
	}
	if now == process {
		c.busy -= before
	}
	_, err = s.follow()
	c.reads, c.writes = s.asked.reads-asked.reads, s.asked.writes-asked.writes
	return c, errors.Join(err, ctx.Err())
}

// follow counts what the operator has asked for since it was followed before, and returns how many
// writes that were.
func (s *stage) follow() (int, error) {
	events, offset, err := controlplane.ReadAuditFrom(s.cp.AuditLog(), s.offset)
	if err != nil {
		return 0, err
	}
	s.offset = offset
	events = events.Where(controlplane.ByUser(controlplane.OperatorUser), notALease)
	writes := len(events.Where(controlplane.Writes))
	s.asked.writes += writes
	s.asked.reads += len(events) - writes
	return writes, nil
}

func notALease(event *auditv1.Event) bool {
	return event.ObjectRef != nil && event.ObjectRef.Resource != "leases"
}

// busy returns the processor time of a process, in seconds.
func busy(process int) (float64, error) {
	proc, err := procfs.NewProc(process)
	if err != nil {
		return 0, err
	}
	stat, err := proc.Stat()
	return stat.CPUTime(), err
}

// untilCalm waits until the operator has written nothing for a while.
func (s *stage) untilCalm(ctx context.Context) error {
	since := time.Now()
	return wait.PollUntilContextTimeout(ctx, poll, patience, true, func(context.Context) (bool, error) {
		writes, err := s.follow()
		if writes > 0 {
			since = time.Now()
		}
		return time.Since(since) > calmFor, err
	})
}

// pause waits.
func pause(ctx context.Context, long time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(long):
		return nil
	}
}
