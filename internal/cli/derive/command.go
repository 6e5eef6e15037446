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

// Package derive is "kubectl kausality derive": policies from what graphs of kro and GeneratingPolicies
// declare.
package derive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/exit"
	"kausality.io/operator/internal/cli/offline"
	"kausality.io/operator/internal/cli/source"
	"kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/derive/draft"
	"kausality.io/operator/internal/derive/kro"
)

const long = `Derive AllowancePolicies from ResourceGraphDefinitions of kro, and from
GeneratingPolicies, without a cluster.

The policies are written to the standard output; a table of which field reaches
which, and what was not derived, to the standard error. Kubernetes' own kinds are
known. The resources of others are from CustomResourceDefinitions among the files,
or under --crds, and guessed where there are none.

A policy without initiators is in effect for nobody: name some, or add them to it.

With --diff, the policies are compared with those of the same names in the cluster,
and the exit code is 1 where they differ.`

const examples = `  # What follows from a graph
  kubectl kausality derive -f rgd.yaml

  # A policy by which the platform team may change instances
  kubectl kausality derive -f rgd.yaml --initiator group:platform | kubectl apply -f -

  # Policies for the triggers and sources of a GeneratingPolicy, and for itself
  kubectl kausality derive -f generatingpolicy.yaml --initiator group:platform

  # What would change in the cluster
  kubectl kausality derive -f rgd.yaml --diff`

type options struct {
	files, crds, initiators []string
	account, format         string
	recreate, putBack, diff bool
}

const (
	formatYAML = "yaml"
	formatJSON = "json"
)

// Command returns "derive".
func Command(flags genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams) *cobra.Command {
	opts := options{format: formatYAML, account: kro.DefaultAccount}
	cmd := &cobra.Command{
		Use:     "derive -f FILE",
		Short:   "Derive policies from graphs of kro and GeneratingPolicies",
		Long:    long,
		Example: examples,
		Args:    source.ByFlag,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return opts.run(cmd.Context(), flags, streams)
		},
	}
	own := cmd.Flags()
	own.StringSliceVarP(&opts.files, "filename", "f", nil, "Files and directories of ResourceGraphDefinitions and GeneratingPolicies; - is the standard input.")
	own.StringSliceVar(&opts.crds, "crds", nil, "Files and directories of CustomResourceDefinitions, to find the resources of kinds.")
	own.StringVar(&opts.account, "service-account", opts.account, "Service account of kro, as NAMESPACE/NAME.")
	own.StringSliceVar(&opts.initiators, "initiator", nil, "Who may change instances, triggers and sources: user:NAME, group:NAME or serviceaccount:NAMESPACE/NAME.")
	own.BoolVar(&opts.recreate, "recreate", false, "Let kro make children again that were lost.")
	own.BoolVar(&opts.putBack, "put-back", false, "Let what a GeneratingPolicy made be put back where it was changed all the same.")
	own.BoolVar(&opts.diff, "diff", false, "Compare with the policies in the cluster instead of writing them.")
	own.StringVarP(&opts.format, "output", "o", opts.format, "Output format: json, yaml.")
	return cmd
}

func (o *options) run(ctx context.Context, flags genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams) error {
	if len(o.files) == 0 {
		return exit.With(exit.Usage, errors.New("which graphs or GeneratingPolicies? Name files or directories: -f rgd.yaml, or -f - for the standard input"))
	}
	if o.format != formatYAML && o.format != formatJSON {
		return exit.With(exit.Usage, fmt.Errorf("--output=%s is none of json, yaml", o.format))
	}
	from, err := o.origins()
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	docs, malformed, err := source.Read(o.files, streams.In)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	kinds, err := offline.ReadKinds(o.crds, docs, streams.In)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	terminal := text.Of(streams.ErrOut)
	malformed = append(malformed, offline.Misnamed(docs)...)
	var told strings.Builder
	for _, p := range malformed {
		told.WriteString(source.Told(terminal, terminal.Paint(text.Bad, "error"), p))
	}
	wrong := len(malformed)
	var derived []*draft.Derivation
	for _, doc := range docs {
		derive, known := from[doc.GVK().GroupKind()]
		if !known {
			continue
		}
		of, problems := derive(doc, kinds)
		for _, p := range problems {
			told.WriteString(source.Told(terminal, terminal.Paint(text.Bad, "error"), p))
		}
		wrong += len(problems)
		for _, d := range of {
			told.WriteString(Report(d, doc, terminal))
		}
		derived = append(derived, of...)
	}
	if _, err := io.WriteString(streams.ErrOut, told.String()); err != nil {
		return fmt.Errorf("telling what is derived: %w", err)
	}
	switch {
	case wrong > 0:
		return errors.New("not all could be derived from: nothing is written")
	case len(derived) == 0:
		return fmt.Errorf("there is neither a ResourceGraphDefinition nor a GeneratingPolicy in %s", strings.Join(o.files, ", "))
	case o.diff:
		return compare(ctx, flags, streams, derived)
	default:
		return o.write(streams.Out, derived)
	}
}

// written is an AllowancePolicy as people write it: without a status.
type written struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta            `json:"metadata"`
	Spec            v1alpha1.AllowancePolicySpec `json:"spec"`
}

// writtenList is how kubectl takes several objects as JSON.
type writtenList struct {
	metav1.TypeMeta `json:",inline"`
	Items           []written `json:"items"`
}

func (o *options) write(w io.Writer, derived []*draft.Derivation) error {
	policies := make([]written, 0, len(derived))
	for _, d := range derived {
		policies = append(policies, written{d.Policy.TypeMeta, d.Policy.ObjectMeta, d.Policy.Spec})
	}
	if o.format == formatJSON {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(writtenList{
			TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "AllowancePolicyList"},
			Items:    policies,
		})
	}
	for i, p := range policies {
		block, err := source.Block(p)
		if err != nil {
			return err
		}
		if i > 0 {
			block = "---\n" + block
		}
		if _, err := io.WriteString(w, block); err != nil {
			return fmt.Errorf("writing policy %s: %w", p.Metadata.Name, err)
		}
	}
	return nil
}
