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

package knowledge

import (
	"maps"
	"slices"

	"kausality.io/operator/internal/change"
)

// Reports returns the changes between two versions of an object of what only who reports it
// writes. Where that is all of the status, it is the fields of it that differ. So it is of a
// status that proves something and is a part of the object, which inObject says: there is no
// other request by which it is written.
func (k *Kind) Reports(old, updated map[string]any, inObject bool) []change.Change {
	all := k.Reported
	if inObject && len(k.Proves) > 0 {
		all = []change.Path{change.Path{}.Field(statusField)}
	}
	var out []change.Change
	for _, reported := range all {
		for _, path := range fieldsOf(reported, old, updated) {
			if c, changed := (Action{Pattern: change.Pattern(path)}).changed(old, updated); changed {
				out = append(out, c)
			}
		}
	}
	return out
}

// fieldsOf returns the fields of the status that a path is about.
func fieldsOf(path change.Path, objects ...map[string]any) []change.Path {
	if len(path) > 1 {
		return []change.Path{path}
	}
	names := map[string]bool{}
	for _, object := range objects {
		status, _ := object[statusField].(map[string]any)
		for name := range status {
			names[name] = true
		}
	}
	var out []change.Path
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out = append(out, path.Field(name))
	}
	return out
}
