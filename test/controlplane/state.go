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
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/tools/clientcmd"

	"kausality.io/operator/test/controlplane/internal/process"
)

// stateFile remembers, in Options.Dir, the processes of a detached control
// plane.
const stateFile = "state.json"

// ErrNoControlPlane says that a folder has no detached control plane.
var ErrNoControlPlane = errors.New("no control plane")

// state is the content of the state file.
type state struct {
	BinDir   string        `json:"binDir"`
	AuditLog string        `json:"auditLog"`
	Complete bool          `json:"complete"`
	Members  []memberState `json:"members"`
}

// memberState is a member with what it takes to recognize its process.
type memberState struct {
	process.Spec
	process.ID

	ReadyURL string `json:"readyURL"`
	// ExtraEnv may hold secrets, as the kubeconfigs beside the state file do.
	ExtraEnv []string `json:"extraEnv,omitempty"`
	// Ended tells that the process was made to end.
	Ended bool `json:"ended,omitempty"`
}

// Open returns the control plane that an earlier program started detached in
// dir. Its processes may have ended since, see Status, or the program before its
// start was done, see Complete. The error is ErrNoControlPlane if there is none.
func Open(dir string) (*ControlPlane, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	st, err := readState(dir)
	if err != nil {
		return nil, err
	}
	cp := &ControlPlane{opts: Options{Dir: dir, BinDir: st.BinDir, AuditLog: st.AuditLog, Detach: true, Progress: func(string) {}}}
	cp.complete = st.Complete
	for _, m := range st.Members {
		cp.members = append(cp.members, &member{
			Process:  process.Adopt(m.Spec, m.ID),
			readyURL: m.ReadyURL,
			env:      m.ExtraEnv,
			ended:    m.Ended,
		})
	}
	if !cp.complete {
		return cp, nil
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", cp.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of the control plane in %s: %w", dir, err)
	}
	cp.hosts = []string{strings.TrimPrefix(cfg.Host, "https://")}
	if err := cp.useAdmin(cfg); err != nil {
		return nil, err
	}
	return cp, nil
}

// saveState writes the state file of a detached control plane. The caller holds
// cp.mu.
func (cp *ControlPlane) saveState() error {
	if !cp.opts.Detach {
		return nil
	}
	st := state{BinDir: cp.opts.BinDir, AuditLog: cp.opts.AuditLog, Complete: cp.complete}
	for _, m := range cp.members {
		st.Members = append(st.Members, memberState{
			Spec:     m.Spec,
			ID:       m.ID,
			ReadyURL: m.readyURL,
			ExtraEnv: m.env,
			Ended:    m.ended,
		})
	}
	return writeState(cp.opts.Dir, st)
}

func readState(dir string) (state, error) {
	path := filepath.Join(dir, stateFile)
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return state{}, fmt.Errorf("%w in %s", ErrNoControlPlane, dir)
	}
	if err != nil {
		return state{}, err
	}
	var st state
	if err := json.Unmarshal(content, &st); err != nil {
		return state{}, fmt.Errorf("%s does not parse; end the processes it names, then remove it: %w", path, err)
	}
	return st, nil
}

// writeState replaces the state file as a whole, so that a crash leaves either
// the old one or the new one.
func writeState(dir string, st state) error {
	content, err := json.MarshalIndent(st, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, stateFile)
	if err := os.WriteFile(path+".new", append(content, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func removeState(dir string) error {
	err := os.Remove(filepath.Join(dir, stateFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
