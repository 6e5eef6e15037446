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

// Command targets measures how the objects of a policy come to show that it is in
// effect for them: how long that takes from the policy's creation on, and how many of
// them the operator writes in a second. It does so twice, in a control plane each: with
// objects that are older than an allowance lasts, and with new ones, each of which may
// be in the middle of something, and gets an AllowanceRecord that says so before the
// policy takes effect.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"kausality.io/operator/test/bench/command"
	"kausality.io/operator/test/bench/stats"
)

var (
	count    = flag.Int("targets", 5000, "how many objects the policy is in effect for")
	perSec   = flag.Float64("rate", 150, "how many objects the operator may mark in a second")
	target   = flag.Duration("within", time.Minute, "how long it may take")
	quiet    = flag.Duration("quiet", 15*time.Second, "for how long to look for further writes when all objects are marked")
	patience = flag.Duration("patience", 10*time.Minute, "for how long to wait until all objects are marked")
	writers  = flag.Int("writers", 16, "how many clients create the objects")
	only     = flag.String("only", "", "at-rest or new, the objects to measure with; both by default")
	binary   = flag.String("operator", "bin/manager", "the operator's executable, in root")
	root     = flag.String("root", ".", "the root of the repository")
	out      = flag.String("out", "", "the file to write all that was measured to, as JSON")
)

func main() {
	flag.Parse()
	os.Exit(command.Run("targets", run))
}

// age is how old the objects are when the policy comes, by how long allowances last.
type age struct {
	name string
	ttl  time.Duration
}

var ages = []age{{name: "at-rest", ttl: time.Second}, {name: "new", ttl: time.Hour}}

func run(ctx context.Context) error {
	var all []measurement
	for _, a := range ages {
		if *only != "" && *only != a.name {
			continue
		}
		m, err := a.measure(ctx)
		if err != nil {
			return fmt.Errorf("measuring with objects that are %s: %w", a.name, err)
		}
		fmt.Print(m.report())
		all = append(all, m)
	}
	if len(all) == 0 {
		return fmt.Errorf("--only=%s: say at-rest or new", *only)
	}
	return stats.Save(*out, all)
}
