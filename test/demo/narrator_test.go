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
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNarratorPlain(t *testing.T) {
	var out bytes.Buffer
	n := narrator{out: &out, style: styleFor(false)}
	n.chapter("1. A title")
	n.command("kubectl get pods")
	n.output("NAME\nweb\n")
	n.holds("it is so")
	n.fails("it is not so", errors.New("it is otherwise"))
	n.end(1, 2*time.Second)
	want := `
1. A title
  $ kubectl get pods
    NAME
    web
  ok  it is so
  FAILED  it is not so
    it is otherwise

All 1 checks hold, after 2 s. Nothing of it is left.
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("told otherwise (-want +got):\n%s", diff)
	}
}

func TestNarratorColors(t *testing.T) {
	var out bytes.Buffer
	narrator{out: &out, style: styleFor(true)}.holds("it is so")
	if want := "  \x1b[32m✓\x1b[0m  it is so\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestNoColorsInFiles(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // Nothing was written to it.
	if diff := cmp.Diff(styleFor(false), newNarrator(file).style, cmp.AllowUnexported(style{})); diff != "" {
		t.Errorf("a file gets another style (-want +got):\n%s", diff)
	}
}

func TestBroken(t *testing.T) {
	tests := map[string]struct {
		line string
		want []string
	}{
		"empty":                     {line: "", want: []string{""}},
		"short":                     {line: "one two", want: []string{"one two"}},
		"fits exactly":              {line: "0123456789", want: []string{"0123456789"}},
		"breaks between words":      {line: "one two three four", want: []string{"one two", "three four"}},
		"breaks right at the width": {line: "0123 56789 next", want: []string{"0123 56789", "next"}},
		"keeps what stands apart":   {line: "a  b      c", want: []string{"a  b", "c"}},
		"a long word stays whole":   {line: "one abcdefghijklmnop two", want: []string{"one", "abcdefghijklmnop", "two"}},
		"nothing but a long word":   {line: "abcdefghijklmnop", want: []string{"abcdefghijklmnop"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := broken(tc.line, 10)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("broken otherwise (-want +got):\n%s", diff)
			}
			if spaced(strings.Join(got, " ")) != spaced(tc.line) {
				t.Errorf("words of %q are lost in %q", tc.line, got)
			}
		})
	}
}
