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
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// runner runs benchmarks from test binaries that are built once. All are run in each
// round rather than each many times in a row: what else the machine does, and how warm
// it is, is then in all of them.
type runner struct {
	dir      string
	packages []string
	patterns map[string]string
}

// build builds the test binaries that the charts need.
func build(ctx context.Context, wanted []chart) (*runner, error) {
	dir, err := os.MkdirTemp("", "kausality-scale-")
	if err != nil {
		return nil, err
	}
	r := &runner{dir: dir, patterns: map[string]string{}}
	for pkg, names := range benchesOf(wanted) {
		r.packages = append(r.packages, pkg)
		r.patterns[pkg] = "^Benchmark(" + strings.Join(names, "|") + ")$"
		cmd := exec.CommandContext(ctx, "go", "test", "-c", "-o", r.binary(pkg), pkg)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			r.remove()
			return nil, fmt.Errorf("building the benchmarks of %s: %w", pkg, err)
		}
	}
	slices.Sort(r.packages)
	return r, nil
}

// benchesOf returns the names of the charts' benchmarks by their package, each once.
func benchesOf(wanted []chart) map[string][]string {
	names := map[string][]string{}
	for _, c := range wanted {
		for _, b := range c.benches {
			if !slices.Contains(names[b.pkg], b.name) {
				names[b.pkg] = append(names[b.pkg], b.name)
			}
		}
	}
	return names
}

// round runs each benchmark once, and returns what they print.
func (r *runner) round(ctx context.Context, benchtime string) ([]byte, error) {
	var out bytes.Buffer
	for _, pkg := range r.packages {
		cmd := exec.CommandContext(ctx, r.binary(pkg), "-test.run=^$", "-test.bench="+r.patterns[pkg], "-test.benchtime="+benchtime)
		// As in go test: benchmarks may read files beside them.
		cmd.Dir = pkg
		cmd.Stdout, cmd.Stderr = &out, os.Stderr
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("running the benchmarks of %s: %w\n%s", pkg, err, out.Bytes())
		}
	}
	return out.Bytes(), nil
}

func (r *runner) binary(pkg string) string { return filepath.Join(r.dir, path.Base(pkg)+".test") }

func (r *runner) remove() {
	if err := os.RemoveAll(r.dir); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
	}
}
