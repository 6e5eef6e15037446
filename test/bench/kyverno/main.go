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

// Command kyverno measures generating beside Kyverno: the same policy, which gives each
// namespace a clone and two other objects and keeps them in sync, is carried out by Kausality,
// by Kyverno with the flags of its installation, and by Kyverno with more workers and higher
// rate limits, each in a control plane of its own, one after the other.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"kausality.io/operator/test/bench/command"
	"kausality.io/operator/test/bench/stats"
)

var (
	namespaces = flag.Int("namespaces", 5000, "how many namespaces get three objects each")
	changes    = flag.Int("changes", 5, "how often the source is changed; at least once")
	workers    = flag.Int("workers", 50, "of Kyverno's background controller when it is raised")
	rate       = flag.Int("rate", 1000, "requests a second that Kyverno's controllers may make when it is raised; twice as many in a burst")
	quiet      = flag.Duration("quiet", 5*time.Second, "for how long nothing happens when all is done")
	patience   = flag.Duration("patience", 30*time.Minute, "for how long to wait for what is measured")
	writers    = flag.Int("writers", 16, "how many clients create the namespaces")
	only       = flag.String("only", "", "kausality, kyverno or kyverno-raised, to measure one alone; all three by default")
	keep       = flag.String("keep", "", "the directory to keep the control planes' logs in, a folder each")
	pprof      = flag.String("pprof", "", "where Kausality serves its profiles meanwhile, as 127.0.0.1:6060; nowhere by default")
	folder     = flag.String("profiles", "", "the directory to keep processor profiles in of the API server, and with -pprof of Kausality, of the first seconds of each phase; they make it slower")
	root       = flag.String("root", ".", "the root of the repository")
	out        = flag.String("out", "", "the file to write all that was measured to, as JSON")
)

func main() {
	flag.Parse()
	os.Exit(command.Run("kyverno", run))
}

// run measures in each world. One that does not come to its end leaves the others in the report.
func run(ctx context.Context) error {
	var all []*measurement
	var failed []error
	for _, w := range worlds() {
		if *only != "" && *only != w.name {
			continue
		}
		m, err := w.measure(ctx)
		all = append(all, m)
		if err != nil {
			failed = append(failed, fmt.Errorf("measuring %s: %w", w.name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("--only=%s: say kausality, kyverno or kyverno-raised", *only)
	}
	fmt.Print(report(all))
	return errors.Join(append(failed, stats.Save(*out, all))...)
}
