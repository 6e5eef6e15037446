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
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// comparison compares values that JSON has. The zero comparison is strict: null is
// as good as absent, and everything else is a value, {} and [] included. An empty
// selector selects everything, where none selects nothing.
type comparison struct {
	// tolerateEmpty makes empty values as good as absent too, see isEmpty.
	tolerateEmpty bool
}

// isAbsent reports whether v is as good as absent.
func (c comparison) isAbsent(v any) bool {
	return v == nil || c.tolerateEmpty && isEmpty(v)
}

// IsBlank reports whether the change adds or takes away a map that has nothing in it but
// empty values and empty strings: clients in Go write so what nobody has filled in of
// their types. A text that is empty where no map came with it may be meant, and so may
// any zero and false, and any item of a list.
func (c Change) IsBlank() bool {
	_, added := c.New.(map[string]any)
	_, taken := c.Old.(map[string]any)
	return !c.Path.IsItem() && (added && c.Old == nil || taken && c.New == nil) && isBlank(c.New) && isBlank(c.Old)
}

func isBlank(v any) bool {
	fields, ok := v.(map[string]any)
	if !ok {
		return v == "" || isEmpty(v)
	}
	for _, held := range fields {
		if !isBlank(held) {
			return false
		}
	}
	return true
}

// isEmpty reports whether v is null, a list without items, or a map in which
// everything is empty.
//
// A list with items is never empty, whatever they are: one empty rule in a
// NetworkPolicy allows everything, no rule nothing. An empty string, a zero and
// false are values too: replicas: 0 is not replicas left to their default.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		for _, held := range v {
			if !isEmpty(held) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return false
}

// equal reports whether two values at one place of an object mean the same.
func (c comparison) equal(at place, a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			return c.equalMaps(at, a, b)
		}
	case []any:
		if b, ok := b.([]any); ok {
			return c.equalLists(a, b)
		}
	}
	return equalScalars(a, b) || equalQuantities(at, a, b) || c.isAbsent(a) && c.isAbsent(b)
}

func (c comparison) equalMaps(at place, a, b map[string]any) bool {
	for name, held := range pairs(a, b) {
		if !c.equal(at.field(name), held.old, held.new) {
			return false
		}
	}
	return true
}

func (c comparison) equalLists(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !c.equal(place{}, a[i], b[i]) {
			return false
		}
	}
	return true
}

// equalScalars compares strings and booleans as they are, numbers by value, and
// what JSON does not have by its Go syntax. Null, maps and lists are no scalars.
func equalScalars(a, b any) bool {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case nil, map[string]any, []any:
		return false
	}
	if x, ok := numberOf(a); ok {
		y, ok := numberOf(b)
		return ok && x == y
	}
	return foreign(a) == foreign(b)
}

// foreign returns a text of a value that JSON does not have.
func foreign(v any) string {
	return fmt.Sprintf("%T(%#v)", v, v)
}

// number is the value of a JSON number, whatever Go type holds it. Numbers of
// the same value are == each other.
type number struct {
	// integer is the value where fraction is zero.
	integer int64
	// fraction is the bits of a float64 that int64 cannot hold, else zero.
	fraction uint64
}

// numberOf reads the number that v is, if it is one.
func numberOf(v any) (number, bool) {
	switch v := v.(type) {
	case int64:
		return number{integer: v}, true
	case int:
		return number{integer: int64(v)}, true
	case int32:
		return number{integer: int64(v)}, true
	case float64:
		return floatNumber(v), true
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return number{integer: i}, true
		}
		if f, err := v.Float64(); err == nil {
			return floatNumber(f), true
		}
	}
	return number{}, false
}

func floatNumber(f float64) number {
	// Both bounds are powers of two, so the comparison and the conversion are
	// exact.
	if f >= -1<<63 && f < 1<<63 && f == math.Trunc(f) {
		return number{integer: int64(f)}
	}
	return number{fraction: math.Float64bits(f)}
}

// String returns the shortest decimal text of the number.
func (n number) String() string {
	if n.fraction == 0 {
		return strconv.FormatInt(n.integer, 10)
	}
	return strconv.FormatFloat(math.Float64frombits(n.fraction), 'g', -1, 64)
}
