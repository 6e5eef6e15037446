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

// Package process runs child processes that must not be lost track of: each
// one is known by its pid and the moment it started, so that a pid which the
// system has given to somebody else is never signaled.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// exitPoll is how often the end of a process is looked for that this program
// did not start itself and therefore cannot wait on.
const exitPoll = 20 * time.Millisecond

// killWait bounds the wait for a process to disappear after SIGKILL.
const killWait = 10 * time.Second

// Spec says what to run.
type Spec struct {
	// Name is what messages call the process.
	Name string `json:"name"`
	// Path is the executable.
	Path string `json:"path"`
	// Args are its arguments, the program name excluded.
	Args []string `json:"args"`
	// Env is the whole environment. It is not stored: it may hold secrets.
	Env []string `json:"-"`
	// Log is the file that standard output and error are appended to.
	Log string `json:"log"`
	// Detach lets the process outlive this program and its terminal. Without
	// it, the process is killed when this program ends in whatever way (on
	// Linux; elsewhere only when Stop or Kill is called).
	Detach bool `json:"detach,omitempty"`
}

// ID tells one process from every other one, before and after it.
type ID struct {
	// PID is the process id, and that of its process group.
	PID int `json:"pid"`
	// Started is when the process began, as the operating system tells it. It
	// is opaque and only ever compared.
	Started string `json:"started"`
}

// Process is a running or ended process.
type Process struct {
	// Spec is what was run.
	Spec Spec
	// ID is who it is.
	ID ID

	// logStart is the size the log had before the process wrote to it.
	logStart int64
	// done is closed when a process that this program started has ended; nil
	// for an adopted one.
	done chan struct{}
	// exit is how it ended; read it only after done is closed.
	exit error
}

// Start runs spec in a process group of its own.
func Start(spec Spec) (*Process, error) {
	log, err := os.OpenFile(spec.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", spec.Name, err)
	}
	defer log.Close() //nolint:errcheck // The child has its own copy.
	info, err := log.Stat()
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", spec.Name, err)
	}

	cmd := exec.Command(spec.Path, spec.Args...) //nolint:noctx // It may outlive every context.
	cmd.Env = spec.Env
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = sysProcAttr(spec.Detach)
	if err := spawn(cmd); err != nil {
		return nil, fmt.Errorf("starting %s: %w", spec.Name, err)
	}

	p := &Process{
		Spec:     spec,
		ID:       ID{PID: cmd.Process.Pid},
		logStart: info.Size(),
		done:     make(chan struct{}),
	}
	// Until it is waited for, a child keeps its pid even if it has ended already,
	// and then it needs no further identification.
	p.ID.Started, err = started(p.ID.PID)
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return nil, errors.Join(fmt.Errorf("identifying %s: %w", spec.Name, err), cmd.Process.Kill(), cmd.Wait())
	}
	go func() {
		defer close(p.done)
		p.exit = cmd.Wait()
	}()
	return p, nil
}

// Adopt returns the process that an earlier program started from spec and
// remembered as id. It may have ended.
func Adopt(spec Spec, id ID) *Process {
	return &Process{Spec: spec, ID: id}
}

// Running reports whether the process has not ended.
func (p *Process) Running() bool {
	if p.done != nil {
		select {
		case <-p.done:
			return false
		default:
			return true
		}
	}
	now, err := started(p.ID.PID)
	return err == nil && now == p.ID.Started
}

// ExitReason says how the process ended, as far as that is known.
func (p *Process) ExitReason() string {
	switch {
	case p.Running():
		return "still running"
	case p.done == nil:
		return "ended"
	case p.exit == nil:
		return "exit status 0"
	}
	return p.exit.Error()
}

// Signal sends sig to the process and everything in its group. A process that
// has ended is left alone, without an error.
func (p *Process) Signal(sig syscall.Signal) error {
	if !p.Running() {
		return nil
	}
	if err := syscall.Kill(-p.ID.PID, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("sending %s to %s (pid %d): %w", sig, p.Spec.Name, p.ID.PID, err)
	}
	return nil
}

// Stop asks the process to end, and kills it if it has not done so within
// grace. It returns when the process is gone, and may be called again.
func (p *Process) Stop(grace time.Duration) error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	// A stopped process sees no signal but this one.
	if err := p.Signal(syscall.SIGCONT); err != nil {
		return err
	}
	if p.waitExit(grace) == nil {
		return nil
	}
	return p.Kill()
}

// Kill ends the process at once, as a crash would.
func (p *Process) Kill() error {
	if err := p.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	if err := p.waitExit(killWait); err != nil {
		return fmt.Errorf("%s (pid %d) did not end after SIGKILL", p.Spec.Name, p.ID.PID)
	}
	return nil
}

// waitExit returns nil once the process has ended, an error after timeout.
func (p *Process) waitExit(timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if p.done != nil {
		select {
		case <-p.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return wait.PollUntilContextCancel(ctx, exitPoll, true, func(context.Context) (bool, error) {
		return !p.Running(), nil
	})
}
