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
	"iter"
	"reflect"
)

// pair is what the old and the new version hold at one place.
type pair struct {
	old, new any
}

// isShared reports whether both versions hold the very same map or list, as they do where
// what is the same in both was decoded once: there is no need to look into it.
func (p pair) isShared() bool {
	switch o := p.old.(type) {
	case map[string]any:
		n, ok := p.new.(map[string]any)
		return ok && reflect.ValueOf(o).Pointer() == reflect.ValueOf(n).Pointer()
	case []any:
		n, ok := p.new.([]any)
		return ok && len(o) == len(n) && len(o) > 0 && &o[0] == &n[0]
	default:
		return false
	}
}

// pairs goes through the fields of two maps, those that only one of them has
// included.
func pairs(oldMap, newMap map[string]any) iter.Seq2[string, pair] {
	return func(yield func(string, pair) bool) {
		shared := 0
		for name, o := range oldMap {
			n, both := newMap[name]
			if both {
				shared++
			}
			if !yield(name, pair{o, n}) {
				return
			}
		}
		if shared == len(newMap) {
			return
		}
		for name, n := range newMap {
			if _, both := oldMap[name]; !both && !yield(name, pair{nil, n}) {
				return
			}
		}
	}
}
