//go:build linux

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

package command

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kausality.io/operator/internal/cli/exit"
	"kausality.io/operator/internal/runtimerules"
)

const checkLong = `Check a file of rules without a runtime, such as in CI.

Each statement is held against the API of container runtimes. What is wrong is told
with its line, and what would be right. For a file that is right, the answers to
each method follow, in the order in which they are tried, and warnings of rules
that never apply, of grants that are worth root on the node, and of lists that
show more than others do.

The exit code is 0 where nothing is wrong, 1 where something is, and 2 where the
check could not be made.`

const checkExamples = `  # Before the file is rolled out
  kausality-cri check rules.yaml

  # With warnings as errors
  kausality-cri check --strict rules.yaml`

// check returns "check".
func check(streams genericiooptions.IOStreams) *cobra.Command {
	var strict bool
	cmd := &cobra.Command{
		Use:     "check FILE",
		Short:   "Check a file of rules without a runtime",
		Long:    checkLong,
		Example: checkExamples,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			file := args[0]
			text, err := read(file)
			if err != nil {
				return exit.With(exit.Usage, err)
			}
			rules, err := runtimerules.Parse(file, text)
			if err != nil {
				return exit.With(exit.Findings, err)
			}
			notes := rules.Notes()
			if err := report(streams.Out, file, rules, notes); err != nil {
				return exit.With(exit.Usage, err)
			}
			if strict && len(notes) > 0 {
				return exit.With(exit.Findings, errors.New("the check has failed: there are warnings"))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "Let a warning fail the check.")
	return cmd
}

// read reads a file, as far as one of rules may be large.
func read(file string) ([]byte, error) {
	opened, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }()
	return io.ReadAll(io.LimitReader(opened, runtimerules.MaxFileBytes+1))
}

// report writes the answers to each method, and then the warnings.
func report(out io.Writer, file string, rules *runtimerules.Rules, notes []runtimerules.Problem) error {
	for _, answer := range rules.Answers() {
		if _, err := fmt.Fprintln(out, answer.Method); err != nil {
			return err
		}
		for _, verdict := range answer.Verdicts {
			if _, err := fmt.Fprintln(out, "  "+verdict); err != nil {
				return err
			}
		}
	}
	for i, note := range notes {
		if i == 0 {
			if _, err := fmt.Fprintln(out); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(out, "%s:%d: warning: %s\n", file, note.Line, note.Message); err != nil {
			return err
		}
	}
	return nil
}
