//go:build linux

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

package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// grace is how long a process may take to end before it is killed.
const grace = 15 * time.Second

// Process is one that was started, with what it takes to start it again.
type Process struct {
	name string
	path string
	args []string
	// own has it be the first of a process group.
	own *syscall.SysProcAttr
	// files are passed on.
	files []*os.File

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{}
}

// Begin starts a process. Its output is appended to the log of its name.
func Begin(name, path string, args ...string) (*Process, error) {
	p := &Process{name: name, path: path, args: args, own: &syscall.SysProcAttr{Setpgid: true}}
	if err := p.Start(); err != nil {
		return nil, err
	}
	return p, nil
}

// Log returns the file that has what a process of a name writes.
func Log(name string) string { return "/var/log/" + name + ".log" }

// Start starts it again, when it has ended.
func (p *Process) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(Log(p.name)), 0o755); err != nil {
		return err
	}
	log, err := os.OpenFile(Log(p.name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(p.path, p.args...) //nolint:noctx // it is ended by Stop, or with the PID namespace
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles, cmd.SysProcAttr = log, log, p.files, p.own
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", p.name, err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	p.cmd, p.done = cmd, done
	return nil
}

// PID returns its number.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.Process.Pid
}

// Running reports whether it has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.ended():
		return false
	default:
		return true
	}
}

func (p *Process) ended() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done
}

// Stop ends it as an init system does, and returns when it has ended.
func (p *Process) Stop() error { return p.signal(syscall.SIGTERM) }

// Kill ends it at once.
func (p *Process) Kill() error { return p.signal(syscall.SIGKILL) }

func (p *Process) signal(signal syscall.Signal) error {
	if !p.Running() {
		return nil
	}
	if err := syscall.Kill(p.PID(), signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	select {
	case <-p.ended():
		return nil
	case <-time.After(grace):
		return errors.Join(fmt.Errorf("%s has not ended by itself", p.name), syscall.Kill(p.PID(), syscall.SIGKILL))
	}
}
