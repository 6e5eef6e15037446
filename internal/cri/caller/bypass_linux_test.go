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

package caller

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestBypass has rows of docs/cri-bypasses.md by their names.
func TestBypass(t *testing.T) {
	for name, try := range map[string]func(t *testing.T){
		"a process number that may be another's by now": func(t *testing.T) {
			conn, _, end := accepted(t)
			end()
			if got := Of(conn); !errors.Is(got.Err, ErrGone) {
				t.Errorf("%+v", got)
			}
		},
		"a process that ends between two looks": func(t *testing.T) {
			conn, pid, end := accepted(t)
			fd := pidfd(t, conn)
			// Whoever has the number by the time that its groups are read is in a container.
			got := look(fd, func(of int) ([]string, error) {
				if of != pid {
					t.Errorf("the groups of %d", of)
				}
				end()
				return []string{strings.Repeat("b2", 32)}, nil
			})
			if !errors.Is(got.Err, ErrGone) || got.Containers != nil {
				t.Errorf("%+v", got)
			}
		},
		"a process that has ended and is not buried": func(t *testing.T) {
			conn, pid, _ := accepted(t)
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			// Nobody has waited for it yet: poll says when it has ended.
			if _, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd(t, conn)), Events: unix.POLLIN}}, 10_000); err != nil {
				t.Fatal(err)
			}
			if got := Of(conn); !errors.Is(got.Err, ErrEnding) {
				t.Errorf("%+v", got)
			}
		},
		"a connection that was inherited": func(t *testing.T) { handedOn(t, true) },
		"a connection that was passed on": func(t *testing.T) { handedOn(t, false) },
		"control groups of two containers": func(t *testing.T) {
			a, b := strings.Repeat("a1", 32), strings.Repeat("b2", 32)
			if ids, err := containers("2:pids:/kubepods/podx/" + a + "\n1:cpu:/" + b + "\n"); !errors.Is(err, errDisagree) {
				t.Errorf("%v, %v", ids, err)
			}
		},
		"a control group whose name only looks like a container": func(t *testing.T) {
			a := strings.Repeat("a1", 32)
			for _, segment := range []string{"x" + a, a + "x", "cri-containerd-" + a + ".scope.scope", "crio-conmon-" + a, "docker-" + a + ".scope", "cri-containerd-crio-" + a} {
				if ids, err := containers("0::/" + segment + "\n"); err != nil || len(ids) > 0 {
					t.Errorf("%s: %v, %v", segment, ids, err)
				}
			}
		},
		"a process name that looks like a state": func(t *testing.T) {
			if !ending("7 (a) S 1 7 7 0 -1 0 0 0) Z 1 7 7 0 -1 4194564 0 0") {
				t.Error("the name was taken for the state")
			}
		},
	} {
		t.Run(name, try)
	}
}

// pidfd returns the pidfd of who opened a connection.
func pidfd(t *testing.T, conn *net.UnixConn) int {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	fd := -1
	var failed error
	if err := raw.Control(func(socket uintptr) { fd, failed = peer(int(socket)) }); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

// handedOn has another process use a connection of this one, which keeps it or not.
func handedOn(t *testing.T, keep bool) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.sock")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	mine, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = mine.Close() }()
	file, err := mine.File()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "CRI_TEST_DIAL="+inherit)
	cmd.ExtraFiles = []*os.File{file}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	}()
	if !keep {
		_ = mine.Close()
		_ = file.Close()
	}
	conn, err := listener.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if got := Of(conn); got.Err != nil || got.PID != os.Getpid() {
		t.Errorf("%+v, want the process %d that opened it", got, os.Getpid())
	}
}
