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

// Package leftover refuses arguments that no flag takes. Package flag stops at the first of them,
// so that all flags behind it would count for nothing, and nobody would be told.
package leftover

import (
	"fmt"
	"strconv"
	"strings"
)

// Check refuses what parsing has left of all arguments, the last of them. It says which flag
// the first of them is most likely meant for.
func Check(all, left []string) error {
	if len(left) == 0 {
		return nil
	}
	before := ""
	if len(all) > len(left) {
		before = all[len(all)-len(left)-1]
	}
	return fmt.Errorf("%s: no flag takes this, and what is behind it is not read as flags; %s", quoted(left), cause(before, left[0]))
}

// Refuse refuses arguments of a command that takes none, wherever they are.
func Refuse(arguments []string) error {
	if len(arguments) == 0 {
		return nil
	}
	return fmt.Errorf("%s: no flag takes this; %s", quoted(arguments), cause("", arguments[0]))
}

func quoted(arguments []string) string {
	out := make([]string, 0, len(arguments))
	for _, argument := range arguments {
		out = append(out, strconv.Quote(argument))
	}
	return strings.Join(out, " ")
}

// cause says what was most likely meant by an argument that is left, behind another one.
func cause(before, argument string) string {
	if _, err := strconv.ParseBool(argument); err != nil {
		return "remove it, or write the flag that it belongs to before it"
	}
	if strings.Trim(before, "-") == "" || !strings.HasPrefix(before, "-") || strings.Contains(before, "=") {
		before = "--flag"
	}
	return fmt.Sprintf("a flag that is true or false has its value behind a =: write %s=%s", before, argument)
}
