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
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Peer is who opened a connection.
type Peer struct {
	// PID is its process number in our PID namespace, as it was when it was looked at.
	PID int
	// Containers are the ids that its control groups have, outermost first; none for a
	// process that is in no container.
	Containers []string
	// Err says why it cannot be told who it is.
	Err error
}

// Why it cannot be told who opened a connection.
var (
	// ErrGone is for a process that has ended.
	ErrGone = errors.New("the process that opened the connection has ended")
	// ErrForeign is for a process that our PID namespace does not have.
	ErrForeign = errors.New("the process that opened the connection is outside of kausality-cri's PID namespace: run it in that of the host (hostPID)")
	// ErrEnding is for a process whose control groups the kernel shows no more.
	ErrEnding = errors.New("the process that opened the connection, or its first thread, is ending")
)

// proc is where the kernel tells of processes.
const proc = "/proc"

// exiting is the flag of a task that ends: its cgroup v1 hierarchies show "/" then, as
// those of a host process do.
const exiting = 0x4

// Of says who opened the connection that this is the other end of.
func Of(conn *net.UnixConn) Peer {
	raw, err := conn.SyscallConn()
	if err != nil {
		return Peer{Err: err}
	}
	fd := -1
	var failed error
	if err := raw.Control(func(socket uintptr) { fd, failed = peer(int(socket)) }); err != nil {
		return Peer{Err: err}
	}
	if failed != nil {
		return Peer{Err: failed}
	}
	defer func() { _ = unix.Close(fd) }()
	return look(fd, groups)
}

// peer returns a pidfd of the process that opened a connection.
func peer(socket int) (int, error) {
	fd, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	switch {
	case err == nil:
		return fd, nil
	case errors.Is(err, unix.ENOPROTOOPT):
		return peerByNumber(socket)
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ESRCH), errors.Is(err, unix.ENODATA):
		return -1, ErrGone
	}
	return -1, fmt.Errorf("who opened the connection: %w", err)
}

// peerByNumber is for kernels before 6.5. Between the connection and now, the number may
// have become another's.
func peerByNumber(socket int) (int, error) {
	credentials, err := unix.GetsockoptUcred(socket, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return -1, fmt.Errorf("who opened the connection: %w", err)
	}
	if credentials.Pid == 0 {
		return -1, ErrForeign
	}
	fd, err := unix.PidfdOpen(int(credentials.Pid), 0)
	switch {
	case errors.Is(err, unix.ESRCH), errors.Is(err, unix.EINVAL):
		return -1, ErrGone
	case err != nil:
		return -1, fmt.Errorf("who opened the connection: %w", err)
	}
	return fd, nil
}

// look reads who a pidfd stands for. As long as it has a number, nobody else does, and so
// it is asked again when all has been read.
func look(pidfd int, groups func(pid int) ([]string, error)) Peer {
	pid, err := number(pidfd)
	if err != nil {
		return Peer{Err: err}
	}
	ids, err := groups(pid)
	if again, gone := number(pidfd); gone != nil || again != pid {
		return Peer{PID: pid, Err: ErrGone}
	}
	if err != nil {
		return Peer{PID: pid, Err: err}
	}
	return Peer{PID: pid, Containers: ids}
}

// number returns the process number of a pidfd.
func number(pidfd int) (int, error) {
	info, err := os.ReadFile(filepath.Join(proc, "self", "fdinfo", strconv.Itoa(pidfd)))
	if err != nil {
		return 0, fmt.Errorf("who opened the connection: %w", err)
	}
	for line := range strings.Lines(string(info)) {
		text, found := strings.CutPrefix(line, "Pid:")
		if !found {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(text))
		switch {
		case err != nil:
			return 0, fmt.Errorf("who opened the connection: %w", err)
		case pid < 0:
			return 0, ErrGone
		case pid == 0:
			return 0, ErrForeign
		}
		return pid, nil
	}
	return 0, errors.New("who opened the connection: the kernel does not say the number of a pidfd")
}

// groups returns the containers that the control groups of a process have.
func groups(pid int) ([]string, error) {
	folder := filepath.Join(proc, strconv.Itoa(pid))
	cgroups, err := os.ReadFile(filepath.Join(folder, "cgroup"))
	if err != nil {
		return nil, fmt.Errorf("who opened the connection: %w", err)
	}
	// Afterwards: who does not end now did not when its groups were read.
	stat, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return nil, fmt.Errorf("who opened the connection: %w", err)
	}
	if ending(string(stat)) {
		return nil, ErrEnding
	}
	ids, err := containers(string(cgroups))
	if err != nil {
		return nil, fmt.Errorf("the process that opened the connection: %w", err)
	}
	return ids, nil
}

// ending reports whether a process ends, or its state cannot be told. Its name, in
// parentheses, may have any characters.
func ending(stat string) bool {
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	const flags = 6
	if len(fields) <= flags {
		return true
	}
	value, err := strconv.ParseUint(fields[flags], 10, 64)
	return err != nil || value&exiting != 0
}
