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

package command

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// listen makes a socket. Where there is one already, it is removed if nobody answers it,
// as after a crash; anything else stays, and is an error.
func listen(path string, mode os.FileMode, group int) (net.Listener, error) {
	if err := vacate(path); err != nil {
		return nil, err
	}
	// Nobody connects before the mode is what it should be.
	old := unix.Umask(0o177)
	listener, err := net.Listen("unix", path) //nolint:noctx // it does not wait
	unix.Umask(old)
	if err != nil {
		return nil, err
	}
	if group >= 0 {
		err = os.Lchown(path, -1, group)
	}
	if err == nil {
		err = os.Chmod(path, mode)
	}
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

// vacate removes a socket that nobody answers.
func vacate(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != os.ModeSocket:
		return fmt.Errorf("%s is there, and is no socket: remove it, or name another path", path)
	}
	conn, err := net.Dial("unix", path) //nolint:noctx // it does not wait
	if err == nil {
		_ = conn.Close()
		return fmt.Errorf("%s is there, and somebody answers it: stop them, or name another path", path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%s is there, and whether somebody answers it cannot be told: %w", path, err)
	}
	return os.Remove(path)
}

// endpoint is a socket with the file of its rules.
type endpoint struct {
	socket, file string
}

// endpointOf reads SOCKET=FILE.
func endpointOf(text string) (endpoint, error) {
	socket, file, found := strings.Cut(strings.TrimPrefix(text, "unix://"), "=")
	if !found || !strings.HasPrefix(socket, "/") || file == "" {
		return endpoint{}, fmt.Errorf("--endpoint %q: write SOCKET=FILE, such as /run/kausality/cri.sock=/etc/kausality-cri/rules.yaml", text)
	}
	return endpoint{socket: socket, file: file}, nil
}
