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

package kyverno

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/kubernetes"

	"kausality.io/operator/test/controlplane"
)

// Namespace is where Kyverno is installed.
const Namespace = "kyverno"

// The controllers, by the names of their processes, service accounts and Deployments.
const (
	Admission  = "kyverno-admission-controller"
	Background = "kyverno-background-controller"
)

// The users that the controllers act as.
var (
	AdmissionUser  = serviceaccount.MakeUsername(Namespace, Admission)
	BackgroundUser = serviceaccount.MakeUsername(Namespace, Background)
)

const (
	// startTimeout bounds the time until the controllers lead and their webhooks are there.
	startTimeout = 2 * time.Minute
	poll         = 200 * time.Millisecond
	// loopback is the address that the controllers listen on.
	loopback = "127.0.0.1"
)

// Options add to the flags of an installation, and win over them.
type Options struct {
	AdmissionFlags, BackgroundFlags []string
}

// controller is a controller and how it differs from its Deployment.
type controller struct {
	name, binary string
	// lease is the name of the Lease that its leader holds.
	lease string
	// flags returns those that depend on ports, of which the first one serves its metrics.
	flags func(ports []int) []string
	extra []string
}

// Start installs Kyverno in a cluster, starts its admission and background controllers, and
// returns when they lead and the API server knows their webhook for policies. They end with the
// control plane.
func Start(ctx context.Context, cp *controlplane.ControlPlane, opts Options) error {
	folder := filepath.Join(filepath.Dir(cp.BinDir()), "peers")
	objects, deployments, err := readManifest(filepath.Join(folder, "kyverno-install", "install.yaml"))
	if err != nil {
		return err
	}
	if err := cp.Apply(ctx, objects); err != nil {
		return fmt.Errorf("installing Kyverno: %w", err)
	}
	clients, err := kubernetes.NewForConfig(cp.AdminConfig())
	if err != nil {
		return err
	}
	for _, c := range controllers(opts) {
		deployment, found := deployments[c.name]
		if !found {
			return fmt.Errorf("the manifest of Kyverno has no Deployment %s", c.name)
		}
		if err := c.start(ctx, cp, filepath.Join(folder, c.binary), deployment); err != nil {
			return fmt.Errorf("starting %s: %w", c.name, err)
		}
		if err := c.untilLeading(ctx, clients); err != nil {
			return fmt.Errorf("waiting for %s to lead: %w", c.name, err)
		}
	}
	return untilAsked(ctx, clients)
}

func controllers(opts Options) []controller {
	return []controller{
		{
			name: Admission, binary: "kyverno", lease: "kyverno", extra: opts.AdmissionFlags,
			flags: func(ports []int) []string {
				return []string{
					"--serverIP=" + controlplane.HostPort(ports[1]), "--webhookServerHost=" + loopback,
					"--webhookServerPort=" + strconv.Itoa(ports[1]),
				}
			},
		},
		{
			name: Background, binary: "kyverno-background", lease: Background, extra: opts.BackgroundFlags,
			flags: func([]int) []string { return nil },
		},
	}
}

// readManifest returns what Kyverno's manifest installs, apart from what takes Pods or serves them,
// and its Deployments by name.
func readManifest(path string) ([]*unstructured.Unstructured, map[string]*appsv1.Deployment, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("Kyverno is not built: run \"make kyverno-binaries\" first: %w", err) //nolint:staticcheck // A name.
	}
	all, err := controlplane.Decode(content)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", path, err)
	}
	var objects []*unstructured.Unstructured
	deployments := map[string]*appsv1.Deployment{}
	for _, object := range all {
		switch object.GetKind() {
		case "Deployment":
			d := &appsv1.Deployment{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, d); err != nil {
				return nil, nil, fmt.Errorf("reading Deployment %s of %s: %w", object.GetName(), path, err)
			}
			deployments[d.Name] = d
		case "Service":
		default:
			objects = append(objects, object)
		}
	}
	return objects, deployments, nil
}

// start starts a controller with the flags and the environment of its Deployment.
func (c *controller) start(ctx context.Context, cp *controlplane.ControlPlane, binary string, deployment *appsv1.Deployment) error {
	if len(deployment.Spec.Template.Spec.Containers) != 1 {
		return fmt.Errorf("its Deployment has %d containers, expected 1", len(deployment.Spec.Template.Spec.Containers))
	}
	container := &deployment.Spec.Template.Spec.Containers[0]
	kubeconfig := filepath.Join(cp.Dir(), c.name+".kubeconfig")
	if err := cp.WriteKubeconfigFor(ctx, Namespace, c.name, kubeconfig); err != nil {
		return err
	}
	return cp.Launch(ctx, 2, func(ports []int) (controlplane.Program, error) {
		args := append([]string{}, container.Args...)
		args = append(args,
			"--kubeconfig="+kubeconfig, "--disableLogColor", "--controllerRuntimeMetricsAddress=0",
			"--metricsHost="+loopback, "--metricsPort="+strconv.Itoa(ports[0]),
		)
		return controlplane.Program{
			Name:     c.name,
			Path:     binary,
			Args:     append(append(args, c.flags(ports)...), c.extra...),
			Env:      environment(container, cp.Dir()),
			ReadyURL: "http://" + controlplane.HostPort(ports[0]) + "/metrics",
		}, nil
	})
}

// environment returns that of a container, as its Pod would have it. Folders of its volumes are in
// dir.
func environment(container *corev1.Container, dir string) []string {
	var out []string
	for i := range container.Env {
		variable := &container.Env[i]
		value := variable.Value
		switch variable.Name {
		case "KYVERNO_NAMESPACE":
			value = Namespace
		case "KYVERNO_POD_NAME":
			value = container.Name
		case "TUF_ROOT":
			value = filepath.Join(dir, "kyverno-sigstore")
		}
		out = append(out, variable.Name+"="+value)
	}
	return out
}

// untilLeading waits until a controller holds its Lease, before which it does nothing.
func (c *controller) untilLeading(ctx context.Context, clients kubernetes.Interface) error {
	return until(ctx, func(ctx context.Context) error {
		lease, err := clients.CoordinationV1().Leases(Namespace).Get(ctx, c.lease, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
			return fmt.Errorf("nobody holds Lease %s", c.lease)
		}
		return nil
	})
}

// untilAsked waits until the webhook for Kyverno's policies is configured.
func untilAsked(ctx context.Context, clients kubernetes.Interface) error {
	const name = "kyverno-policy-validating-webhook-cfg"
	return until(ctx, func(ctx context.Context) error {
		config, err := clients.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(config.Webhooks) == 0 || len(config.Webhooks[0].ClientConfig.CABundle) == 0 {
			return fmt.Errorf("ValidatingWebhookConfiguration %s has no certificate", name)
		}
		return nil
	})
}

// until calls what until it returns no error. What is not found may come to be.
func until(ctx context.Context, what func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, poll, startTimeout, true, func(ctx context.Context) (bool, error) {
		if last = what(ctx); last != nil && apierrors.IsForbidden(last) {
			return false, last
		}
		return last == nil, nil
	})
	if wait.Interrupted(err) {
		return errors.Join(err, last)
	}
	return err
}
