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
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// starterEnv makes the test binary play a program that starts a process,
// prints its pid, and is then killed.
const starterEnv = "PROCESS_TEST_STARTER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(starterEnv); mode != "" {
		p, err := Start(Spec{Name: "child", Path: "/bin/sleep", Args: []string{"600"}, Log: os.DevNull, Detach: mode == "detach"})
		if err != nil {
			panic(err)
		}
		_, _ = os.Stdout.WriteString(strconv.Itoa(p.ID.PID) + " " + p.ID.Started + "\n")
		select {}
	}
	os.Exit(m.Run())
}

// The process that started it dies without a chance to clean up.
func TestDeathOfTheStarter(t *testing.T) {
	cases := map[string]struct {
		mode     string
		survives bool
	}{
		"attached": {mode: "attach", survives: false},
		"detached": {mode: "detach", survives: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			starter := exec.CommandContext(t.Context(), os.Args[0])
			starter.Env = append(os.Environ(), starterEnv+"="+tc.mode)
			out, err := starter.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := starter.Start(); err != nil {
				t.Fatal(err)
			}
			line := make([]byte, 256)
			n, err := out.Read(line)
			if err != nil {
				t.Fatal(err)
			}
			pid, start, _ := strings.Cut(strings.TrimSpace(string(line[:n])), " ")
			id := ID{Started: start}
			if id.PID, err = strconv.Atoi(pid); err != nil {
				t.Fatal(err)
			}
			child := Adopt(Spec{Name: "child"}, id)
			t.Cleanup(func() {
				if err := child.Kill(); err != nil {
					t.Error(err)
				}
			})

			if err := starter.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = starter.Wait() // "signal: killed", as intended
			if !tc.survives {
				eventually(t, "the child ends with its starter", func() bool { return !child.Running() })
			} else if !child.Running() {
				t.Error("a detached child ended with its starter")
			}
		})
	}
}
