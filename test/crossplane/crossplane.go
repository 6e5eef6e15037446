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

package crossplane

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"kausality.io/operator/test/controlplane"
)

// Who Crossplane is in a cluster, which is what policies name.
const (
	// Namespace is where Crossplane lives.
	Namespace = "crossplane-system"
	// ServiceAccount is the service account it acts as.
	ServiceAccount = "crossplane"
)

// Names of the processes, for ControlPlane.Kill and the like.
const (
	// Core makes composite resources of claims, and composes them.
	Core = "crossplane"
	// Function is the composition function that Core asks.
	Function = "function"
	// Cloud is what Provider works on.
	Cloud = "cloud"
	// Provider brings about in Cloud what managed resources ask for.
	Provider = "provider"
)

// The Secrets that "crossplane core init" fills.
const (
	authoritySecret = "crossplane-root-ca"
	serverSecret    = "crossplane-tls-server"
	clientSecret    = "crossplane-tls-client"
)

// How often, and for how long, Crossplane's init container is tried. The second time
// succeeds as a rule.
const (
	initPoll    = 100 * time.Millisecond
	initTimeout = time.Minute
)

//go:embed manifests
var manifests embed.FS

// Options say what to start.
type Options struct {
	// BinDir holds the binaries. By default it is the folder "peers" beside that
	// of the control plane's.
	BinDir string
	// CoreOnly leaves out the tests' own provider, its cloud, and the databases.
	CoreOnly bool
	// Poll is how often the provider looks at what the cloud has: a minute by
	// default, as real providers do.
	Poll time.Duration
	// Progress is told in one line what is being started. It may be nil.
	Progress func(string)
}

// installation is Crossplane while it is being started.
type installation struct {
	Options

	cp *controlplane.ControlPlane
	// kubeconfig is that of Crossplane's service account.
	kubeconfig string
}

// Start installs Crossplane in a cluster, starts it with everything that it works
// with, and returns when it is ready. What it has started when it fails goes with
// the control plane.
func Start(ctx context.Context, cp *controlplane.ControlPlane, opts Options) error {
	if opts.BinDir == "" {
		opts.BinDir = defaultBinDir(cp)
	}
	if opts.Poll == 0 {
		opts.Poll = time.Minute
	}
	if opts.Progress == nil {
		opts.Progress = func(string) {}
	}
	in := &installation{Options: opts, cp: cp, kubeconfig: filepath.Join(cp.Dir(), Core+".kubeconfig")}
	if err := in.checkBinaries(); err != nil {
		return err
	}
	steps := []func(context.Context) error{in.prepare, in.startFunction, in.startCore}
	if !opts.CoreOnly {
		steps = append(steps, in.startCloud, in.installProvider, in.offerDatabases)
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return fmt.Errorf("starting Crossplane: %w", err)
		}
	}
	return nil
}

// defaultBinDir returns the folder with the binaries where nobody says otherwise.
func defaultBinDir(cp *controlplane.ControlPlane) string {
	return filepath.Join(filepath.Dir(cp.BinDir()), "peers")
}

func (in *installation) checkBinaries() error {
	needed := []string{Core, Function}
	if !in.CoreOnly {
		needed = append(needed, Cloud, Provider)
	}
	for _, name := range needed {
		if _, err := os.Stat(in.binary(name)); err != nil {
			return fmt.Errorf("%s is not built: run \"make peers-binaries\" first: %w", name, err)
		}
	}
	return nil
}

func (in *installation) binary(name string) string { return filepath.Join(in.BinDir, name) }

// certs returns the folder with the certificates that Crossplane and the function show
// each other.
func (in *installation) certs(name string) string {
	return filepath.Join(in.cp.Dir(), "crossplane-certs", name)
}

// apply makes the cluster hold what a file of manifests says.
func (in *installation) apply(ctx context.Context, name string) error {
	objects, err := manifest(name)
	if err != nil {
		return err
	}
	return in.cp.Apply(ctx, objects)
}

// manifest reads a file of manifests.
func manifest(name string) ([]*unstructured.Unstructured, error) {
	content, err := manifests.ReadFile("manifests/" + name)
	if err != nil {
		return nil, err
	}
	objects, err := controlplane.Decode(content)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return objects, nil
}

// prepare does in the cluster what Crossplane's chart and its init container do.
func (in *installation) prepare(ctx context.Context) error {
	in.Progress("installing " + Core)
	if err := in.apply(ctx, "core.yaml"); err != nil {
		return err
	}
	if err := in.cp.WriteKubeconfigFor(ctx, Namespace, ServiceAccount, in.kubeconfig); err != nil {
		return err
	}
	if err := in.initialize(ctx); err != nil {
		return err
	}
	return in.writeCerts(ctx)
}

// initialize runs Crossplane's init container until it succeeds, as a kubelet does:
// it does not wait for its own kinds to be served.
func (in *installation) initialize(ctx context.Context) error {
	var failed error
	err := wait.PollUntilContextTimeout(ctx, initPoll, initTimeout, true, func(ctx context.Context) (bool, error) {
		run := exec.CommandContext(ctx, in.binary(Core), "core", "init")
		run.Env = append(os.Environ(), in.environment()...)
		output, err := run.CombinedOutput()
		if err != nil {
			failed = fmt.Errorf("%s core init: %w: %s", Core, err, bytes.TrimSpace(output))
		}
		return err == nil, nil
	})
	if err != nil {
		return errors.Join(failed, err)
	}
	return nil
}

// environment returns what Crossplane's chart sets.
func (in *installation) environment() []string {
	return []string{
		clientcmd.RecommendedConfigPathEnvVar + "=" + in.kubeconfig,
		"POD_NAMESPACE=" + Namespace,
		"POD_SERVICE_ACCOUNT=" + ServiceAccount,
		"CRDS_PATH=" + in.binary("crds"),
		// They protect what no test is about.
		"ENABLE_WEBHOOKS=false",
		"TLS_CA_SECRET_NAME=" + authoritySecret,
		"TLS_SERVER_SECRET_NAME=" + serverSecret,
		"TLS_CLIENT_SECRET_NAME=" + clientSecret,
		"TLS_CLIENT_CERTS_DIR=" + in.certs(""),
	}
}

// The files in which Crossplane looks for its certificate and for whom to trust,
// and that by which the function recognizes Crossplane.
const (
	certFile     = "tls.crt"
	keyFile      = "tls.key"
	trustedFile  = "ca.crt"
	clientCAFile = "client-ca.crt"
)

// writeCerts writes the certificate that Crossplane has made for itself. The
// function serves with the certificate of the control plane.
func (in *installation) writeCerts(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(in.cp.AdminConfig())
	if err != nil {
		return err
	}
	secret, err := client.CoreV1().Secrets(Namespace).Get(ctx, clientSecret, metav1.GetOptions{})
	if err != nil {
		return err
	}
	authority, _, _ := in.cp.ServingFiles()
	trusted, err := os.ReadFile(authority)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(in.certs(""), 0o700); err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		certFile:     secret.Data[certFile],
		keyFile:      secret.Data[keyFile],
		clientCAFile: secret.Data[trustedFile],
		trustedFile:  trusted,
	} {
		if err := os.WriteFile(in.certs(name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// startCore starts Crossplane. Two of its ports are on all interfaces: its flags
// take no address.
func (in *installation) startCore(ctx context.Context) error {
	in.Progress("starting " + Core)
	return in.cp.Launch(ctx, 2, func(ports []int) (controlplane.Program, error) {
		return controlplane.Program{
			Name: Core,
			Path: in.binary(Core),
			Args: []string{
				"core", "start", "--debug",
				"--package-runtime=External",
				"--xpkg-cache-dir=" + filepath.Join(in.cp.Dir(), "crossplane-packages"),
				"--health-probe-port=" + strconv.Itoa(ports[0]),
				"--metrics-port=" + strconv.Itoa(ports[1]),
			},
			Env:      in.environment(),
			ReadyURL: "http://" + controlplane.HostPort(ports[0]) + "/readyz",
		}, nil
	})
}
