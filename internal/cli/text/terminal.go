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

// Package text lays out what people read: in colors where that is a terminal, and
// never wider than that.
package text

import (
	"io"
	"os"
	"strings"

	"github.com/mitchellh/go-wordwrap"
	"golang.org/x/term"
)

// DefaultWidth is how many columns text may have that no terminal limits.
const DefaultWidth = 100

// Terminal is where text is shown.
type Terminal struct {
	// Color is whether it shows colors.
	Color bool
	// Width is how many columns it has.
	Width int
}

// Of finds out about the terminal that w is, if it is one. Whoever sets NO_COLOR
// wants no colors.
func Of(w io.Writer) Terminal {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return Terminal{Width: DefaultWidth}
	}
	out := Terminal{Color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb", Width: DefaultWidth}
	if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
		out.Width = width
	}
	return out
}

// Style is how a piece of text looks where there are colors.
type Style string

// The styles, by what they say.
const (
	Plain  Style = ""
	Strong Style = "1"
	Faint  Style = "2"
	Bad    Style = "31"
	Good   Style = "32"
	Wait   Style = "33"
)

// Paint gives a text, of one line, its style.
func (t Terminal) Paint(s Style, text string) string {
	if !t.Color || s == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Wrap breaks a paragraph into lines, each behind an indentation.
func (t Terminal) Wrap(indent, paragraph string) string {
	width := max(t.Width-len(indent), len(indent), 1)
	lines := strings.Split(wordwrap.WrapString(paragraph, uint(width)), "\n")
	return indent + strings.Join(lines, "\n"+indent) + "\n"
}
