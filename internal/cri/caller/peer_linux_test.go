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
	"bufio"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain is a client too: a test starts this program to be the peer, or to hold a
// connection that it has inherited.
func TestMain(m *testing.M) {
	socket := os.Getenv("CRI_TEST_DIAL")
	switch socket {
	case "":
		os.Exit(m.Run())
	case inherit:
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		return
	}
	conn, err := net.Dial("unix", socket) //nolint:noctx // it ends with the test that started it
	if err != nil {
		os.Exit(1)
	}
	// Until the test says so, or closes the connection by its end.
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	_ = conn
}

// inherit is in place of a socket for a process that only holds what it was given.
const inherit = "inherit"

// accepted starts a process that connects, and returns our end and how to end it.
func accepted(t *testing.T) (conn *net.UnixConn, pid int, end func()) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.sock")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "CRI_TEST_DIAL="+path)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err = listener.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	ended := false
	end = func() {
		if !ended {
			ended = true
			_ = stdin.Close()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(end)
	return conn, cmd.Process.Pid, end
}

func TestOf(t *testing.T) {
	conn, pid, _ := accepted(t)
	got := Of(conn)
	if got.Err != nil || got.PID != pid {
		t.Errorf("%+v, want the process %d", got, pid)
	}
}

// A kernel before 6.5 has only the number.
func TestPeerByNumber(t *testing.T) {
	conn, pid, end := accepted(t)
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	ask := func() (fd int, failed error) {
		if err := raw.Control(func(socket uintptr) { fd, failed = peerByNumber(int(socket)) }); err != nil {
			t.Fatal(err)
		}
		return fd, failed
	}
	fd, err := ask()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	if got := look(fd, groups); got.Err != nil || got.PID != pid {
		t.Errorf("%+v, want the process %d", got, pid)
	}
	end()
	// The pidfd that was taken in time says so, as well as a new one.
	if got := look(fd, groups); !errors.Is(got.Err, ErrGone) {
		t.Errorf("%+v", got)
	}
	if _, err := ask(); !errors.Is(err, ErrGone) {
		t.Errorf("%v", err)
	}
}

func TestEnding(t *testing.T) {
	for name, c := range map[string]struct {
		stat string
		want bool
	}{
		"it runs":                    {"7 (a) S 1 7 7 0 -1 4194560 0 0", false},
		"it ends":                    {"7 (a) Z 1 7 7 0 -1 4194564 0 0", true},
		"its name looks like fields": {"7 (a) S 1 7 7 0 -1 0 0 0) Z 1 7 7 0 -1 4194564 0 0", true},
		"there is nothing":           {"", true},
		"there is no number":         {"7 (a) S 1 7 7 0 -1 x 0 0", true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ending(c.stat); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
