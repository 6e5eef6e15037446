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

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"

	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/controlplane/internal/fakeoperator"
)

func TestMain(m *testing.M) {
	if fakeoperator.Asked() {
		os.Exit(fakeoperator.Main())
	}
	os.Exit(m.Run())
}

// person uses the command as somebody at a terminal does.
type person struct {
	*testing.T
	cluster cluster
}

func newPerson(t *testing.T) *person {
	t.Helper()
	dir := t.TempDir()
	p := &person{T: t, cluster: cluster{
		dir:     filepath.Join(dir, "dev"),
		manager: filepath.Join(dir, "manager"),
		overlay: fakeoperator.Overlay(),
	}}
	t.Setenv(fakeoperator.Env, fakeoperator.Serve)
	p.buildManager("")
	t.Cleanup(func() {
		if _, err := p.try("down"); err != nil {
			t.Error(err)
		}
	})
	return p
}

// buildManager makes an executable that plays the operator. Builds with another
// suffix differ, and do the same.
func (p *person) buildManager(suffix string) {
	p.Helper()
	binary, err := os.ReadFile(os.Args[0])
	if err != nil {
		p.Fatal(err)
	}
	// Not over the old one, which may be running.
	if err := os.WriteFile(p.cluster.manager+".new", append(binary, suffix...), 0o700); err != nil {
		p.Fatal(err)
	}
	if err := os.Rename(p.cluster.manager+".new", p.cluster.manager); err != nil {
		p.Fatal(err)
	}
}

// try runs the command and returns what it printed.
func (p *person) try(args ...string) (string, error) {
	var out bytes.Buffer
	c := p.cluster
	c.out = &out
	err := c.run(p.Context(), args)
	return out.String(), err
}

// must runs the command, which has to print the given parts.
func (p *person) must(command string, parts ...string) {
	p.Helper()
	out, err := p.try(command)
	if err != nil {
		p.Fatalf("%s: %v\n%s", command, err, out)
	}
	for _, part := range parts {
		if !strings.Contains(out, part) {
			p.Errorf("%s does not print %q:\n%s", command, part, out)
		}
	}
}

// pids tells what runs, from outside.
func (p *person) pids() map[string]int {
	p.Helper()
	cp, err := controlplane.Open(p.cluster.dir)
	if err != nil {
		p.Fatal(err)
	}
	pids := make(map[string]int)
	for _, m := range cp.Status() {
		if m.Running {
			pids[m.Name] = m.PID
		}
	}
	return pids
}

// kill ends processes without telling anybody.
func (p *person) kill(pids ...int) {
	p.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			p.Fatal(err)
		}
	}
	err := wait.PollUntilContextTimeout(p.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		running := slices.Collect(maps.Values(p.pids()))
		return !slices.ContainsFunc(pids, func(pid int) bool { return slices.Contains(running, pid) }), nil
	})
	if err != nil {
		p.Fatalf("processes %v do not end: %v", pids, err)
	}
}

func TestUpAndDown(t *testing.T) {
	p := newPerson(t)
	p.must("down", "Nothing is running.")

	p.must("up", "starting kube-apiserver", "Running:", "export KUBECONFIG="+filepath.Join(p.cluster.dir, "kubeconfig"), "make down")
	first := p.pids()
	if _, found := first[controlplane.DefaultOperatorName]; !found || len(first) != len(controlplane.AllComponents())+1 {
		t.Errorf("running: %v, want all components and the operator", first)
	}
	for _, file := range []string{"kubeconfig", "audit.log", "operator.log", "kube-apiserver.log"} {
		if _, err := os.Stat(filepath.Join(p.cluster.dir, file)); err != nil {
			t.Error(err)
		}
	}

	p.must("up", "The cluster is running already.", "Running:")
	if diff := cmp.Diff(first, p.pids()); diff != "" {
		t.Errorf("processes after the second up (-want +got):\n%s", diff)
	}

	p.kill(first["kube-scheduler"], first["operator"])
	p.must("up", "kube-scheduler has ended. Starting it again", "operator has ended. Starting it again")
	second := p.pids()
	if second["kube-scheduler"] == 0 || second["operator"] == 0 || second["kube-apiserver"] != first["kube-apiserver"] {
		t.Errorf("running after the repair: %v, before: %v", second, first)
	}

	p.must("down", "ending operator (pid", "ending etcd (pid", "The logs stay in")
	if _, err := controlplane.Open(p.cluster.dir); !errors.Is(err, controlplane.ErrNoControlPlane) {
		t.Errorf("after down: got error %v, want %v", err, controlplane.ErrNoControlPlane)
	}
	if _, err := os.Stat(filepath.Join(p.cluster.dir, "operator.log")); err != nil {
		t.Errorf("the logs are gone: %v", err)
	}
	p.must("down", "Nothing is running.")
}

func TestOperatorThatChanges(t *testing.T) {
	p := newPerson(t)
	p.must("up")
	before := p.pids()

	t.Setenv(fakeoperator.Env, fakeoperator.Fail)
	p.buildManager("broken")
	out, err := p.try("up")
	if err == nil || !strings.Contains(err.Error(), fakeoperator.Complaint) || !strings.Contains(err.Error(), "goes on without the operator") {
		t.Errorf("an operator that fails: got error %v", err)
	}
	if want := p.cluster.manager + " is another build than the operator that runs"; !strings.Contains(out, want) {
		t.Errorf("up does not print %q:\n%s", want, out)
	}
	if got := p.pids(); got["operator"] != 0 || got["etcd"] != before["etcd"] {
		t.Errorf("running after the operator failed: %v, before: %v", got, before)
	}

	t.Setenv(fakeoperator.Env, fakeoperator.Serve)
	p.must("up", "The cluster is running already.", "installing")
	if got := p.pids(); got["operator"] == 0 || got["operator"] == before["operator"] {
		t.Errorf("running after the operator was mended: %v, before: %v", got, before)
	}
}

func TestStartAnew(t *testing.T) {
	p := newPerson(t)
	p.must("up")
	first := p.pids()

	state := filepath.Join(p.cluster.dir, "state.json")
	content, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	content = bytes.Replace(content, []byte(`"complete": true`), []byte(`"complete": false`), 1)
	if err := os.WriteFile(state, content, 0o600); err != nil {
		t.Fatal(err)
	}
	p.must("up", "An earlier start was cut short", "ending etcd", "starting etcd", "Running:")
	second := p.pids()
	if len(second) != len(first) || second["etcd"] == first["etcd"] {
		t.Errorf("running after a start that was cut short: %v, before: %v", second, first)
	}

	p.kill(slices.Collect(maps.Values(second))...)
	p.must("up", "has ended, with all its processes. Starting a new, empty one.", "Running:")
	if third := p.pids(); len(third) != len(first) {
		t.Errorf("running after all had ended: %v, before: %v", third, second)
	}
}

func TestRefusals(t *testing.T) {
	p := newPerson(t)
	for name, args := range map[string][]string{"no command": {}, "an unknown one": {"sideways"}, "two": {"up", "down"}} {
		t.Run(name, func(t *testing.T) {
			if _, err := p.try(args...); !errors.Is(err, errUsage) {
				t.Errorf("got error %v, want %v", err, errUsage)
			}
		})
	}
	t.Run("while another command is at work", func(t *testing.T) {
		c := p.cluster
		c.out = io.Discard
		unlock, err := c.lock()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.try("down"); err == nil || !strings.Contains(err.Error(), "another command is at work") {
			t.Errorf("got error %v", err)
		}
		if err := unlock(); err != nil {
			t.Error(err)
		}
	})
	t.Run("an operator that is not built", func(t *testing.T) {
		missing := person{T: t, cluster: p.cluster}
		missing.cluster.manager = filepath.Join(t.TempDir(), "manager")
		if _, err := missing.try("up"); err == nil || !strings.Contains(err.Error(), "make build") {
			t.Errorf("got error %v", err)
		}
		missing.must("down", "Nothing is running.")
	})
}
