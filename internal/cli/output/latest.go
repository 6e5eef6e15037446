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

package output

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kausality.io/operator/internal/cli/text"
)

// Limit is how many entries of a list a command shows; all where it is negative.
type Limit int

// AddTo adds the flag to a command. what names the entries, the latest of which come first.
func (l *Limit) AddTo(cmd *cobra.Command, what string) {
	cmd.Flags().Var(l, "limit", "How many "+what+" to show, the latest first; -1 for all.")
}

var _ pflag.Value = (*Limit)(nil)

// Set implements pflag.Value.
func (l *Limit) Set(arg string) error {
	n, err := strconv.Atoi(arg)
	if err != nil || n < -1 {
		return errors.New("give how many to show, or -1 for all")
	}
	*l = Limit(n)
	return nil
}

// String implements pflag.Value.
func (l *Limit) String() string { return strconv.Itoa(int(*l)) }

// Type implements pflag.Value.
func (*Limit) Type() string { return "int" }

// Latest returns the entries to show, of all with the latest first, and how many are left out.
func Latest[T any](all []T, most Limit) (shown []T, more int) {
	if most < 0 || len(all) <= int(most) {
		return all, 0
	}
	return slices.Clip(all[:most]), len(all) - int(most)
}

// More returns the line that says how many entries are left out; empty for none.
func More(t text.Terminal, more int) string {
	if more == 0 {
		return ""
	}
	return t.Wrap("", fmt.Sprintf("There are %d more (--limit).", more))
}
