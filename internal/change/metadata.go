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
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/internal/ledger"
)

// serverFields are what the API server keeps in metadata by itself. They change
// with each write, or say only that there was one, so they never count, even
// where a pattern as wide as "metadata" names them.
var serverFields = sets.New("creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp",
	"generation", "managedFields", "resourceVersion", "selfLink", "uid")

// metadata compares the metadata that policies name.
func (f *finder) metadata(oldObj, newObj map[string]any, patterns []Pattern) {
	if !slices.ContainsFunc(patterns, Pattern.isMetadata) {
		return
	}
	mark := len(f.changes)
	f.path = append(f.path, fieldSegment(metadataField))
	for name, held := range pairs(mapOrNil(oldObj[metadataField]), mapOrNil(newObj[metadataField])) {
		switch {
		case serverFields.Has(name):
		case name == "annotations" || name == "labels":
			f.stringMap(name, held)
		default:
			f.field(name, held)
		}
	}
	f.path = f.path[:len(f.path)-1]

	f.changes = append(f.changes[:mark], slices.DeleteFunc(f.changes[mark:], func(c Change) bool {
		return !f.namesMetadata(patterns, c)
	})...)
}

// stringMap compares labels or annotations one by one, also where all of them
// were added or removed: those that no policy names must not count along with
// one that is.
func (f *finder) stringMap(name string, v pair) {
	f.path = append(f.path, fieldSegment(name))
	for key, held := range pairs(mapOrNil(v.old), mapOrNil(v.new)) {
		// What Kausality writes down about an object is not a change of it: a grant must
		// not be the cause of the next.
		if !ledger.IsOurs(key) {
			f.field(key, held)
		}
	}
	f.path = f.path[:len(f.path)-1]
}

// namesMetadata reports whether one of the patterns names expressly what c changed
// in the metadata.
func (f *finder) namesMetadata(patterns []Pattern, c Change) bool {
	return slices.ContainsFunc(patterns, func(p Pattern) bool {
		_, named := p.Matches(c, f.schema)
		return named && p.isMetadata()
	})
}

// NamedMetadata returns the metadata of an object that the patterns name expressly, nil where
// there is none: what Find compares where it is given them.
func NamedMetadata(obj map[string]any, patterns []Pattern) map[string]any {
	nothing := map[string]any{metadataField: map[string]any{}}
	f := newFinder(nil)
	f.metadata(nothing, obj, patterns)
	var out map[string]any
	for _, c := range f.changes {
		if out == nil {
			out = map[string]any{metadataField: map[string]any{}}
		}
		// All of it is new, so that there is room for it.
		_ = c.Path.Set(out, c.New)
	}
	return mapOrNil(out[metadataField])
}

// isMetadata reports whether the pattern names metadata expressly, which "*" does
// not.
func (p Pattern) isMetadata() bool {
	return len(p) > 0 && p[0] == fieldSegment(metadataField)
}

// mapOrNil returns the map that v is, nil if it is none.
func mapOrNil(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}
