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

// Package access is the command that prints which rights the operator needs for policies.
package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/access"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/offline"
	"kausality.io/operator/internal/cli/source"
)

const long = `Print the ClusterRole by which the operator may read and mark what policies are about.

It is for the policies of the cluster, those of these names, or those in files. Which
kinds are served, and which have gates, is asked of the cluster. Applied, it is part of
what the operator may within a second, and policies that waited for it take effect
within half a minute.`

const example = `  # What one policy needs
  kubectl kausality access web | kubectl apply -f -

  # What the policies in a file will need
  kubectl kausality access -f policies.yaml`

// options are the flags of the command.
type options struct {
	files     []string
	name      string
	providers string
}

// Command makes the command.
func Command(flags genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams) *cobra.Command {
	opts := &options{}
	cmd := &cobra.Command{
		Use:     "access [POLICY...]",
		Short:   "Print the ClusterRole that the operator needs for policies",
		Long:    long,
		Example: example,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := cluster.Connect(flags, streams.ErrOut)
			if err != nil {
				return err
			}
			return opts.run(cmd.Context(), c, args, streams)
		},
	}
	cmd.Flags().StringSliceVarP(&opts.files, "filename", "f", nil, "Files or directories with policies, or - for the standard input, instead of the policies of the cluster.")
	cmd.Flags().StringVar(&opts.name, "name", "", "Name of the ClusterRole; made of the names of the policies if empty.")
	cmd.Flags().StringVar(&opts.providers, "crossplane-providers", "", "The operator's flag of that name.")
	return cmd
}

func (o *options) run(ctx context.Context, c *cluster.Cluster, names []string, streams genericiooptions.IOStreams) error {
	policies, err := o.policies(ctx, c, names, streams)
	if err != nil {
		return err
	}
	needs, unserved, err := c.Needs(ctx, policies, o.providers)
	if err != nil {
		return err
	}
	for _, kind := range unserved {
		if _, err := fmt.Fprintf(streams.ErrOut, "Warning: the cluster does not serve %s, which is left out\n", kind); err != nil {
			return err
		}
	}
	if o.name == "" {
		o.name = nameFor(policies, len(names) > 0)
	}
	return (&printers.YAMLPrinter{}).PrintObj(access.ClusterRole(o.name, needs), streams.Out)
}

// nameFor returns the name of the role: one for all policies of a cluster, else one for these.
func nameFor(policies []v1alpha1.AllowancePolicy, named bool) string {
	if !named {
		return "kausality-access-policies"
	}
	parts := make([]string, 0, len(policies))
	for i := range policies {
		parts = append(parts, policies[i].Name)
	}
	return "kausality-access-" + strings.Join(parts, "-")
}

// policies returns the policies of the files, or of the cluster, all or by name.
func (o *options) policies(ctx context.Context, c *cluster.Cluster, names []string, streams genericiooptions.IOStreams) ([]v1alpha1.AllowancePolicy, error) {
	var list v1alpha1.AllowancePolicyList
	if len(o.files) > 0 {
		found, err := fromFiles(o.files, streams)
		if err != nil {
			return nil, err
		}
		list.Items = found
	} else if err := c.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("reading the AllowancePolicies: %w", err)
	}
	if len(names) > 0 {
		for _, name := range names {
			if !slices.ContainsFunc(list.Items, func(p v1alpha1.AllowancePolicy) bool { return p.Name == name }) {
				return nil, fmt.Errorf("there is no AllowancePolicy %s", name)
			}
		}
		list.Items = slices.DeleteFunc(list.Items, func(p v1alpha1.AllowancePolicy) bool { return !slices.Contains(names, p.Name) })
	}
	if len(list.Items) == 0 {
		return nil, errors.New("there are no AllowancePolicies, and nothing has to be read for them")
	}
	return list.Items, nil
}

// fromFiles reads policies, and leaves other objects aside.
func fromFiles(files []string, streams genericiooptions.IOStreams) ([]v1alpha1.AllowancePolicy, error) {
	docs, problems, err := source.Read(files, streams.In)
	if err != nil {
		return nil, err
	}
	if problems = append(problems, offline.Misnamed(docs)...); len(problems) > 0 {
		return nil, fmt.Errorf("%s: %s", problems[0].Place, problems[0].Message)
	}
	var policies []v1alpha1.AllowancePolicy
	for _, doc := range docs {
		if doc.GVK() != v1alpha1.GroupVersion.WithKind("AllowancePolicy") {
			continue
		}
		var p v1alpha1.AllowancePolicy
		if problems := doc.Decode(&p); len(problems) > 0 {
			return nil, fmt.Errorf("%s: %s", problems[0].Place, problems[0].Message)
		}
		policies = append(policies, p)
	}
	return policies, nil
}
