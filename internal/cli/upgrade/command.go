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

// Package upgrade is the command that tells how far an upgrade is: which parents have moved,
// which wait or are blocked, and on what. Its part suggest writes an UpgradeAllowance.
package upgrade

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/exit"
	"kausality.io/operator/internal/cli/output"
	"kausality.io/operator/internal/cli/text"
)

const long = `Tell how far an upgrade is: which parents an UpgradeAllowance has moved, which it is
moving, which wait, and which are blocked, and on what.

Only parents are shown of which an AllowanceRecord tells, in all namespaces.`

const example = `  # How far is it?
  kubectl kausality upgrade web-controller-v2

  # What would have let through what was refused in the last hour?
  kubectl kausality upgrade suggest kro-system/kro > upgrade.yaml`

// Command makes the command.
func Command(flags genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams) *cobra.Command {
	out := output.NewFlags()
	cmd := &cobra.Command{
		Use:     "upgrade NAME",
		Short:   "Tell which parents an upgrade has moved, which wait or are blocked, and on what",
		Long:    long,
		Example: example,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := cluster.Connect(flags, streams.ErrOut)
			if err != nil {
				return err
			}
			report, err := find(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			return out.Write(streams.Out, "Upgrade", report, func(t text.Terminal) string { return render(report, t, time.Now()) })
		},
	}
	out.AddTo(cmd)
	cmd.AddCommand(suggestion(flags, streams))
	return cmd
}

const suggestLong = `Write the UpgradeAllowance that would have let through what a service account was refused
lately, as AllowanceRecords of all namespaces tell.

It is for a person to cut down before it is applied: what was refused for another reason than
an upgrade may be in it, too. What no UpgradeAllowance lets through is not, as what waits for
something that is withheld, and comments say so. For kinds behind a gate it has what goes on
outside the cluster.`

func suggestion(flags genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams) *cobra.Command {
	since := time.Hour
	cmd := &cobra.Command{
		Use:   "suggest NAMESPACE/SERVICEACCOUNT",
		Short: "Write the UpgradeAllowance that would have let refusals through",
		Long:  suggestLong,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if since <= 0 {
				return exit.With(exit.Usage, fmt.Errorf("--since=%s is how far back to look: give a time that is over, such as 1h", since))
			}
			c, err := cluster.Connect(flags, streams.ErrOut)
			if err != nil {
				return err
			}
			user, err := userOf(args[0])
			if err != nil {
				return err
			}
			s, err := suggest(cmd.Context(), c, user, time.Now().Add(-since))
			if err != nil {
				return err
			}
			written, err := s.write()
			if err != nil {
				return err
			}
			if _, err := io.WriteString(streams.Out, written); err != nil {
				return fmt.Errorf("writing the UpgradeAllowance: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().DurationVar(&since, "since", since, "How far back to look for refusals.")
	return cmd
}
