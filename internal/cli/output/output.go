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

// Package output writes what a command has found, as text for people or as data for
// programs.
package output

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"kausality.io/operator/internal/cli/text"
)

// Version is that of what is written as data.
var Version = schema.GroupVersion{Group: "cli.kausality.io", Version: "v1alpha1"}

const wide = "wide"

// Flags say in which form a command writes.
type Flags struct {
	format string
	data   *genericclioptions.JSONYamlPrintFlags
}

// NewFlags makes the flags, which ask for text until they are set.
func NewFlags() *Flags {
	return &Flags{data: genericclioptions.NewJSONYamlPrintFlags()}
}

// AddTo adds the flags to a command.
func (f *Flags) AddTo(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.format, "output", "o", f.format, "Output format: "+strings.Join(f.formats(), ", ")+".")
	// It fails only where there is no such flag.
	if err := cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(f.formats(), cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err)
	}
}

func (f *Flags) formats() []string {
	formats := append(f.data.AllowedFormats(), wide)
	slices.Sort(formats)
	return formats
}

// Wide reports whether people want to see more.
func (f *Flags) Wide() bool { return f.format == wide }

// Text reports whether the output is for people.
func (f *Flags) Text() bool { return f.format == "" || f.Wide() }

// Write writes what was found: a pointer to a struct, as data of a kind, or as text.
func (f *Flags) Write(w io.Writer, kind string, found any, render func(text.Terminal) string) error {
	if f.Text() {
		_, err := io.WriteString(w, text.Visible(render(text.Of(w))))
		return err
	}
	printer, err := f.data.ToPrinter(f.format)
	if err != nil {
		return fmt.Errorf("--output=%s is none of %s", f.format, strings.Join(f.formats(), ", "))
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(found)
	if err != nil {
		return fmt.Errorf("writing %s as %s: %w", kind, f.format, err)
	}
	obj := &unstructured.Unstructured{Object: content}
	obj.SetGroupVersionKind(Version.WithKind(kind))
	return printer.PrintObj(obj, w)
}
