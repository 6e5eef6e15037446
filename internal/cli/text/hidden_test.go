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

import "testing"

func TestVisible(t *testing.T) {
	painted := Terminal{Color: true}.Paint(Bad, "no") + "\n\tand └── größe"
	for name, tc := range map[string]struct{ rendered, want string }{
		"what commands lay out": {painted, painted},
		"a cleared line":        {"a\x1b[2K\rb", `a\x1b[2K\rb`},
		"concealed text":        {"\x1b[8mhidden\x1b[0m", "\\x1b[8mhidden\x1b[0m"},
		"text that runs back":   {"a\u202eb", `a\u202eb`},
		"nothing":               {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Visible(tc.rendered); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
