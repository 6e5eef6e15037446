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
	"strings"
	"unicode/utf8"
)

// gap is what stands between two columns.
const gap = "   "

// Cell is one cell of a table.
type Cell struct {
	Text  string
	Style Style
	// Unbroken keeps the text in one line however long it is, for commands that are
	// copied.
	Unbroken bool
}

// Table has its columns aligned. The zero value is an empty table.
type Table struct {
	rows [][]Cell
}

// Header adds a row of column names.
func (t *Table) Header(names ...string) {
	row := make([]Cell, 0, len(names))
	for _, name := range names {
		row = append(row, Cell{Text: name, Style: Faint})
	}
	t.rows = append(t.rows, row)
}

// Row adds a row of plain texts.
func (t *Table) Row(texts ...string) {
	row := make([]Cell, 0, len(texts))
	for _, text := range texts {
		row = append(row, Cell{Text: text})
	}
	t.rows = append(t.rows, row)
}

// Cells adds a row.
func (t *Table) Cells(cells ...Cell) {
	t.rows = append(t.rows, cells)
}

// Render lays the table out, each line behind an indentation. What does not fit into
// the last column goes on below its beginning.
func (t *Table) Render(terminal Terminal, indent string) string {
	widths := t.widths()
	var out strings.Builder
	for _, row := range t.rows {
		var line strings.Builder
		line.WriteString(indent)
		used := utf8.RuneCountInString(indent)
		for i, cell := range row {
			if i == len(row)-1 {
				out.WriteString(strings.TrimRight(line.String()+terminal.last(cell, used), " ") + "\n")
				break
			}
			line.WriteString(terminal.Paint(cell.Style, cell.Text))
			line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell.Text)) + gap)
			used += widths[i] + len(gap)
		}
	}
	return out.String()
}

// widths returns the widths of the columns. A last cell of a row needs no column.
func (t *Table) widths() []int {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if i < len(row)-1 {
				widths[i] = max(widths[i], utf8.RuneCountInString(cell.Text))
			}
		}
	}
	return widths
}

// least is how narrow a wrapped column may be.
const least = 24

// last lays out the last cell of a row, which begins at a column.
func (t Terminal) last(cell Cell, column int) string {
	if cell.Unbroken {
		return t.Paint(cell.Style, cell.Text)
	}
	narrow := Terminal{Width: max(t.Width-column, least)}
	lines := strings.Split(strings.TrimSuffix(narrow.Wrap("", cell.Text), "\n"), "\n")
	for i := range lines {
		lines[i] = t.Paint(cell.Style, lines[i])
	}
	return strings.Join(lines, "\n"+strings.Repeat(" ", column))
}
