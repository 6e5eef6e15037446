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

// Package usage reads what processes of a control plane use.
package usage

import (
	"fmt"

	"github.com/prometheus/procfs"

	"kausality.io/operator/test/controlplane"
)

// Busy returns how long processors have worked for processes since these were started, in seconds.
func Busy(cp *controlplane.ControlPlane, names ...string) (seconds float64, err error) {
	err = each(cp, names, func(p procfs.Proc) error {
		stat, err := p.Stat()
		seconds += stat.CPUTime()
		return err
	})
	return seconds, err
}

// Peak returns how much memory was resident at most in each process since it was started, all together,
// in MiB.
func Peak(cp *controlplane.ControlPlane, names ...string) (mebibytes float64, err error) {
	err = each(cp, names, func(p procfs.Proc) error {
		status, err := p.NewStatus()
		mebibytes += float64(status.VmHWM) / (1 << 20)
		return err
	})
	return mebibytes, err
}

func each(cp *controlplane.ControlPlane, names []string, look func(procfs.Proc) error) error {
	pids := map[string]int{}
	for _, member := range cp.Status() {
		if member.Running {
			pids[member.Name] = member.PID
		}
	}
	for _, name := range names {
		p, err := procfs.NewProc(pids[name])
		if err != nil {
			return fmt.Errorf("looking for process %s: %w", name, err)
		}
		if err := look(p); err != nil {
			return fmt.Errorf("looking at process %s: %w", name, err)
		}
	}
	return nil
}
