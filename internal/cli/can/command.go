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

// Package can is the command that tells what would happen if a change was made, without
// making it.
package can

import (
	"errors"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/output"
	"kausality.io/operator/internal/cli/text"
)

const long = `Tell what would happen, all the way down, if somebody made a change: whether they could
initiate it, which children could change because of it, and which gates would open.

The change is made in a dry run, in the name of --as, or yours. What it allows next is
the API server's answer; what may follow further down is what the policies say, and
marked as possible. Nothing is changed. All else is read in your name.`

const example = `  # What if alice scaled this Deployment?
  kubectl kausality can --as alice --as-group platform-team deployment/web --field spec.replicas --set 5

  # What if I replaced an object by this one?
  kubectl kausality can -f changed.yaml`

// Command makes the command.
func Command(flags genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams) *cobra.Command {
	out := output.NewFlags()
	q := question{stdin: streams.In}
	cmd := &cobra.Command{
		Use:               "can [--as USER] KIND/NAME --field PATH --set VALUE",
		Short:             "Tell what would happen if somebody made a change, without making it",
		Long:              long,
		Example:           example,
		Args:              cluster.OneObject,
		ValidArgsFunction: cluster.Completion(flags),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := q.edit.check(); err != nil {
				return err
			}
			if (len(args) > 0) == (q.edit.file != "") {
				return errors.New("which object? Give KIND/NAME, such as deployment/web, or the changed object with -f")
			}
			var err error
			if q.you, err = cluster.ConnectWith(flags, &cluster.Warnings{}, cluster.Yourself); err != nil {
				return err
			}
			q.said = &cluster.Warnings{}
			if q.them, err = cluster.ConnectWith(flags, q.said); err != nil {
				return err
			}
			report, err := q.answer(cmd.Context(), args)
			if err != nil {
				return err
			}
			return out.Write(streams.Out, "Prospect", report, func(t text.Terminal) string {
				return render(report, t, out.Wide(), time.Now())
			})
		},
	}
	cmd.Flags().StringArrayVar(&q.edit.fields, "field", nil, "Path of a field that would change. It can be repeated, each time with --set.")
	cmd.Flags().StringArrayVar(&q.edit.values, "set", nil, "Value of the field, as YAML.")
	cmd.Flags().StringVarP(&q.edit.file, "filename", "f", "", "The object as it would be; - is the standard input.")
	out.AddTo(cmd)
	return cmd
}
