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
	"sync"
	"time"

	"github.com/prometheus/procfs"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/bench/profiles"
	"kausality.io/operator/test/campaign/soak/plan"
	"kausality.io/operator/test/campaign/soak/vitals"
	"kausality.io/operator/test/controlplane"
)

const (
	namespace = "soak"
	// initiators are the group of those who may initiate under the sample policies.
	initiators = "platform-team"
	// everything is a group of those who may do all that RBAC knows of.
	everything = "system:masters"
	// poll is how often something is looked at that takes a while.
	poll = 250 * time.Millisecond
	// patience is for how long somebody tries what has to work.
	patience = 2 * time.Minute
)

// stage is the control plane with all that is in it.
type stage struct {
	cp *controlplane.ControlPlane
	// admin may do everything, alice may initiate as well, and mallory may not.
	admin, alice, mallory client.Client
	// keeper acts in the operator's name, who alone may delete records.
	keeper client.Client
	// pprof is where the operator serves its profiles.
	pprof string
	// operator is its process.
	operator int

	// offset is up to where the audit log was followed, and asked what the operator has asked for.
	offset int64
	asked  struct{ reads, writes int }

	mu    sync.Mutex
	count map[plan.Act]*outcome
}

// outcome is what came of what was done.
type outcome struct{ done, refused int }

var scheme = controlplane.NewScheme()

// set starts a control plane and an operator, and makes what is worked on.
func set(ctx context.Context) (_ *stage, err error) {
	s := &stage{count: map[plan.Act]*outcome{}}
	if *keep != "" {
		if err := os.MkdirAll(*keep, 0o700); err != nil {
			return nil, err
		}
	}
	s.cp, err = controlplane.Start(ctx, controlplane.Options{Dir: *keep, Progress: func(line string) { sayf("%s", line) }})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.cp.Stop())
		}
	}()
	for who, config := range map[*client.Client]*rest.Config{
		&s.admin: s.cp.AdminConfig(), &s.alice: s.cp.ConfigAs("alice", initiators, everything), &s.mallory: s.cp.ConfigAs("mallory", everything),
		&s.keeper: s.cp.ConfigAs(controlplane.OperatorUser, everything),
	} {
		config.WarningHandler = rest.NoWarnings{}
		if *who, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
			return nil, err
		}
	}
	if err := s.install(ctx); err != nil {
		return nil, err
	}
	if err := s.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return nil, err
	}
	if err := s.furnish(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// install starts the operator, which serves its profiles, and applies the sample policies.
func (s *stage) install(ctx context.Context) error {
	ports, err := controlplane.FreePorts(ctx, 1)
	if err != nil {
		return err
	}
	s.pprof = controlplane.HostPort(ports[0])
	_, err = controlplane.InstallOperator(ctx, s.cp, controlplane.OperatorOptions{
		Binary: filepath.Join(*root, "bin", "manager"), Overlay: filepath.Join(*root, "config", "dev"),
		ExtraFlags: []string{"--pprof-bind-address=" + s.pprof, "--leader-elect"},
	})
	if err != nil {
		return err
	}
	s.operator = s.process()
	samples, err := s.cp.Render(ctx, filepath.Join(*root, "config", "samples"))
	if err != nil {
		return err
	}
	return s.cp.Apply(ctx, samples)
}

// process returns the process of the operator.
func (s *stage) process() int {
	for _, m := range s.cp.Status() {
		if m.Name == controlplane.DefaultOperatorName {
			return m.PID
		}
	}
	return 0
}

// sample looks at the operator until the context ends.
func (s *stage) sample(ctx context.Context) ([]vitals.Sample, error) {
	var out []vitals.Sample
	began := time.Now()
	isWarm := false
	err := until(ctx, *every, func() error {
		now, err := s.look(ctx)
		if err != nil {
			return err
		}
		now.At = time.Since(began)
		if !isWarm && now.At >= warmUp() {
			if err := s.keepProfiles(ctx, "first"); err != nil {
				return err
			}
			isWarm = true
		}
		out = append(out, now)
		if len(out)%20 == 1 {
			sayf("  after %s: %.1f MiB of heap, %.1f MiB resident, %.0f goroutines",
				now.At.Round(time.Second), now.Heap/(1<<20), now.Resident/(1<<20), now.Goroutines)
		}
		return nil
	})
	return out, err
}

// look takes one sample.
func (s *stage) look(ctx context.Context) (vitals.Sample, error) {
	var out vitals.Sample
	heap, err := profiles.Fetch(ctx, s.pprof, "heap?gc=1&debug=1")
	if err != nil {
		return out, err
	}
	if out.Heap, err = vitals.Heap(heap); err != nil {
		return out, err
	}
	goroutines, err := profiles.Fetch(ctx, s.pprof, "goroutine?debug=1")
	if err != nil {
		return out, err
	}
	if out.Goroutines, err = vitals.Goroutines(goroutines); err != nil {
		return out, err
	}
	proc, err := procfs.NewProc(s.operator)
	if err != nil {
		return out, fmt.Errorf("the operator does not run any more: %w", err)
	}
	status, err := proc.NewStatus()
	out.Resident = float64(status.VmRSS)
	return out, err
}

// keepProfiles keeps the profiles of heap and goroutines, where there is a folder for them, so that
// what they grew by can be told.
func (s *stage) keepProfiles(ctx context.Context, when string) error {
	if *keep == "" {
		return nil
	}
	for name, query := range map[string]string{"heap": "heap?gc=1", "goroutines": "goroutine"} {
		profile, err := profiles.Fetch(ctx, s.pprof, query)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(*keep, name+"-"+when+".pprof"), profile, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// until does something again and again until the context ends. What fails because of that
// is no error.
func until(ctx context.Context, every time.Duration, do func() error) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := do(); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

// insist tries something until it works.
func insist(ctx context.Context, try func(context.Context) error) error {
	last := errors.New("never tried")
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		if err := try(ctx); err != nil {
			last = err
			return false, nil //nolint:nilerr // It is tried again.
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", err, last)
	}
	return nil
}
