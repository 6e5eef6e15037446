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

package crossplane

import (
	"math"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"kausality.io/operator/internal/change"
)

// comparison is what status.atProvider says about a field of the specification.
type comparison int

const (
	// unknown: it does not carry the field, or in another shape.
	unknown comparison = iota
	// equal: the cloud has what the specification says.
	equal
	// differs: it has something else.
	differs
)

// mirrored is how many steps it is to what status.atProvider mirrors:
// spec.forProvider.
const mirrored = 2

// observed compares a changed field with what the provider last saw in the cloud.
// What the provider keeps to itself, as it does with secrets and references, is
// unknown.
func (s signals) observed(path change.Path) comparison {
	if !isMirrored(path) || s.atProvider == nil {
		return unknown
	}
	below := path[mirrored:]
	want, wanted := below.Value(s.forProvider)
	got, carried := below.Value(s.atProvider)
	switch {
	case !wanted && len(below) > 0:
		return s.removed(below, carried)
	case !carried:
		return unknown
	default:
		return compare(path, want, got)
	}
}

// Has implements gate.Driver.
func (Driver) Has(obj *unstructured.Unstructured, path change.Path) bool {
	return signalsOf(obj).observed(path) == equal
}

// isMirrored reports whether status.atProvider may carry a field.
func isMirrored(path change.Path) bool {
	return len(path) >= mirrored && path[0].Field == specField && path[1].Field == "forProvider"
}

// removed judges a field that was taken out of the specification. The cloud may keep
// a value of its own for it, so that one which is still there says nothing.
func (s signals) removed(path change.Path, carried bool) comparison {
	_, siblings := path[:len(path)-1].Value(s.atProvider)
	if siblings && !carried {
		return equal
	}
	return unknown
}

// compare holds what is wanted at a path against what there is. Fields that only the
// cloud has, its defaults, do not count.
func compare(at change.Path, want, got any) comparison {
	switch want := want.(type) {
	case map[string]any:
		return compareFields(at, want, got)
	case []any:
		return compareItems(at, want, got)
	default:
		return compareValues(at, want, got)
	}
}

func compareFields(at change.Path, want map[string]any, got any) comparison {
	fields, ok := got.(map[string]any)
	if !ok || len(want) == 0 {
		return unknown
	}
	all := equal
	for name, value := range want {
		other, carried := fields[name]
		switch {
		case !carried:
			all = unknown
		default:
			switch compare(at.Field(name), value, other) {
			case differs:
				return differs
			case unknown:
				all = unknown
			case equal:
			}
		}
	}
	return all
}

// compareItems compares lists in their order. Where they only differ in it, it
// depends on the field whether that means something.
func compareItems(at change.Path, want []any, got any) comparison {
	items, ok := got.([]any)
	switch {
	case !ok:
		return unknown
	case len(items) != len(want):
		return differs
	}
	all := equal
	for i := range want {
		switch compare(at.Index(i), want[i], items[i]) {
		case differs:
			if permuted(at, want, items) {
				return unknown
			}
			return differs
		case unknown:
			all = unknown
		case equal:
		}
	}
	return all
}

// permuted reports whether two lists of the same length have the same items.
func permuted(at change.Path, want, got []any) bool {
	used := make([]bool, len(got))
	for i, w := range want {
		found := false
		for j, g := range got {
			if !used[j] && compare(at.Index(i), w, g) == equal {
				used[j], found = true, true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// compareValues compares what is neither a map nor a list. Clouds write numbers as
// texts and documents with other white space, and Kubernetes quantities in one way.
func compareValues(at change.Path, want, got any) comparison {
	switch got.(type) {
	case map[string]any, []any, nil:
		return unknown
	}
	if want == nil {
		return unknown
	}
	a, b := text(want), text(got)
	if a == b || sameNumber(want, got) || sameDocument(a, b) || change.SameQuantity(at, want, got) {
		return equal
	}
	return differs
}

// text returns a value as a text; numbers that are whole have no fraction.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return ""
	}
}

// sameNumber reports whether at least one of two values is a number, and the other is
// the same one or the text of it. Whole numbers, which may be too long for a float,
// have one text only.
func sameNumber(a, b any) bool {
	_, aText := a.(string)
	_, bText := b.(string)
	_, aWhole := a.(int64)
	_, bWhole := b.(int64)
	if aText && bText || aWhole && bWhole {
		return false
	}
	number, errA := strconv.ParseInt(text(a), 10, 64)
	other, errB := strconv.ParseInt(text(b), 10, 64)
	if errA == nil && errB == nil {
		return number == other
	}
	x, errX := strconv.ParseFloat(text(a), 64)
	y, errY := strconv.ParseFloat(text(b), 64)
	return errX == nil && errY == nil && x == y
}

// sameDocument reports whether two texts are the same JSON object or list, such as an
// access policy, which clouds write in their own way.
func sameDocument(a, b string) bool {
	if a == "" || b == "" || a[0] != '{' && a[0] != '[' {
		return false
	}
	var x, y any
	if utiljson.Unmarshal([]byte(a), &x) != nil || utiljson.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	return equality.Semantic.DeepEqual(whole(x), whole(y))
}

// whole returns a value in which a number without a fraction is one, however it was written. No float is made of a
// whole number, as it may be too long for that.
func whole(v any) any {
	switch v := v.(type) {
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v)
		}
	case map[string]any:
		for name, value := range v {
			v[name] = whole(value)
		}
	case []any:
		for i, value := range v {
			v[i] = whole(value)
		}
	}
	return v
}
