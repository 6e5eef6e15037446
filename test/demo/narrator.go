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

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

const (
	// margin is what output is indented by, so that it stands apart from commands.
	margin = "    "
	// lineWidth is how long a line of output may get before it is broken: messages
	// are, tables are not.
	lineWidth = 140
)

// style is how marks and texts are set: with colors on a terminal, and else as
// text that a log or a pipe can take.
type style struct {
	ok, failed                  string
	title, command, dim, normal string
}

// narrator writes what a person reads.
type narrator struct {
	out   io.Writer
	style style
}

// newNarrator returns a narrator in the style that is right for out.
func newNarrator(out *os.File) narrator {
	colors := term.IsTerminal(int(out.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return narrator{out: out, style: styleFor(colors)}
}

func styleFor(colors bool) style {
	if !colors {
		return style{ok: "ok", failed: "FAILED"}
	}
	const normal = "\x1b[0m"
	return style{
		ok:      "\x1b[32m✓" + normal,
		failed:  "\x1b[1;31m✗" + normal,
		title:   "\x1b[1m",
		command: "\x1b[36m",
		dim:     "\x1b[2m",
		normal:  normal,
	}
}

// chapter begins a part of the story.
func (n narrator) chapter(title string) {
	n.linef("\n%s%s%s", n.style.title, title, n.style.normal)
}

// command shows what a person types.
func (n narrator) command(line string) {
	n.linef("  %s$ %s%s", n.style.command, line, n.style.normal)
}

// output shows what a command answers.
func (n narrator) output(text string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		for _, part := range broken(line, lineWidth-len(margin)) {
			n.linef("%s%s", margin, part)
		}
	}
}

// aside says what goes on meanwhile.
func (n narrator) aside(text string) {
	n.linef("%s%s%s", n.style.dim, text, n.style.normal)
}

// holds says that a claim was checked.
func (n narrator) holds(claim string) {
	n.linef("  %s  %s", n.style.ok, claim)
}

// fails says that a claim does not hold, and what is so instead.
func (n narrator) fails(claim string, err error) {
	n.linef("  %s  %s", n.style.failed, claim)
	n.output(err.Error())
}

// end says that the story is over.
func (n narrator) end(claims int, took time.Duration) {
	n.linef("\n%sAll %d checks hold%s, after %.0f s. Nothing of it is left.", n.style.title, claims, n.style.normal, took.Seconds())
}

// linef writes a line. Where nobody reads any more there is nothing to do about it
// here: the signal that says so ends the story.
func (n narrator) linef(format string, args ...any) {
	_, _ = fmt.Fprintf(n.out, format+"\n", args...)
}

// broken breaks a line that is longer than width between words. A word that is
// longer keeps a line of its own, so that it can be copied.
func broken(line string, width int) []string {
	var parts []string
	for len(line) > width {
		at := strings.LastIndexByte(line[:width+1], ' ')
		if at <= 0 {
			if at = strings.IndexByte(line, ' '); at <= 0 {
				break
			}
		}
		parts = append(parts, strings.TrimRight(line[:at], " "))
		line = strings.TrimLeft(line[at:], " ")
	}
	return append(parts, line)
}
