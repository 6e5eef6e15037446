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

// Package clockshift gives processes of the tests clocks of their own. A Go program that
// is built with its overlay, which needs no change of the program, adds to the time of day
// what a file says, and follows that file while it runs. What is measured, such as timers,
// deadlines and time.Since, goes on as it does when the clock of a machine is set: by the
// monotonic clock.
package clockshift

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// env is the environment variable that names the file of a process's clock.
const env = "CLOCKSHIFT_FILE"

// now is what the overlay replaces in package time.
const now = "func Now() Time {"

// shifted is what it adds. The file is read beside all else, ten times a second: a timer asks
// for the time where nothing may wait for the system. Package time can import next to nothing.
const shifted = `package time

import (
	"sync/atomic"
	"syscall"
)

var (
	shiftFile, _ = syscall.Getenv("` + env + `")
	shiftSeconds atomic.Int64
)

func init() {
	if shiftFile == "" {
		return
	}
	readShift()
	go func() {
		for {
			Sleep(100 * Millisecond)
			readShift()
		}
	}()
}

func Now() Time {
	t := unshiftedNow()
	t.addSec(shiftSeconds.Load())
	return t
}

func readShift() {
	fd, err := syscall.Open(shiftFile, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer syscall.Close(fd)
	var text [32]byte
	n, err := syscall.Read(fd, text[:])
	if err != nil || n <= 0 {
		return
	}
	seconds, sign := int64(0), int64(1)
	for _, c := range text[:n] {
		switch {
		case c == '-':
			sign = -1
		case c >= '0' && c <= '9':
			seconds = seconds*10 + int64(c-'0')
		}
	}
	shiftSeconds.Store(sign * seconds)
}
`

// Overlay writes into dir what a build needs, and returns the file for the flag -overlay of
// "go build". Nothing else is replaced; what is built so goes by the real clock until a
// Clock says otherwise.
func Overlay(ctx context.Context, dir string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("asking where Go is: %w", err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	of := filepath.Join(strings.TrimSpace(string(out)), "src", "time")
	original, err := os.ReadFile(filepath.Join(of, "time.go"))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(original), now); n != 1 {
		return "", fmt.Errorf("%s/time.go has %q %d times, want once: this Go is another than the overlay is for", of, now, n)
	}
	replace := map[string]string{}
	for name, code := range map[string]string{
		"time.go":       strings.Replace(string(original), now, "func unshiftedNow() Time {", 1),
		"clockshift.go": shifted,
	} {
		file := filepath.Join(dir, name+".txt")
		if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(of, name)] = file
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, raw, 0o600)
}

// Clock is that of a process: a file that says by how much it is ahead. It may serve several
// processes.
type Clock struct{ file string }

// New makes a clock in dir that is not ahead.
func New(dir, name string) (Clock, error) {
	c := Clock{filepath.Join(dir, name+".clock")}
	return c, c.Set(0)
}

// Env returns what the process has to have in its environment, as NAME=value.
func (c Clock) Env() string { return env + "=" + c.file }

// Set makes the clock ahead by so much, in whole seconds, or behind where that is negative.
// A process that runs follows within a tenth of a second.
func (c Clock) Set(ahead time.Duration) error {
	// Renamed, so that nobody reads half of it.
	temporary := c.file + ".tmp"
	if err := os.WriteFile(temporary, []byte(strconv.FormatInt(int64(ahead/time.Second), 10)), 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, c.file)
}
