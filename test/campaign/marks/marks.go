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

// Package marks knows the marks by which whatever strangers write is known wherever it turns
// up: each text has the number of its act, and so has each large number.
package marks

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
)

// mark is what every text and every large number of a stranger has in it.
var mark = regexp.MustCompile(`zq(\d+)z|\b7(\d{6})(?:m|Mi|s)?\b`)

// In returns the acts whose marks are in a text, each once.
func In(text string) []int {
	var out []int
	for _, found := range mark.FindAllStringSubmatch(text, -1) {
		if n, err := strconv.Atoi(found[1] + found[2]); err == nil {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Of returns the marks in a value.
func Of(value any) []int {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return In(string(raw))
}
