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
	"maps"
	"slices"
	"strings"

	"kausality.io/operator/test/controllers"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/crossplane"
)

// companion is what can run beside the operator.
type companion struct {
	// process is one that it consists of, and which is the last to be started.
	process string
	start   func(ctx context.Context, cp *controlplane.ControlPlane, progress func(string)) error
	// help says what to do with it.
	help string
}

// companions are all that there are, by name.
var companions = map[string]companion{
	"crossplane": {
		process: crossplane.Provider,
		start: func(ctx context.Context, cp *controlplane.ControlPlane, progress func(string)) error {
			return crossplane.Start(ctx, cp, crossplane.Options{Progress: progress})
		},
		help: "Crossplane runs, with a provider and a cloud: see docs/crossplane.md for what to do with them.",
	},
	"kro": {
		process: controllers.Kro.Name,
		start: func(ctx context.Context, cp *controlplane.ControlPlane, progress func(string)) error {
			progress("Starting kro")
			return controllers.Start(ctx, cp, controllers.Kro)
		},
		help: "kro runs: see docs/kro.md for how to derive policies from its graphs.",
	},
}

// companion makes what was asked for run beside the operator. It comes before the
// operator, which does not have to judge how it is installed.
func (c cluster) companion(ctx context.Context, cp *controlplane.ControlPlane) error {
	if c.with == "" {
		return nil
	}
	wanted, known := companions[c.with]
	if !known {
		return fmt.Errorf("nothing is known of %q: WITH is one of %s", c.with, strings.Join(slices.Sorted(maps.Keys(companions)), ", "))
	}
	if slices.ContainsFunc(cp.Status(), func(m controlplane.MemberStatus) bool { return m.Name == wanted.process }) {
		return nil
	}
	return wanted.start(ctx, cp, func(line string) { c.sayf("%s", line) })
}
