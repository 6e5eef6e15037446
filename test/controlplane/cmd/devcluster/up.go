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
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"kausality.io/operator/test/controlplane"
)

// digestFile remembers, in the cluster's folder, which build of the operator
// runs.
const digestFile = "operator.sha256"

// up makes the cluster and the operator run, and says what it did about it.
func (c cluster) up(ctx context.Context) error {
	if _, err := os.Stat(c.manager); err != nil {
		return fmt.Errorf("the operator is not built: run \"make build\" first: %w", err)
	}
	cp, err := c.controlPlane(ctx)
	if err != nil {
		return err
	}
	if err := c.companion(ctx, cp); err != nil {
		return err
	}
	if err := c.operator(ctx, cp); err != nil {
		return fmt.Errorf("%w\nThe cluster goes on without the operator: mend it and run \"make up\" again, or end it with \"make down\"", err)
	}
	c.explain(cp)
	return nil
}

// controlPlane returns the cluster's control plane with all processes running.
func (c cluster) controlPlane(ctx context.Context) (*controlplane.ControlPlane, error) {
	cp, err := controlplane.Open(c.dir)
	if errors.Is(err, controlplane.ErrNoControlPlane) {
		return c.start(ctx)
	}
	if err != nil {
		return nil, err
	}
	members := cp.Status()
	ended := slices.DeleteFunc(slices.Clone(members), func(m controlplane.MemberStatus) bool { return m.Running })
	switch {
	case !cp.Complete():
		c.sayf("An earlier start was cut short. Clearing up after it.")
		if err := c.stop(cp); err != nil {
			return nil, err
		}
		return c.start(ctx)
	case len(ended) == len(members):
		c.sayf("The cluster that was running here has ended, with all its processes. Starting a new, empty one.")
		return c.start(ctx)
	case len(ended) == 0:
		c.sayf("The cluster is running already.")
		return cp, nil
	}
	for _, m := range ended {
		c.sayf("%s has ended. Starting it again; what it said before is in %s.", m.Name, c.relative(m.Log))
		if err := cp.Restart(ctx, m.Name); err != nil {
			return nil, err
		}
	}
	return cp, nil
}

// start starts a new control plane.
func (c cluster) start(ctx context.Context) (*controlplane.ControlPlane, error) {
	return controlplane.Start(ctx, controlplane.Options{
		Dir:      c.dir,
		BinDir:   c.binDir,
		Detach:   true,
		Progress: func(line string) { c.sayf("%s", line) },
	})
}

// operator makes the operator that is built now run.
func (c cluster) operator(ctx context.Context, cp *controlplane.ControlPlane) error {
	digest, err := fileDigest(c.manager)
	if err != nil {
		return err
	}
	running := slices.ContainsFunc(cp.Status(), func(m controlplane.MemberStatus) bool {
		return m.Name == controlplane.DefaultOperatorName
	})
	if running {
		before, err := os.ReadFile(c.digestPath())
		if err == nil && string(before) == digest {
			return nil
		}
		c.sayf("%s is another build than the operator that runs. Stopping that.", c.manager)
		if err := cp.Remove(controlplane.DefaultOperatorName); err != nil {
			return err
		}
	}
	c.sayf("installing %s and starting %s", c.overlay, c.manager)
	if _, err := controlplane.InstallOperator(ctx, cp, controlplane.OperatorOptions{
		Binary:  c.manager,
		Overlay: c.overlay,
	}); err != nil {
		return err
	}
	return os.WriteFile(c.digestPath(), []byte(digest), 0o600)
}

func (c cluster) digestPath() string { return filepath.Join(c.dir, digestFile) }

// explain tells what runs and how to use it.
func (c cluster) explain(cp *controlplane.ControlPlane) {
	c.sayf("\nRunning:")
	for _, m := range cp.Status() {
		c.sayf("  %-24s pid %-8d %s", m.Name, m.PID, c.relative(m.Log))
	}
	c.sayf("\nUse it:")
	c.sayf("  export KUBECONFIG=%s", cp.Kubeconfig())
	c.sayf("  export PATH=%s:$PATH", cp.BinDir())
	c.sayf("  kubectl get nodes")
	c.sayf("  kubectl --as=alice --as-group=system:masters ...   # as a person whom RBAC lets do everything")
	if url := cp.MetricsURL(controlplane.DefaultOperatorName); url != "" {
		c.sayf("\nThe operator's metrics are at %s; see docs/metrics.md for who may read them.", url)
	}
	if c.with != "" {
		c.sayf("\n%s", companions[c.with].help)
	}
	c.sayf("\nEvery write and who made it is in %s.", c.relative(cp.AuditLog()))
	c.sayf("Pods run without containers; one with \"never-ready\" in its image never becomes ready.")
	c.sayf("\"make down\" ends it all.")
}

// relative shortens a path for a person in the current folder.
func (c cluster) relative(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	short, err := filepath.Rel(wd, path)
	if err != nil || len(short) > len(path) {
		return path
	}
	return short
}

// fileDigest tells one build from another.
func fileDigest(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // Only read from.
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
