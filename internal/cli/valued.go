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

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kausality.io/operator/internal/cli/exit"
)

// whoAsks are the flags of kubectl that say in whose name is asked. Without a value it would be yours.
var whoAsks = []string{"as", "as-group", "as-uid", "as-user-extra"}

// mayBeEmpty are the flags of commands whose empty value is one like another, and means no more than others do.
var mayBeEmpty = []string{
	"crossplane-providers", // As the operator's flag of that name.
	"held",                 // Nothing is decided, and nothing changes.
	"name",                 // The command makes one.
	"output",               // Text, as of kubectl.
}

// valued refuses a flag that is given without a value: that is a shell variable that is not set, and the command
// would do without the flag, for all that it leaves, rather than for nothing.
func valued(cmd *cobra.Command, _ []string) error {
	var err error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if err == nil && needsValue(cmd, flag) && isEmpty(flag.Value) {
			err = exit.With(exit.Usage, fmt.Errorf("--%s is given without a value: leave it out, or say what you mean", flag.Name))
		}
	})
	return err
}

// needsValue reports whether an empty value of a flag is none. What kubectl's flags do without one is known from there,
// but for whose name it is.
func needsValue(cmd *cobra.Command, flag *pflag.Flag) bool {
	if cmd.InheritedFlags().Lookup(flag.Name) == flag {
		return slices.Contains(whoAsks, flag.Name)
	}
	return !slices.Contains(mayBeEmpty, flag.Name)
}

// isEmpty reports whether a value, or one of several, is empty.
func isEmpty(value pflag.Value) bool {
	isBlank := func(text string) bool { return strings.TrimSpace(text) == "" }
	if several, ok := value.(pflag.SliceValue); ok {
		all := several.GetSlice()
		return len(all) == 0 || slices.ContainsFunc(all, isBlank)
	}
	return isBlank(value.String())
}
