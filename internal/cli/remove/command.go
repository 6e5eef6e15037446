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

// Package remove is the command that takes back what Kausality has left on objects, for
// uninstalling it.
package remove

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/confirm"
	"kausality.io/operator/internal/cli/output"
	"kausality.io/operator/internal/cli/text"
)

const long = `Take back what Kausality has left on objects: gates are given back to the objects' authors,
what was paused as its deletion is held back is not any more, and annotations and
conditions go, and so does the label of what GeneratingPolicies made.

It is for uninstalling, needs no operator, and reads all objects in the cluster in your
name. What Kausality withholds or refuses now is shown first: controllers carry it out
once nothing is in their way. What GeneratingPolicies made stays, and so do
UpgradeAllowances.

Without --dry-run there must be no policies any more, and nothing that intercepts
requests, which is waited for.`

const example = `  # What is left, and where?
  kubectl kausality remove --dry-run

  # Take it all back, the policies included
  kubectl kausality remove --delete-policies --yes`

// options are the flags of the command.
type options struct {
	dryRun, yes, deletePolicies bool
	held                        string
	timeout                     time.Duration
	out                         *output.Flags
}

// Command makes the command.
func Command(flags genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams) *cobra.Command {
	opts := options{out: output.NewFlags()}
	cmd := &cobra.Command{
		Use:     "remove",
		Short:   "Take back what Kausality has left on objects, to uninstall it",
		Long:    long,
		Example: example,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.held != "" && opts.held != heldOrphan && opts.held != heldDelete {
				return fmt.Errorf("--held=%s is neither %s nor %s", opts.held, heldOrphan, heldDelete)
			}
			// The API server warns of each kind that it would rather not serve.
			c, err := cluster.Connect(flags, io.Discard)
			if err != nil {
				return err
			}
			return opts.run(cmd.Context(), c, streams)
		},
	}
	opts.out.AddTo(cmd)
	cmd.Flags().BoolVar(&opts.dryRun, "dry-run", false, "Only show what is left.")
	cmd.Flags().BoolVarP(&opts.yes, "yes", "y", false, "Do not ask.")
	cmd.Flags().BoolVar(&opts.deletePolicies, "delete-policies", false, "Delete all AllowancePolicies first, and all GeneratingPolicies, of which what they made stays.")
	cmd.Flags().StringVar(&opts.held, "held", "", "What becomes of what objects stand for outside whose deletion is held back: "+
		heldOrphan+" or "+heldDelete+". Such objects stay as they are if it is empty.")
	cmd.Flags().DurationVar(&opts.timeout, "timeout", 30*time.Second, "How long to wait until nothing intercepts requests.")
	return cmd
}

// run shows, asks and takes back.
func (o *options) run(ctx context.Context, c *cluster.Cluster, streams genericiooptions.IOStreams) error {
	kinds, err := kindsServed(c.Discovery())
	if kinds == nil && err != nil {
		return err
	}
	r := &remover{client: c, held: o.held}
	report, removeErr := r.lookAhead(ctx, c, kinds)
	if !o.dryRun {
		if err := o.prepare(ctx, c, streams, report); err != nil {
			return err
		}
		report.DryRun = false
		report.Objects, removeErr = r.all(ctx, kinds)
	}
	err = errors.Join(err, removeErr)
	report.Incomplete = err != nil
	writeErr := o.out.Write(streams.Out, "Removal", report, func(t text.Terminal) string { return render(report, t) })
	if err := errors.Join(err, writeErr); err != nil {
		return fmt.Errorf("something may be left: %w", err)
	}
	if n := report.undecided(); n > 0 && !o.dryRun {
		return fmt.Errorf("the deletion of %d objects is held back still: use --held=%s to let what they stand for outside stay, or --held=%s", n, heldOrphan, heldDelete)
	}
	return nil
}

// prepare sees to it that nobody puts back what is taken away. report says what will follow.
func (o *options) prepare(ctx context.Context, c *cluster.Cluster, streams genericiooptions.IOStreams, report *Report) error {
	if !o.yes {
		if _, err := io.WriteString(streams.ErrOut, text.Visible(renderAhead(report, text.Of(streams.ErrOut)))); err != nil {
			return err
		}
		if report.told = true; report.Incomplete {
			_, _ = fmt.Fprintln(streams.ErrOut, "Not all objects could be read: there may be more.")
		}
		yes, err := confirm.Ask(streams, "Take back what Kausality has left on all objects of the cluster? --dry-run shows it.")
		if err != nil || !yes {
			return cmp.Or(err, errNotConfirmed)
		}
	}
	if err := withoutPolicies(ctx, c, o.deletePolicies); err != nil {
		return err
	}
	if err := withoutInterception(ctx, c, o.timeout); err != nil {
		return err
	}
	return withoutGenerating(ctx, c)
}

var errNotConfirmed = errors.New("nothing was taken back: it was not confirmed. Answer y, or use --yes")
