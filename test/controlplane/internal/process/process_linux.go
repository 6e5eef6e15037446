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

package process

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"github.com/prometheus/procfs"
)

// zombie is the state of a process that has ended and waits to be reaped,
// which for an adopted one may take for ever.
const zombie = "Z"

func sysProcAttr(detach bool) *syscall.SysProcAttr {
	if detach {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// spawner runs functions on one operating system thread that never ends.
// Linux sends the parent-death signal when the thread that forked ends, not
// the process, and a Go runtime may end threads.
var spawner = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

func spawn(cmd *exec.Cmd) error {
	result := make(chan error)
	spawner() <- func() { result <- cmd.Start() }
	return <-result
}

// bootID tells this boot of the machine from others: start times count from
// the boot.
var bootID = sync.OnceValues(func() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id)), err
})

// started tells when the process with the given pid began. It is an error if
// there is none, or only what is left of one.
func started(pid int) (string, error) {
	boot, err := bootID()
	if err != nil {
		return "", err
	}
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return "", err
	}
	stat, err := proc.Stat()
	if err != nil {
		return "", err
	}
	if stat.State == zombie {
		return "", os.ErrProcessDone
	}
	return fmt.Sprintf("%s/%d", boot, stat.Starttime), nil
}
