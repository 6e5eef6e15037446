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

package controlplane

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOpenOfNothing(t *testing.T) {
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrNoControlPlane) {
		t.Errorf("got error %v, want %v", err, ErrNoControlPlane)
	}
}

func TestOpenOfGarbage(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, stateFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(dir)
	mustContain(t, err, stateFile, "does not parse")
	if errors.Is(err, ErrNoControlPlane) {
		t.Error("counts as no control plane, and its processes would be forgotten")
	}
}

func TestOpenFindsTheSameProcesses(t *testing.T) {
	cp := emptyControlPlane(t, true)
	prog := sleeper(t, "one")
	prog.Env = []string{"FLAVOR=vanilla"}
	mustLaunch(t, cp, prog)
	mustLaunch(t, cp, sleeper(t, "two"))
	if err := cp.Kill("two"); err != nil {
		t.Fatal(err)
	}

	opened, err := Open(cp.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(cp.Status(), opened.Status()); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if opened.Complete() {
		t.Error("complete although Start never came to its end")
	}
	if diff := cmp.Diff(prog.Env, opened.members[0].env); diff != "" {
		t.Errorf("environment to start it with again (-want +got):\n%s", diff)
	}
	// What was killed on purpose is no accident, also for who comes later.
	if err := opened.Stop(); err != nil {
		t.Error(err)
	}
	eventually(t, "process one is gone", func() bool { return !memberStatus(t, cp, "one").Running })
	if _, err := Open(cp.Dir()); !errors.Is(err, ErrNoControlPlane) {
		t.Errorf("after Stop: got error %v, want %v", err, ErrNoControlPlane)
	}
	if err := cp.Remove("one"); err != nil {
		t.Error(err)
	}
}

func TestStateKeepsNoEnvironment(t *testing.T) {
	t.Setenv("SOMEBODYS_PASSWORD", "hunter2")
	cp := emptyControlPlane(t, true)
	mustLaunch(t, cp, sleeper(t, "one"))
	content, err := os.ReadFile(filepath.Join(cp.Dir(), stateFile))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(content), "hunter2") {
		t.Error("the state file holds the environment of who started it")
	}
}

// Another process has got the pid of one that ended, as after a reboot.
func TestRecycledPID(t *testing.T) {
	cp := emptyControlPlane(t, true)
	innocent := mustLaunch(t, cp, sleeper(t, "one"))
	st, err := readState(cp.Dir())
	if err != nil {
		t.Fatal(err)
	}
	st.Members[0].Started = "in another life"
	if err := writeState(cp.Dir(), st); err != nil {
		t.Fatal(err)
	}

	opened, err := Open(cp.Dir())
	if err != nil {
		t.Fatal(err)
	}
	want := innocent
	want.Running = false
	if diff := cmp.Diff([]MemberStatus{want}, opened.Status()); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if err := opened.Remove("one"); err != nil {
		t.Error(err)
	}
	if err := opened.Stop(); err != nil {
		t.Error(err)
	}
	if !memberStatus(t, cp, "one").Running {
		t.Error("a process was ended that only has the same pid")
	}
}

func TestCheckUnused(t *testing.T) {
	cp := emptyControlPlane(t, true)
	if err := checkUnused(cp.Dir()); err != nil {
		t.Errorf("an empty folder: %v", err)
	}
	mustLaunch(t, cp, sleeper(t, "one"))
	mustContain(t, checkUnused(cp.Dir()), "one", "runs in")
	if err := cp.Kill("one"); err != nil {
		t.Fatal(err)
	}
	if err := checkUnused(cp.Dir()); err != nil {
		t.Errorf("a folder where all has ended: %v", err)
	}
}
