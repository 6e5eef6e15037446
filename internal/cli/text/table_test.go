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

package text_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/internal/cli/text"
)

func TestTable(t *testing.T) {
	fill := func(rows ...[]text.Cell) *text.Table {
		table := &text.Table{}
		table.Header("WHO", "WHAT")
		for _, row := range rows {
			table.Cells(row...)
		}
		return table
	}
	tests := map[string]struct {
		table    *text.Table
		terminal text.Terminal
		want     string
	}{
		"columns are as wide as their widest cell": {
			table:    fill([]text.Cell{{Text: "alice"}, {Text: "an image"}}, []text.Cell{{Text: "bob"}, {Text: "a size"}}),
			terminal: text.Terminal{Width: 80},
			want:     "  WHO     WHAT\n  alice   an image\n  bob     a size\n",
		},
		"the last column goes on below its beginning": {
			table:    fill([]text.Cell{{Text: "alice"}, {Text: "one two three four five six seven"}}),
			terminal: text.Terminal{Width: 36},
			want:     "  WHO     WHAT\n  alice   one two three four five\n          six seven\n",
		},
		"what is to be copied is not broken": {
			table:    fill([]text.Cell{{Text: "alice"}, {Text: "one two three four five six seven", Unbroken: true}}),
			terminal: text.Terminal{Width: 36},
			want:     "  WHO     WHAT\n  alice   one two three four five six seven\n",
		},
		"colors take no room, and end with each line": {
			table:    fill([]text.Cell{{Text: "bob", Style: text.Bad}, {Text: "one two three four five six", Style: text.Good}}),
			terminal: text.Terminal{Width: 32, Color: true},
			want: "  \x1b[2mWHO\x1b[0m   \x1b[2mWHAT\x1b[0m\n" +
				"  \x1b[31mbob\x1b[0m   \x1b[32mone two three four five\x1b[0m\n        \x1b[32msix\x1b[0m\n",
		},
		"an empty last cell leaves no spaces": {
			table:    fill([]text.Cell{{Text: "bob"}, {}}),
			terminal: text.Terminal{Width: 80},
			want:     "  WHO   WHAT\n  bob\n",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.table.Render(tc.terminal, "  ")); diff != "" {
				t.Errorf("Render: -want, +got:\n%s", diff)
			}
		})
	}
}
