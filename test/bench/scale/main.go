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

// Command scale measures how what a request costs grows along one axis at a time: with
// policies for other kinds and for the same, with rules, with the entries of a ledger,
// with the size of objects. It runs the benchmarks of the operator's packages in
// rounds, says which target holds, and draws a chart of each axis.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

var (
	rounds    = flag.Int("rounds", 10, "how often each benchmark is run")
	benchtime = flag.String("benchtime", "50ms", "how long each time, as in go test")
	only      = flag.String("only", "", "the charts to make, separated by commas; all of them by default")
	out       = flag.String("out", filepath.Join("docs", "benchmarks"), "the directory of the charts")
	from      = flag.String("from", "", "a file with the output of the benchmarks, to read in place of running them")
	keep      = flag.String("keep", "", "the file to keep that output in")
	seed      = flag.Uint64("seed", 1, "of the bootstrap")
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	wanted, err := chosen(*only)
	if err != nil {
		return err
	}
	measured := newSamples()
	switch {
	case *from != "":
		err = measured.readFile(*from)
	default:
		err = benchmark(ctx, wanted, measured)
	}
	if err != nil {
		return err
	}
	results := make([]result, 0, len(wanted))
	for _, c := range wanted {
		r, err := c.evaluate(measured, *seed)
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	for _, r := range results {
		if err := r.draw().WriteFile(filepath.Join(*out, r.file+".svg")); err != nil {
			return err
		}
	}
	return report(os.Stdout, results)
}

// chosen returns the charts with the names, all where none is named.
func chosen(names string) ([]chart, error) {
	if names == "" {
		return charts, nil
	}
	var out []chart
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(charts, func(c chart) bool { return c.file == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no chart %q", name)
		}
		out = append(out, charts[i])
	}
	return out, nil
}

// benchmark runs the benchmarks of the charts, and reads what they print.
func benchmark(ctx context.Context, wanted []chart, into *samples) error {
	runner, err := build(ctx, wanted)
	if err != nil {
		return err
	}
	defer runner.remove()
	var printed bytes.Buffer
	for round := range *rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, *rounds)
		text, err := runner.round(ctx, *benchtime)
		if err != nil {
			return err
		}
		printed.Write(text)
	}
	if *keep != "" {
		const mode = 0o644
		if err := os.WriteFile(*keep, printed.Bytes(), mode); err != nil {
			return err
		}
	}
	return into.read(&printed, "the benchmarks")
}
