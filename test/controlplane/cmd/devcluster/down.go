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
	"errors"
	"slices"

	"kausality.io/operator/test/controlplane"
)

// down ends what up has started.
func (c cluster) down(context.Context) error {
	cp, err := controlplane.Open(c.dir)
	if errors.Is(err, controlplane.ErrNoControlPlane) {
		c.sayf("Nothing is running.")
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.stop(cp); err != nil {
		return err
	}
	c.sayf("The logs stay in %s until the next start.", c.dir)
	return nil
}

// stop ends the processes of a control plane, and says which had ended before.
func (c cluster) stop(cp *controlplane.ControlPlane) error {
	for _, m := range slices.Backward(cp.Status()) {
		if m.Running {
			c.sayf("ending %s (pid %d)", m.Name, m.PID)
			continue
		}
		c.sayf("%s (pid %d) had ended before; its output is in %s", m.Name, m.PID, c.relative(m.Log))
		if err := cp.Remove(m.Name); err != nil {
			return err
		}
	}
	return cp.Stop()
}
