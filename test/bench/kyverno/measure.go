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
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"kausality.io/operator/test/bench/profiles"
	"kausality.io/operator/test/bench/usage"
)

// kinds are the kinds that the policy makes.
var kinds = []schema.GroupVersionKind{
	{Version: "v1", Kind: "Secret"},
	{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	{Version: "v1", Kind: "LimitRange"},
}

// measurement is what was seen in a world. What it did not come to is zero.
type measurement struct {
	World      string `json:"world"`
	Namespaces int    `json:"namespaces"`
	// First is the first generation. Change is what follows a change of the source, of several changes the one with
	// the median time; Changes has the times of all, in seconds.
	First   phase     `json:"first"`
	Change  phase     `json:"change"`
	Changes []float64 `json:"changes"`
	// Peak is how much memory was resident at most until then, in MiB, of all processes together.
	Peak    float64 `json:"peak"`
	Restart restart `json:"restart"`
	// Bare is writing the clones alone, the median as above; of Kausality's only.
	Bare phase `json:"bare,omitzero"`
}

// phase is what something costs.
type phase struct {
	// Seconds is how long it takes, until the last object was written.
	Seconds float64 `json:"seconds"`
	// Requests counts what the controllers ask for until nothing is left to do, and By tells for what.
	Requests int            `json:"requests"`
	By       map[string]int `json:"by"`
	// Writes is how many of them changed a clone.
	Writes int `json:"writes"`
	// Busy is how long processors have worked for the controllers, in seconds.
	Busy float64 `json:"busy"`
}

// restart is what a start costs when there is nothing to do.
type restart struct {
	// Lists is how often was read what, all of it, and Writes how many requests changed anything.
	Lists  map[string]int `json:"lists"`
	Writes int            `json:"writes"`
	// Requests counts all of them, those that ended with the process as well.
	Requests int            `json:"requests"`
	By       map[string]int `json:"by"`
}

// measure starts a control plane, and ends it. What was measured is returned with an error as well.
func (w world) measure(ctx context.Context) (m *measurement, err error) {
	m = &measurement{World: w.name, Namespaces: *namespaces}
	s, err := w.set(ctx)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, s.cp.Stop()) }()
	if err := s.profiled(ctx, "first", func(ctx context.Context) error { m.First, err = s.firstGeneration(ctx); return err }); err != nil {
		return m, err
	}
	m.Change, m.Changes, err = medianOf(func(i int) (p phase, err error) {
		err = s.profiled(ctx, fmt.Sprintf("change-%d", i), func(ctx context.Context) error { p, err = s.change(ctx, i); return err })
		return p, err
	})
	if err != nil {
		return m, err
	}
	if m.Peak, err = usage.Peak(s.cp, s.processes...); err != nil {
		return m, err
	}
	if m.Restart, err = s.restart(ctx); err != nil || s.name != ours {
		return m, err
	}
	m.Bare, _, err = medianOf(func(i int) (phase, error) { return s.bare(ctx, fmt.Sprintf("bare %d", i)) })
	return m, err
}

// profiled does something while profiles are taken, where they are asked for.
func (s *stage) profiled(ctx context.Context, what string, fn func(context.Context) error) error {
	const seconds = 5
	operator := ""
	if s.name == ours {
		operator = *pprof
	}
	return profiles.During(ctx, s.cp.AdminConfig(), operator, *folder, s.name+"-"+what, seconds, fn)
}

// firstGeneration creates the policy, and waits until all its objects are there.
func (s *stage) firstGeneration(ctx context.Context) (phase, error) {
	wanted := len(kinds) * *namespaces
	p, err := s.phase(ctx, s.apply, func(w *witness) (time.Time, error) {
		if len(w.made) < wanted {
			return time.Time{}, fmt.Errorf("%d of %d objects were made", len(w.made), wanted)
		}
		return w.lastMade, nil
	})
	if err != nil {
		return p, fmt.Errorf("waiting for the first generation: %w", err)
	}
	for _, kind := range kinds {
		there, err := s.count(ctx, kind, objectName)
		if err != nil {
			return p, err
		}
		if kind.Kind == "Secret" {
			there-- // the source
		}
		if there != *namespaces {
			return p, fmt.Errorf("there are %d of %s, expected %d", there, kind.Kind, *namespaces)
		}
	}
	return p, nil
}

// medianOf calls do as often as the source is changed. It returns the phase with the median time, and the times of
// all in seconds.
func medianOf(do func(i int) (phase, error)) (phase, []float64, error) {
	var all []phase
	var seconds []float64
	for i := range *changes {
		p, err := do(i)
		if err != nil {
			return phase{}, seconds, err
		}
		all = append(all, p)
		seconds = append(seconds, p.Seconds)
	}
	slices.SortFunc(all, func(a, b phase) int { return cmp.Compare(a.Seconds, b.Seconds) })
	return all[(len(all)-1)/2], seconds, nil
}

// change changes the source for the i-th time, and waits until all clones follow.
func (s *stage) change(ctx context.Context, i int) (phase, error) {
	begin := func(ctx context.Context) (time.Time, error) { return s.changeSource(ctx, i) }
	p, err := s.phase(ctx, begin, func(w *witness) (time.Time, error) {
		if len(w.changed) < *namespaces {
			return time.Time{}, fmt.Errorf("%d of %d clones were changed", len(w.changed), *namespaces)
		}
		return w.lastChanged, nil
	})
	if err != nil {
		return p, fmt.Errorf("waiting for the clones to follow: %w", err)
	}
	stale, err := s.stale(ctx)
	if err == nil && stale > 0 {
		err = fmt.Errorf("%d clones are not what the source is", stale)
	}
	return p, err
}

// phase begins something, and waits until it is done and nothing is left to do.
func (s *stage) phase(ctx context.Context, begin func(context.Context) (time.Time, error), done func(*witness) (time.Time, error)) (p phase, err error) {
	before, err := usage.Busy(s.cp, s.processes...)
	if err != nil {
		return p, err
	}
	w := newWitness(s.users)
	began, err := begin(ctx)
	if err != nil {
		return p, err
	}
	var ended time.Time
	var missing error
	err = wait.PollUntilContextTimeout(ctx, poll, *patience, true, func(context.Context) (bool, error) {
		if err := s.read(w); err != nil {
			return false, err
		}
		ended, missing = done(w)
		return missing == nil, nil
	})
	if err != nil {
		return p, errors.Join(err, missing)
	}
	if err := s.untilCalm(ctx, w); err != nil {
		return p, err
	}
	after, err := usage.Busy(s.cp, s.processes...)
	s.sayf(fmt.Sprintf("done in %.1f s, with %d requests", ended.Sub(began).Seconds(), w.total))
	return phase{Seconds: ended.Sub(began).Seconds(), Requests: w.total, By: w.by, Writes: w.changes, Busy: after - before}, err
}

// restart starts the processes again, and ends them when nothing is left to do: the audit log has a
// watch once it has ended.
func (s *stage) restart(ctx context.Context) (restart, error) {
	for _, name := range s.processes {
		if err := s.cp.Shutdown(name); err != nil {
			return restart{}, err
		}
	}
	if err := s.read(newWitness(s.users)); err != nil {
		return restart{}, err
	}
	w := newWitness(s.users)
	for _, name := range s.processes {
		if err := s.cp.Restart(ctx, name); err != nil {
			return restart{}, err
		}
	}
	if err := s.untilCalm(ctx, w); err != nil {
		return restart{}, err
	}
	for _, name := range s.processes {
		if err := s.cp.Shutdown(name); err != nil {
			return restart{}, err
		}
	}
	if err := s.read(w); err != nil {
		return restart{}, err
	}
	return restart{Lists: w.lists, Writes: w.writes, Requests: w.total, By: w.by}, nil
}
