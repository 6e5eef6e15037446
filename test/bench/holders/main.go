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

// Command holders measures what many holders of ledgers cost the operator: how long it
// takes, from a cold start, to be ready against them, and how much memory it needs.
// Beside it the API server's own list of the same objects is timed, with nobody who
// decodes it.
//
// The first holder is made by an initiator while the operator runs; all others, with contents of
// their own, and their AllowanceRecords are made after it while the operator is away. So each
// looks as if the operator had followed it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"kausality.io/operator/test/bench/command"
	"kausality.io/operator/test/bench/stats"
)

var (
	counts   = flag.String("holders", "1000,10000,100000", "how many holders there are, ascending")
	size     = flag.Int("size", 2, "size of the holders, in KiB")
	alike    = flag.Bool("alike", false, "fill the holders with nearly the same, which can be compressed well")
	patience = flag.Duration("patience", time.Hour, "for how long to make holders; then is measured what it costs that there are those")
	writers  = flag.Int("writers", 16, "how many clients create the holders")
	folder   = flag.String("profiles", "", "the folder to keep profiles of each measurement in: of the processor while the operator starts, of it and of the API server, and of its heap")
	binaries = flag.String("operator", "bin/manager", "the operator's executable, in root; with several, comma-separated, each is measured with the same holders, and the first makes these")
	flags    = flag.String("operator-flags", "", "further flags of the operator, comma-separated")
	env      = flag.String("operator-env", "", "further environment variables of the operator, comma-separated")
	root     = flag.String("root", ".", "the root of the repository")
	out      = flag.String("out", "", "the file to write all that was measured to, as JSON")
)

func main() {
	flag.Parse()
	os.Exit(command.Run("holders", run))
}

func run(ctx context.Context) (err error) {
	steps, err := parseCounts(*counts)
	if err != nil {
		return err
	}
	s, err := set(ctx)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, s.cp.Stop(), os.RemoveAll(s.links))
	}()
	fmt.Print(header())
	var all []measurement
	for _, n := range steps {
		began := time.Now()
		if err := s.withWholeRecords(ctx, func() error { return s.seed(ctx, n) }); err != nil {
			return fmt.Errorf("making %d holders: %w", n, err)
		}
		fmt.Fprintln(os.Stderr, "measuring with", s.made, "holders, made in", time.Since(began).Round(time.Second))
		for _, binary := range words(*binaries) {
			m, err := s.measure(ctx, binary)
			if err != nil {
				return fmt.Errorf("measuring %s with %d holders: %w", binary, n, err)
			}
			fmt.Print(m.row())
			all = append(all, m)
		}
	}
	fmt.Println(footer)
	return stats.Save(*out, all)
}

func parseCounts(text string) ([]int, error) {
	var out []int
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || len(out) > 0 && n <= out[len(out)-1] {
			return nil, fmt.Errorf("--holders=%s: name numbers of holders, ascending", text)
		}
		out = append(out, n)
	}
	return out, nil
}
