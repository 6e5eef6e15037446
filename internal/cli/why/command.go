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

// Package why is the command that tells why something was refused, or waits, and
// what would have allowed it.
package why

import (
	"errors"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/exit"
	"kausality.io/operator/internal/cli/output"
	"kausality.io/operator/internal/cli/text"
)

const long = `Tell why a change was refused, or why nothing follows from it, and what would have
allowed it.

With an object: refusals of changes of it and of its children, changes of it that are
withheld, and what waits further below. Without: those of all objects in the
namespace, or with -A in all namespaces. Refusals are told the latest first.`

const example = `  # Why does this rollout not go on?
  kubectl kausality why deployment/web

  # What was refused lately?
  kubectl kausality why -n shop

  # What waits anywhere in the cluster?
  kubectl kausality why -A`

// Command makes the command.
func Command(flags genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams) *cobra.Command {
	out := output.NewFlags()
	most := output.Limit(10)
	var everywhere bool
	cmd := &cobra.Command{
		Use:               "why [KIND/NAME]",
		Short:             "Tell why something was refused or waits, and what would allow it",
		Long:              long,
		Example:           example,
		Args:              cluster.OneObject,
		ValidArgsFunction: cluster.Completion(flags),
		RunE: func(cmd *cobra.Command, args []string) error {
			if everywhere && len(args) > 0 {
				return exit.With(exit.Usage, errors.New("-A asks about all objects of all namespaces: leave out either the object or -A"))
			}
			c, err := cluster.Connect(flags, streams.ErrOut)
			if err != nil {
				return err
			}
			if everywhere {
				c.Namespace = metav1.NamespaceAll
			}
			report, err := find(cmd.Context(), c, args)
			if err != nil {
				return err
			}
			report.shorten(most)
			return out.Write(streams.Out, "Refusals", report, func(t text.Terminal) string {
				return render(report, t, out.Wide(), time.Now())
			})
		},
	}
	out.AddTo(cmd)
	most.AddTo(cmd, "refusals")
	cmd.Flags().BoolVarP(&everywhere, "all-namespaces", "A", false, "Tell of all objects of all namespaces, and of cluster-scoped ones.")
	return cmd
}
