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
	"net"
	"os"
	"syscall"
)

// BeginActivated starts a process that gets a socket as systemd passes it on: made before
// the process is there, and kept when it ends.
func BeginActivated(name, socket, path string, args ...string) (*Process, error) {
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return nil, err
	}
	file, err := listener.File()
	if err != nil {
		return nil, err
	}
	// The number of the process is known to its shell only, before it is there.
	script := append([]string{"-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"`, "sh", path}, args...)
	p := &Process{name: name, path: "/bin/sh", args: script, own: &syscall.SysProcAttr{Setpgid: true}, files: []*os.File{file}}
	if err := p.Start(); err != nil {
		return nil, err
	}
	return p, nil
}
