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
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Component is one of the processes that make up a control plane.
type Component string

// The components, in the order in which they start.
const (
	// Etcd stores the objects.
	Etcd Component = "etcd"
	// APIServer is the only client of Etcd, and everybody else's server.
	APIServer Component = "kube-apiserver"
	// ControllerManager runs the deployment controller, the garbage collector
	// and the other built-in controllers.
	ControllerManager Component = "kube-controller-manager"
	// Scheduler binds pods to nodes.
	Scheduler Component = "kube-scheduler"
	// Kwok plays the kubelets. A pod becomes ready at once, except when the
	// image of one of its containers contains the text "never-ready": such a
	// pod starts, and never becomes ready.
	Kwok Component = "kwok"
)

// StorageOnly returns the components that a test needs which plays all controllers
// itself.
func StorageOnly() []Component { return []Component{Etcd, APIServer} }

// AllComponents returns the components of a cluster in which workloads work.
func AllComponents() []Component {
	return []Component{Etcd, APIServer, ControllerManager, Scheduler, Kwok}
}

// binDirEnv names the folder with the binaries, as envtest has it.
const binDirEnv = "KUBEBUILDER_ASSETS"

// binDirDefault is that folder relative to the root of the repository.
const binDirDefault = "bin/controlplane"

// defaultNodes is how many nodes there are unless Options say otherwise: two,
// so that scheduling, draining and spreading mean something.
const defaultNodes = 2

// Options say what to start, and where.
type Options struct {
	// Dir takes the data, certificates, kubeconfigs and logs, and is emptied of
	// those of an earlier control plane. By default it is a temporary folder
	// that Stop removes.
	Dir string
	// BinDir holds the binaries. By default it is what the environment variable
	// KUBEBUILDER_ASSETS names, else bin/controlplane in the working directory
	// or the nearest folder above it that has one.
	BinDir string
	// Components are the processes to run, AllComponents by default. Without
	// ControllerManager nobody creates service accounts, so pods need none.
	Components []Component
	// APIServers is how many API servers there are, one by default. They share Etcd and the audit
	// log. AdminConfig, and what acts as the operator, reaches the first one, ControllerManager the last one,
	// and Spread all of them.
	APIServers int
	// Nodes is the number of nodes that Kwok plays: two by default, none if
	// negative.
	Nodes int
	// AuditLog is the file that the API server writes its audit log to,
	// audit.log in Dir by default.
	AuditLog string
	// ExtraAPIServerFlags are added to, and win over, the flags of
	// kube-apiserver.
	ExtraAPIServerFlags []string
	// ExtraControllerManagerFlags are added to, and win over, the flags of
	// kube-controller-manager.
	ExtraControllerManagerFlags []string
	// SharedControllerIdentity lets all built-in controllers act as the one
	// user system:kube-controller-manager, instead of each as its own service
	// account (D3).
	SharedControllerIdentity bool
	// Detach lets the control plane outlive this program; Open finds it again.
	// Otherwise it ends with the program, however that ends.
	Detach bool
	// Progress is told in one line what is being started, before Start returns.
	// It may be nil.
	Progress func(string)
}

// withDefaults returns o with every field set.
func (o Options) withDefaults() (Options, error) {
	var err error
	if o.BinDir, err = findBinDir(o.BinDir); err != nil {
		return o, err
	}
	if len(o.Components) == 0 {
		o.Components = AllComponents()
	}
	switch {
	case o.Nodes == 0:
		o.Nodes = defaultNodes
	case o.Nodes < 0:
		o.Nodes = 0
	}
	o.APIServers = max(o.APIServers, 1)
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return o, err
	}
	if o.AuditLog == "" {
		o.AuditLog = filepath.Join(o.Dir, auditLogFile)
	}
	o.AuditLog, err = filepath.Abs(o.AuditLog)
	return o, err
}

// findBinDir returns the absolute folder with the binaries: dir if given, else
// the default that Options.BinDir documents.
func findBinDir(dir string) (string, error) {
	if dir == "" {
		dir = os.Getenv(binDirEnv)
	}
	if dir != "" {
		return filepath.Abs(dir)
	}
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := wd; ; at = filepath.Dir(at) {
		dir := filepath.Join(at, binDirDefault)
		if _, err := os.Stat(dir); err == nil {
			return dir, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no folder %s in or above %s: run \"make controlplane-binaries\" first", binDirDefault, wd)
		}
	}
}
