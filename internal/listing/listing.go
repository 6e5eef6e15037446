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

// Package listing joins what a message or a condition lists, and cuts it where nobody would
// read on.
package listing

import (
	"fmt"
	"slices"
	"strings"
)

// maxListed is how many of a kind a message lists; the rest is
// counted.
const maxListed = 8

// Join joins what a message lists, and cuts it where it gets too long to read.
func Join(items []string, separator string) string {
	if rest := len(items) - maxListed; rest > 0 {
		items = append(slices.Clone(items[:maxListed]), fmt.Sprintf("and %d more", rest))
	}
	return strings.Join(items, separator)
}

// Paths joins the paths that a message names, and cuts them likewise.
func Paths(paths []string) string {
	if more := len(paths) - maxListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(paths[:maxListed], ", "), more)
	}
	return strings.Join(paths, ", ")
}
