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

package controllers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"

	"kausality.io/operator/test/controlplane"
)

// Start installs controllers in a cluster and starts them. What it has started when it
// fails goes with the control plane.
func Start(ctx context.Context, cp *controlplane.ControlPlane, all ...*Controller) error {
	for _, c := range all {
		if err := c.start(ctx, cp); err != nil {
			return fmt.Errorf("starting %s: %w", c.Name, err)
		}
	}
	return nil
}

// Replace ends a controller and starts another version of it in its place, as the binary of a name
// has it: the definitions of its kinds, its service account and its token stay what they are.
func (c *Controller) Replace(ctx context.Context, cp *controlplane.ControlPlane, binary string) error {
	path, err := findBinary(cp, binary)
	if err != nil {
		return err
	}
	if err := cp.Remove(c.Name); err != nil {
		return fmt.Errorf("ending %s: %w", c.Name, err)
	}
	if err := c.launch(ctx, cp, path); err != nil {
		return fmt.Errorf("starting %s in its place: %w", binary, err)
	}
	return nil
}

// findBinary returns the path of a binary that "make controllers-binaries" has built.
func findBinary(cp *controlplane.ControlPlane, name string) (string, error) {
	path := filepath.Join(filepath.Dir(cp.BinDir()), "peers", name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("it is not built: run \"make controllers-binaries\" first: %w", err)
	}
	return path, nil
}

func (c *Controller) start(ctx context.Context, cp *controlplane.ControlPlane) error {
	binary, err := findBinary(cp, c.Name)
	if err != nil {
		return err
	}
	definitions, err := readDefinitions(binary + "-crds")
	if err != nil {
		return err
	}
	if err := cp.Apply(ctx, append(definitions, c.identity()...)); err != nil {
		return err
	}
	if err := cp.WriteKubeconfigFor(ctx, c.Namespace, c.Name, c.kubeconfig(cp)); err != nil {
		return err
	}
	return c.launch(ctx, cp, binary)
}

// kubeconfig returns where that of the controller is.
func (c *Controller) kubeconfig(cp *controlplane.ControlPlane) string {
	return filepath.Join(cp.Dir(), c.Name+".kubeconfig")
}

// launch starts a binary as the controller.
func (c *Controller) launch(ctx context.Context, cp *controlplane.ControlPlane, binary string) error {
	return cp.Launch(ctx, 2, func(ports []int) (controlplane.Program, error) {
		return controlplane.Program{
			Name: c.Name,
			Path: binary,
			Args: c.args([2]int(ports)),
			Env: []string{
				clientcmd.RecommendedConfigPathEnvVar + "=" + c.kubeconfig(cp),
				"POD_NAMESPACE=" + c.Namespace, "RUNTIME_NAMESPACE=" + c.Namespace,
			},
			ReadyURL: "http://" + controlplane.HostPort(ports[0]) + c.readyPath,
		}, nil
	})
}

// readDefinitions reads the definitions of the kinds of a controller.
func readDefinitions(dir string) ([]*unstructured.Unstructured, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no definitions: run \"make controllers-binaries\" first", dir)
	}
	var all []*unstructured.Unstructured
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		read, err := controlplane.Decode(content)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		all = append(all, read...)
	}
	return all, nil
}

// identity returns the service account of the controller, with all rights.
func (c *Controller) identity() []*unstructured.Unstructured {
	rbac := "rbac.authorization.k8s.io"
	return []*unstructured.Unstructured{
		{Object: map[string]any{
			"apiVersion": "v1", "kind": "Namespace",
			"metadata": map[string]any{"name": c.Namespace},
		}},
		{Object: map[string]any{
			"apiVersion": "v1", "kind": "ServiceAccount",
			"metadata": map[string]any{"name": c.Name, "namespace": c.Namespace},
		}},
		{Object: map[string]any{
			"apiVersion": rbac + "/v1", "kind": "ClusterRoleBinding",
			"metadata": map[string]any{"name": c.Name},
			"roleRef":  map[string]any{"apiGroup": rbac, "kind": "ClusterRole", "name": "cluster-admin"},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": c.Name, "namespace": c.Namespace}},
		}},
	}
}
