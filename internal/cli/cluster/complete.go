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

package cluster

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
)

// mostNames bounds how many objects a completion asks for.
const mostNames = 500

// Completion completes KIND/NAME and KIND NAME: the kinds that policies are about,
// and the objects of any kind.
func Completion(flags genericclioptions.RESTClientGetter) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		c, err := Connect(flags, io.Discard)
		if err != nil || len(args) > 1 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if len(args) == 1 {
			return matching(c.names(cmd.Context(), args[0]), "", typed), cobra.ShellCompDirectiveNoFileComp
		}
		if kind, _, ok := strings.Cut(typed, "/"); ok {
			return matching(c.names(cmd.Context(), kind), kind+"/", typed), cobra.ShellCompDirectiveNoFileComp
		}
		return matching(c.policedKinds(cmd.Context()), "", typed),
			cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

func matching(names []string, prefix, typed string) []cobra.Completion {
	var out []cobra.Completion
	for _, name := range names {
		if strings.HasPrefix(prefix+name, typed) {
			out = append(out, prefix+name)
		}
	}
	return out
}

// names returns the names of the objects of a kind. What cannot be read has none: there is
// nobody to tell.
func (c *Cluster) names(ctx context.Context, kind string) []string {
	gvk, _, err := c.kind(kind)
	if err != nil {
		return nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err := c.List(ctx, list, client.InNamespace(c.Namespace), client.Limit(mostNames)); err != nil {
		return nil
	}
	out := make([]string, 0, len(list.Items))
	for i := range list.Items {
		out = append(out, list.Items[i].Name)
	}
	return out
}

// policedKinds returns the kinds that policies are for, as the beginning of KIND/NAME.
func (c *Cluster) policedKinds(ctx context.Context) []string {
	var list v1alpha1.AllowancePolicyList
	if err := c.List(ctx, &list, client.Limit(mostNames)); err != nil {
		return nil
	}
	out := make([]string, 0, len(list.Items))
	for i := range list.Items {
		out = append(out, strings.ToLower(list.Items[i].Spec.For.Kind)+"/")
	}
	slices.Sort(out)
	return slices.Compact(out)
}
