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

package approved

import (
	"maps"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"

	"kausality.io/operator/internal/change"
)

// Field is a field of an object, identified without its value.
type Field struct {
	// Path of the field: that of a trigger, up to its first wildcard or list.
	Path change.Path
	// Print is the fingerprint of its value, empty for none.
	Print string
}

// Fields identify what an object has of what patterns are about, in order of their paths.
// A pattern as wide as a top-level field is taken apart into the fields of that.
func Fields(uid string, obj map[string]any, patterns []change.Pattern) []Field {
	paths := make([]change.Path, 0, len(patterns))
	for _, p := range patterns {
		paths = append(paths, roots(obj, p)...)
	}
	slices.SortFunc(paths, func(a, b change.Path) int { return slices.Compare(textsOf(a), textsOf(b)) })
	out := make([]Field, 0, len(paths))
	for _, path := range paths {
		// What is within another one is part of its value.
		if last := len(out) - 1; last >= 0 && change.Pattern(out[last].Path).Covers(path) {
			continue
		}
		value, _ := path.Value(obj)
		if fields, isMap := value.(map[string]any); isMap && len(fields) == 0 && isWide(path) {
			value = nil // None of its fields is there either way.
		}
		out = append(out, Field{Path: path, Print: Print(uid, value)})
	}
	return out
}

// Apart returns the places of which Fields takes apart what is there, for one of the patterns: the
// fields of such a place are all that there are, and where it has none it is identified itself.
func Apart(patterns []change.Pattern) []change.Path {
	var out []change.Path
	for _, p := range patterns {
		root := rootOf(p)
		if isWide(root) && !slices.ContainsFunc(out, func(o change.Path) bool { return slices.Equal(o, root) }) {
			out = append(out, root)
		}
	}
	return out
}

// rootOf returns the path of a pattern up to its first wildcard or list.
func rootOf(p change.Pattern) change.Path {
	end := slices.IndexFunc(p, func(s change.Segment) bool { return s.Type != fieldpath.SegmentField })
	if end < 0 {
		end = len(p)
	}
	return change.Path(p[:end])
}

func isWide(root change.Path) bool { return len(root) <= 1 }

// roots returns the fields that a pattern is about.
func roots(obj map[string]any, p change.Pattern) []change.Path {
	root := rootOf(p)
	if !isWide(root) {
		return []change.Path{root}
	}
	at := change.Counted(obj)
	if len(root) == 1 {
		value, _ := root.Value(at)
		fields, isMap := value.(map[string]any)
		if !isMap || len(fields) == 0 {
			return []change.Path{root}
		}
		at = fields
	}
	var out []change.Path
	for name := range maps.Keys(at) {
		out = append(out, root.Field(name))
	}
	return out
}

func textsOf(p change.Path) []string {
	out := make([]string, 0, len(p))
	for _, s := range p {
		out = append(out, s.Field)
	}
	return out
}
