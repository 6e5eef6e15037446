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

package convert

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kausality.io/operator/internal/cli/exit"
	"kausality.io/operator/internal/cli/offline"
	"kausality.io/operator/internal/cli/source"
	"kausality.io/operator/internal/cli/text"
)

const long = `Convert policies of other forms to those of Kausality, without a cluster:
AllowancePolicies of kausal.io/v1alpha1, AllowancePolicies and UpgradeAllowances of
kausality.io/v1alpha1 that are written in short, and GeneratingPolicies and
NamespacedGeneratingPolicies of Kyverno 1.19.

The policies are written to the standard output. What cannot be said in them is
told on the standard error, with its place; with --strict, nothing is written then.
See what the result does with "kubectl kausality policy check".`

const examples = `  # What becomes of the policies of a directory
  kubectl kausality convert -f old/ > policies.yaml

  # The GeneratingPolicies of Kyverno in a cluster
  kubectl get generatingpolicies.policies.kyverno.io -o yaml | kubectl kausality convert -f -

  # In a pipeline, only if nothing is lost
  kubectl kausality convert --strict -f - < old.yaml | kubectl apply -f -`

type options struct {
	files, crds []string
	strict      bool
	format      string
}

const (
	formatYAML = "yaml"
	formatJSON = "json"
)

// Command returns "convert".
func Command(streams genericiooptions.IOStreams) *cobra.Command {
	opts := options{format: formatYAML}
	cmd := &cobra.Command{
		Use:     "convert -f FILE",
		Short:   "Convert policies of Kyverno, of kausal.io, or written in short",
		Long:    long,
		Example: examples,
		Args:    source.ByFlag,
		RunE: func(*cobra.Command, []string) error {
			return opts.run(streams)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&opts.files, "filename", "f", nil, "Files and directories of policies; - is the standard input.")
	flags.StringSliceVar(&opts.crds, "crds", nil, "Files and directories of CustomResourceDefinitions, to find the groups of kinds.")
	flags.BoolVar(&opts.strict, "strict", false, "Write nothing, and fail, where something is lost.")
	flags.StringVarP(&opts.format, "output", "o", opts.format, "Output format: json, yaml.")
	return cmd
}

func (o *options) run(streams genericiooptions.IOStreams) error {
	if len(o.files) == 0 {
		return exit.With(exit.Usage, errors.New("which policies? Name files or directories: -f old/, or -f - for the standard input"))
	}
	if o.format != formatYAML && o.format != formatJSON {
		return exit.With(exit.Usage, fmt.Errorf("--output=%s is none of json, yaml", o.format))
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
	var told strings.Builder
	tell := func(label string, style text.Style, problems []source.Problem) {
		for _, p := range problems {
			told.WriteString(source.Told(terminal, terminal.Paint(style, label), p))
		}
	}
	tell("error", text.Bad, malformed)
	lost := 0
	var objects []Object
	places := map[string]source.Place{}
	for _, doc := range docs {
		if offline.IsDefinition(doc.GVK()) {
			continue
		}
		converted := Document(doc, kinds)
		if o := converted.Object; o != nil {
			name := o.Kind + " " + o.Metadata.Name
			if other, twice := places[name]; twice {
				converted.Lost = append(converted.Lost, doc.Problem("metadata.name", "another %s is from %s: the cluster would keep one of them", name, other))
			}
			places[name] = doc.At("")
			objects = append(objects, *o)
		}
		tell("lost", text.Bad, converted.Lost)
		tell("note", text.Wait, converted.Notes)
		lost += len(converted.Lost)
	}
	if _, err := io.WriteString(streams.ErrOut, told.String()); err != nil {
		return fmt.Errorf("telling what is lost: %w", err)
	}
	switch {
	case len(malformed) > 0:
		return errors.New("not all files could be read: nothing is written")
	case lost > 0 && o.strict:
		return errors.New("not everything can be converted: nothing is written")
	case len(objects) == 0 && lost > 0:
		return fmt.Errorf("nothing in %s can be converted", strings.Join(o.files, ", "))
	case len(objects) == 0:
		return fmt.Errorf("there is no policy to convert in %s", strings.Join(o.files, ", "))
	}
	return o.write(streams.Out, objects)
}

// objectList is how kubectl takes several objects as JSON.
type objectList struct {
	metav1.TypeMeta `json:",inline"`
	Items           []Object `json:"items"`
}

func (o *options) write(w io.Writer, objects []Object) error {
	if o.format == formatJSON {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(objectList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, Items: objects})
	}
	for i, object := range objects {
		block, err := source.Block(object)
		if err != nil {
			return err
		}
		if i > 0 {
			block = "---\n" + block
		}
		if _, err := io.WriteString(w, block); err != nil {
			return fmt.Errorf("writing %s %s: %w", object.Kind, object.Metadata.Name, err)
		}
	}
	return nil
}
