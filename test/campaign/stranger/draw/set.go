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

package draw

import (
	"strconv"
	"strings"
)

// Path reads a path of keys with dots in between.
func Path(text string) []string { return strings.Split(text, ".") }

// Set writes a value into an object, and makes what is missing on the way. It reports whether
// there was a place for it.
func Set(object map[string]any, path []string, value any) bool {
	var at any = object
	for i, key := range path {
		last := i == len(path)-1
		switch holder := at.(type) {
		case map[string]any:
			if last {
				holder[key] = value
				return true
			}
			if holder[key] == nil {
				holder[key] = empty(path[i+1:])
			}
			at = holder[key]
		case []any:
			n, err := strconv.Atoi(key)
			if err != nil || n >= len(holder) && (!last || n > len(holder)) {
				return false
			}
			if n == len(holder) {
				return Set(object, path[:i], append(holder, value))
			}
			if last {
				holder[n] = value
				return true
			}
			at = holder[n]
		default:
			return false
		}
	}
	return false
}

// empty returns what holds the next of a path: a list, where that is the first place of one.
func empty(rest []string) any {
	if rest[0] == "0" && len(rest) == 1 {
		return []any{}
	}
	return map[string]any{}
}

// Drop takes a field away, and reports whether it was there.
func Drop(object map[string]any, path []string) bool {
	var at any = object
	for i, key := range path {
		holder, ok := at.(map[string]any)
		if !ok {
			if list, ok := at.([]any); ok {
				n, err := strconv.Atoi(key)
				if err != nil || n >= len(list) {
					return false
				}
				if i == len(path)-1 {
					return Set(object, path[:i], append(append([]any{}, list[:n]...), list[n+1:]...))
				}
				at = list[n]
				continue
			}
			return false
		}
		if i == len(path)-1 {
			_, there := holder[key]
			delete(holder, key)
			return there
		}
		at = holder[key]
	}
	return false
}
