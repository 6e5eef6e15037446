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

package text

import (
	"regexp"
	"strings"

	"kausality.io/operator/internal/kubectl"
)

// layout is what rendered text has besides visible characters: ends of lines, and what Paint writes.
var layout = regexp.MustCompile(`[\n\t]|\x1b\[(?:0|1|2|31|32|33)m`)

// Visible returns rendered text in which nothing that comes from an object moves the cursor of a
// terminal, or hides what else is written.
func Visible(rendered string) string {
	var out strings.Builder
	at := 0
	for _, found := range layout.FindAllStringIndex(rendered, -1) {
		out.WriteString(kubectl.Printable(rendered[at:found[0]]))
		out.WriteString(rendered[found[0]:found[1]])
		at = found[1]
	}
	out.WriteString(kubectl.Printable(rendered[at:]))
	return out.String()
}
