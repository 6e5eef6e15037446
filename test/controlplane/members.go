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
	"syscall"
)

// MemberStatus tells how one process of a control plane is.
type MemberStatus struct {
	// Name is that of a Component or of an operator.
	Name string
	// PID is its process id, or was.
	PID int
	// Running tells whether it has not ended.
	Running bool
	// Log is the file with its output.
	Log string
}

// Status tells how each process is, in the order in which they were started.
func (cp *ControlPlane) Status() []MemberStatus {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	status := make([]MemberStatus, 0, len(cp.members))
	for _, m := range cp.members {
		status = append(status, MemberStatus{Name: m.Spec.Name, PID: m.ID.PID, Running: m.Running(), Log: m.Spec.Log})
	}
	return status
}

// Args returns the arguments that a process was started with; none where there is no
// process of that name.
func (cp *ControlPlane) Args(name string) []string {
	m, err := cp.member(name)
	if err != nil {
		return nil
	}
	return m.Spec.Args
}

// Pause freezes a process: it keeps its connections and answers nothing, as if
// its machine were overloaded. Resume lets it go on.
func (cp *ControlPlane) Pause(name string) error {
	return cp.signal(name, syscall.SIGSTOP)
}

// Resume lets a paused process go on.
func (cp *ControlPlane) Resume(name string) error {
	return cp.signal(name, syscall.SIGCONT)
}

// Kill ends a process at once, as a crash would, and leaves everything else as
// it is. Restart starts it again.
func (cp *ControlPlane) Kill(name string) error {
	return cp.finish(name, func(m *member) error { return m.Kill() })
}

// Shutdown ends a process the orderly way, and leaves everything else as it is.
// Restart starts it again.
func (cp *ControlPlane) Shutdown(name string) error {
	return cp.finish(name, func(m *member) error { return m.Stop(stopGrace) })
}

// Remove ends a process the orderly way and forgets it. If there is none of
// that name, nothing happens.
func (cp *ControlPlane) Remove(name string) error {
	m, err := cp.member(name)
	if err != nil {
		return nil //nolint:nilerr // Gone already.
	}
	return cp.end(m)
}

// Restart starts a process again, on the same ports and data, and returns when
// it is ready. If it still runs, it is ended first.
func (cp *ControlPlane) Restart(ctx context.Context, name string) error {
	if err := cp.Shutdown(name); err != nil {
		return err
	}
	m, err := cp.member(name)
	if err != nil {
		return err
	}
	again, err := cp.run(member{readyURL: m.readyURL, env: m.env}, m.Spec)
	if err != nil {
		return err
	}
	return cp.waitReady(ctx, again)
}

func (cp *ControlPlane) signal(name string, sig syscall.Signal) error {
	m, err := cp.member(name)
	if err != nil {
		return err
	}
	if !m.Running() {
		return fmt.Errorf("%s does not run", name)
	}
	return m.Signal(sig)
}

func (cp *ControlPlane) finish(name string, end func(*member) error) error {
	m, err := cp.member(name)
	if err != nil {
		return err
	}
	cp.mu.Lock()
	defer cp.mu.Unlock()
	m.ended = true
	return errors.Join(end(m), cp.saveState())
}

func (cp *ControlPlane) member(name string) (*member, error) {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	for _, m := range cp.members {
		if m.Spec.Name == name {
			return m, nil
		}
	}
	return nil, fmt.Errorf("the control plane in %s has no process %q", cp.opts.Dir, name)
}
