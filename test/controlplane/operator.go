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
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Where the operator lives in a cluster (D1).
const (
	// OperatorNamespace is the namespace of the operator.
	OperatorNamespace = "kausality-system"
	// OperatorServiceAccount is the service account it acts as.
	OperatorServiceAccount = "kausality-controller-manager"
	// OperatorUser is the user name under which the API server knows it.
	OperatorUser = "system:serviceaccount:" + OperatorNamespace + ":" + OperatorServiceAccount
	// GeneratorUser is the user name under which it writes for GeneratingPolicies that name no account.
	GeneratorUser = "system:serviceaccount:" + OperatorNamespace + ":kausality-generator"
	// DefaultOperatorName is the name of the operator's process, and so of its
	// log and kubeconfig.
	DefaultOperatorName = "operator"
)

// askedTimeout bounds how long the API server may take to trust the operator. It
// takes some milliseconds.
const askedTimeout = time.Minute

// The operator's flags for the addresses of its metrics and of its probes, and the path at
// which it says whether it is ready.
const (
	metricsFlag = "--metrics-bind-address="
	healthFlag  = "--health-probe-bind-address="
	readyPath   = "/readyz"
)

// OperatorOptions say which operator to start, and how.
type OperatorOptions struct {
	// Name tells the processes apart where there are several operators.
	// DefaultOperatorName by default.
	Name string
	// Binary is the operator's executable.
	Binary string
	// Overlay is the folder of the kustomization with everything that the
	// operator needs in the cluster: namespace, custom resource definitions,
	// RBAC and webhooks. Where it is empty, nothing is installed: all of that is
	// there already.
	Overlay string
	// WebhookURL is where what is installed has the API server call the operator's
	// webhooks. By default it is the operator's own port on localhost; tests that put
	// something in between name that. Without an Overlay it says nothing.
	WebhookURL string
	// ExtraFlags are added to, and win over, the flags of the operator.
	ExtraFlags []string
	// Env is added to the operator's environment, as NAME=value.
	Env []string
}

// Operator is an operator that runs as a process beside a control plane, under
// its own service account.
type Operator struct {
	cp *ControlPlane
	// Name is that of the process, for ControlPlane.Pause and the like.
	Name string
}

// InstallOperator installs in the cluster what the operator needs, starts it,
// and returns when it says it is ready, and the API server can ask it. On an error, which carries the end of
// the operator's log, it does not run; what was installed stays.
func InstallOperator(ctx context.Context, cp *ControlPlane, opts OperatorOptions) (*Operator, error) {
	if opts.Name == "" {
		opts.Name = DefaultOperatorName
	}
	binary, err := filepath.Abs(opts.Binary)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(binary); err != nil {
		return nil, fmt.Errorf("the operator is not built: run \"make build\" first: %w", err)
	}
	kubeconfig := cp.path(opts.Name + ".kubeconfig")
	err = cp.Launch(ctx, 3, func(ports []int) (Program, error) {
		webhookPort, health := ports[0], HostPort(ports[1])
		webhookURL := opts.WebhookURL
		if webhookURL == "" {
			webhookURL = "https://localhost:" + strconv.Itoa(webhookPort)
		}
		if err := cp.installOverlay(ctx, opts.Overlay, webhookURL); err != nil {
			return Program{}, err
		}
		if err := cp.WriteKubeconfigFor(ctx, OperatorNamespace, OperatorServiceAccount, kubeconfig); err != nil {
			return Program{}, err
		}
		return Program{
			Name: opts.Name,
			Path: binary,
			Args: append([]string{
				"--kubeconfig=" + kubeconfig,
				"--namespace=" + OperatorNamespace,
				"--webhook-host=" + loopback,
				"--webhook-port=" + strconv.Itoa(webhookPort),
				healthFlag + health,
				metricsFlag + HostPort(ports[2]),
				"--cert-dir=" + cp.path(opts.Name+"-certs"),
			}, opts.ExtraFlags...),
			Env:      opts.Env,
			ReadyURL: "http://" + health + readyPath,
		}, nil
	})
	if err != nil {
		return nil, err
	}
	if err := cp.untilAsked(ctx); err != nil {
		return nil, errors.Join(err, cp.Remove(opts.Name))
	}
	return &Operator{cp: cp, Name: opts.Name}, nil
}

// policies are what the operator's own webhook is about.
var policies = schema.GroupVersionResource{Group: "kausality.io", Version: "v1alpha1", Resource: "allowancepolicies"}

// untilAsked waits until the API server reaches the operator's webhook for policies:
// the certificate that it has to trust comes from the operator, and the API server
// hears of it some time after the operator does. What is asked changes nothing.
func (cp *ControlPlane) untilAsked(ctx context.Context) error {
	cfg := cp.AdminConfig()
	cfg.WarningHandler = rest.NoWarnings{} // What is said of the question is about no policy that there is.
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return err
	}
	nothing := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": policies.GroupVersion().String(), "kind": "AllowancePolicy",
		"metadata": map[string]any{"name": "nothing"},
		"spec":     map[string]any{"for": map[string]any{"apiGroup": "", "apiVersion": "v1", "kind": "ConfigMap"}},
	}}
	var last error
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, askedTimeout, true, func(ctx context.Context) (bool, error) {
		_, last = client.Resource(policies).Create(ctx, nothing, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return !apierrors.IsInternalError(last), nil // whatever else it says, it was asked
	})
	if err != nil {
		return fmt.Errorf("the API server cannot ask the operator: %w", errors.Join(last, err))
	}
	return nil
}

// installOverlay applies the kustomization in the folder overlay, with webhooks
// at the given URL.
func (cp *ControlPlane) installOverlay(ctx context.Context, overlay, webhookURL string) error {
	if overlay == "" {
		return nil
	}
	objects, err := cp.Render(ctx, overlay)
	if err != nil {
		return err
	}
	if err := pointWebhooksAt(webhookURL, objects); err != nil {
		return err
	}
	return cp.Apply(ctx, objects)
}

// MetricsURL returns where the operator of that name serves its metrics, to whoever has a
// token that RBAC lets read them; "" where there is no such operator.
func (cp *ControlPlane) MetricsURL(operator string) string {
	return cp.urlOf(operator, metricsFlag, "https", "/metrics")
}

// ReadyURL returns where the operator of that name says whether it can answer; "" where there is
// no such operator.
func (cp *ControlPlane) ReadyURL(operator string) string {
	return cp.urlOf(operator, healthFlag, "http", readyPath)
}

func (cp *ControlPlane) urlOf(operator, flag, scheme, path string) string {
	for _, arg := range cp.Args(operator) {
		if address, found := strings.CutPrefix(arg, flag); found {
			return scheme + "://" + address + path
		}
	}
	return ""
}

// Log returns the file with the operator's output.
func (o *Operator) Log() string { return o.cp.Log(o.Name) }

// CrashIn returns an error where an operator's log says that it ended in a way that none may.
func CrashIn(log string) error {
	text, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	for _, sign := range []string{"panic:", "fatal error:", "WARNING: DATA RACE", "Observed a panic"} {
		if _, after, found := strings.Cut(string(text), sign); found {
			return fmt.Errorf("the operator crashed: %s%s", sign, after[:min(len(after), 1000)])
		}
	}
	return nil
}

// Stop ends the operator the orderly way. What is installed in the cluster
// stays.
func (o *Operator) Stop() error { return o.cp.Remove(o.Name) }

// Kill ends the operator at once, as a crash would.
func (o *Operator) Kill() error { return o.cp.Kill(o.Name) }

// Restart starts the operator again with the same flags, after Kill or instead
// of the one that runs, and returns when it is ready.
func (o *Operator) Restart(ctx context.Context) error { return o.cp.Restart(ctx, o.Name) }
