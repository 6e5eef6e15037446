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
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
)

// Segment is one step into an object: a field of a map or an index of a list.
type Segment = fieldpath.Segment

func fieldSegment(name string) Segment {
	return Segment{Type: fieldpath.SegmentField, Field: name}
}

func indexSegment(i int) Segment {
	return Segment{Type: fieldpath.SegmentIndex, Index: uint(i)}
}

// Path is a concrete location in an object, such as
// spec.template.spec.containers[0].image or metadata.annotations[jira].
type Path []Segment

var errWildcard = errors.New(`a wildcard ("*") stands for many fields, where exactly one must be named`)

// ParsePath reads what Path.String writes: a path without wildcards. The error
// says where and why the text is not one.
func ParsePath(s string) (Path, error) {
	segments, err := parse(s)
	if err != nil {
		return nil, fmt.Errorf("path %q: %w", s, err)
	}
	if slices.Contains(segments, wildcard) {
		return nil, fmt.Errorf("path %q: %w", s, errWildcard)
	}
	return segments, nil
}

// MustParsePath reads a path that stands in the code, and panics where it is none.
func MustParsePath(s string) Path {
	p, err := ParsePath(s)
	if err != nil {
		panic(err)
	}
	return p
}

// String returns the canonical text of the path: traces and ledgers hold it, and
// equal paths have equal texts. Fields are dotted, list indices bracketed. Keys
// that users choose (those of labels, annotations, data, …) and keys that are no
// identifier are bracketed as well.
func (p Path) String() string {
	return format(p)
}

// IsMetadata reports whether the path is the object's metadata or lies below it.
func (p Path) IsMetadata() bool {
	return len(p) > 0 && p[0] == fieldSegment(metadataField)
}

// Value returns what obj holds at the path, and whether it holds anything there. An
// explicit null or empty value is something.
func (p Path) Value(obj map[string]any) (any, bool) {
	var at any = obj
	for _, s := range p {
		held, ok := step(at, s)
		if !ok {
			return nil, false
		}
		at = held
	}
	return at, true
}

// Set puts value into obj at the path. Maps that are missing on the way are
// made, items of lists are not. The error says at which part of the path obj has
// no room for it.
func (p Path) Set(obj map[string]any, value any) error {
	var at any = obj
	for i, s := range p {
		held, _ := step(at, s)
		switch {
		case i == len(p)-1:
			held = value
		case held == nil:
			held = map[string]any{}
		}
		if !put(at, s, held) {
			return fmt.Errorf("path %q: cannot set the value, as the object has neither a map nor a list with such an item to hold %q",
				p, p[:i+1])
		}
		at = held
	}
	return nil
}

// IsItem reports whether the path is that of an item of a list.
func (p Path) IsItem() bool {
	return len(p) > 0 && p[len(p)-1].Type == fieldpath.SegmentIndex
}

// Overlaps reports whether one of two paths is at or above the other.
func (p Path) Overlaps(q Path) bool {
	n := min(len(p), len(q))
	return slices.Equal(p[:n], q[:n])
}

// Remove takes what obj holds at the path out of it, where it holds something there.
func (p Path) Remove(obj map[string]any) {
	if len(p) == 0 {
		return
	}
	above, last := p[:len(p)-1], p[len(p)-1]
	at, _ := above.Value(obj)
	switch at := at.(type) {
	case map[string]any:
		delete(at, last.Field)
	case []any:
		if p.IsItem() && last.Index < uint(len(at)) && len(above) > 0 {
			_ = above.Set(obj, slices.Delete(slices.Clone(at), int(last.Index), int(last.Index)+1))
		}
	}
}

// step returns what v holds under one segment.
func step(v any, s Segment) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		if s.Type == fieldpath.SegmentField {
			held, ok := v[s.Field]
			return held, ok
		}
	case []any:
		if s.Type == fieldpath.SegmentIndex && s.Index < uint(len(v)) {
			return v[s.Index], true
		}
	}
	return nil, false
}

// put makes v hold something under one segment, if it can.
func put(v any, s Segment, held any) bool {
	switch v := v.(type) {
	case map[string]any:
		if s.Type == fieldpath.SegmentField && v != nil {
			v[s.Field] = held
			return true
		}
	case []any:
		if s.Type == fieldpath.SegmentIndex && s.Index < uint(len(v)) {
			v[s.Index] = held
			return true
		}
	}
	return false
}

// Field returns the path of a field of the map at p.
func (p Path) Field(name string) Path { return p.below(fieldSegment(name)) }

// Index returns the path of an item of the list at p.
func (p Path) Index(i int) Path { return p.below(indexSegment(i)) }

// below returns the path of what lies at rest under p. It shares no memory with p.
func (p Path) below(rest ...Segment) Path {
	return slices.Concat(p, rest)
}

// Compare orders paths by their segments, so that what is above comes before
// what is below.
func (p Path) Compare(q Path) int {
	return slices.CompareFunc(p, q, compareSegments)
}

// compareSegments orders fields by name and before indices, and those by number.
func compareSegments(a, b Segment) int {
	return cmp.Or(
		cmp.Compare(a.Type, b.Type),
		cmp.Compare(a.Field, b.Field),
		cmp.Compare(a.Index, b.Index),
	)
}
