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

package clockshift

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// program prints, each time that it is told to, the time of day and how long it has run by
// the monotonic clock, in seconds.
const program = `package main

import (
	"bufio"
	"fmt"
	"os"
	"time"
)

func main() {
	began := time.Now()
	go func() {
		for range time.Tick(time.Millisecond) {
		}
	}()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println(time.Now().Unix(), int64(time.Since(began).Seconds()))
	}
}
`

func TestClock(t *testing.T) {
	dir := t.TempDir()
	overlay, err := Overlay(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay="+overlay, "-o", binary, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	clock, err := New(dir, "program")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Env = append(os.Environ(), clock.Env())
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for _, ahead := range []time.Duration{0, time.Minute, -time.Minute, 24 * time.Hour, 0} {
		if err := clock.Set(ahead); err != nil {
			t.Fatal(err)
		}
		deadline := time.Now().Add(10 * time.Second)
		for {
			if _, err := in.Write([]byte("\n")); err != nil {
				t.Fatal(err)
			}
			if !lines.Scan() {
				t.Fatal("the program has ended")
			}
			fields := strings.Fields(lines.Text())
			said, ran := parse(t, fields[0]), parse(t, fields[1])
			if ran > 20 {
				t.Fatalf("a timer has run for %d seconds, as if it went by the time of day", ran)
			}
			if off := said - time.Now().Add(ahead).Unix(); off >= -1 && off <= 1 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s ahead, the program says it is %s", ahead, time.Unix(said, 0))
			}
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

func parse(t *testing.T, number string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
