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

// Package trace is the command that shows the way from people to an object, and on
// to what is below it.
package trace

import (
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/output"
	"kausality.io/operator/internal/cli/text"
)

const long = `Show who caused an object to be as it is: each chain of changes that led from somebody
to this object, and what it led to below, the latest first. Without an object: who
changed what in the namespace lately, and how much that touched.

Of an object that a GeneratingPolicy made it shows policy, triggers and source, and how
these came to be so; of these, what was made because of them.

It reads ledgers and AllowanceRecords. Records outlive their objects: an object that is
gone still has its chains, the one of its deletion included.`

const example = `  # Who is behind this Pod?
  kubectl kausality trace pod/web-5f8c75b5b8-2w4w4

  # Something broke in the last hour: what was changed?
  kubectl kausality trace -n shop

  # What has become of what was changed in this Deployment?
  kubectl kausality trace deployment/web`

// Command makes the command.
func Command(flags genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams) *cobra.Command {
	out := output.NewFlags()
	most := output.Limit(20)
	cmd := &cobra.Command{
		Use:               "trace [KIND/NAME]",
		Short:             "Show the way from people to an object, and on to what is below it",
		Long:              long,
		Example:           example,
		Args:              cluster.OneObject,
		ValidArgsFunction: cluster.Completion(flags),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := cluster.Connect(flags, streams.ErrOut)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				report, err := lately(cmd.Context(), c, most)
				if err != nil {
					return err
				}
				return out.Write(streams.Out, "Changes", report, func(t text.Terminal) string {
					return renderLately(report, t, time.Now())
				})
			}
			target, err := c.Target(args)
			if err != nil {
				return err
			}
			report, err := tell(cmd.Context(), c, target)
			if err != nil {
				return err
			}
			return out.Write(streams.Out, "Trace", report, func(t text.Terminal) string {
				return render(report, t, out.Wide(), time.Now())
			})
		},
	}
	out.AddTo(cmd)
	most.AddTo(cmd, "changes of a namespace")
	return cmd
}
