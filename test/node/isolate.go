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
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// stageEnv says how far into its namespaces a program is, and rootEnv where its files are.
const (
	stageEnv = "KAUSALITY_NODE_STAGE"
	rootEnv  = "KAUSALITY_NODE_ROOT"

	stageInit = "init"
	stageRun  = "run"
)

// failed is what programs exit with that could not be run.
const failed = 1

// Main runs a program in namespaces of its own, and returns what it exits with. It starts
// the executable again, whose main function is to begin with Main.
func Main(run func() int) int {
	var code int
	var err error
	switch os.Getenv(stageEnv) {
	case "":
		code, err = outside()
	case stageInit:
		code, err = first()
	default:
		if err = enter(); err == nil {
			code = run()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
		return failed
	}
	return code
}

// Root returns a folder that is gone when Main returns.
func Root() string { return os.Getenv(rootEnv) }

// outside makes what the namespaces need, and takes it away again.
func outside() (code int, err error) {
	if os.Geteuid() != 0 {
		return 0, errors.New("this makes namespaces, mounts and control groups, and starts containers: run it as root")
	}
	dir, err := os.MkdirTemp("", "kausality-node-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for _, name := range []string{"run", "var"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			return 0, err
		}
	}
	groups, err := makeGroups("kausality-node-" + strconv.Itoa(os.Getpid()))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, groups.remove()) }()
	kept, err := sysctls()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, kept.restore()) }()
	return spawn(stageInit, syscall.CLONE_NEWPID|syscall.CLONE_NEWNS|syscall.CLONE_NEWNET|syscall.CLONE_NEWIPC|syscall.CLONE_NEWUTS,
		rootEnv+"="+dir, groupsEnv+"="+groups.String())
}

// spawn runs this executable again in new namespaces, and returns what it exits with.
func spawn(stage string, namespaces uintptr, env ...string) (int, error) {
	// Interrupts reach all processes of the terminal; what is below ends, and then this.
	signal.Ignore(os.Interrupt)
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...) //nolint:noctx // itself; it ends with its parent
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), append(env, stageEnv+"="+stage)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("starting in namespaces of its own: %w", err)
	}
	if stage == stageInit {
		err := cmd.Wait()
		return exitCode(cmd.ProcessState, err)
	}
	// The first process of a PID namespace has the children of all that have ended.
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 0, fmt.Errorf("waiting: %w", err)
		case pid == cmd.Process.Pid && status.Exited():
			return status.ExitStatus(), nil
		case pid == cmd.Process.Pid:
			return 0, fmt.Errorf("it was ended by %s", status.Signal())
		}
	}
}

func exitCode(state *os.ProcessState, err error) (int, error) {
	var exit *exec.ExitError
	if err == nil || errors.As(err, &exit) && state.Exited() {
		return state.ExitCode(), nil
	}
	return 0, err
}

// first returns the first process of the PID namespace. It goes into the control groups, which
// are the roots of those of the program.
func first() (int, error) {
	if err := groupsOf(os.Getenv(groupsEnv)).join(); err != nil {
		return 0, err
	}
	return spawn(stageRun, unix.CLONE_NEWCGROUP|syscall.CLONE_NEWNS)
}

// enter mounts what belongs to the namespaces.
func enter() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	if err := mountGroups(); err != nil {
		return err
	}
	for _, name := range []string{"run", "var"} {
		if err := unix.Mount(filepath.Join(Root(), name), "/"+name, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mounting /%s: %w", name, err)
		}
		// As on nodes: what runtimes mount there is seen by all.
		if err := unix.Mount("", "/"+name, "", unix.MS_SHARED, ""); err != nil {
			return fmt.Errorf("sharing /%s: %w", name, err)
		}
	}
	if err := os.Symlink("/run", "/var/run"); err != nil {
		return err
	}
	return loopback()
}

// loopback brings the loopback device up.
func loopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(socket) }()
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("bringing the loopback device up: %w", err)
	}
	return nil
}
