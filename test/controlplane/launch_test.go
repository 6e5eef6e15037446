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
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"
)

// emptyControlPlane has no processes and needs no binaries.
func emptyControlPlane(t *testing.T, detach bool) *ControlPlane {
	t.Helper()
	cp := &ControlPlane{opts: Options{Dir: t.TempDir(), Detach: detach}, http: http.DefaultClient}
	cp.opts.AuditLog = filepath.Join(cp.opts.Dir, auditLogFile)
	t.Cleanup(func() {
		if err := cp.Stop(); err != nil {
			t.Error(err)
		}
	})
	return cp
}

func script(name, text string) Program {
	return Program{Name: name, Path: "/bin/sh", Args: []string{"-c", text}}
}

// sleeper returns a program that is ready at once.
func sleeper(t *testing.T, name string) Program {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	prog := script(name, "exec sleep 600")
	prog.ReadyURL = server.URL
	return prog
}

func mustLaunch(t *testing.T, cp *ControlPlane, prog Program) MemberStatus {
	t.Helper()
	if err := cp.launch(t.Context(), prog); err != nil {
		t.Fatal(err)
	}
	return memberStatus(t, cp, prog.Name)
}

func memberStatus(t *testing.T, cp *ControlPlane, name string) MemberStatus {
	t.Helper()
	status := cp.Status()
	i := slices.IndexFunc(status, func(m MemberStatus) bool { return m.Name == name })
	if i < 0 {
		t.Fatalf("no process %s", name)
	}
	return status[i]
}

func mustContain(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not contain %q:\n%v", part, err)
		}
	}
}

func TestLaunchOfOneThatEnds(t *testing.T) {
	cp := emptyControlPlane(t, false)

	err := cp.launch(t.Context(), script("broken", "echo what is wrong; exit 3"))

	mustContain(t, err, "broken", "exit status 3", "what is wrong", cp.Log("broken"))
	if got := cp.Status(); len(got) > 0 {
		t.Errorf("it is still a member: %v", got)
	}
}

func TestLaunchOfOneThatIsNeverReady(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	cp := emptyControlPlane(t, false)
	prog := script("slow", "echo not yet; exec sleep 600")
	prog.ReadyURL = server.URL
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()

	err := cp.launch(ctx, prog)

	mustContain(t, err, "slow", "404", "not yet")
	if got := cp.Status(); len(got) > 0 {
		t.Errorf("it is still a member: %v", got)
	}
}

func TestLaunchWithPortsTakenBySomebodyElse(t *testing.T) {
	cp := emptyControlPlane(t, false)
	var asked [][]int
	err := cp.Launch(t.Context(), 2, func(ports []int) (Program, error) {
		asked = append(asked, ports)
		if len(asked) < 3 {
			return script("server", "echo listen tcp 127.0.0.1:1: bind: address already in use; exit 1"), nil
		}
		return sleeper(t, "server"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(asked) != 3 {
		t.Errorf("asked for a plan %d times, want 3", len(asked))
	}
	for _, ports := range asked {
		if len(ports) != 2 || ports[0] == ports[1] {
			t.Errorf("got ports %v, want two different ones", ports)
		}
	}
	if !memberStatus(t, cp, "server").Running {
		t.Error("the server does not run")
	}
}

func TestLaunchWithPortsTakenForEver(t *testing.T) {
	cp := emptyControlPlane(t, false)
	err := cp.launchWithPort(t.Context(), func(int) Program {
		return script("server", "echo bind: address already in use; exit 1")
	})
	if !errors.Is(err, errPortTaken) {
		t.Errorf("got error %v, want %v", err, errPortTaken)
	}
}

func TestLaunchOfTheSameName(t *testing.T) {
	cp := emptyControlPlane(t, false)
	first := mustLaunch(t, cp, sleeper(t, "one"))

	mustContain(t, cp.launch(t.Context(), sleeper(t, "one")), `"one" already`)
	if diff := cmp.Diff([]MemberStatus{first}, cp.Status()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFaults(t *testing.T) {
	cp := emptyControlPlane(t, false)
	before := mustLaunch(t, cp, sleeper(t, "one"))

	steps := []struct {
		name string
		do   func() error
		// running is what is expected afterwards.
		running bool
	}{
		{"pause", func() error { return cp.Pause("one") }, true},
		{"resume", func() error { return cp.Resume("one") }, true},
		{"kill", func() error { return cp.Kill("one") }, false},
		{"kill what is dead", func() error { return cp.Kill("one") }, false},
		{"restart what is dead", func() error { return cp.Restart(t.Context(), "one") }, true},
		{"restart what runs", func() error { return cp.Restart(t.Context(), "one") }, true},
		{"shut down what is paused", func() error { return errors.Join(cp.Pause("one"), cp.Shutdown("one")) }, false},
		{"restart", func() error { return cp.Restart(t.Context(), "one") }, true},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := memberStatus(t, cp, "one").Running; got != step.running {
			t.Fatalf("%s: running is %t, want %t", step.name, got, step.running)
		}
	}
	if after := memberStatus(t, cp, "one"); after.PID == before.PID {
		t.Error("the process was never replaced")
	}
	if err := cp.Remove("one"); err != nil {
		t.Fatal(err)
	}
	if err := cp.Remove("one"); err != nil {
		t.Errorf("removing it again: %v", err)
	}
	mustContain(t, cp.Pause("one"), `no process "one"`)
}

func TestStopTellsOfAnAccident(t *testing.T) {
	cp := emptyControlPlane(t, false)
	victim := mustLaunch(t, cp, sleeper(t, "victim"))
	bystander := mustLaunch(t, cp, sleeper(t, "bystander"))
	if err := syscall.Kill(victim.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the victim ends", func() bool { return !memberStatus(t, cp, "victim").Running })

	mustContain(t, cp.Stop(), "victim ended by itself", "signal: killed")
	eventually(t, "the bystander is gone", func() bool { return syscall.Kill(bystander.PID, 0) != nil })
	if err := cp.Stop(); err != nil {
		t.Errorf("second Stop: %v", err)
	}
}

func TestStopWaves(t *testing.T) {
	cp := emptyControlPlane(t, false)
	for _, name := range []string{string(Etcd), string(APIServer), apiServerName(1), string(Kwok), "operator"} {
		mustLaunch(t, cp, sleeper(t, name))
	}
	var got [][]string
	for _, wave := range stopWaves(cp.members) {
		var names []string
		for _, m := range wave {
			names = append(names, m.Spec.Name)
		}
		got = append(got, names)
	}
	want := [][]string{{string(Kwok), "operator"}, {string(APIServer), "kube-apiserver-2"}, {string(Etcd)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// eventually waits for a condition, with a deadline that only a broken test
// reaches.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	const deadline = time.Minute
	err := wait.PollUntilContextTimeout(t.Context(), usablePoll, deadline, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		t.Fatalf("not within %s: %s", deadline, what)
	}
}
