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

// Package takeover has a GeneratingPolicy take over objects that are there already, such as those that
// another generator made.
package takeover

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/confirm"
	"kausality.io/operator/internal/cli/output"
	"kausality.io/operator/internal/cli/text"
)

const long = `Have a GeneratingPolicy take over what it wants and somebody else has made. Without this, it
reports such objects as conflicts and leaves them alone.

The objects get the annotation by which the operator knows them as the policy's own, and lose
the marks of Kyverno. They are neither deleted nor made again. From then on the policy keeps
them: it changes them to be as it wants them, and deletes them when it does not want them any
more.

What another tool keeps (Argo CD, Flux, Helm), or a controller owns, is left alone: it would
be put back, or deleted, by that one. Policies that do not synchronize take nothing over.

Take objects over before AllowancePolicies bound them. After that only the account of the
policy may mark them: run this as that account (--as), for which you need the right to
impersonate it.`

const example = `  # What would it take over, and what would it change then?
  kubectl kausality takeover registry-secret --dry-run

  # Take it over
  kubectl kausality takeover registry-secret

  # Take over what AllowancePolicies bound already
  kubectl kausality takeover registry-secret --as system:serviceaccount:kausality-system:kausality-generator`

// options are the flags of the command.
type options struct {
	dryRun, yes bool
	out         *output.Flags
}

// Command makes the command.
func Command(flags genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams) *cobra.Command {
	opts := options{out: output.NewFlags()}
	cmd := &cobra.Command{
		Use:     "takeover GENERATINGPOLICY",
		Short:   "Have a GeneratingPolicy take over objects that are there already",
		Long:    long,
		Example: example,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			// The API server warns of each kind that it would rather not serve.
			c, err := cluster.Connect(flags, io.Discard)
			if err != nil {
				return err
			}
			return opts.run(cmd.Context(), c, streams, args[0])
		},
	}
	opts.out.AddTo(cmd)
	cmd.Flags().BoolVar(&opts.dryRun, "dry-run", false, "Only show what would be taken over.")
	cmd.Flags().BoolVarP(&opts.yes, "yes", "y", false, "Do not ask.")
	return cmd
}

// run finds, shows, asks and takes over.
func (o *options) run(ctx context.Context, c *cluster.Cluster, streams genericiooptions.IOStreams, name string) error {
	report, err := find(ctx, c, name)
	if err != nil {
		return err
	}
	report.DryRun = o.dryRun
	if n := report.open(); !o.dryRun && n > 0 {
		if !o.yes {
			if _, err := fmt.Fprint(streams.ErrOut, render(report, text.Of(streams.ErrOut))); err != nil {
				return err
			}
			yes, err := confirm.Ask(streams, fmt.Sprintf("Have GeneratingPolicy %s take over %d objects, and keep them from now on?", name, n))
			if err != nil || !yes {
				return errors.Join(err, errors.New("nothing was taken over"))
			}
		}
		report.takeOver(ctx, c)
	}
	writeErr := o.out.Write(streams.Out, "Takeover", report, func(t text.Terminal) string { return render(report, t) })
	return errors.Join(report.failed(), writeErr)
}
