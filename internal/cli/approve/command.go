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

// Package approve is the command that approves what is already there (D20).
package approve

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/confirm"
	"kausality.io/operator/internal/cli/output"
	"kausality.io/operator/internal/cli/text"
)

const long = `Approve changes that are already in an object, as if you had just made them.

What you may initiate gets its allowances, and what was withheld goes on. Without
--path that is all that is withheld; with it, fields such as spec.replicas, or '*' for
every field that a policy is about. First it shows what will be allowed, by a dry run
in your name, and then asks.`

const example = `  # Let a rollout go on that somebody else began
  kubectl kausality approve deployment/web

  # What would it allow?
  kubectl kausality approve deployment/web --dry-run`

// options are the flags of the command.
type options struct {
	paths  []string
	yes    bool
	dryRun bool
	out    *output.Flags
}

// Command makes the command.
func Command(flags genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams) *cobra.Command {
	opts := options{out: output.NewFlags()}
	cmd := &cobra.Command{
		Use:               "approve KIND/NAME",
		Short:             "Approve changes that are already there, after showing what that allows",
		Long:              long,
		Example:           example,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: cluster.Completion(flags),
		RunE: func(cmd *cobra.Command, args []string) error {
			said := &cluster.Warnings{}
			c, err := cluster.ConnectWith(flags, said)
			if err != nil {
				return err
			}
			target, err := c.Target(args)
			if err != nil {
				return err
			}
			a := approval{cluster: c, target: target, said: said, paths: opts.paths}
			return opts.run(cmd.Context(), &a, streams)
		},
	}
	opts.out.AddTo(cmd)
	cmd.Flags().StringArrayVar(&opts.paths, "path", nil, "Field to approve, or '*'. It can be repeated, or name several with commas in between.")
	cmd.Flags().BoolVarP(&opts.yes, "yes", "y", false, "Do not ask.")
	cmd.Flags().BoolVar(&opts.dryRun, "dry-run", false, "Only show what would be allowed.")
	return cmd
}

// run shows, asks and approves.
func (o *options) run(ctx context.Context, a *approval, streams genericiooptions.IOStreams) error {
	report, err := a.plan(ctx)
	if err != nil {
		return err
	}
	if o.dryRun {
		return o.write(streams.Out, report)
	}
	if !o.yes {
		if _, err := io.WriteString(streams.ErrOut, text.Visible(render(report, text.Of(streams.ErrOut)))); err != nil {
			return err
		}
		if yes, err := confirm.Ask(streams, "\nApprove?"); err != nil || !yes {
			return cmp.Or(err, errNotConfirmed)
		}
	}
	if report, err = a.carryOut(ctx, report); err != nil {
		return err
	}
	return o.write(streams.Out, report)
}

func (o *options) write(w io.Writer, report *Report) error {
	return o.out.Write(w, "Approval", report, func(t text.Terminal) string { return render(report, t) })
}

var errNotConfirmed = errors.New("nothing was approved: it was not confirmed. Answer y, or use --yes")
