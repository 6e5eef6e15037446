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

// Package explain is the command that tells which policies affect an object, what is
// allowed right now, and why not more.
package explain

import (
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/output"
	"kausality.io/operator/internal/cli/text"
)

const long = `Tell which policies affect an object, as a parent and as a child: its phase, what its
controllers may do to its children right now, what may be done to it, why not more,
and whose change would allow it.

Of a KIND alone: what Kausality knows of it, by itself or by policies, and which
UpgradeAllowances would let through changes of the children of such objects.`

const example = `  # What may happen to the children of this Deployment?
  kubectl kausality explain deployment/web

  # What does Kausality know of Rollouts?
  kubectl kausality explain rollouts

  # Who could allow a change of this Pod?
  kubectl kausality explain pod/web-5f8c75b5b8-2w4w4`

// Command makes the command.
func Command(flags genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams) *cobra.Command {
	out := output.NewFlags()
	cmd := &cobra.Command{
		Use:               "explain KIND[/NAME]",
		Short:             "Tell which policies affect an object, what is allowed now, and why not more",
		Long:              long,
		Example:           example,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: cluster.Completion(flags),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := cluster.Connect(flags, streams.ErrOut)
			if err != nil {
				return err
			}
			if len(args) == 1 && !strings.Contains(args[0], "/") {
				known, err := readKind(cmd.Context(), c, args[0])
				if err != nil {
					return err
				}
				return out.Write(streams.Out, "KindExplanation", known, func(text.Terminal) string { return known.text() })
			}
			target, err := c.Target(args)
			if err != nil {
				return err
			}
			seen, err := read(cmd.Context(), c, target)
			if err != nil {
				return err
			}
			report := build(seen)
			return out.Write(streams.Out, "Explanation", report, func(t text.Terminal) string {
				return render(report, t, time.Now())
			})
		},
	}
	out.AddTo(cmd)
	return cmd
}
