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
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	holdercontroller "kausality.io/operator/internal/controller/holder"
	"kausality.io/operator/test/bench/profiles"
	"kausality.io/operator/test/bench/usage"
	"kausality.io/operator/test/campaign/soak/vitals"
	"kausality.io/operator/test/controlplane"
)

const (
	// calm is what share of a processor an operator uses that has nothing left to do.
	calm = 0.1
	// calmFor is how long it has to be calm.
	calmFor = 3 * time.Second
	// calmTimeout bounds the wait for that.
	calmTimeout = 3 * time.Minute
)

// measurement is what one number of holders costs.
type measurement struct {
	// Operator is the executable.
	Operator string `json:"operator"`
	Holders  int    `json:"holders"`
	// List is how long the API server takes to list them and their records.
	List listing `json:"list"`
	// Ready is how long the operator takes to be ready after its start, and Calm until
	// it has looked at all holders, in seconds.
	Ready float64 `json:"ready"`
	Calm  float64 `json:"calm"`
	// Peaks are how much memory was resident at most until the operator was ready, until
	// it was calm, and until it was calm again after a policy had changed, in MiB.
	PeakReady float64 `json:"peakReady"`
	PeakCalm  float64 `json:"peakCalm"`
	Peak      float64 `json:"peak"`
	// Heap is what Go has allocated after a garbage collection, in MiB.
	Heap float64 `json:"heap"`
	// Busy is how long processors have worked for the operator, in seconds.
	Busy       float64 `json:"busy"`
	Goroutines int     `json:"goroutines"`
}

// measure starts an operator, and ends it, while it takes profiles where they are asked
// for.
func (s *stage) measure(ctx context.Context, binary string) (m measurement, err error) {
	m.Operator, m.Holders = binary, s.made
	if err := s.choose(binary); err != nil {
		return m, err
	}
	if m.List, err = s.listAll(ctx); err != nil {
		return m, err
	}
	group, ctx := errgroup.WithContext(ctx)
	done := make(chan struct{})
	group.Go(func() error {
		defer close(done)
		return s.run(ctx, &m)
	})
	if *folder != "" {
		group.Go(func() error { return s.profileUntil(ctx, m.name(), done) })
	}
	err = group.Wait()
	return m, errors.Join(err, s.cp.Shutdown(controlplane.DefaultOperatorName))
}

// run runs the operator.
func (s *stage) run(ctx context.Context, m *measurement) error {
	var err error
	if err := s.giveSign(ctx); err != nil {
		return err
	}
	began := time.Now()
	if err := s.cp.Restart(ctx, controlplane.DefaultOperatorName); err != nil {
		return err
	}
	m.Ready = time.Since(began).Seconds()
	fmt.Fprintf(os.Stderr, "listed in %.2f s, streamed in %.2f s, ready in %.2f s\n", m.List.Pages, m.List.Stream, m.Ready)
	if m.PeakReady, err = usage.Peak(s.cp, controlplane.DefaultOperatorName); err != nil {
		return err
	}
	calm, err := s.untilCalm(ctx)
	if err != nil {
		return err
	}
	m.Calm = calm.Sub(began).Seconds()
	if m.PeakCalm, err = usage.Peak(s.cp, controlplane.DefaultOperatorName); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "calm in %.2f s, with a peak of %.0f MiB, and %.0f MiB until it was ready\n", m.Calm, m.PeakCalm, m.PeakReady)
	if err := s.changePolicy(ctx); err != nil {
		return err
	}
	if _, err = s.untilCalm(ctx); err != nil {
		return err
	}
	if m.Peak, err = usage.Peak(s.cp, controlplane.DefaultOperatorName); err != nil {
		return err
	}
	if m.Busy, err = usage.Busy(s.cp, controlplane.DefaultOperatorName); err != nil {
		return err
	}
	return s.lookInside(ctx, m)
}

// profileUntil takes processor profiles, one after the other, until done is closed.
func (s *stage) profileUntil(ctx context.Context, name string, done <-chan struct{}) error {
	const seconds, patience = 5, 10 * time.Second
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		_, err := profiles.Fetch(ctx, s.pprof, "cmdline")
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until the operator can be profiled: %w", err)
	}
	for i := 0; ; i++ {
		select {
		case <-done:
			return nil
		default:
		}
		what := fmt.Sprintf("%s-%d", name, i)
		if err := profiles.Processor(ctx, s.cp.AdminConfig(), s.pprof, *folder, what, seconds); err != nil {
			return err
		}
	}
}

// giveSign gives a sign of life in the place of the operator, which was away while the
// holders were made: it is to find them as if it had not been.
func (s *stage) giveSign(ctx context.Context) error {
	lease := &coordinationv1.Lease{}
	err := s.admin.Get(ctx, client.ObjectKey{Namespace: controlplane.OperatorNamespace, Name: holdercontroller.SignOfLifeName}, lease)
	if err != nil {
		return err
	}
	before := lease.DeepCopy()
	lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now().Add(time.Second)}
	return s.admin.Patch(ctx, lease, client.MergeFrom(before))
}

// untilCalm returns since when the operator has nothing left to do.
func (s *stage) untilCalm(ctx context.Context) (since time.Time, err error) {
	const interval = time.Second
	last := -1.0
	err = wait.PollUntilContextTimeout(ctx, interval, calmTimeout, true, func(context.Context) (bool, error) {
		busy, err := usage.Busy(s.cp, controlplane.DefaultOperatorName)
		if err != nil {
			return false, err
		}
		if last < 0 || busy-last > calm*interval.Seconds() {
			since = time.Now()
		}
		last = busy
		return time.Since(since) > calmFor, nil
	})
	if err != nil {
		return since, fmt.Errorf("waiting until the operator has nothing left to do: %w", err)
	}
	return since, nil
}

// changePolicy changes something that makes the operator look at all open holders again.
func (s *stage) changePolicy(ctx context.Context) error {
	policy := &v1alpha1.AllowancePolicy{}
	if err := s.admin.Get(ctx, client.ObjectKey{Name: "bench"}, policy); err != nil {
		return err
	}
	before := policy.DeepCopy()
	policy.Spec.Consumption.TTL.Duration -= time.Hour
	return s.admin.Patch(ctx, policy, client.MergeFrom(before))
}

// lookInside asks the operator what its memory is used for.
func (s *stage) lookInside(ctx context.Context, m *measurement) error {
	heap, err := profiles.Fetch(ctx, s.pprof, "heap?gc=1&debug=1")
	if err != nil {
		return err
	}
	bytes, err := vitals.Heap(heap)
	if err != nil {
		return err
	}
	m.Heap = bytes / (1 << 20)
	raw, err := profiles.Fetch(ctx, s.pprof, "goroutine?debug=1")
	if err != nil {
		return err
	}
	goroutines, err := vitals.Goroutines(raw)
	if err != nil {
		return err
	}
	m.Goroutines = int(goroutines)
	if *folder == "" {
		return nil
	}
	raw, err = profiles.Fetch(ctx, s.pprof, "heap?gc=1")
	if err != nil {
		return err
	}
	return profiles.Keep(*folder, "heap-"+m.name(), raw)
}

// name names the files of a measurement.
func (m measurement) name() string {
	return fmt.Sprintf("%s-%d", filepath.Base(m.Operator), m.Holders)
}

func header() string {
	return fmt.Sprintf("%8s %8s %8s %8s %8s %10s %10s %10s %8s %8s %10s  %s\n",
		"holders", "list", "stream", "ready", "calm", "peak ready", "peak calm", "peak", "heap", "busy", "goroutines", "operator")
}

func (m measurement) row() string {
	return fmt.Sprintf("%8d %8.2f %8.2f %8.2f %8.2f %10.0f %10.0f %10.0f %8.1f %8.2f %10d  %s\n",
		m.Holders, m.List.Pages, m.List.Stream, m.Ready, m.Calm, m.PeakReady, m.PeakCalm, m.Peak, m.Heap, m.Busy, m.Goroutines, m.Operator)
}

const footer = "Times in seconds, memory in MiB; peaks of what is resident: until ready, until nothing is left to do, and after a change of the policy."
