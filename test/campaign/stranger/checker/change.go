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
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
)

// change is what happened to a field, or to the whole object where there is no path.
type change struct {
	path          []string
	verb          string
	before, after any
}

// Verbs of changes.
const (
	inserts = "Insert"
	drops   = "Delete"
	mutates = "Mutate"
	makes   = "Create"
	ends    = "End"
)

func (c change) String() string { return strings.TrimSpace(strings.Join(c.path, ".") + " " + c.verb) }

// whole reports whether all of the object comes or goes.
func (c change) whole() bool { return c.verb == makes || c.verb == ends }

// within reports whether a path is another one, or below it.
func within(path, top []string) bool {
	if len(path) < len(top) {
		return false
	}
	for i := range top {
		if top[i] != "*" && top[i] != path[i] {
			return false
		}
	}
	return true
}

// related reports whether one of two paths is within the other.
func related(a, b []string) bool { return within(a, b) || within(b, a) }

// diff are the changes from one value to another; items of lists are told by their place.
func diff(path []string, before, after any) []change {
	before, after = absent(before), absent(after)
	switch {
	case equality.Semantic.DeepEqual(before, after):
		return nil
	case before == nil:
		return []change{{path, inserts, nil, after}}
	case after == nil:
		return []change{{path, drops, before, nil}}
	}
	var out []change
	below := func(key string, before, after any) {
		out = append(out, diff(append(slices.Clip(path), key), before, after)...)
	}
	switch before := before.(type) {
	case map[string]any:
		after, ok := after.(map[string]any)
		if !ok {
			break
		}
		keys := maps.Clone(before)
		maps.Copy(keys, after)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			below(key, before[key], after[key])
		}
		return out
	case []any:
		after, ok := after.([]any)
		if !ok {
			break
		}
		for i := range max(len(before), len(after)) {
			below(strconv.Itoa(i), item(before, i), item(after, i))
		}
		return out
	}
	return []change{{path, mutates, before, after}}
}

// absent is nothing for what JSON knows as such.
func absent(value any) any {
	if list, ok := value.([]any); ok && list == nil {
		return nil
	}
	if fields, ok := value.(map[string]any); ok && fields == nil {
		return nil
	}
	return value
}

func item(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// ownersPath and labelsPath are where owners and labels are.
var (
	ownersPath = []string{"metadata", "ownerReferences"}
	labelsPath = []string{"metadata", "labels"}
)

// contentChanges are those outside of metadata. A binding does not show the Pod that it
// changes, so its node counts for nothing.
func contentChanges(before, after *object) []change {
	var out []change
	if before.content != after.content {
		out = diff(nil, before.fields, after.fields)
	}
	if after.kind != kinds[pods] {
		return out
	}
	return slices.DeleteFunc(out, func(c change) bool { return within(c.path, []string{"spec", "nodeName"}) })
}

// ownerChanges are those of who owns the object: the version of the reference does not count.
func ownerChanges(before, after *object) []change {
	var out []change
	for _, o := range before.owners {
		if !slices.ContainsFunc(after.owners, o.same) {
			out = append(out, change{ownersPath, drops, o, nil})
		}
	}
	for _, o := range after.owners {
		// Another reference to an owner that there is makes no other owner.
		again := !o.Controller && slices.ContainsFunc(before.owners, func(b owner) bool { return b.UID == o.UID && slices.ContainsFunc(after.owners, b.same) })
		if !again && !slices.ContainsFunc(before.owners, o.same) {
			out = append(out, change{ownersPath, inserts, nil, o})
		}
	}
	return out
}

// same reports whether two references say the same, in whatever version.
func (o owner) same(other owner) bool {
	o.APIVersion, other.APIVersion = groupOf(o.APIVersion), groupOf(other.APIVersion)
	return o == other
}

// groupOf is the group of an API version.
func groupOf(version string) string {
	group, _, found := strings.Cut(version, "/")
	if !found {
		return ""
	}
	return group
}

// matches reports whether a selector of labels selects an object.
func matches(selector any, labels map[string]string) bool {
	for key, want := range asMap(valueAt(selector, "matchLabels")) {
		if got, ok := labels[key]; !ok || got != want {
			return false
		}
	}
	return true
}

func asMap(value any) map[string]any {
	fields, _ := value.(map[string]any)
	return fields
}
