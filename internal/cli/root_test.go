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

package cli_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kausality.io/operator/internal/cli"
)

func TestRun(t *testing.T) {
	tests := map[string]struct {
		args    []string
		out     string
		errOut  string
		refused bool
	}{
		"help names the plugin as it is called": {
			args: []string{"kubectl-kausality", "why", "--help"},
			out:  "kubectl kausality why [KIND/NAME] [flags]",
		},
		"completion of a command": {
			args: []string{"kubectl-kausality", "__complete", "wh"},
			out:  "why\t",
		},
		"completion under the name that kubectl looks for": {
			args: []string{"/usr/bin/kubectl_complete-kausality", "why", "--output", "ya"},
			out:  "yaml\n",
		},
		"an unknown command": {
			args:    []string{"kubectl-kausality", "wyh"},
			errOut:  `error: unknown command "wyh"`,
			refused: true,
		},
		"an unknown command of a group": {
			args:    []string{"kubectl-kausality", "policy", "chekc"},
			errOut:  "error: unknown command \"chekc\" for \"kubectl kausality policy\"\n\nDid you mean this?\n\tcheck\n",
			refused: true,
		},
		"one that is like none": {
			args:    []string{"kubectl-kausality", "policy", "everything"},
			errOut:  "error: unknown command \"everything\" for \"kubectl kausality policy\"\n",
			refused: true,
		},
		"a limit that is none": {
			args:    []string{"kubectl-kausality", "why", "--limit=-5"},
			errOut:  `error: invalid argument "-5" for "--limit" flag: give how many to show, or -1 for all`,
			refused: true,
		},
		"a path that is a variable that is not set": {
			args:    []string{"kubectl-kausality", "approve", "deploy/a", "--yes", "--path", ""},
			errOut:  "error: --path is given without a value",
			refused: true,
		},
		"one of several that is none": {
			args:    []string{"kubectl-kausality", "approve", "deploy/a", "--path=spec.a", "--path= "},
			errOut:  "error: --path is given without a value",
			refused: true,
		},
		"nobody, in whose name is asked": {
			args:    []string{"kubectl-kausality", "can", "deploy/a", "--as=", "--field=spec.replicas", "--set=1"},
			errOut:  "error: --as is given without a value",
			refused: true,
		},
		"all namespaces of a command about one object": {
			args:    []string{"kubectl-kausality", "approve", "-A"},
			errOut:  "error: approve is about one object: leave out -A",
			refused: true,
		},
		"all namespaces of one about one namespace": {
			args:    []string{"kubectl-kausality", "trace", "--all-namespaces"},
			errOut:  "error: trace is about one object, or one namespace: leave out -A",
			refused: true,
		},
		"an unknown flag": {
			args:    []string{"kubectl-kausality", "trace", "-Q"},
			errOut:  "error: unknown shorthand flag: 'Q'",
			refused: true,
		},
		"a file without its flag": {
			args:    []string{"kubectl-kausality", "policy", "check", "my policy.yaml"},
			errOut:  "error: check takes no arguments, and there is my policy.yaml: name files with -f: -f 'my policy.yaml'",
			refused: true,
		},
		"the future": {
			args:    []string{"kubectl-kausality", "upgrade", "suggest", "a/b", "--since=-1h"},
			errOut:  "error: --since=-1h0m0s is how far back to look",
			refused: true,
		},
		"several objects": {
			args:    []string{"kubectl-kausality", "why", "deploy/a", "deploy/b"},
			errOut:  "error: why takes one object",
			refused: true,
		},
		"a group alone": {
			args: []string{"kubectl-kausality", "policy"},
			out:  "Available Commands:\n  check ",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			streams, _, out, errOut := genericiooptions.NewTestIOStreams()
			if err := cli.Run(t.Context(), streams, tc.args); (err != nil) != tc.refused {
				t.Errorf("Run: %v, want an error: %t", err, tc.refused)
			}
			if !strings.Contains(out.String(), tc.out) || !strings.Contains(errOut.String(), tc.errOut) {
				t.Errorf("Run printed %q and %q, want %q and %q in them", out, errOut, tc.out, tc.errOut)
			}
		})
	}
}

// A flag without a value is refused by each command, but where that means no more than a value does.
func TestFlagsHaveValues(t *testing.T) {
	var look func(*cobra.Command)
	look = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			look(sub)
		}
		var names []string
		cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
			if isText := strings.HasPrefix(flag.Value.Type(), "string"); isText && !slices.Contains([]string{"crossplane-providers", "held", "name", "output"}, flag.Name) {
				names = append(names, flag.Name)
			}
		})
		for _, name := range append(names, "as", "as-group") {
			args := []string{"kubectl-kausality"}
			if words := strings.Fields(cmd.CommandPath())[1:]; len(words) > 1 {
				args = append(args, words[1:]...)
			}
			streams, _, _, errOut := genericiooptions.NewTestIOStreams()
			if cmd.ValidateArgs(nil) != nil {
				args = append(args, "deploy/a")
			}
			err := cli.Run(t.Context(), streams, append(args, "--"+name+"="))
			if err == nil || !strings.Contains(errOut.String(), "--"+name+" is given without a value") {
				t.Errorf("%s --%s=: %v", cmd.CommandPath(), name, err)
			}
		}
	}
	for _, cmd := range cli.New(genericiooptions.NewTestIOStreamsDiscard()).Commands() {
		look(cmd)
	}
}

// A command that only has others below it refuses any other word.
func TestGroups(t *testing.T) {
	streams := genericiooptions.NewTestIOStreamsDiscard()
	var look func(*cobra.Command)
	look = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			if sub.HasSubCommands() && !sub.Runnable() {
				t.Errorf("%s takes any word for a question for help", sub.CommandPath())
			}
			look(sub)
		}
	}
	look(cli.New(streams))
}
