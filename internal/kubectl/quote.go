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

package kubectl

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plain is what no shell reads as anything but itself.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,-]+$`)

// Word returns a text as one word of a shell, quoted where it has to be.
func Word(text string) string {
	if plain.MatchString(text) {
		return text
	}
	return Quote(text)
}

// Quote returns a text in the single quotes of a POSIX shell, in which nothing is special but they
// themselves. What cannot be shown becomes an escape sequence, which in the path of a field means
// the same.
func Quote(text string) string {
	return "'" + strings.ReplaceAll(Printable(text), "'", `'\''`) + "'"
}

// Printable returns a text as one line of a terminal: what is no visible character becomes the
// escape sequence of Go, such as \n, so that it neither moves the cursor nor hides anything.
func Printable(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, isHidden) {
		return text
	}
	var b strings.Builder
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		if isHidden(r) || r == utf8.RuneError && size == 1 {
			quoted := strconv.Quote(text[:size])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}

func isHidden(r rune) bool { return !unicode.IsPrint(r) }
