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
	"fmt"
	"maps"
	"slices"
)

// Pattern is a path as policies and ledgers write it. It names the field at the
// path and everything below it, and [*] in it stands for any index or key:
// "*" is anything, spec.template.spec.containers[*].image the image of every
// container. The zero Pattern names nothing.
type Pattern []Segment

// ParsePattern reads a pattern. The error says where and why the text is not
// one.
func ParsePattern(s string) (Pattern, error) {
	segments, err := parse(s)
	if err != nil {
		return nil, fmt.Errorf("path %q: %w", s, err)
	}
	return segments, nil
}

// MustParsePattern reads a pattern that stands in the code, and panics where it is none.
func MustParsePattern(s string) Pattern {
	p, err := ParsePattern(s)
	if err != nil {
		panic(err)
	}
	return p
}

// String returns the canonical text of the pattern, which ParsePattern reads.
func (p Pattern) String() string {
	return format(p)
}

// Covers reports whether the pattern names what is at path as a whole: it does at
// its own place and below it, and does not above.
func (p Pattern) Covers(path Path) bool {
	return len(p) > 0 && len(p) <= len(path) && agree(p, path)
}

// AnyCovers reports whether one of the patterns covers the path.
func AnyCovers(patterns []Pattern, path Path) bool {
	return slices.ContainsFunc(patterns, func(p Pattern) bool { return p.Covers(path) })
}

// Touches reports whether path is at, below or above what the pattern names, for
// callers that have no values to see whether the difference above is in it.
func (p Pattern) Touches(path Path) bool {
	return len(p) > 0 && agree(p, path)
}

// Overlaps reports whether there may be a path that both patterns touch, for callers
// that have no object to look at.
func (p Pattern) Overlaps(q Pattern) bool {
	both := min(len(p), len(q))
	return both > 0 && slices.EqualFunc(p[:both], q[:both], func(a, b Segment) bool {
		return a == wildcard || b == wildcard || a == b
	})
}

// agree reports whether each segment of a pattern stands for the one at the same
// place of a path, as far as both reach.
func agree(pattern, segments []Segment) bool {
	for i := range min(len(pattern), len(segments)) {
		if pattern[i] != wildcard && pattern[i] != segments[i] {
			return false
		}
	}
	return true
}

// Matches reports whether the pattern, as a trigger, names something that c
// changed, and the path that a trace records for it. A change at or below the
// pattern is recorded as it is. Of a change above the pattern, which inserted,
// removed or replaced a whole subtree, the first place is recorded that the
// pattern names and where the two versions differ; {} and [] are values there,
// whatever Find tolerated. schema is the one that Find was given.
func (p Pattern) Matches(c Change, schema Schema) (Path, bool) {
	if p.Covers(c.Path) {
		return c.Path, true
	}
	if !p.Touches(c.Path) {
		return nil, false
	}
	f := newFinder(schema)
	f.path = append(f.path, c.Path...)
	return f.firstDifference(pair{c.Old, c.New}, p[len(c.Path):])
}

// Expand lists, in order, the places of obj that the pattern names and where obj
// holds a value, which {} and [] are and null is not. A leading wildcard stands for
// the fields that count, not for metadata or status.
func (p Pattern) Expand(obj map[string]any) []Path {
	if len(p) == 0 {
		return nil
	}
	if p[0] == wildcard {
		obj = counted(obj)
	}
	return p.expand(nil, nil, obj)
}

// expand adds to found the places that the pattern names in v, which is at a
// path.
func (p Pattern) expand(found []Path, at Path, v any) []Path {
	if len(p) == 0 {
		if v == nil {
			return found
		}
		return append(found, at)
	}
	for _, s := range p.heads(v) {
		if held, ok := step(v, s); ok {
			found = p[1:].expand(found, at.below(s), held)
		}
	}
	return found
}

// heads returns the segments, in order, that the first one of the pattern stands for
// in any of the values.
func (p Pattern) heads(values ...any) []Segment {
	if p[0] != wildcard {
		return p[:1]
	}
	var heads []Segment
	for _, v := range values {
		switch v := v.(type) {
		case map[string]any:
			for name := range maps.Keys(v) {
				heads = append(heads, fieldSegment(name))
			}
		case []any:
			for i := range v {
				heads = append(heads, indexSegment(i))
			}
		}
	}
	slices.SortFunc(heads, compareSegments)
	return slices.Compact(heads)
}
