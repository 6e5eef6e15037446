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

package check

import (
	"errors"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kausality.io/operator/internal/cli/exit"
	"kausality.io/operator/internal/cli/output"
	"kausality.io/operator/internal/cli/source"
	"kausality.io/operator/internal/cli/text"
)

const long = `Check AllowancePolicies and GeneratingPolicies without a cluster, such as in CI.

Each policy is held against what the API server and Kausality's webhook would say
if it was applied, errors and warnings. Files of kind PolicyTest have cases: a
request in a world of objects, and the answer that the policies should give; or a
trigger, and the objects that should be generated for it.

Kubernetes' own kinds are known. Others are from CustomResourceDefinitions among
the files, or under --crds.

The exit code is 0 where nothing is wrong, 1 where something is, and 2 where the
check could not be made.`

const examples = `  # All policies and tests of a directory
  kubectl kausality policy check -f policies/

  # What is about to be applied, with warnings as errors
  kustomize build . | kubectl kausality policy check --strict -f -`

// Command returns "policy check".
func Command(streams genericiooptions.IOStreams) *cobra.Command {
	opts := Options{Stdin: streams.In}
	var strict, verbose bool
	format := output.NewFlags()
	cmd := &cobra.Command{
		Use:     "check -f FILE",
		Short:   "Lint and test policies without a cluster",
		Long:    long,
		Example: examples,
		Args:    source.ByFlag,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(opts.Files) == 0 {
				return exit.With(exit.Usage, errors.New("which policies? Name files or directories: -f policies/, or -f - for the standard input"))
			}
			report, err := Run(cmd.Context(), opts)
			if err != nil {
				return exit.With(exit.Usage, err)
			}
			err = format.Write(streams.Out, "PolicyCheck", report, func(t text.Terminal) string {
				return report.Text(t, verbose || format.Wide())
			})
			if err != nil {
				return exit.With(exit.Usage, err)
			}
			if !report.Sound(strict) {
				return exit.With(exit.Findings, errors.New("the check has failed"))
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&opts.Files, "filename", "f", nil, "Files and directories of policies and tests; - is the standard input.")
	flags.StringSliceVar(&opts.CRDs, "crds", nil, "Files and directories of CustomResourceDefinitions.")
	flags.BoolVar(&strict, "strict", false, "Let a warning fail the check.")
	flags.BoolVarP(&verbose, "verbose", "v", false, "List the cases that passed, too.")
	format.AddTo(cmd)
	return cmd
}
