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

// Package cli is the command line: kubectl kausality. Each command has a package
// of its own, of a part that reads and a part that turns what was read into text.
package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kausality.io/operator/internal/cli/access"
	"kausality.io/operator/internal/cli/approve"
	"kausality.io/operator/internal/cli/can"
	"kausality.io/operator/internal/cli/check"
	"kausality.io/operator/internal/cli/convert"
	"kausality.io/operator/internal/cli/derive"
	"kausality.io/operator/internal/cli/exit"
	"kausality.io/operator/internal/cli/explain"
	"kausality.io/operator/internal/cli/remove"
	"kausality.io/operator/internal/cli/takeover"
	"kausality.io/operator/internal/cli/trace"
	"kausality.io/operator/internal/cli/upgrade"
	"kausality.io/operator/internal/cli/why"
)

const long = `Read what Kausality knows: who caused what, what is allowed, what was refused.

As kubectl does, each command takes an object as KIND/NAME or KIND NAME, and the
flags that say which cluster and namespace are meant.`

// completer begins the name by which kubectl calls a plugin for completions of its
// arguments.
const completer = "kubectl_complete-"

// Run runs the command that args, whose first is the name of the program, asks for.
// It has told the user of an error that it returns.
func Run(ctx context.Context, streams genericiooptions.IOStreams, args []string) error {
	root := New(streams)
	root.SetArgs(arguments(args))
	err := root.ExecuteContext(ctx)
	if err != nil {
		root.PrintErrln("error:", err)
	}
	return err
}

// arguments returns the arguments of the command. Under the name by which kubectl asks a plugin
// for completions, the program completes.
func arguments(args []string) []string {
	if strings.HasPrefix(filepath.Base(args[0]), completer) {
		return append([]string{cobra.ShellCompRequestCmd}, args[1:]...)
	}
	return args[1:]
}

// New returns the command with all that it has below it.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	root := &cobra.Command{
		Use:           "kubectl-kausality",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl kausality"},
		Short:         "Read what Kausality knows: who caused what, what is allowed, what was refused",
		Long:          long,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,

		PersistentPreRunE: valued,
	}
	root.SetFlagErrorFunc(flagError)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)

	flags := genericclioptions.NewConfigFlags(true)
	flags.AddFlags(root.PersistentFlags())
	root.AddCommand(
		access.Command(flags, streams),
		approve.Command(flags, streams),
		can.Command(flags, streams),
		convert.Command(streams),
		derive.Command(flags, streams),
		explain.Command(flags, streams),
		policies(streams),
		remove.Command(flags, streams),
		takeover.Command(flags, streams),
		trace.Command(flags, streams),
		upgrade.Command(flags, streams),
		why.Command(flags, streams),
	)
	return root
}

// everywhere are the flag by which one command is about all namespaces, and how it is written in short.
var everywhere = []string{"all-namespaces", "A"}

// flagError returns what is said of flags that cannot be read. What other commands say of all namespaces, and what kubectl
// does, is no slip of the pen.
func flagError(cmd *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || !slices.Contains(everywhere, unknown.GetSpecifiedName()) {
		return exit.With(exit.Usage, err)
	}
	about := map[string]string{"trace": "one object, or one namespace", "explain": "one object, or one kind", "approve": "one object", "can": "one object"}
	if about[cmd.Name()] == "" {
		return exit.With(exit.Usage, err)
	}
	return exit.With(exit.Usage, fmt.Errorf("%s is about %s: leave out -A, and say which with -n; kubectl kausality why -A tells of all namespaces",
		cmd.Name(), about[cmd.Name()]))
}

// policies returns the command with all that is about policies as such.
func policies(streams genericiooptions.IOStreams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Lint and test policies",
		RunE:  ofGroup,
	}
	cmd.AddCommand(check.Command(streams))
	return cmd
}

// ofGroup runs a command that only has others below it: alone it says which. Any other word is the name of none of
// them, of which cobra says nothing but below the root.
func ofGroup(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	message := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = typos
	if meant := cmd.SuggestionsFor(args[0]); len(meant) > 0 {
		message += "\n\nDid you mean this?\n\t" + strings.Join(meant, "\n\t") + "\n"
	}
	return errors.New(message)
}

// typos is how many letters may be wrong in what is meant, as cobra has it below the root.
const typos = 2

// version returns the version of the module the program was built from.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
