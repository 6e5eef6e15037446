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

package change

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"k8s.io/apimachinery/pkg/util/sets"
)

// The syntax is that of crossplane-runtime's fieldpath package, which is what the
// Kubernetes API conventions describe, made strict, so that a path that cannot
// match what its author meant is refused, and complete, so that every key of
// every object has a text:
//
//   - a "*" is a wildcard and stands alone;
//   - a bracketed number is an index, a quoted one a key: data['0'];
//   - a key with a backslash is read as a Go string, so that brackets, quotes,
//     stars and blanks can be written: data['a\x5b0\x5d'].

// wildcard is the segment of a pattern that stands for any field and any index.
// No segment of a path is like it: theirs all have a type.
var wildcard = Segment{}

// Wildcard is the segment of a Pattern that stands for any index or key.
var Wildcard = wildcard

// maxSegments bounds how deep a path reaches. Find reports a difference that
// lies deeper at its ancestor there, so that hostile objects cannot make it
// write paths of thousands of segments each.
const maxSegments = 100

var (
	identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// bareKey is a key that needs no quotes within brackets.
	bareKey = regexp.MustCompile(`^[A-Za-z0-9._/-]+$`)
	// integer is a key that would be read, or misread, as an index without quotes.
	integer          = regexp.MustCompile(`^[+-]?\d+$`)
	bracketedInteger = regexp.MustCompile(`\[[+-]?\d+\]`)
	// glued is a closing bracket with a field name right behind it.
	glued = regexp.MustCompile(`\][^.\[\]]`)

	// stringMaps are the fields whose keys users choose freely.
	stringMaps = sets.New("annotations", "labels", "matchLabels", "nodeSelector",
		"data", "stringData", "binaryData", "volumeAttributes")
)

// parse reads the text of a path or pattern.
func parse(text string) ([]Segment, error) {
	if text == "" {
		return nil, errors.New("it is empty")
	}
	if at := glued.FindStringIndex(text); at != nil {
		return nil, fmt.Errorf("'.' or '[' expected at position %d", at[0]+1)
	}
	parsed, err := fieldpath.Parse(text)
	if err != nil {
		return nil, err
	}
	if len(parsed) > maxSegments {
		return nil, fmt.Errorf("it has %d segments, at most %d are supported", len(parsed), maxSegments)
	}
	if parsed[0].Type == fieldpath.SegmentIndex {
		return nil, errors.New("it begins with an index, but an object is not a list")
	}
	if at := badIndex(text); at >= 0 {
		return nil, fmt.Errorf("no list index at position %d: they range from 0 to %d; a key that is a number must be quoted",
			at, uint32(math.MaxUint32))
	}
	for i, s := range parsed {
		if s.Type != fieldpath.SegmentField {
			continue
		}
		if parsed[i], err = parseField(s.Field); err != nil {
			return nil, fmt.Errorf("segment %d, %q: %w", i+1, s.Field, err)
		}
	}
	return parsed, nil
}

// SplitPaths returns the paths and patterns that stand in a text one behind the other, with
// commas in between, without the blanks around them. A comma within brackets is part of a
// key; no key has a bracket in it, as these are written as escape sequences.
func SplitPaths(text string) []string {
	within := false
	var out []string
	begin := 0
	for i, r := range text {
		switch r {
		case '[', ']':
			within = r == '['
		case ',':
			if !within {
				out = append(out, strings.TrimSpace(text[begin:i]))
				begin = i + 1
			}
		}
	}
	return append(out, strings.TrimSpace(text[begin:]))
}

// JoinPaths writes what SplitPaths reads.
func JoinPaths(paths []string) string { return strings.Join(paths, ",") }

// badIndex returns the position of a number in brackets that the parser took for a key,
// as it is no index, -1 if there is none.
func badIndex(text string) int {
	for _, at := range bracketedInteger.FindAllStringIndex(text, -1) {
		if _, err := strconv.ParseUint(text[at[0]+1:at[1]-1], 10, 32); err != nil {
			return at[0] + 1
		}
	}
	return -1
}

// parseField reads a segment that is no index.
func parseField(field string) (Segment, error) {
	switch {
	case field == "*":
		return wildcard, nil
	case strings.Contains(field, "*"):
		return Segment{}, errors.New(`"*" stands for a whole name, not for a part of one; the character itself is written \x2a`)
	case strings.TrimSpace(field) != field:
		return Segment{}, errors.New("a name must not begin or end with a blank")
	case !strings.Contains(field, `\`):
		return fieldSegment(field), nil
	}
	key, err := strconv.Unquote(`"` + field + `"`)
	if err != nil {
		return Segment{}, errors.New(`a backslash must begin an escape sequence, such as \x5b for "["`)
	}
	return fieldSegment(key), nil
}

// format writes what parse reads.
func format(segments []Segment) string {
	var b strings.Builder
	for i, s := range segments {
		switch {
		case s == wildcard && i == 0:
			b.WriteString("*")
		case s == wildcard:
			b.WriteString("[*]")
		case s.Type == fieldpath.SegmentIndex:
			fmt.Fprintf(&b, "[%d]", s.Index)
		case !identifier.MatchString(s.Field) || i > 0 && stringMaps.Has(segments[i-1].Field):
			b.WriteString("[" + formatKey(s.Field) + "]")
		case i == 0:
			b.WriteString(s.Field)
		default:
			b.WriteString("." + s.Field)
		}
	}
	return b.String()
}

// reserved are the characters that strconv.Quote leaves as they are, or quotes
// in a way, that the parser would read as syntax.
var reserved = strings.NewReplacer(`\"`, `\x22`, `'`, `\x27`, `[`, `\x5b`, `]`, `\x5d`, `*`, `\x2a`, ` `, `\x20`)

func formatKey(key string) string {
	if bareKey.MatchString(key) && !integer.MatchString(key) {
		return key
	}
	quoted := strconv.Quote(key)
	return "'" + reserved.Replace(quoted[1:len(quoted)-1]) + "'"
}
