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
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/kyverno"
)

// The names of the worlds.
const (
	ours   = "kausality"
	theirs = "kyverno"
	raised = "kyverno-raised"
)

// world is who carries the policy out.
type world struct {
	name string
	// processes are what is measured, by their names in the control plane.
	processes []string
	// users are whom the API server knows them as.
	users []string
	// install starts them.
	install func(ctx context.Context, cp *controlplane.ControlPlane) error
	// policy returns the policy, given the file with that of Kyverno.
	policy func(ctx context.Context, file string) ([]byte, error)
}

func worlds() []world {
	return []world{
		{
			name: ours, processes: []string{controlplane.DefaultOperatorName}, users: []string{controlplane.OperatorUser, controlplane.GeneratorUser},
			install: func(ctx context.Context, cp *controlplane.ControlPlane) error {
				opts := controlplane.OperatorOptions{Binary: filepath.Join(*root, "bin", "manager"), Overlay: filepath.Join(*root, "config", "dev")}
				if *pprof != "" {
					opts.ExtraFlags = append(opts.ExtraFlags, "--pprof-bind-address="+*pprof)
				}
				_, err := controlplane.InstallOperator(ctx, cp, opts)
				return err
			},
			policy: func(ctx context.Context, file string) ([]byte, error) {
				return exec.CommandContext(ctx, filepath.Join(*root, "bin", "kubectl-kausality"), "convert", "-f", file).Output()
			},
		},
		kyvernos(theirs, kyverno.Options{}),
		kyvernos(raised, raisedOptions()),
	}
}

func kyvernos(name string, opts kyverno.Options) world {
	return world{
		name: name, processes: []string{kyverno.Admission, kyverno.Background},
		users: []string{kyverno.AdmissionUser, kyverno.BackgroundUser},
		install: func(ctx context.Context, cp *controlplane.ControlPlane) error {
			return kyverno.Start(ctx, cp, opts)
		},
		policy: func(_ context.Context, file string) ([]byte, error) { return os.ReadFile(file) },
	}
}

// raisedOptions raise what Kyverno's flags limit.
func raisedOptions() kyverno.Options {
	limits := []string{"--clientRateLimitQPS=" + strconv.Itoa(*rate), "--clientRateLimitBurst=" + strconv.Itoa(2**rate)}
	return kyverno.Options{
		AdmissionFlags:  limits,
		BackgroundFlags: append([]string{fmt.Sprintf("--genWorkers=%d", *workers)}, limits...),
	}
}
