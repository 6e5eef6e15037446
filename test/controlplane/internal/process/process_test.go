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
	"bytes"
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"
)

const deadline = 10 * time.Second

func shell(t *testing.T, script string) Spec {
	t.Helper()
	return Spec{Name: "script", Path: "/bin/sh", Args: []string{"-c", script}, Log: filepath.Join(t.TempDir(), "log")}
}

func mustStart(t *testing.T, spec Spec) *Process {
	t.Helper()
	p, err := Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), exitPoll, deadline, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		t.Fatalf("not within %s: %s", deadline, what)
	}
}

func TestStop(t *testing.T) {
	cases := map[string]struct {
		script string
		grace  time.Duration
	}{
		"ends when asked":              {script: "echo up; exec sleep 600", grace: deadline},
		"is killed when it does not":   {script: "trap '' TERM; echo up; while :; do sleep 600; done", grace: 50 * time.Millisecond},
		"takes its children with it":   {script: "sleep 600 & echo up; wait", grace: deadline},
		"ends although it was stopped": {script: "echo up; kill -STOP $$; exec sleep 600", grace: deadline},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := mustStart(t, shell(t, tc.script))
			eventually(t, "the script runs", func() bool { return p.Tail(1) == "up" })

			if err := p.Stop(tc.grace); err != nil {
				t.Fatal(err)
			}
			if p.Running() {
				t.Error("running after Stop")
			}
			eventually(t, "the group is empty", func() bool {
				return syscall.Kill(-p.ID.PID, 0) == syscall.ESRCH
			})
			if err := p.Stop(tc.grace); err != nil {
				t.Errorf("second Stop: %v", err)
			}
		})
	}
}

func TestEndByItself(t *testing.T) {
	p := mustStart(t, shell(t, "echo one; echo two; echo three; exit 3"))
	eventually(t, "the script ends", func() bool { return !p.Running() })

	if diff := cmp.Diff("exit status 3", p.ExitReason()); diff != "" {
		t.Errorf("ExitReason (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("two\nthree", p.Tail(2)); diff != "" {
		t.Errorf("Tail (-want +got):\n%s", diff)
	}
}

func TestTailLeavesOutAnEarlierProcess(t *testing.T) {
	spec := shell(t, "echo mine")
	if err := os.WriteFile(spec.Log, []byte("from before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := mustStart(t, spec)
	eventually(t, "the script ends", func() bool { return !p.Running() })

	if diff := cmp.Diff("mine", p.Tail(10)); diff != "" {
		t.Errorf("Tail (-want +got):\n%s", diff)
	}
}

func TestTailOfALongLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	text := bytes.Repeat([]byte("line\n"), tailBytes)
	if err := os.WriteFile(path, append(text, "the end\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := tail(path, 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"line", "the end"}, got); diff != "" {
		t.Errorf("tail (-want +got):\n%s", diff)
	}
}

func TestAdopt(t *testing.T) {
	started := mustStart(t, shell(t, "exec sleep 600"))

	stranger := Adopt(started.Spec, ID{PID: started.ID.PID, Started: "at another time"})
	if stranger.Running() {
		t.Error("a process that has taken over the pid counts as ours")
	}
	if err := stranger.Kill(); err != nil {
		t.Fatal(err)
	}
	if !started.Running() {
		t.Fatal("a process that has taken over the pid was killed")
	}

	adopted := Adopt(started.Spec, started.ID)
	if !adopted.Running() {
		t.Fatal("the adopted process is not seen to run")
	}
	if err := adopted.Stop(deadline); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the adopted process is gone", func() bool { return !started.Running() })
}
