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
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"kausality.io/operator/test/controlplane/internal/process"
)

// The files of a control plane, in Options.Dir. The log of each process is
// beside them, under its name and with the ending .log.
const (
	kubeconfigFile = "kubeconfig"
	auditLogFile   = "audit.log"
	pkiDir         = "certs"
	etcdDataDir    = "etcd"
	configDir      = "config"
)

// stopGrace is how long a process may take to end before it is killed. All of
// them need less than a second as a rule; an operator that is behind writes down for up to
// ten what it has decided.
const stopGrace = 15 * time.Second

// ControlPlane is a set of running processes. Its methods may be called
// concurrently.
type ControlPlane struct {
	opts Options
	// temporary tells that Options.Dir is to be removed at the end.
	temporary bool
	// admin reaches the API server with all rights. Its TLS part is accepted by
	// every component.
	admin *rest.Config
	// hosts are the addresses of the API servers; of a control plane that Open found the first alone.
	hosts []string
	// http asks the components how they are.
	http *http.Client
	// pki is nil for a control plane that Open found.
	pki *pki

	mu sync.Mutex
	// complete tells that Start came to its end.
	complete bool
	// members are the processes in the order in which they were started.
	members []*member
}

// member is one process of a control plane, with what it takes to start it
// again.
type member struct {
	*process.Process
	// readyURL answers 200 as soon as the process does its work.
	readyURL string
	// env is added to the environment of the process.
	env []string
	// ended tells that the process was made to end, so that its end is not an
	// accident.
	ended bool
}

// Start starts the components and returns when they work: the API server
// answers, the nodes are ready, and pods can be created. An error names the
// component that failed and carries the end of its log; nothing is left running
// then. ctx only bounds the start.
func Start(ctx context.Context, opts Options) (_ *ControlPlane, err error) {
	cp := &ControlPlane{temporary: opts.Dir == ""}
	if cp.temporary {
		if opts.Dir, err = os.MkdirTemp("", "kausality-controlplane-"); err != nil {
			return nil, err
		}
	}
	if cp.opts, err = opts.withDefaults(); err != nil {
		if cp.temporary {
			err = errors.Join(err, os.RemoveAll(opts.Dir))
		}
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, cp.Stop())
		}
	}()

	if err := cp.prepare(); err != nil {
		return nil, err
	}
	if err := cp.startComponents(ctx); err != nil {
		return nil, err
	}
	if err := cp.setComplete(); err != nil {
		return nil, err
	}
	return cp, nil
}

// setComplete remembers that the start came to its end.
func (cp *ControlPlane) setComplete() error {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	cp.complete = true
	return cp.saveState()
}

// prepare empties the folder and writes the files that components read.
func (cp *ControlPlane) prepare() error {
	if err := cp.checkBinaries(); err != nil {
		return err
	}
	if err := checkUnused(cp.opts.Dir); err != nil {
		return err
	}
	leftovers := []string{cp.opts.AuditLog}
	for _, name := range []string{stateFile, kubeconfigFile, pkiDir, etcdDataDir, configDir} {
		leftovers = append(leftovers, cp.path(name))
	}
	for _, name := range leftovers {
		if err := os.RemoveAll(name); err != nil {
			return fmt.Errorf("removing what an earlier control plane left: %w", err)
		}
	}
	if err := os.MkdirAll(cp.path(configDir), 0o700); err != nil {
		return err
	}

	var err error
	if cp.pki, err = newPKI(cp.path(pkiDir)); err != nil {
		return err
	}
	cert, key, err := cp.pki.client("kubernetes-admin", "system:masters")
	if err != nil {
		return fmt.Errorf("issuing the certificate of the administrator: %w", err)
	}
	return cp.useAdmin(&rest.Config{TLSClientConfig: rest.TLSClientConfig{
		CAData:   cp.pki.cluster.bundle(),
		CertData: cert,
		KeyData:  key,
	}})
}

// useAdmin makes cfg the way to talk to the components.
func (cp *ControlPlane) useAdmin(cfg *rest.Config) error {
	// Tests must not be slowed down by a limit on their own side.
	cfg.QPS = -1
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return err
	}
	client.Timeout = readyRequestTimeout
	cp.admin, cp.http = cfg, client
	return nil
}

func (cp *ControlPlane) checkBinaries() error {
	for _, component := range cp.opts.Components {
		if _, err := os.Stat(cp.binary(string(component))); err != nil {
			return fmt.Errorf("%s is not built: run \"make controlplane-binaries\" first: %w", component, err)
		}
	}
	return nil
}

// checkUnused returns an error if processes of a detached control plane run in
// dir, which it must not be deprived of its files.
func checkUnused(dir string) error {
	earlier, err := Open(dir)
	if errors.Is(err, ErrNoControlPlane) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, m := range earlier.Status() {
		if m.Running {
			return fmt.Errorf("a control plane runs in %s already: %s has pid %d", dir, m.Name, m.PID)
		}
	}
	return nil
}

// Stop ends all processes, those that call others before those that are called,
// and returns when they are gone. It tells which of them had ended before,
// without having been asked to. Calling it again is harmless.
func (cp *ControlPlane) Stop() error {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	var errs []error
	for _, m := range cp.members {
		if !m.ended && !m.Running() {
			errs = append(errs, diedError(m))
		}
		m.ended = true
	}
	for _, wave := range stopWaves(cp.members) {
		var group errgroup.Group
		for _, m := range wave {
			group.Go(func() error {
				if Component(m.Spec.Name) == Etcd {
					// Its data is of no use any more.
					return m.Kill()
				}
				return m.Stop(stopGrace)
			})
		}
		if err := group.Wait(); err != nil {
			errs = append(errs, err)
		}
	}
	cp.members = nil
	if cp.opts.Detach {
		if err := removeState(cp.opts.Dir); err != nil {
			errs = append(errs, err)
		}
	}
	if cp.temporary {
		if err := os.RemoveAll(cp.opts.Dir); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// stopWaves groups members by when they are to be stopped: those that call the
// API server, then it, then what it calls.
func stopWaves(members []*member) [][]*member {
	waves := make([][]*member, 3)
	for _, m := range members {
		wave := 0
		switch {
		case isAPIServer(m.Spec.Name):
			wave = 1
		case m.Spec.Name == string(Etcd):
			wave = 2
		}
		waves[wave] = append(waves[wave], m)
	}
	return waves
}

// Complete reports whether the start of the control plane came to its end. Open
// may find one of which it did not, which is good for nothing but Stop.
func (cp *ControlPlane) Complete() bool {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	return cp.complete
}

// Dir returns the folder with everything that belongs to the control plane.
func (cp *ControlPlane) Dir() string { return cp.opts.Dir }

// BinDir returns the folder with the executables, kubectl among them.
func (cp *ControlPlane) BinDir() string { return cp.opts.BinDir }

// Kubeconfig returns the file by which kubectl and others reach the API server with
// all rights.
func (cp *ControlPlane) Kubeconfig() string { return cp.path(kubeconfigFile) }

// AuditLog returns the file that ReadAudit reads.
func (cp *ControlPlane) AuditLog() string { return cp.opts.AuditLog }

// Log returns the file with the output of the process of the given name: that of a
// Component or of an operator.
func (cp *ControlPlane) Log(name string) string { return cp.path(name + ".log") }

func (cp *ControlPlane) path(name ...string) string {
	return filepath.Join(append([]string{cp.opts.Dir}, name...)...)
}

func (cp *ControlPlane) binary(name string) string {
	return filepath.Join(cp.opts.BinDir, name)
}

// runs reports whether the component is one of those to be started.
func (cp *ControlPlane) runs(component Component) bool {
	return slices.Contains(cp.opts.Components, component)
}
