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

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"kausality.io/operator/test/controlplane/internal/process"
)

const (
	// readyTimeout bounds the wait for one process to become ready. They need
	// about two seconds, and much more on a machine that is busy.
	readyTimeout = 2 * time.Minute
	// readyPoll is how often a process is asked whether it is ready.
	readyPoll = 100 * time.Millisecond
	// readyRequestTimeout bounds one such request.
	readyRequestTimeout = 2 * time.Second
	// launchTries is how often a process is given other ports when somebody
	// else was quicker to take the first ones.
	launchTries = 5
	// tailLines is how much of the log of a failed process goes into the error.
	tailLines = 20
)

// errPortTaken says that a process ended because somebody else listens on its
// port.
var errPortTaken = errors.New("address already in use")

// Program is what to run as a member of a control plane, beside its components.
type Program struct {
	// Name is also that of its log, and unique in the control plane.
	Name string
	// Path is the executable, Args are its arguments.
	Path string
	Args []string
	// Env is added to the environment, as NAME=value.
	Env []string
	// ReadyURL answers 200 as soon as the program does its work.
	ReadyURL string
}

// launchWithPort returns Launch for a program with one port.
func (cp *ControlPlane) launchWithPort(ctx context.Context, plan func(port int) Program) error {
	return cp.Launch(ctx, 1, func(ports []int) (Program, error) { return plan(ports[0]), nil })
}

// Launch starts the program that plan returns for n free ports of the loopback
// interface, and returns when it is ready. It ends with the control plane. If a
// port is taken in the meantime, plan is asked again with others.
func (cp *ControlPlane) Launch(ctx context.Context, n int, plan func(ports []int) (Program, error)) error {
	var failed error
	for range launchTries {
		ports, err := FreePorts(ctx, n)
		if err != nil {
			return err
		}
		prog, err := plan(ports)
		if err != nil {
			return err
		}
		if failed = cp.launch(ctx, prog); !errors.Is(failed, errPortTaken) {
			return failed
		}
	}
	return failed
}

// launch starts a program and returns when it is ready. One that fails to
// become ready is ended.
func (cp *ControlPlane) launch(ctx context.Context, prog Program) error {
	if _, err := cp.member(prog.Name); err == nil {
		return fmt.Errorf("the control plane in %s has a process %q already", cp.opts.Dir, prog.Name)
	}
	log := cp.Log(prog.Name)
	if err := os.Remove(log); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing the old log of %s: %w", prog.Name, err)
	}
	m, err := cp.run(member{readyURL: prog.ReadyURL, env: prog.Env}, process.Spec{
		Name:   prog.Name,
		Path:   prog.Path,
		Args:   prog.Args,
		Log:    log,
		Detach: cp.opts.Detach,
	})
	if err != nil {
		return err
	}
	if err = cp.waitReady(ctx, m); err == nil {
		return nil
	}
	return errors.Join(err, cp.end(m))
}

// run starts spec as the process of m, which takes the place of the member of that
// name if there is one: a member keeps its process, as others may be reading it. What
// runs is remembered before anything else happens, so that it can always be ended.
func (cp *ControlPlane) run(m member, spec process.Spec) (*member, error) {
	spec.Env = cp.environment(m.env)
	p, err := process.Start(spec)
	if err != nil {
		return nil, err
	}
	m.Process = p
	cp.mu.Lock()
	defer cp.mu.Unlock()
	if i := slices.IndexFunc(cp.members, func(other *member) bool { return other.Spec.Name == spec.Name }); i >= 0 {
		cp.members[i] = &m
	} else {
		cp.members = append(cp.members, &m)
	}
	return &m, cp.saveState()
}

// end ends the process of m for good.
func (cp *ControlPlane) end(m *member) error {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	m.ended = true
	err := m.Stop(stopGrace)
	cp.members = slices.DeleteFunc(cp.members, func(other *member) bool { return other == m })
	return errors.Join(err, cp.saveState())
}

// waitReady returns when m is ready, or with an error that says why it is not.
func (cp *ControlPlane) waitReady(ctx context.Context, m *member) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	last := errors.New("never asked")
	err := wait.PollUntilContextCancel(ctx, readyPoll, true, func(ctx context.Context) (bool, error) {
		if !m.Running() {
			return false, diedError(m)
		}
		err := cp.probe(ctx, m.readyURL)
		// That the time is up in the middle of a request explains nothing.
		if ctx.Err() == nil {
			last = err
		}
		return err == nil, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("%s did not become ready (%w); the end of %s:\n%s", m.Spec.Name, last, m.Spec.Log, m.Tail(tailLines))
	}
	return err
}

// probe returns nil if url answers 200.
func (cp *ControlPlane) probe(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := cp.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // Nothing was read from it.
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return nil
}

// diedError says that m has ended by itself, and what it said last.
func diedError(m *member) error {
	tail := m.Tail(tailLines)
	err := fmt.Errorf("%s ended by itself (%s); the end of %s:\n%s", m.Spec.Name, m.ExitReason(), m.Spec.Log, tail)
	if strings.Contains(tail, errPortTaken.Error()) {
		return fmt.Errorf("%w: %w", errPortTaken, err)
	}
	return err
}

// environment returns the environment of this program without what could lead a child to the
// files of the user or to another cluster.
func (cp *ControlPlane) environment(extra []string) []string {
	drop := []string{"HOME", "KUBECONFIG"}
	env := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(drop, name)
	})
	env = append(env,
		"HOME="+filepath.Join(cp.opts.Dir, configDir),
		"KWOK_WORKDIR="+filepath.Join(cp.opts.Dir, configDir),
	)
	return append(env, extra...)
}
