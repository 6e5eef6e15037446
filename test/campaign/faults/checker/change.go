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

package checker

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
)

// change is what happens to one field, or to the whole object.
type change struct{ path, verb string }

// Verbs of changes, and the paths of whole objects.
const (
	verbInsert  = "Insert"
	verbRemove  = "Delete"
	verbMutate  = "Mutate"
	wholeObject = ""
)

func (c change) String() string { return strings.TrimSpace(c.path + " " + c.verb) }

// within tells whether a path is another one, or below it.
func within(path, top string) bool {
	rest, found := strings.CutPrefix(path, top)
	return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// related tells whether one of two paths is within the other.
func related(a, b string) bool { return within(a, b) || within(b, a) }

// diff are the changes from one value to another; items of lists are told by their
// place.
func diff(path string, before, after any) []change {
	switch {
	case equality.Semantic.DeepEqual(before, after):
		return nil
	case before == nil:
		return []change{{path, verbInsert}}
	case after == nil:
		return []change{{path, verbRemove}}
	}
	var out []change
	switch before := before.(type) {
	case map[string]any:
		after, ok := after.(map[string]any)
		if !ok {
			break
		}
		keys := maps.Clone(before)
		maps.Copy(keys, after)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			out = append(out, diff(path+"."+key, before[key], after[key])...)
		}
		return out
	case []any:
		after, ok := after.([]any)
		if !ok {
			break
		}
		for i := range max(len(before), len(after)) {
			out = append(out, diff(fmt.Sprintf("%s[%d]", path, i), item(before, i), item(after, i))...)
		}
		return out
	}
	return []change{{path, verbMutate}}
}

func item(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// changes are those from one version of an object to the next that count: of the spec,
// and the loss of the owner. A binding does not show the Pod that it changes, so its
// node counts for nothing.
func changes(before, after *object) []change {
	out := diff("spec", before.Spec, after.Spec)
	out = slices.DeleteFunc(out, func(c change) bool { return after.Kind == kinds[pods] && c.path == "spec.nodeName" })
	if owner := before.ownerUID(); owner != "" && owner != after.ownerUID() {
		out = append(out, change{"metadata.ownerReferences", verbRemove})
	}
	return out
}
