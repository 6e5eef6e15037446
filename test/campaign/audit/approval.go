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

package audit

import (
	"slices"
	"strconv"
	"strings"
)

// all stands for all that is withheld in what an annotation approves of.
const all = "*"

// approved returns the parts of the annotations of the object's own that requests which may have made the version
// approve with, without what was looked at.
func (v *Version) approved() []string {
	var out []string
	for _, w := range v.Writers() {
		if !v.Approves(w) {
			continue
		}
		for _, part := range w.Approved() {
			text, _, _ := strings.Cut(part, "@")
			out = append(out, text)
		}
	}
	return out
}

// ApprovesAll reports whether the version may approve of all of the object, and not only of some paths.
func (v *Version) ApprovesAll() bool { return slices.Contains(v.approved(), all) }

// ApprovesOwners reports whether the version may approve of who owns the object.
func (v *Version) ApprovesOwners() bool {
	return v.ApprovesAll() || slices.Contains(v.approved(), strings.Join(OwnersPath, "."))
}

// ApprovedPaths returns the paths that the version may approve of. The place of an item in a list stands for
// any: it was that of when it was looked at.
func (v *Version) ApprovedPaths() [][]string {
	var out [][]string
	for _, text := range v.approved() {
		if text != all && text != "" {
			out = append(out, approvedPath(text))
		}
	}
	return out
}

// approvedPath reads a path, of which keys in brackets may have dots in them.
func approvedPath(text string) []string {
	var out []string
	for text != "" {
		var key string
		if rest, bracketed := strings.CutPrefix(text, "["); bracketed {
			key, text, _ = strings.Cut(rest, "]")
			key = strings.Trim(key, `"'`)
			if _, err := strconv.Atoi(key); err == nil {
				key = all
			}
		} else {
			end := strings.IndexAny(text, ".[")
			if end < 0 {
				end = len(text)
			}
			key, text = text[:end], text[end:]
		}
		text = strings.TrimPrefix(text, ".")
		out = append(out, key)
	}
	return out
}
